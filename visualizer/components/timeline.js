// What ran when, in lanes, under the traffic of that time: drawn on two canvases, looked at with wheel, mouse and keys.
//
// What is looked at is at once scaled from what is there; after a moment of rest the app is asked for that part of the
// time, and sends what is seen of it and no more. Until then the widest answer stands in for what lies beside.

const REST = 120; // ms until the app is asked
const NARROWEST = 10; // ns
const CLICK = 4; // px that a click may move
const PASS = 300; // ms after which a wheel that cannot zoom out scrolls the page
const PALM = 0.3; // of what is seen, that a key moves


export default function ({ parentElement, data, setTriggerValue }) {
  const view = viewOf(parentElement, build);
  const other = view.data?.of !== data.of;
  const replied = data.asked >= view.asked;
  view.data = data;
  view.send = setTriggerValue;
  view.time = foldedTime(data.folds);
  data.folded = data.shown.map(view.time.folded);
  view.whole = data.whole.map(view.time.folded);
  const widest = !view.wide || other || data.folded[1] - data.folded[0] >= view.wide.folded[1] - view.wide.folded[0];
  if (widest) view.wide = data;
  if (other || replied) {
    // The app's word counts, unless something was done since it was asked.
    view.asked = data.asked;
    [view.from, view.to] = data.folded;
    view.marked = null;
  }
  view.focus.lane = Math.min(view.focus.lane, Math.max(data.lanes.length - 1, 0));
  view.headHeight = AXIS + (data.traffic ? TRAFFIC : 0);
  view.body.style.height = `${data.lanes.length * ROW}px`;
  // Half of a lane says that there are more.
  view.scroller.style.maxHeight = `${(data.rows + 0.5) * ROW}px`;
  if (other || data.reveal !== view.revealed) reveal(view, data.reveal);
  view.legend.replaceChildren(...(data.traffic?.series ?? []).map(({ name, colour }) => key(name, colour)));
  showSearch(view);
  draw(view);
}

function build(root) {
  root.classList.add("timeline");
  const bar = element("div", "bar");
  const search = searchField("Search names ( / )");
  search.setAttribute("aria-label", "Search names in the timeline: Enter goes to the next, Shift+Enter to the one before");
  const before = button("‹", "The one before");
  const next = button("›", "The next one");
  const result = element("span", "result");
  result.setAttribute("role", "status");
  const hint = element("span", "hint", "Wheel or W S: zoom · drag or A D: move · Shift+drag: select · click: what it is");
  bar.append(search, before, next, result, hint);
  const stage = element("div", "stage");
  stage.tabIndex = 0;
  stage.setAttribute("role", "application");
  stage.setAttribute(
    "aria-label",
    "Timeline. W and S zoom, A and D move, 0 shows all, arrow keys go from bar to bar, Enter chooses one, F looks closer "
      + "at it, Space selects a lane, Escape ends a selection, slash searches.",
  );
  const head = element("canvas", "head");
  const scroller = element("div", "lanes");
  // The stage scrolls it by keys.
  scroller.tabIndex = -1;
  const body = element("div", "body");
  const canvas = element("canvas", "sticky");
  body.append(canvas);
  scroller.append(body);
  const tip = element("div", "tip");
  tip.setAttribute("aria-hidden", "true");
  stage.append(head, scroller, tip);
  const legend = element("div", "legend");
  const told = element("div", "told");
  told.setAttribute("role", "status");
  root.replaceChildren(bar, stage, legend, told);
  const view = {
    root, search, result, before, next, stage, head, scroller, body, canvas, tip, legend, told,
    data: null, wide: null, send: null, time: null, from: 0, to: 1, whole: [0, 1], asked: 0, timer: 0, frame: 0,
    marked: null, drag: null, focus: { lane: 0, bar: -1 }, focused: false, revealed: "", zoomed: 0,
    width: 0, gutter: 0, headHeight: AXIS, bodyHeight: 0,
  };
  listen(view);
  new ResizeObserver(() => view.data && draw(view)).observe(stage);
  return view;
}

function listen(view) {
  const { stage, scroller, search } = view;
  stage.addEventListener("wheel", (event) => onWheel(view, event), { passive: false });
  stage.addEventListener("pointerdown", (event) => onDown(view, event));
  stage.addEventListener("pointermove", (event) => onMove(view, event));
  stage.addEventListener("pointerup", (event) => onUp(view, event));
  stage.addEventListener("pointercancel", () => { view.drag = null; });
  stage.addEventListener("pointerleave", () => { view.tip.textContent = ""; });
  stage.addEventListener("keydown", (event) => onKey(view, event));
  for (const name of ["focus", "blur"]) {
    stage.addEventListener(name, () => {
      view.focused = name === "focus" && stage.matches(":focus-visible");
      draw(view);
    });
  }
  scroller.addEventListener("scroll", () => {
    draw(view);
    const { data } = view;
    const last = Math.min(data.lanes.length, Math.ceil((scroller.scrollTop + scroller.clientHeight) / ROW));
    if (Math.floor(scroller.scrollTop / ROW) < data.sent[0] || last > data.sent[1]) ask(view);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") find(view, event.shiftKey ? -1 : 1);
    if (event.key === "Escape") {
      search.value = "";
      find(view, 1);
      stage.focus();
    }
  });
  search.addEventListener("input", () => search.value === "" && find(view, 1));
  view.before.addEventListener("click", () => find(view, -1));
  view.next.addEventListener("click", () => find(view, 1));
}

// --- what is looked at ---

function look(view, from, to) {
  const [first, last] = view.whole;
  const length = Math.min(Math.max(to - from, NARROWEST), last - first);
  view.from = Math.min(Math.max(from + (to - from - length) / 2, first), last - length);
  view.to = view.from + length;
  draw(view);
  ask(view);
}

function zoom(view, factor, x) {
  const at = momentOf(view, x);
  look(view, at + (view.from - at) * factor, at + (view.to - at) * factor);
}

function move(view, share) {
  const by = (view.to - view.from) * share;
  const [first, last] = view.whole;
  const least = first - view.from;
  const most = last - view.to;
  const fitting = Math.min(Math.max(by, least), most);
  look(view, view.from + fitting, view.to + fitting);
}

function ask(view) {
  view.asked += 1;
  view.stage.dataset.settled = "false";
  clearTimeout(view.timer);
  view.timer = setTimeout(() => {
    const shown = [Math.round(view.time.start(view.from)), Math.round(view.time.end(view.to))];
    // At the ends a fold belongs to what is looked at.
    if (view.from <= view.whole[0]) shown[0] = view.data.whole[0];
    if (view.to >= view.whole[1]) shown[1] = view.data.whole[1];
    view.send("look", { shown, top: Math.floor(view.scroller.scrollTop / ROW), asked: view.asked });
  }, REST);
}

function reveal(view, lane) {
  view.revealed = lane;
  if (lane === null || lane === undefined) return;
  const { scroller } = view;
  const y = Number(String(lane).split(":")[0]) * ROW;
  if (y < scroller.scrollTop || y + ROW > scroller.scrollTop + scroller.clientHeight) {
    scroller.scrollTop = Math.max(0, y - scroller.clientHeight / 2);
  }
}

// --- drawing ---

function draw(view) {
  cancelAnimationFrame(view.frame);
  view.frame = requestAnimationFrame(() => {
    view.width = view.scroller.clientWidth;
    if (!view.data || !view.width) return;
    view.gutter = gutterOf(view.width);
    view.bodyHeight = view.scroller.clientHeight;
    const colours = lookOf(view.root);
    drawHead(view, prepare(view.head, view.width, view.headHeight, colours), colours);
    drawLanes(view, prepare(view.canvas, view.width, view.bodyHeight, colours), colours);
    if (view.focused) drawFocus(view, view.canvas.getContext("2d"), colours);
    // A canvas says nothing of what is on it: what is looked at, where, and whether it is all that there is to see.
    Object.assign(view.stage.dataset, {
      shown: `${Math.round(view.from)} ${Math.round(view.to)}`,
      gutter: view.gutter,
      bars: view.data.bars.lane.length,
      settled: view.data.asked >= view.asked,
    });
  });
}

function drawFocus(view, pen, colours) {
  const bars = view.data.bars;
  eachBar(view, bars, view.scroller.scrollTop, (left, size, y, place) => {
    if (place === view.focus.bar) outline(pen, left - 1, y - 1, size + 2, colours.accent, 2);
  });
}

function key(name, colour) {
  const one = element("span", "key");
  const swatch = element("span", "swatch");
  swatch.style.background = colour;
  one.append(swatch, element("span", "", name));
  return one;
}

// --- mouse ---

function placeOf(view, event) {
  const box = view.stage.getBoundingClientRect();
  const x = event.clientX - box.left - view.stage.clientLeft;
  const y = event.clientY - view.scroller.getBoundingClientRect().top;
  const lane = y < 0 ? -1 : Math.floor((y + view.scroller.scrollTop) / ROW);
  return { x, y, lane: Math.min(lane, view.data.lanes.length - 1), height: box.height, top: event.clientY - box.top };
}

function barAt(view, { x, y }) {
  let found = -1;
  let least = 3; // px beside a bar that is hard to hit
  eachBar(view, view.data.bars, view.scroller.scrollTop, (left, size, top, place) => {
    if (y < top || y >= top + ROW) return;
    const beside = Math.max(left - x, x - left - size, 0);
    if (beside < least || (beside === 0 && least === 0)) [found, least] = [place, beside];
  });
  return found;
}

function onWheel(view, event) {
  const { x } = placeOf(view, event);
  const by = event.deltaMode ? 30 : 1;
  const aside = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
  const all = view.from <= view.whole[0] && view.to >= view.whole[1];
  if (!aside && event.deltaY > 0 && all && event.timeStamp - view.zoomed > PASS) return;
  event.preventDefault();
  view.zoomed = event.timeStamp;
  if (Math.abs(aside) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
    move(view, (aside * by) / (view.width - view.gutter));
  } else {
    zoom(view, Math.exp(Math.min(Math.max(event.deltaY * by, -240), 240) * 0.0022), Math.max(x, view.gutter));
  }
}

function onDown(view, event) {
  if (event.button !== 0 || !view.data) return;
  const at = placeOf(view, event);
  if (event.target === view.scroller && event.offsetX >= view.scroller.clientWidth) return;
  view.drag = { ...at, from: view.from, to: view.to, begun: momentOf(view, at.x), moved: false, selects: event.shiftKey };
  view.drag.scroll = view.scroller.scrollTop;
  view.stage.setPointerCapture(event.pointerId);
}

function onMove(view, event) {
  if (!view.data) return;
  const at = placeOf(view, event);
  const { drag } = view;
  if (!drag) return hover(view, at);
  if (Math.abs(at.x - drag.x) + Math.abs(at.top - drag.top) >= CLICK) drag.moved = true;
  if (!drag.moved) return undefined;
  view.tip.textContent = "";
  if (drag.selects) {
    view.marked = spanOf(view, drag, at);
    draw(view);
  } else if (drag.x >= view.gutter) {
    const by = ((drag.x - at.x) / (view.width - view.gutter)) * (drag.to - drag.from);
    const fitting = Math.min(Math.max(by, view.whole[0] - drag.from), view.whole[1] - drag.to);
    view.scroller.scrollTop = drag.scroll + drag.top - at.top;
    look(view, drag.from + fitting, drag.to + fitting);
  }
  return undefined;
}

// The part of time and the lanes between two places; from the traffic on down, all lanes.
function spanOf(view, drag, at) {
  const [left, right] = [drag.x, at.x].map((x) => Math.min(Math.max(x, view.gutter), view.width)).sort((a, b) => a - b);
  const first = view.time.start(momentOf(view, left));
  const last = Math.max(view.time.end(momentOf(view, right)), first + 1);
  const lanes = drag.lane < 0 ? [0, view.data.lanes.length - 1] : [drag.lane, Math.max(at.lane, 0)].sort((a, b) => a - b);
  return [Math.round(first), Math.round(last), ...lanes];
}

function onUp(view, event) {
  const { drag } = view;
  view.drag = null;
  if (!drag) return;
  const at = placeOf(view, event);
  if (drag.moved) {
    if (drag.selects && view.marked) select(view, view.marked);
    return;
  }
  if (at.lane < 0) return;
  if (at.x < view.gutter) selectLane(view, at.lane);
  else choose(view, barAt(view, at));
}

function hover(view, at) {
  const lines = at.x < view.gutter ? labelTip(view, at) : at.lane < 0 ? timeTip(view, at) : barTip(view, barAt(view, at)) ?? foldTip(view, at);
  view.tip.replaceChildren(...(lines ?? []).map((line, place) => element("div", place ? "" : "first", line)));
  const left = at.x > view.width * 0.6;
  view.tip.style.left = left ? "" : `${at.x + 14}px`;
  view.tip.style.right = left ? `${view.width - at.x + 14}px` : "";
  view.tip.style.top = `${at.top + 16}px`;
  view.stage.style.cursor = at.x < view.gutter || (at.lane >= 0 && barAt(view, at) >= 0) ? "pointer" : "default";
}

function labelTip(view, { lane }) {
  const own = view.data.lanes[lane];
  return own && [`${own.place}: ${own.label}`, own.about, "Click: select what is seen of it"].filter(Boolean);
}

function barTip(view, place) {
  if (place < 0) return null;
  const { data } = view;
  const bar = barOf(data.bars, place);
  const lane = data.lanes[bar.lane];
  const where = `${lane.place}, ${lane.label}`;
  const at = moment(bar.start, markStep(view));
  if (bar.count === 1 && lane.faint) {
    return [`waited ${data.names[bar.name]}`, bar.about, `from the first to the last: ${duration(bar.length)}, ${at}`, where];
  }
  if (bar.count === 1) return [data.names[bar.name] || where, `${duration(bar.length)}, ${at}`, where];
  const share = Math.round(bar.busy * 100);
  return [
    `${bar.count.toLocaleString("en")} in ${duration(bar.length)}, busy ${share} %`,
    `the longest: ${data.names[bar.name]}`, at, where, "Click: look closer",
  ];
}

function foldTip(view, { x }) {
  const place = view.time.at.findIndex((at) => Math.abs(xOf(view, at) - x) <= FOLD / 2 + 1);
  if (place < 0) return null;
  const [start, end] = view.time.folds[place];
  return [`${duration(end - start)} in which no GPU did anything`, `${moment(start, markStep(view))}; folded`];
}

function timeTip(view, at) {
  const folded = foldTip(view, at);
  if (folded) return folded;
  const here = momentOf(view, at.x);
  const lines = [moment(view.time.start(here), markStep(view))];
  const { traffic, folded: [first] } = view.data;
  for (const { name, bins, said } of traffic?.series ?? []) {
    const place = bins.indexOf(Math.floor((here - first) / traffic.width));
    if (place >= 0) lines.push(`${name}: ${said[place]}`);
  }
  return lines;
}

// --- keys ---

function onKey(view, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !view.data) return;
  const { focus } = view;
  const middle = (view.gutter + view.width) / 2;
  const acts = {
    w: () => zoom(view, 0.6, middle),
    s: () => zoom(view, 1 / 0.6, middle),
    a: () => move(view, -PALM),
    d: () => move(view, PALM),
    0: () => look(view, ...view.whole),
    ArrowLeft: () => step(view, -1),
    ArrowRight: () => step(view, 1),
    ArrowUp: () => goTo(view, focus.lane - 1),
    ArrowDown: () => goTo(view, focus.lane + 1),
    Enter: () => choose(view, focus.bar),
    f: () => focus.bar >= 0 && lookAtBar(view, focus.bar),
    " ": () => selectLane(view, focus.lane),
    Escape: () => select(view, null),
    "/": () => view.search.focus(),
  };
  const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!act) return;
  event.preventDefault();
  view.focused = true;
  act();
}

// To a bar beside that of the same lane, or to the first that is seen there.
function step(view, by) {
  const { bars } = view.data;
  const own = [];
  bars.lane.forEach((lane, place) => lane === view.focus.lane && own.push(place));
  const at = own.indexOf(view.focus.bar);
  view.focus.bar = own[at < 0 ? (by > 0 ? 0 : own.length - 1) : Math.min(Math.max(at + by, 0), own.length - 1)] ?? -1;
  tell(view);
}

function goTo(view, lane) {
  view.focus = { lane: Math.min(Math.max(lane, 0), view.data.lanes.length - 1), bar: -1 };
  reveal(view, view.focus.lane);
  tell(view);
}

function tell(view) {
  const { place, label } = view.data.lanes[view.focus.lane];
  view.told.textContent = (barTip(view, view.focus.bar) ?? [`${place}, ${label}`]).join(", ");
  draw(view);
}

// --- what is told to the app ---

function choose(view, place) {
  if (place < 0) return;
  const { lane, id, count } = barOf(view.data.bars, place);
  view.focus = { lane, bar: place };
  if (count > 1) lookAtBar(view, place);
  else view.send("choose", `${view.data.lanes[lane].what}:${id}`);
}

function lookAtBar(view, place) {
  const { start, length } = barOf(view.data.bars, place);
  const margin = Math.max(length / 20, 1);
  look(view, view.time.folded(start) - margin, view.time.folded(start + length) + margin);
}

function selectLane(view, lane) {
  select(view, [Math.round(view.time.start(view.from)), Math.round(view.time.end(view.to)), lane, lane]);
}

function select(view, span) {
  view.marked = span;
  view.send("select", span ?? []);
  draw(view);
}

function find(view, by) {
  view.send("search", { text: view.search.value.trim(), by });
}

function showSearch(view) {
  const { search } = view.data;
  if (view.search.value.trim() !== search.text && view.root.getRootNode().activeElement !== view.search) {
    view.search.value = search.text;
  }
  view.result.textContent = !search.text ? "" : search.total
    ? `${search.number.toLocaleString("en")} of ${search.total.toLocaleString("en")}`
    : "Nothing is called so.";
  for (const one of [view.before, view.next]) one.hidden = search.total < 2;
}

function button(text, label) {
  const made = element("button", "step", text);
  made.type = "button";
  made.setAttribute("aria-label", label);
  made.hidden = true;
  return made;
}
