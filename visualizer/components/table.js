// A table: headings that sort, a search, rows to choose, columns to widen, a copy of all. Draws only the rows in sight;
// what is sorted by, searched for and widened stays in the browser.

const ROW = 26;
const BEYOND = 10; // rows drawn above and below what is in sight
const PAGE = 10;
const NARROWEST = 40; // pixels, of a column that a user makes as narrow as can be

const alphabetical = new Intl.Collator("en", { numeric: true }).compare;
let made = 0;

export default function ({ parentElement, data, setTriggerValue }) {
  const view = viewOf(parentElement, build);
  const { root } = view;
  const before = view.data;
  view.data = data;
  view.send = setTriggerValue;
  const isSame = (name) => before[name] === data[name];
  if (before && view.chosen === data.chosen && ["of", "chosen", "height", "choosable"].every(isSame)) return;
  view.chosen = data.chosen;
  const names = ({ columns }) => columns.map(({ heading }) => heading).join("\n");
  if (!before || names(before) !== names(data)) {
    Object.assign(view, { sorted: null, active: null, widths: [] });
    view.search.value = "";
  }
  view.search.hidden = !data.search;
  root.style.height = `${data.height}px`;
  if (before?.of !== data.of) {
    setUp(view);
    arrange(view);
  }
  setEdges(view);
  if (before?.chosen !== data.chosen || before?.of !== data.of) reveal(view, view.order.indexOf(data.chosen));
  draw(view);
}

function build(root) {
  root.classList.add("table");
  const search = searchField("Search rows");
  const scroller = element("div", "scroller");
  scroller.tabIndex = 0;
  scroller.setAttribute("role", "grid");
  const head = element("div", "row head");
  head.setAttribute("role", "row");
  const canvas = element("div", "canvas");
  canvas.setAttribute("role", "rowgroup");
  const group = element("div", "top");
  group.setAttribute("role", "rowgroup");
  group.append(head);
  scroller.append(group, canvas);
  root.replaceChildren(search, scroller);
  const view = { root, search, scroller, head, canvas, order: [], widths: [], data: null, name: ++made };
  search.addEventListener("input", () => {
    arrange(view);
    scroller.scrollTop = 0;
    draw(view);
  });
  head.addEventListener("click", (event) => {
    const cell = event.target.closest(".cell");
    if (cell && !event.target.closest(".edge")) sort(view, Number(cell.dataset.column));
  });
  head.addEventListener("pointerdown", (event) => {
    const edge = event.target.closest(".edge");
    if (edge) widen(view, edge, event);
  });
  head.addEventListener("dblclick", (event) => {
    const edge = event.target.closest(".edge");
    if (edge) setWidth(view, edge.parentElement, undefined);
  });
  canvas.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    // Who marks text does not want another row.
    if (row && !isMarked(root)) choose(view, Number(row.dataset.place));
  });
  scroller.addEventListener("scroll", () => {
    // What is marked stays so while it is in sight.
    if (range(view).join() !== view.range.join()) draw(view);
  });
  scroller.addEventListener("copy", (event) => {
    if (isMarked(root)) return;
    event.clipboardData.setData("text/plain", written(view));
    event.preventDefault();
  });
  scroller.addEventListener("keydown", (event) => onKey(view, event));
  scroller.addEventListener("blur", () => {
    view.active = null;
    draw(view);
  });
  new ResizeObserver(() => {
    if (!view.data) return;
    setEdges(view);
    draw(view);
  }).observe(scroller);
  return view;
}

// What the columns are decides.
function setUp(view) {
  const { root, scroller, head, data } = view;
  root.style.setProperty("--head", `${data.header}px`);
  divide(view);
  scroller.setAttribute("aria-label", `Table of ${data.columns[0]?.heading ?? "nothing"}`);
  scroller.setAttribute("aria-colcount", String(data.columns.length));
  head.replaceChildren(
    ...data.columns.map((column, place) => {
      const cell = element("div", `cell ${column.look}`);
      cell.setAttribute("role", "columnheader");
      cell.id = `table-${view.name}-head-${place}`;
      cell.dataset.column = place;
      cell.title = column.meaning;
      const arrow = element("span", "arrow");
      arrow.setAttribute("aria-hidden", "true");
      cell.append(element("span", "heading", column.heading), arrow, element("span", "edge"));
      return cell;
    }),
  );
  markSorted(view);
}

// --- the widths of columns ---

// Every row has its room divided alike, since no width follows from what is in it.
function divide({ root, data, widths }) {
  const rooms = data.columns.map(({ least, most }, place) => [widths[place] ?? least, widths[place] ?? most]);
  const sum = (end) => rooms.reduce((all, room) => all + room[end], 0);
  root.style.setProperty("--least", `${sum(0)}px`);
  root.style.setProperty("--most", `${sum(1)}px`);
  root.style.setProperty("--columns", rooms.map(([least, most]) => `minmax(${least}px, ${most}px)`).join(" "));
}

// No wider than its columns, and what scrolls it.
function setEdges({ root, scroller }) {
  root.style.setProperty("--edges", `${scroller.offsetWidth - scroller.clientWidth}px`);
}

function setWidth(view, cell, width) {
  view.widths[Number(cell.dataset.column)] = width;
  divide(view);
}

// Follows the pointer from the edge of a heading.
function widen(view, edge, { pointerId, clientX }) {
  const cell = edge.parentElement;
  const begin = clientX - cell.offsetWidth;
  edge.setPointerCapture(pointerId);
  edge.onpointermove = (event) => setWidth(view, cell, Math.max(event.clientX - begin, NARROWEST));
  edge.onlostpointercapture = () => { edge.onpointermove = null; };
}

// --- which rows, in which order ---

function arrange(view) {
  const { data, sorted, search } = view;
  const words = data.search ? wordsOf(search) : [];
  const holds = (place) => {
    const text = data.columns.map(({ texts, hints }) => `${texts[place]} ${hints?.[place] ?? ""}`).join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  };
  view.order = Array.from({ length: data.rows }, (_, place) => place).filter((place) => !words.length || holds(place));
  if (sorted) view.order.sort(comparison(data.columns[sorted.column], sorted.down));
  view.canvas.style.height = `${Math.max(view.order.length, 1) * ROW}px`;
  view.scroller.setAttribute("aria-rowcount", String(view.order.length + 1));
  if (view.active && view.active.row >= view.order.length) view.active = null;
}

// What has no value comes last, either way.
function comparison({ texts, values, colours }, down) {
  const sign = down ? -1 : 1;
  if (!values) return (one, other) => sign * alphabetical(texts[one], texts[other]);
  const size = colours.length > 1 ? Math.abs : (value) => value;
  return (one, other) => {
    const [a, b] = [values[one], values[other]];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return sign * (size(a) - size(b));
  };
}

// Amounts: the largest first, then the smallest, then as it was; texts the other way round.
function sort(view, column) {
  const first = view.data.columns[column].values !== null;
  const { sorted } = view;
  if (sorted?.column !== column) view.sorted = { column, down: first };
  else if (sorted.down === first) view.sorted = { column, down: !first };
  else view.sorted = null;
  markSorted(view);
  arrange(view);
  view.scroller.scrollTop = 0;
  draw(view);
}

function markSorted({ head, sorted }) {
  for (const cell of head.children) {
    const own = sorted?.column === Number(cell.dataset.column);
    cell.setAttribute("aria-sort", own ? (sorted.down ? "descending" : "ascending") : "none");
    cell.querySelector(".arrow").textContent = own ? (sorted.down ? "▼" : "▲") : "";
  }
}

// --- keyboard: from cell to cell; the headings are above the first row ---

function onKey(view, event) {
  const { data, order, active } = view;
  const last = order.length - 1;
  // From what is chosen, or the top.
  const at = active ?? { row: Math.min(Math.max(order.indexOf(view.chosen), 0), last), column: 0 };
  const by = { ArrowDown: 1, ArrowUp: -1, PageDown: PAGE, PageUp: -PAGE }[event.key];
  const beside = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (by) view.active = active ? { ...at, row: Math.min(Math.max(at.row + by, -1), last) } : at;
  else if (beside) view.active = { ...at, column: Math.min(Math.max(at.column + (active ? beside : 0), 0), data.columns.length - 1) };
  else if (event.key === "Home") view.active = { ...at, row: Math.min(0, last) };
  else if (event.key === "End") view.active = { ...at, row: last };
  else if ((event.key === "Enter" || event.key === " ") && active) {
    if (active.row < 0) sort(view, active.column);
    else choose(view, order[active.row]);
  } else return;
  event.preventDefault();
  reveal(view, view.active.row, view.active.column);
  draw(view);
}

function choose(view, place) {
  if (!view.data.choosable || place === view.chosen) return;
  view.chosen = place;
  draw(view);
  view.send("row", [view.data.of, place]);
}

// Scrolls as far as it takes; sideways for a cell alone.
function reveal({ scroller, head, data }, row, column) {
  const height = scroller.clientHeight - data.header;
  const top = row * ROW;
  if (row >= 0 && top < scroller.scrollTop) scroller.scrollTop = top;
  if (row >= 0 && top + ROW > scroller.scrollTop + height) scroller.scrollTop = top + ROW - height;
  const cell = head.children[column];
  if (!cell) return;
  if (cell.offsetLeft < scroller.scrollLeft) scroller.scrollLeft = cell.offsetLeft;
  const right = cell.offsetLeft + cell.offsetWidth;
  if (right > scroller.scrollLeft + scroller.clientWidth) scroller.scrollLeft = right - scroller.clientWidth;
}

// --- copying: all rows that the search leaves, in their order, for a spreadsheet ---

function written({ data, order }) {
  const heads = data.columns.map(({ heading, unit }) => cellOf(unit?.trim() ? `${heading} (${unit.trim()})` : heading));
  const rows = order.map((place) =>
    data.columns.map(({ texts, values, hints }) => (values ? values[place] ?? "" : cellOf(hints?.[place] ?? texts[place]))),
  );
  return [heads, ...rows].map((row) => row.join("\t")).join("\n");
}

// A name from a trace must not become a formula, or further cells.
function cellOf(text) {
  return text.replace(/\s+/g, " ").trim().replace(/^(?=[=+\-@'])/, "'");
}

// --- drawing ---

function range({ scroller, order }) {
  const begin = Math.max(0, Math.floor(scroller.scrollTop / ROW) - BEYOND);
  return [begin, Math.min(order.length, Math.ceil((scroller.scrollTop + scroller.clientHeight) / ROW) + BEYOND)];
}

function draw(view) {
  const { root, scroller, head, canvas, order, data, active } = view;
  root.classList.toggle("choosable", data.choosable);
  view.range = range(view);
  const [begin, end] = view.range;
  const rows = [];
  for (let row = begin; row < end; row++) rows.push(drawRow(view, row));
  canvas.replaceChildren(...(order.length ? rows : [none(data.rows ? "No row has all of these words." : "No rows.")]));
  for (const cell of head.children) cell.classList.toggle("active", active?.row === -1 && active.column === Number(cell.dataset.column));
  // One that was scrolled out of sight is not there.
  if (active && (active.row < 0 || (active.row >= begin && active.row < end)))
    scroller.setAttribute("aria-activedescendant", idOf(view, active.row, active.column));
  else scroller.removeAttribute("aria-activedescendant");
}

function none(why) {
  const row = element("div", "none");
  row.setAttribute("role", "row");
  const cell = element("div", "note", why);
  cell.setAttribute("role", "gridcell");
  row.append(cell);
  return row;
}

function drawRow(view, at) {
  const { data, order, chosen, active } = view;
  const place = order[at];
  const row = element("div", "row");
  row.setAttribute("role", "row");
  row.setAttribute("aria-rowindex", String(at + 2));
  row.style.top = `${at * ROW}px`;
  row.dataset.place = place;
  if (data.choosable) row.setAttribute("aria-selected", String(place === chosen));
  if (place === chosen) row.classList.add("chosen");
  data.columns.forEach((column, number) => {
    const cell = element("div", `cell ${column.look}`, column.texts[place]);
    cell.setAttribute("role", "gridcell");
    cell.id = idOf(view, at, number);
    cell.title = hint(column, place);
    bar(cell, column, place);
    if (active?.row === at && active.column === number) cell.classList.add("active");
    row.append(cell);
  });
  return row;
}

function idOf({ name }, row, column) {
  return row < 0 ? `table-${name}-head-${column}` : `table-${name}-${row}-${column}`;
}

function hint({ texts, values, unit, hints }, place) {
  const value = values?.[place];
  return unit !== null && typeof value === "number" ? `${value.toLocaleString("en")}${unit}` : hints?.[place] ?? texts[place];
}

function bar(cell, { values, largest, colours }, place) {
  const value = values?.[place];
  if (!colours.length || !value) return;
  const share = Math.min(Math.abs(value) / largest, 1);
  const two = colours.length > 1;
  const [from, to] = !two ? [0, share] : value > 0 ? [0.5, 0.5 + share / 2] : [0.5 - share / 2, 0.5];
  const colour = colours[two && value > 0 ? 1 : 0];
  cell.style.background =
    `linear-gradient(to right, transparent ${100 * from}%, ${colour} ${100 * from}% ${100 * to}%, transparent ${100 * to}%)`;
}
