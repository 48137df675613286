// Elements of the page, for the scripts of all components. Text is always text.

function element(name, classes, text = "") {
  const made = document.createElement(name);
  if (classes) made.className = classes;
  if (text) made.textContent = text;
  return made;
}
