// What ran when: zoom by wheel, W and S; move by dragging, A and D; a click tells about a launch or copy.

const WHEN = DATA.timeline;
const IN_SIGHT = 12;
const STEP = 0.2; // of what is in sight
const NARROWEST = 200; // ns in sight
const DRAGGED = 4; // pixels from which on a click is none

let look = null; // what is in sight, and chosen: kept from one drawing of the page to the next

function drawTimelineView(root) {
  if (!WHEN.lanes.length) {
    root.append(remark(`No timeline: ${WHEN.absent}.`));
    return;
  }
  look ??= { from: 0, until: 0, chosen: -1, by: "kernel" };
  const view = prepared();
  const told = make("div", { class: "told", role: "status" });
  const sight = make("div", {});
  const tip = make("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const canvas = make("canvas", {
    tabindex: 0,
    role: "application",
    "data-focus": "timeline",
    "aria-label": "Timeline: W and S zoom, A and D move, 0 shows all",
  });
  view.canvas = canvas;
  const buttons = [["Zoom in", () => zoom(0.5)], ["Zoom out", () => zoom(2)], ["All", () => show(0, view.axis.whole)]].map(([text, click]) =>
    make("button", { type: "button", click }, text));
  root.append(
    make("div", { class: "choices" }, choice("Colour by", [["kernel", "Colour by kernel"], ["place", "Colour by GPU"]], look.by, (by) => {
      look.by = by;
      draw();
    }), make("div", { class: "choice" }, ...buttons), make("span", { class: "hint" }, "Wheel, W, S: zoom · drag, A, D: move · Shift and drag: zoom to what is marked · click: about it")),
    make("div", { class: "picture" }, canvas, tip),
    told,
    sight,
    ...aboutTimeline(),
  );
  let frame = 0;
  let rest = 0;

  function redraw() {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => drawTimeline(view));
    clearTimeout(rest);
    rest = setTimeout(() => sight.replaceChildren(inSight(view, pick)), 120);
  }

  function show(from, until) {
    const length = Math.min(Math.max(until - from, NARROWEST), view.axis.whole);
    const middle = (from + until) / 2;
    view.from = Math.min(Math.max(middle - length / 2, 0), view.axis.whole - length);
    view.until = view.from + length;
    Object.assign(look, { from: view.from, until: view.until });
    redraw();
  }

  // Around a place between 0, the left end, and 1.
  function zoom(factor, around = 0.5) {
    const length = view.until - view.from;
    const longer = Math.min(Math.max(length * factor, NARROWEST), view.axis.whole);
    const from = view.from + around * (length - longer);
    show(from, from + longer);
  }

  const move = (share) => show(view.from + share * (view.until - view.from), view.until + share * (view.until - view.from));

  function pick(row) {
    view.chosen = look.chosen = row;
    told.replaceChildren(...(row < 0 ? [] : [aboutEvent(view, row)]));
    redraw();
  }

  function shareAt(event) {
    const box = canvas.getBoundingClientRect();
    const left = leftRoom(box.width);
    return Math.min(Math.max((event.clientX - box.left - left) / (box.width - left), 0), 1);
  }

  function under(event) {
    const box = canvas.getBoundingClientRect();
    const left = leftRoom(box.width);
    if (event.clientX - box.left < left) return -1;
    const pixel = (view.until - view.from) / (box.width - left);
    return view.at(Math.floor((event.clientY - box.top - TOP_ROOM) / LANE_ROOM), view.from + shareAt(event) * (view.until - view.from), pixel);
  }

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(event.deltaX / canvas.clientWidth);
    else zoom(1.0015 ** (event.deltaY * (event.deltaMode === 1 ? 30 : 1)), shareAt(event));
  }, { passive: false });

  const KEYS = {
    w: () => zoom(1 - STEP), ArrowUp: () => zoom(1 - STEP), s: () => zoom(1 / (1 - STEP)), ArrowDown: () => zoom(1 / (1 - STEP)),
    a: () => move(-STEP), ArrowLeft: () => move(-STEP), d: () => move(STEP), ArrowRight: () => move(STEP),
    0: () => show(0, view.axis.whole), Escape: () => pick(-1),
  };
  canvas.addEventListener("keydown", (event) => {
    const act = KEYS[event.key] ?? KEYS[event.key.toLowerCase()];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    const inside = event.clientX - canvas.getBoundingClientRect().left;
    drag = { x: event.clientX, y: event.clientY, inside, share: shareAt(event), from: view.from, until: view.until, moved: false, mark: event.shiftKey };
    tip.hidden = true;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) {
      hover(event);
      return;
    }
    drag.moved ||= Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > DRAGGED;
    if (!drag.moved) return;
    if (drag.mark) {
      view.marked = [drag.inside, drag.inside + event.clientX - drag.x];
      redraw();
    } else {
      const by = (drag.share - shareAt(event)) * (drag.until - drag.from);
      show(drag.from + by, drag.until + by);
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    const done = drag;
    drag = null;
    view.marked = null;
    if (!done) return;
    if (!done.moved) pick(under(event));
    else if (done.mark) {
      const ends = [done.share, shareAt(event)].sort((one, other) => one - other);
      const length = view.until - view.from;
      show(view.from + ends[0] * length, view.from + ends[1] * length);
    }
  });
  canvas.addEventListener("pointercancel", () => {
    drag = view.marked = null;
    redraw();
  });
  canvas.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
  canvas.addEventListener("dblclick", () => show(0, view.axis.whole));

  function hover(event) {
    const row = under(event);
    canvas.classList.toggle("over", row >= 0);
    tip.hidden = row < 0;
    if (row < 0) return;
    tip.textContent = [view.events.names[view.events.name[row]][0], ...aboutLength(row)].join(" · ");
    const box = canvas.getBoundingClientRect();
    tip.style.left = `${Math.min(event.clientX - box.left + 12, Math.max(box.width - 320, 0))}px`;
    tip.style.top = `${event.clientY - box.top + 18}px`;
  }

  new ResizeObserver(redraw).observe(canvas);
  show(look.from, look.until || view.axis.whole);
  if (look.chosen >= 0) pick(look.chosen);
}

// What a launch or copy moved; of a call of NCCL the size of its buffer, which its kernel moves.
function moved(row) {
  const own = WHEN.events.bytes[row];
  if (WHEN.lanes[WHEN.events.lane[row]].moves) return own < 0 ? "unknown" : bytes(own);
  return own < 0 ? NOTHING : `a buffer of ${bytes(own)}`;
}

// What is known of waits, by their events.
const WAITS = new Map((WHEN.waits?.event ?? []).map((row, place) => [
  row,
  Object.fromEntries(Object.entries(WHEN.waits).map(([name, values]) => [name, values[place]])),
]));

// The number of the kernel that a launch or a wait is of.
const kernelOf = (row) => WAITS.get(row)?.kernel ?? WHEN.events.names[WHEN.events.name[row]][2];

// How long it took and what it moved; of a wait how long in all. Of accesses to other memory it is not known how they lie in between.
function aboutLength(row) {
  const took = duration(WHEN.events.length[row]);
  const wait = WAITS.get(row);
  if (WHEN.lanes[WHEN.events.lane[row]].what.startsWith("accesses")) return [`from the first to the last ${took}`];
  if (!wait) return [`ran ${took}`, `bytes: ${moved(row)}`];
  const sums = wait.waits === 1 ? `one wait of ${duration(wait.waited)}` : `${duration(wait.waited)} in ${exact(wait.waits)} waits, all warps added up; the longest ${duration(wait.longest)}`;
  return [sums, `from the first to the last ${took}`];
}

// Times of what is to be drawn, as virtual time.
function prepared() {
  const axis = foldedTime(WHEN.parts);
  const { lane, start, length, name, names } = WHEN.events;
  const number = lane.length;
  const virtual = (times) => Float64Array.from(times, axis.toVirtual);
  const events = { count: number, lane, name, names, from: virtual(start), until: virtual(start.map((time, row) => time + length[row])) };
  const blocks = WHEN.blocks.lane.map((own, row) => ({
    lane: own,
    from: axis.toVirtual(WHEN.blocks.start[row]),
    until: axis.toVirtual(WHEN.blocks.end[row]),
    share: WHEN.blocks.busy[row] / Math.max(WHEN.blocks.end[row] - WHEN.blocks.start[row], 1),
  }));
  const first = lane.reduce((found, own, row) => found.set(own, found.get(own) ?? row), new Map());
  const view = { axis, events, blocks, lanes: WHEN.lanes, traffic: trafficOverTime(axis), from: 0, until: axis.whole, chosen: look.chosen, marked: null };
  view.colour = colours(events);
  view.kept = keeps(events);
  // Of waits, in how much of their time a warp waited at least: how the others lie in it is not known.
  view.share = (row) => {
    const wait = WAITS.get(row);
    return wait && Math.min(wait.longest / Math.max(WHEN.events.length[row], 1), 1);
  };
  // What is nearest to a moment of a lane, not farther from it than some time.
  view.at = (wanted, moment, within) => {
    let best = -1;
    let distance = 3 * within;
    for (let row = first.get(wanted) ?? number; row < number && lane[row] === wanted; row++) {
      const away = Math.max(events.from[row] - moment, moment - events.until[row], 0);
      if (away <= distance) [best, distance] = [row, away];
    }
    return best;
  };
  return view;
}

// A colour for each kernel, of those that ran longest different ones, or for each place. A wait has that of the GPU that
// it is for; what else is no kernel is grey.
function colours({ lane, name, names }) {
  const marks = DATA.colours.marks;
  const ran = new Map();
  name.forEach((own, row) => {
    if (names[own][2] >= -1) ran.set(own, (ran.get(own) ?? 0) + WHEN.events.length[row]);
  });
  const longest = [...ran].sort(([, one], [, other]) => other - one);
  const ofName = new Map(longest.map(([own], place) => [own, marks[place % marks.length]]));
  const places = [...new Set(WHEN.lanes.map((own) => own.place))];
  const ofPlace = (place) => marks[places.indexOf(place) % marks.length] ?? DATA.colours.neutral;
  return (row) => {
    const wait = WAITS.get(row);
    if (wait) return ofPlace(placeName(wait.awaited));
    return look.by === "kernel" ? ofName.get(name[row]) ?? DATA.colours.neutral : ofPlace(WHEN.lanes[lane[row]].place);
  };
}

// Which events the filters leave: launches of kernels that still have traffic where they ran, and copies of the pair.
function keeps({ lane, name, names }) {
  const left = new Set();
  eachRow([], (row) => left.add(`${CELLS.kernel[row]} ${placeName(CELLS.issuer[row])}`));
  const pair = chosenPair() ? pairName(state.first, state.second) : "";
  return (row) => {
    const [whole] = names[name[row]];
    const kernel = kernelOf(row);
    if (state.kernel >= 0 && kernel !== state.kernel) return false;
    if (!chosenPair() && state.line < 0) return true;
    return left.has(`${kernel} ${WHEN.lanes[lane[row]].place}`) || (whole === pair && state.line < 0);
  };
}

function trafficOverTime(axis) {
  const { issuer, owner, start, end, bytes: sizes } = WHEN.traffic;
  const sums = new Map();
  for (let row = 0; row < start.length; row++) {
    if (chosenPair() && state.reading === "issued" && (issuer[row] !== state.first || owner[row] !== state.second)) continue;
    const own = sums.get(start[row]) ?? { begin: start[row], end: end[row], bytes: 0 };
    own.bytes += sizes[row];
    sums.set(start[row], own);
  }
  return [...sums.values()].map((own) => ({ from: axis.toVirtual(own.begin), until: axis.toVirtual(own.end), rate: (1e9 * own.bytes) / (own.end - own.begin) }));
}

function aboutEvent(view, row) {
  const [name] = view.events.names[view.events.name[row]];
  const lane = WHEN.lanes[view.events.lane[row]];
  const [kernel, line] = [kernelOf(row), WAITS.get(row)?.line ?? -1];
  const facts = [lane.place, lane.what, `began at ${moment(WHEN.events.start[row] + WHEN.begin)}`, ...aboutLength(row), `number ${WHEN.events.id[row]}`];
  return make("p", {}, make("b", {}, name), ` · ${facts.join(" · ")} `,
    kernel >= 0 ? make("button", { type: "button", click: () => choose({ kernel }) }, "Only this kernel") : "",
    line >= 0 ? make("button", { type: "button", click: () => choose({ view: "source", line }) }, "Its line") : "");
}

// The longest of what is in sight, for who cannot point at it.
function inSight(view, pick) {
  const { from, until, lane, name, names, count: number } = view.events;
  const seen = [];
  const filtered = anyFilter();
  for (let row = 0; row < number; row++) {
    if (from[row] < view.until && until[row] >= view.from && (!filtered || view.kept(row))) seen.push(row);
  }
  const moving = seen.filter((row) => WHEN.lanes[lane[row]].moves);
  const sum = moving.reduce((all, row) => all + Math.max(WHEN.events.bytes[row], 0), 0);
  const unknown = moving.some((row) => WHEN.events.bytes[row] < 0) ? " as far as it is known" : "";
  const rows = seen.sort((one, other) => WHEN.events.length[other] - WHEN.events.length[one]).slice(0, IN_SIGHT).map((row) => make("tr", {},
    make("td", { class: "text" }, make("button", { type: "button", class: "name", click: () => pick(row) }, names[name[row]][1])),
    make("td", { class: "text" }, WHEN.lanes[lane[row]].place),
    make("td", { class: "text" }, WHEN.lanes[lane[row]].what),
    ...[moment(WHEN.events.start[row] + WHEN.begin), duration(WHEN.events.length[row]), moved(row)].map((text) => make("td", { class: "number" }, text))));
  const alone = `${WHEN.blocks.lane.length ? " there by themselves" : ""}${filtered ? " that the filters leave" : ""}`;
  const caption = `In sight: ${exact(moving.length)} launches and copies${alone}, which moved ${bytes(sum)}${unknown}. The longest of all:`;
  return framed(caption, ["Name", "Place", "What", "Began at", "Ran", "Bytes"], rows, "", ["text", "text", "text", "number", "number", "number"]);
}

function aboutTimeline() {
  const there = WHEN.lanes.reduce((sum, lane) => sum + lane.events, 0);
  const single = WHEN.lanes.reduce((sum, lane) => sum + lane.single, 0);
  const sentences = [...WHEN.about];
  if (single < there) sentences.unshift(`The ${exact(single)} longest launches, copies and calls of ${exact(there)} are there by themselves; grey blocks show how busy a lane was with all of them.`);
  if (WHEN.all_lanes > WHEN.lanes.length) sentences.unshift(`The first ${WHEN.lanes.length} of ${exact(WHEN.all_lanes)} lanes.`);
  if (WHEN.parts.length > 1) sentences.push("Time in which no GPU did anything is folded: a grey stripe stands for each such gap.");
  if (state.kernel >= 0 || state.line >= 0) sentences.push("Filters of kernels and lines do not apply to the traffic over time.");
  if (chosenPair() && state.reading === "flow") sentences.push("The filter of pairs applies to the traffic over time only as it was issued.");
  return sentences.map(remark);
}
