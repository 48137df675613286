// Places and arrows as SVG, as large as there is room. With the keyboard one goes from one to the next, places first.

const SVG = "http://www.w3.org/2000/svg";
const HEAD = 0.62; // where on its way an arrow has its head
const MARGIN = 48; // pixels around the middles of places

let made = 0;

export default function ({ parentElement, data, setTriggerValue }) {
  const view = viewOf(parentElement, build);
  const { root } = view;
  view.send = setTriggerValue;
  // Who points at something goes on doing so while the app draws the same again.
  const told = JSON.stringify(data);
  if (view.told === told) return;
  Object.assign(view, { data, told });
  root.style.height = `${data.height}px`;
  view.svg.setAttribute("aria-label", data.about);
  draw(view);
}

function build(root) {
  root.classList.add("graph");
  const svg = shape("svg", { role: "listbox", tabindex: 0 });
  const tip = element("div", "tip");
  tip.hidden = true;
  root.replaceChildren(svg, tip);
  const view = { root, svg, tip, data: null, told: "", send: null, name: ++made, points: [], active: null };
  svg.addEventListener("click", (event) => {
    const one = event.target.closest(".one");
    if (one) view.send("choose", one.labels);
  });
  svg.addEventListener("pointermove", (event) => {
    const one = event.target.closest(".one");
    if (one) tell(view, one, event.clientX, event.clientY);
    else tip.hidden = true;
  });
  svg.addEventListener("pointerleave", () => { tip.hidden = true; });
  svg.addEventListener("keydown", (event) => onKey(view, event));
  svg.addEventListener("blur", () => go(view, null));
  new ResizeObserver(() => view.data && draw(view)).observe(root);
  return view;
}

// What an arrow or a place is, beside a point of the window.
function tell({ root, tip }, { hint }, left, top) {
  tip.hidden = false;
  tip.replaceChildren(...hint.map((line, place) => element("div", place ? "" : "first", line)));
  const box = root.getBoundingClientRect();
  // On the side that has the room.
  const [x, y] = [left - box.left, top - box.top];
  tip.style.left = `${Math.max(0, x + 14 + tip.offsetWidth > box.width ? x - 10 - tip.offsetWidth : x + 14)}px`;
  tip.style.top = `${Math.max(0, y + 14 + tip.offsetHeight > box.height ? y - 10 - tip.offsetHeight : y + 14)}px`;
}

function onKey(view, event) {
  const { points, active, tip } = view;
  const now = points.findIndex(({ labels }) => isSame(labels, active));
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (by) go(view, points[Math.min(Math.max(now + by, 0), points.length - 1)]);
  else if (event.key === "Home") go(view, points[0]);
  else if (event.key === "End") go(view, points.at(-1));
  else if (event.key === "Escape") tip.hidden = true;
  else if ((event.key === "Enter" || event.key === " ") && now >= 0) view.send("choose", active);
  else return;
  event.preventDefault();
}

function go(view, point) {
  view.active = point?.labels ?? null;
  mark(view);
  view.tip.hidden = true;
  if (!point) return;
  const { left, top, width, height } = point.firstChild.getBoundingClientRect();
  tell(view, point, left + width / 2, top + height / 2);
}

function mark({ svg, points, active }) {
  for (const point of points) point.classList.toggle("active", isSame(point.labels, active));
  const one = points.find(({ labels }) => isSame(labels, active));
  if (one) svg.setAttribute("aria-activedescendant", one.id);
  else svg.removeAttribute("aria-activedescendant");
}

function isSame(labels, others) {
  return JSON.stringify(labels) === JSON.stringify(others);
}

function draw(view) {
  const { root, svg, tip, data, name } = view;
  tip.hidden = true;
  const [width, height] = [root.clientWidth, root.clientHeight];
  if (!width) return;
  const [[left, low], [right, high]] = data.span;
  const scale = Math.min((width - 2 * MARGIN) / (right - left || 1), (height - 2 * MARGIN) / (high - low || 1));
  const at = ([x, y]) => [width / 2 + (x - (left + right) / 2) * scale, height / 2 - (y - (low + high) / 2) * scale];
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  // Pale ones first, and thick ones: nothing hides what is thin. What is written is above all curves.
  const drawn = [...data.arrows].sort((a, b) => a.opacity - b.opacity || b.width - a.width);
  const curves = drawn.map((arrow) => curve(arrow, at));
  const heads = data.arrows.map((arrow) => head(arrow, at));
  const nodes = data.nodes.map((one) => node(one, at));
  svg.replaceChildren(...data.frames.flatMap((one) => frame(one, at)), ...curves, ...heads, ...nodes);
  view.points = [...nodes, ...heads];
  view.points.forEach((point, place) => {
    point.id = `graph-${name}-${place}`;
    point.setAttribute("role", "option");
    point.setAttribute("aria-label", point.hint.join(", "));
  });
  mark(view);
}

function frame({ corner, other, name }, at) {
  const [[x0, y0], [x1, y1]] = [at(corner), at(other)];
  const box = { x: Math.min(x0, x1), y: Math.min(y0, y1), width: Math.abs(x1 - x0), height: Math.abs(y1 - y0), rx: 8 };
  return [shape("rect", { class: "frame", ...box }), written(name, { class: "beside", x: box.x + 4, y: box.y - 6 })];
}

function curve(arrow, at) {
  const [from, by, to] = arrow.way.map(at);
  const d = `M${from} Q${by} ${to}`;
  const group = one(arrow, "curve");
  group.append(
    shape("path", { d, stroke: arrow.colour, "stroke-width": arrow.width, opacity: arrow.opacity }),
    // To be hit.
    shape("path", { d, stroke: "transparent", "stroke-width": Math.max(arrow.width, 12) }),
  );
  return group;
}

function head(arrow, at) {
  const way = arrow.way.map(at);
  const [x, y] = along(way, HEAD);
  const [after, below] = along(way, HEAD + 0.02);
  const turn = Math.atan2(below - y, after - x);
  const size = 7 + arrow.width;
  const group = one(arrow, "point head");
  group.append(
    shape("path", {
      d: `M${size},0 L${-size * 0.7},${size * 0.8} L${-size * 0.7},${-size * 0.8} Z`,
      transform: `translate(${x} ${y}) rotate(${(turn * 180) / Math.PI})`,
      fill: arrow.colour,
      opacity: arrow.opacity,
    }),
  );
  if (!arrow.text) return group;
  // On its left, which is the outside of its curve.
  const [aside, up] = [Math.sin(turn), -Math.cos(turn)];
  const anchor = aside > 0.4 ? "start" : aside < -0.4 ? "end" : "middle";
  const off = size + 4;
  group.append(written(arrow.text, { class: "beside", x: x + aside * off, y: y + up * (off + 3) + 4, "text-anchor": anchor }));
  return group;
}

function along([[x0, y0], [x1, y1], [x2, y2]], part) {
  const [first, second, third] = [(1 - part) ** 2, 2 * part * (1 - part), part ** 2];
  return [first * x0 + second * x1 + third * x2, first * y0 + second * y1 + third * y2];
}

const CORNERS = { square: [4, 45], diamond: [4, 0], hexagon: [6, 0] };

function node(place, at) {
  const [x, y] = at(place.at);
  const radius = place.size / 2;
  const group = one(place, "point place");
  const [corners, turned] = CORNERS[place.shape] ?? [0, 0];
  const points = Array.from({ length: corners }, (_, corner) => {
    const angle = ((turned + (360 * corner) / corners) * Math.PI) / 180;
    const far = place.shape === "square" ? radius * Math.SQRT2 : radius;
    return [x + far * Math.cos(angle), y + far * Math.sin(angle)];
  });
  const look = { fill: place.colour, opacity: place.opacity };
  group.append(corners ? shape("polygon", { points: points.join(" "), ...look }) : shape("circle", { cx: x, cy: y, r: radius, ...look }));
  place.lines.forEach((line, number) => {
    const down = y + 4 + 14 * (number - (place.lines.length - 1) / 2);
    group.append(written(line, { class: "within", x, y: down, fill: place.ink, "text-anchor": "middle" }));
  });
  return group;
}

// What can be chosen, and is told of.
function one({ labels, hint }, classes) {
  return Object.assign(shape("g", { class: `one ${classes}` }), { labels, hint });
}

function shape(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  return made;
}

function written(text, attributes) {
  const made = shape("text", attributes);
  made.textContent = text;
  return made;
}
