// Elements of the page. Every text is inserted as text: no name of a trace becomes markup.

// make("p", {class: "remark", "aria-label": "…", click: handler}, "text", element, …)
function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

function section(title, ...children) {
  return make("section", {}, make("h2", {}, title), ...children);
}

const remark = (text) => make("p", { class: "remark" }, text);

// A row of buttons of which one is pressed: [[key, label], …].
function choice(label, options, chosen, choose) {
  const buttons = options.map(([key, text]) =>
    make("button", { type: "button", "aria-pressed": String(key === chosen), click: () => choose(key) }, text),
  );
  return make("div", { class: "choice", role: "group", "aria-label": label }, ...buttons);
}

// A list to choose from: [[key, label], …].
function chooser(label, options, chosen, choose) {
  const list = make(
    "select",
    { "aria-label": label, change: () => choose(list.value) },
    ...options.map(([key, text]) => make("option", { value: key, selected: String(key) === String(chosen) }, text)),
  );
  return list;
}

// What has the keyboard keeps it when a view is drawn anew: elements that a person can be on have a name.
function keepingFocus(root, draw) {
  const name = root.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined;
  draw();
  if (name !== undefined) {
    [...root.querySelectorAll("[data-focus]")].find((one) => one.dataset.focus === name)?.focus({ preventScroll: true });
  }
}

// Black or white, whatever is easier to read on a colour "#rrggbb".
function inkOn(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}

const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;

// The colour of an amount by its share of the largest: the largest is the furthest from the ground.
function heat(share) {
  const colours = isDark() ? [...DATA.colours.heat].reverse() : DATA.colours.heat;
  return colours[Math.min(Math.floor(share * colours.length), colours.length - 1)];
}
