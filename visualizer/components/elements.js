// Elements of the page, for the scripts of all components. Text is always text.

function element(name, classes, text = "") {
  const made = document.createElement(name);
  if (classes) made.className = classes;
  if (text) made.textContent = text;
  return made;
}

// The field in which rows, files or names are searched for.
function searchField(asks) {
  const field = element("input", "search");
  field.type = "search";
  field.placeholder = asks;
  field.setAttribute("aria-label", asks);
  return field;
}

function wordsOf(search) {
  return search.value.toLowerCase().split(/\s+/).filter(Boolean);
}

// Whether text is marked with the mouse: such a click chooses nothing.
function isMarked(root) {
  const selection = root.getRootNode().getSelection?.() ?? document.getSelection();
  return Boolean(selection && !selection.isCollapsed);
}

const kept = new WeakMap();

// What a component has built in the place that it was given, and keeps from one message of the app to the next.
function viewOf(parentElement, build) {
  const root = parentElement.querySelector(".root");
  if (!kept.has(root)) kept.set(root, build(root));
  return kept.get(root);
}
