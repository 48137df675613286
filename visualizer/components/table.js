// A table: headings that sort, a search, rows to choose. Draws only the rows in sight; what is sorted by and searched for
// stays in the browser.

const ROW = 26;
const BEYOND = 10; // rows drawn above and below what is in sight
const PAGE = 10;

const kept = new WeakMap();
const alphabetical = new Intl.Collator("en", { numeric: true }).compare;
let made = 0;

export default function ({ parentElement, data, setTriggerValue }) {
  const root = parentElement.querySelector(".root");
  const view = kept.get(root) ?? build(root);
  kept.set(root, view);
  const before = view.data;
  view.data = data;
  view.send = setTriggerValue;
  view.chosen = data.chosen;
  const names = ({ columns }) => columns.map(({ heading }) => heading).join("\n");
  if (!before || names(before) !== names(data)) {
    Object.assign(view, { sorted: null, active: null });
    view.search.value = "";
    setUp(view);
  }
  view.search.hidden = !data.search;
  root.style.height = `${data.height}px`;
  if (before?.of !== data.of) arrange(view);
  // No wider than its columns, and what scrolls it.
  root.style.setProperty("--edges", `${view.scroller.offsetWidth - view.scroller.clientWidth}px`);
  if (before?.chosen !== data.chosen || before?.of !== data.of) reveal(view, view.order.indexOf(data.chosen));
  draw(view);
}

function build(root) {
  root.classList.add("table");
  const search = element("input", "search");
  search.type = "search";
  search.placeholder = "Search rows";
  search.setAttribute("aria-label", "Search rows");
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
  const view = { root, search, scroller, head, canvas, order: [], data: null, name: ++made };
  search.addEventListener("input", () => {
    arrange(view);
    scroller.scrollTop = 0;
    draw(view);
  });
  head.addEventListener("click", (event) => {
    const cell = event.target.closest(".cell");
    if (cell) sort(view, Number(cell.dataset.column));
  });
  canvas.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    // Who marks text does not want another row.
    const selection = root.getRootNode().getSelection?.() ?? document.getSelection();
    if (row && (!selection || selection.isCollapsed)) choose(view, Number(row.dataset.place));
  });
  scroller.addEventListener("scroll", () => draw(view));
  scroller.addEventListener("keydown", (event) => onKey(view, event));
  scroller.addEventListener("blur", () => {
    view.active = null;
    draw(view);
  });
  new ResizeObserver(() => view.data && draw(view)).observe(scroller);
  return view;
}

// What the columns are decides.
function setUp(view) {
  const { root, scroller, head, data } = view;
  const sum = (name) => data.columns.reduce((all, column) => all + column[name], 0);
  root.style.setProperty("--least", `${sum("least")}px`);
  root.style.setProperty("--most", `${sum("most")}px`);
  root.style.setProperty("--head", `${data.header}px`);
  // Every row has its room divided alike, since no width follows from what is in it.
  root.style.setProperty("--columns", data.columns.map(({ least, most }) => `minmax(${least}px, ${most}px)`).join(" "));
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
      cell.append(element("span", "heading", column.heading), arrow);
      return cell;
    }),
  );
  markSorted(view);
}

// --- which rows, in which order ---

function arrange(view) {
  const { data, sorted, search } = view;
  const words = data.search ? search.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
  const holds = (place) => {
    const text = data.columns.map(({ texts, hints }) => `${texts[place]} ${hints?.[place] ?? ""}`).join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  };
  view.order = Array.from({ length: data.rows }, (_, place) => place).filter((place) => !words.length || holds(place));
  if (sorted) view.order.sort(comparison(data.columns[sorted.column], sorted.down));
  view.canvas.style.height = `${view.order.length * ROW}px`;
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
  const at = active ?? { row: -2, column: 0 };
  const last = order.length - 1;
  const by = { ArrowDown: 1, ArrowUp: -1, PageDown: PAGE, PageUp: -PAGE }[event.key];
  const beside = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (by) view.active = { ...at, row: active ? Math.min(Math.max(at.row + by, -1), last) : Math.min(0, last) };
  else if (beside) view.active = { row: Math.max(at.row, -1), column: Math.min(Math.max(at.column + beside, 0), data.columns.length - 1) };
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

function reveal({ scroller, head, data }, row, column = 0) {
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

// --- drawing ---

function draw(view) {
  const { root, scroller, head, canvas, order, data, active } = view;
  root.classList.toggle("choosable", data.choosable);
  const begin = Math.max(0, Math.floor(scroller.scrollTop / ROW) - BEYOND);
  const end = Math.min(order.length, Math.ceil((scroller.scrollTop + scroller.clientHeight) / ROW) + BEYOND);
  const rows = [];
  for (let row = begin; row < end; row++) rows.push(drawRow(view, row));
  canvas.replaceChildren(...(rows.length ? rows : [element("div", "note", "No row has all of these words.")]));
  for (const cell of head.children) cell.classList.toggle("active", active?.row === -1 && active.column === Number(cell.dataset.column));
  if (active) scroller.setAttribute("aria-activedescendant", idOf(view, active.row, active.column));
  else scroller.removeAttribute("aria-activedescendant");
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
