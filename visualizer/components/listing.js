// A listing of source lines: draws only the rows in sight, and asks for those that it was not sent.

const ROW = 22;
const BEYOND = 12; // rows drawn above and below what is in sight
const PATIENCE = 150; // ms of rest before the app is told


export default function ({ parentElement, data, setTriggerValue }) {
  const view = viewOf(parentElement, build);
  const { root } = view;
  const before = view.data;
  view.data = data;
  view.send = setTriggerValue;
  view.chosen = data.chosen;
  view.canvas.style.height = `${data.total * ROW}px`;
  const widest = Math.max(0, ...data.lines.map(length));
  view.canvas.style.setProperty("--code", `${widest + 2}ch`);
  // All listings are equally high, so that nothing moves from one file to another; those without text need less.
  root.style.setProperty("--rows", data.numbers.length ? data.total : 1000);
  drawHead(view);
  drawRuler(view);
  if (!before || before.file !== data.file || before.total !== data.total) {
    view.scroller.scrollLeft = 0;
    view.scroller.scrollTop = Math.max(0, (rowOf(view, data.chosen) - 6) * ROW);
  } else if (before.chosen !== data.chosen) {
    reveal(view, rowOf(view, data.chosen));
  }
  draw(view);
}

function build(root) {
  root.classList.add("listing");
  const head = element("div", "head");
  const scroller = element("div", "scroller");
  scroller.tabIndex = 0;
  scroller.setAttribute("role", "listbox");
  scroller.setAttribute("aria-label", "Source lines: arrow keys go to the next line with traffic");
  const canvas = element("div", "canvas");
  scroller.append(canvas);
  const ruler = element("div", "ruler");
  ruler.setAttribute("aria-hidden", "true");
  const body = element("div", "body");
  body.append(scroller, ruler);
  root.replaceChildren(head, body);
  const view = { root, head, scroller, canvas, ruler, data: null, send: null, chosen: 0, telling: "", timer: 0 };
  scroller.addEventListener("scroll", () => {
    head.scrollLeft = scroller.scrollLeft;
    draw(view);
  });
  canvas.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    // Who marks text does not want another line.
    if (row?.dataset.line && !isMarked(root)) choose(view, Number(row.dataset.line), 0);
  });
  scroller.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    const { hot, hotRows } = view.data;
    const at = rowOf(view, view.chosen);
    const next = event.key === "ArrowDown" ? hotRows.findIndex((row) => row > at) : hotRows.findLastIndex((row) => row < at);
    if (next < 0) return;
    reveal(view, hotRows[next]);
    choose(view, hot[next], PATIENCE);
  });
  ruler.addEventListener("click", (event) => {
    const share = event.offsetY / ruler.clientHeight;
    scroller.scrollTop = share * scroller.scrollHeight - scroller.clientHeight / 2;
  });
  new ResizeObserver(() => view.data && draw(view)).observe(scroller);
  return view;
}

function choose(view, line, wait) {
  if (line === view.chosen) return;
  view.chosen = line;
  draw(view);
  tell(view, "line", line, wait);
}

// One thing at a time. A line goes before a place to show: what is around it comes with the answer.
function tell(view, name, value, wait) {
  if (name === "top" && view.telling === "line") return;
  clearTimeout(view.timer);
  view.telling = name;
  view.timer = setTimeout(() => {
    view.telling = "";
    view.send(name, value);
  }, wait);
}

function rowOf(view, line) {
  const { hot, hotRows, numbers } = view.data;
  const place = hot.indexOf(line);
  return place >= 0 ? hotRows[place] : numbers.length ? 0 : line - 1;
}

function reveal(view, row) {
  const { scroller } = view;
  const top = row * ROW;
  if (top < scroller.scrollTop || top + 2 * ROW > scroller.scrollTop + scroller.clientHeight) {
    scroller.scrollTop = Math.max(0, top - scroller.clientHeight / 3);
  }
}

function draw(view) {
  const { scroller, canvas, data } = view;
  const begin = Math.max(0, Math.floor(scroller.scrollTop / ROW) - BEYOND);
  const end = Math.min(data.total, Math.ceil((scroller.scrollTop + scroller.clientHeight) / ROW) + BEYOND);
  const rows = [];
  for (let place = begin; place < end; place++) rows.push(drawRow(view, place));
  canvas.replaceChildren(...rows);
  const chosen = canvas.querySelector(".chosen");
  if (chosen) scroller.setAttribute("aria-activedescendant", chosen.id);
  else scroller.removeAttribute("aria-activedescendant");
  const sent = Math.max(data.lines.length, data.numbers.length);
  if (end > begin && (begin < data.first || end > data.first + sent)) tell(view, "top", begin, PATIENCE);
}

function drawRow(view, place) {
  const { data } = view;
  const at = place - data.first;
  const sent = at >= 0 && at < Math.max(data.lines.length, data.numbers.length);
  const line = !sent ? 0 : data.numbers.length ? data.numbers[at] : place + 1;
  const row = element("div", "row");
  row.setAttribute("role", "option");
  row.style.top = `${place * ROW}px`;
  if (!sent) {
    row.append(element("span", "code pending", "…"));
    return row;
  }
  row.id = `line-${line}`;
  row.dataset.line = line;
  row.setAttribute("aria-selected", String(line === view.chosen));
  if (line === view.chosen) row.classList.add("chosen");
  const cells = data.traffic[line];
  if (cells) row.classList.add("hot");
  for (let column = 0; column < data.amounts.length; column++) {
    const [share, text, exact] = cells?.[column] ?? [0, "", ""];
    const cell = element("span", "cell", text);
    if (share) cell.style.setProperty("--share", `${100 * share}%`);
    if (exact) cell.title = exact;
    row.append(cell);
  }
  row.append(element("span", "number", String(line)));
  const code = element("span", "code");
  const runs = data.lines[at] ?? [];
  for (let part = 0; part < runs.length; part += 2) code.append(element("span", runs[part], runs[part + 1]));
  row.append(code);
  return row;
}

function drawHead({ root, head, data }) {
  root.style.setProperty("--cells", data.amounts.length);
  const amounts = data.amounts.map((text) => element("span", "cell", text));
  head.replaceChildren(...amounts, element("span", "number", "Line"), element("span", "code", "Code"));
}

function drawRuler({ ruler, data }) {
  // A short file ends above the foot of the ruler.
  const rows = Math.max(data.total, ruler.clientHeight / ROW);
  const marks = data.hotRows.map((row, place) => {
    const mark = element("div", "mark");
    mark.style.top = `${(100 * row) / rows}%`;
    mark.style.opacity = String(0.35 + 0.65 * data.heat[place]);
    return mark;
  });
  ruler.replaceChildren(...marks);
}

function length(runs) {
  let sum = 0;
  for (let part = 1; part < runs.length; part += 2) sum += runs[part].length;
  return sum;
}
