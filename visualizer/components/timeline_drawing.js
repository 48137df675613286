// What is seen: the axis and the traffic, which stay, and the lanes below, which scroll.

const ROW = 22;
const AXIS = 24;
const TRAFFIC = 104;
const FOLD = 8; // px
const MARK = 60; // px, from one mark of the axis to the next at least
const SLIVER = 1.5; // px, of what takes no time
const LETTER = 6.2; // px, of a letter in a bar
const [WEAKEST, STRONGEST] = [0.12, 0.36]; // of waits: their text can be read on each colour

// How far the lanes begin from the left, by the width of all.
function gutterOf(width) {
  return Math.round(Math.min(210, Math.max(150, width * 0.2)));
}

function lookOf(root) {
  const style = getComputedStyle(root);
  const ground = style.getPropertyValue("--st-background-color").trim() || "#ffffff";
  return {
    text: style.color,
    ground,
    raised: style.getPropertyValue("--st-secondary-background-color").trim() || "#f0f2f6",
    line: style.getPropertyValue("--line").trim(),
    faint: style.getPropertyValue("--faint").trim(),
    accent: style.getPropertyValue("--accent").trim(),
    font: style.fontFamily,
  };
}

function prepare(canvas, width, height, { font }) {
  const scale = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = `12px ${font}`;
  pen.textBaseline = "middle";
  return pen;
}

function drawHead(view, pen, colours) {
  const { gutter } = view;
  const { unit, marks } = marksOf(view, pen);
  pen.fillStyle = colours.faint;
  pen.textAlign = "right";
  pen.fillText(`${unit} after the start`, gutter - 8, AXIS / 2, gutter - 12);
  pen.textAlign = "center";
  for (const { x, text } of marks) {
    pen.fillStyle = colours.line;
    pen.fillRect(Math.round(x), AXIS - 5, 1, view.headHeight - AXIS + 5);
    if (!text) continue;
    pen.fillStyle = colours.text;
    pen.fillText(text, x, AXIS / 2);
  }
  drawFolds(view, pen, colours, AXIS, view.headHeight, drawRoom);
  if (view.data.traffic) drawTraffic(view, pen, colours);
  drawFolds(view, pen, colours, AXIS, view.headHeight, drawSeam);
  drawSpan(view, pen, colours, 0, view.headHeight);
}

// Where the axis has marks: the same step in all parts between folds, a smaller one in those that are shorter; words
// only where there is room.
function marksOf(view, pen) {
  const { from, to, time, gutter, width } = view;
  const step = markStep(view);
  const unit = unitOf(step);
  const marks = [];
  let free = gutter;
  const edges = [from, ...time.at.filter((at) => at > from && at < to), to];
  for (let part = 0; part + 1 < edges.length; part++) {
    const first = time.start(edges[part]);
    const last = time.end(edges[part + 1]);
    const own = Math.min(step, stepOf((last - first) / 3));
    const digits = unitOf(own, unit.size).digits;
    for (let at = Math.ceil(first / own) * own; at <= last; at += own) {
      const x = xOf(view, time.folded(at));
      const text = written(at, { size: unit.size, digits });
      const half = pen.measureText(text).width / 2;
      const room = x - half > free && x + half < width;
      if (room) free = x + half + 14;
      if (room || own === step) marks.push({ x, text: room ? text : "" });
    }
  }
  return { unit: unit.unit, marks };
}

function markStep({ from, to, gutter, width }) {
  return stepOf(((to - from) / (width - gutter)) * MARK);
}

function xOf({ from, to, gutter, width }, moment) {
  return gutter + ((moment - from) / (to - from)) * (width - gutter);
}

function momentOf({ from, to, gutter, width }, x) {
  return from + ((x - gutter) / (width - gutter)) * (to - from);
}

// The answers to draw, each with the part of the picture that it is for: the newest, and beside it the widest so far,
// until more is known.
function layers(view) {
  const { data, wide, from, to } = view;
  const [first, last] = data.folded;
  const parts = [[data, Math.max(from, first), Math.min(to, last)]];
  if (wide && wide !== data) {
    if (from < first) parts.push([wide, from, Math.min(first, to)]);
    if (to > last) parts.push([wide, Math.max(last, from), to]);
  }
  return parts.filter(([, begin, end]) => begin < end);
}

function within(view, pen, begin, end, height, draw) {
  const left = Math.max(view.gutter, xOf(view, begin));
  pen.save();
  pen.beginPath();
  pen.rect(left, 0, Math.min(view.width, xOf(view, end)) - left, height);
  pen.clip();
  draw();
  pen.restore();
}

function drawTraffic(view, pen, colours) {
  const bottom = AXIS + TRAFFIC;
  const { marks, top } = view.data.traffic;
  const yOf = (rate) => bottom - (rate / top) * (TRAFFIC - 8);
  pen.textAlign = "right";
  for (const [rate, text] of marks) {
    pen.fillStyle = colours.line;
    pen.fillRect(view.gutter, Math.round(yOf(rate)), view.width - view.gutter, 1);
    pen.fillStyle = colours.faint;
    pen.fillText(text, view.gutter - 8, Math.min(yOf(rate), bottom - 6), view.gutter - 12);
  }
  for (const [answer, begin, end] of layers(view)) {
    if (!answer.traffic) continue;
    within(view, pen, begin, end, bottom, () => drawAreas(view, pen, answer, yOf));
  }
}

function drawAreas(view, pen, answer, yOf) {
  const { series, width } = answer.traffic;
  const below = new Map();
  for (const { colour, bins, bytes } of series) {
    pen.fillStyle = colour;
    bins.forEach((bin, place) => {
      const rate = (bytes[place] / width) * 1e9;
      const low = below.get(bin) ?? 0;
      below.set(bin, low + rate);
      const x = xOf(view, answer.folded[0] + bin * width);
      const next = xOf(view, answer.folded[0] + (bin + 1) * width);
      if (next < view.gutter || x > view.width) return;
      const y = yOf(low + rate);
      pen.fillRect(x, y, Math.max(next - x, 1) + 0.3, yOf(low) - y);
    });
  }
}

function drawLanes(view, pen, colours) {
  const { data, gutter, width, bodyHeight, scroller } = view;
  const top = scroller.scrollTop;
  for (const { x } of marksOf(view, pen).marks) {
    pen.fillStyle = colours.line;
    pen.fillRect(Math.round(x), 0, 1, bodyHeight);
  }
  drawFolds(view, pen, colours, 0, bodyHeight, drawRoom);
  const first = Math.floor(top / ROW);
  const last = Math.min(data.lanes.length, Math.ceil((top + bodyHeight) / ROW));
  for (let lane = first; lane < last; lane++) drawLabel(view, pen, colours, lane, lane * ROW - top);
  for (const [answer, begin, end] of layers(view)) {
    within(view, pen, begin, end, bodyHeight, () => drawBars(view, pen, colours, answer, top));
  }
  drawFolds(view, pen, colours, 0, bodyHeight, drawSeam);
  drawSpan(view, pen, colours, -top, bodyHeight);
}

function drawLabel(view, pen, colours, lane, y) {
  const { place, label } = view.data.lanes[lane];
  const begins = lane === 0 || view.data.lanes[lane - 1].place !== place;
  if (begins && lane) {
    pen.fillStyle = colours.line;
    pen.fillRect(0, y, view.width, 1);
  }
  if (lane === view.focus.lane && view.focused) {
    pen.fillStyle = colours.raised;
    pen.fillRect(0, y + 1, view.gutter, ROW - 1);
  }
  pen.textAlign = "left";
  let x = 6;
  if (begins || lane * ROW - view.scroller.scrollTop < ROW) {
    pen.font = `600 12px ${colours.font}`;
    pen.fillStyle = colours.text;
    pen.fillText(place, x, y + ROW / 2);
    x += pen.measureText(place).width + 7;
    pen.font = `12px ${colours.font}`;
  }
  pen.fillStyle = colours.faint;
  pen.fillText(fitted(pen, label, view.gutter - x - 6), x, y + ROW / 2);
}

function fitted(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let length = text.length;
  while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > room) length--;
  return length > 1 ? `${text.slice(0, length)}…` : "";
}

// All bars, and over them those that a search has found.
function drawBars(view, pen, colours, answer, top) {
  const searching = Boolean(answer.found);
  drawSome(view, pen, colours, answer, answer.bars, top, searching ? "pale" : "");
  if (searching) drawSome(view, pen, colours, answer, answer.found, top, "found");
}

function drawSome(view, pen, colours, answer, bars, top, as) {
  const pale = as === "pale";
  eachBar(view, bars, top, (left, size, y, place) => {
    const bar = barOf(bars, place);
    const colour = answer.colours[bar.name] || answer.lanes[bar.lane].colour;
    const { faint } = answer.lanes[bar.lane];
    const strength = faint ? WEAKEST + (STRONGEST - WEAKEST) * bar.busy : bar.count === 1 ? 1 : 0.4 + 0.6 * bar.busy;
    pen.globalAlpha = strength * (pale ? 0.3 : 1);
    pen.fillStyle = colour;
    pen.fillRect(left, y + 2, size, ROW - 4);
    // From where to where is known exactly.
    pen.globalAlpha = pale ? 0.3 : 1;
    if (faint) outline(pen, left, y, size, colour, 1);
    pen.globalAlpha = 1;
    if (size > 3) {
      pen.fillStyle = colours.ground;
      pen.fillRect(left + size - 0.7, y + 2, 0.7, ROW - 4);
    }
    if (as === "found") outline(pen, left, y, size, colours.accent, 1.5);
    if (isChosen(view, bar)) outline(pen, left, y, size, colours.text, 2);
    const begin = Math.max(left, view.gutter);
    const room = Math.min(left + size, view.width) - begin - 6;
    // Of waits the GPU has to be read.
    if (bar.count !== 1 || room < (faint ? 10 : 3) * LETTER) return;
    pen.textAlign = "left";
    pen.fillStyle = pale ? colours.faint : faint ? colours.text : isLight(colour) ? "#000000" : "#ffffff";
    pen.fillText(fitted(pen, answer.names[bar.name], room), begin + 3, y + ROW / 2 + 0.5);
  });
}

function outline(pen, x, y, size, colour, width) {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.strokeRect(x + width / 2, y + 2 + width / 2, Math.max(size - width, 1), ROW - 4 - width);
}

// Calls with where each bar is: left, width, top, its number.
function eachBar(view, bars, top, draw) {
  const { time, gutter, width, bodyHeight } = view;
  for (let place = 0; place < bars.lane.length; place++) {
    const y = bars.lane[place] * ROW - top;
    if (y < -ROW || y > bodyHeight) continue;
    const start = bars.start[place];
    const left = xOf(view, time.folded(start));
    const right = xOf(view, time.folded(start + bars.length[place]));
    if (right < gutter - SLIVER || left > width) continue;
    draw(left, Math.max(right - left, SLIVER), y, place);
  }
}

function barOf(bars, place) {
  return {
    lane: bars.lane[place],
    start: bars.start[place],
    length: bars.length[place],
    count: bars.count[place],
    id: bars.id[place],
    name: bars.name[place],
    busy: bars.busy[place] / 100,
    about: bars.about[place],
  };
}

function isChosen({ data }, { lane, id }) {
  return id > 0 && data.chosen === `${data.lanes[lane].what}:${id}`;
}

// Where time is left out: a seam in some room, which bars that go on cross.
function drawFolds(view, pen, colours, top, bottom, draw) {
  const { time, gutter, width } = view;
  pen.save();
  pen.beginPath();
  pen.rect(gutter, top, width - gutter, bottom - top);
  pen.clip();
  for (const at of time.at) {
    const x = Math.round(xOf(view, at));
    if (x >= gutter - FOLD && x <= width + FOLD) draw(pen, colours, x, top, bottom);
  }
  pen.restore();
}

function drawRoom(pen, { raised }, x, top, bottom) {
  pen.fillStyle = raised;
  pen.fillRect(x - FOLD / 2, top, FOLD, bottom - top);
}

function drawSeam(pen, { faint }, x, top, bottom) {
  pen.globalAlpha = 0.65;
  pen.strokeStyle = faint;
  pen.lineWidth = 1;
  pen.setLineDash([3, 3]);
  pen.beginPath();
  pen.moveTo(x + 0.5, top);
  pen.lineTo(x + 0.5, bottom);
  pen.stroke();
}

// What is being selected, or was.
function drawSpan(view, pen, colours, shift, bottom) {
  const span = view.marked ?? view.data.selection;
  if (!span) return;
  const [first, last, firstLane, lastLane] = span;
  const left = Math.max(xOf(view, view.time.folded(first)), view.gutter);
  const right = Math.min(xOf(view, view.time.folded(last)), view.width);
  if (right <= left) return;
  const inHead = shift === 0 && bottom === view.headHeight;
  const y = inHead ? 0 : firstLane * ROW + shift;
  const height = inHead ? bottom : (lastLane + 1 - firstLane) * ROW;
  pen.globalAlpha = 0.16;
  pen.fillStyle = colours.accent;
  pen.fillRect(left, y, right - left, height);
  pen.globalAlpha = 1;
  pen.strokeStyle = colours.accent;
  pen.lineWidth = 1.5;
  pen.strokeRect(left + 0.75, y + 0.75, Math.max(right - left - 1.5, 1), height - 1.5);
}

function isLight(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179;
}
