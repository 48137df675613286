// The picture of the timeline on its canvas: traffic over time, the axis, and a lane for each stream.

const TRAFFIC_ROOM = 70;
const AXIS_ROOM = 24;
const LANE_ROOM = 24;
const TOP_ROOM = TRAFFIC_ROOM + AXIS_ROOM;
const FEWEST_LETTERS = 36; // pixels of a bar, from which on it has its name
const FONT = '12px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif';
const PALE = 0.22;
const [WEAKEST, STRONGEST] = [0.12, 0.36]; // of waits: their text can be read on each colour

const leftRoom = (width) => (width < 700 ? 130 : 200);

// view: {canvas, axis, from, until (virtual), events, lanes, blocks, traffic, chosen, marked, colours}
function drawTimeline(view) {
  const { canvas } = view;
  const scale = devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = TOP_ROOM + view.lanes.length * LANE_ROOM + 4;
  if (!width) return;
  canvas.style.height = `${height}px`;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = FONT;
  pen.textBaseline = "middle";
  const styles = getComputedStyle(document.documentElement);
  const ink = Object.fromEntries(["ink", "quiet", "line", "panel", "flow"].map((name) => [name, styles.getPropertyValue(`--${name}`).trim()]));
  const left = leftRoom(width);
  const x = (virtual) => left + ((virtual - view.from) / (view.until - view.from)) * (width - left);
  const room = { pen, ink, left, width, height, x };
  const seen = view.traffic.filter(({ from, until }) => until >= view.from && from <= view.until);
  const highest = seen.reduce((most, own) => Math.max(most, own.rate), 0);
  drawLaneNames(view, highest, room);
  pen.save();
  pen.beginPath();
  pen.rect(left, 0, width - left, height);
  pen.clip();
  drawFoldsAndTicks(view, room);
  drawTraffic({ seen, highest }, room);
  drawBlocks(view, room);
  drawEvents(view, room);
  drawMark(view, room);
  pen.restore();
}

function drawLaneNames({ lanes }, highest, { pen, ink, left, width }) {
  pen.fillStyle = ink.quiet;
  pen.fillText("Traffic", 4, TRAFFIC_ROOM / 2 - 8);
  if (highest) pen.fillText(`up to ${rate(highest)}`, 4, TRAFFIC_ROOM / 2 + 8);
  lanes.forEach((lane, number) => {
    const y = TOP_ROOM + number * LANE_ROOM;
    if (number % 2 === 0) {
      pen.fillStyle = ink.panel;
      pen.fillRect(0, y, width, LANE_ROOM);
    }
    pen.save();
    pen.beginPath();
    pen.rect(0, y, left - 6, LANE_ROOM);
    pen.clip();
    pen.fillStyle = ink.ink;
    const place = lanes[number - 1]?.place === lane.place ? "" : lane.place;
    pen.fillText(place, 4, y + LANE_ROOM / 2);
    pen.fillStyle = ink.quiet;
    pen.fillText(lane.what, 56, y + LANE_ROOM / 2);
    pen.restore();
  });
}

function drawFoldsAndTicks(view, { pen, ink, left, width, height, x }) {
  const { axis } = view;
  const pixels = (width - left) / (view.until - view.from);
  WHEN.parts.forEach(([start, end], place) => {
    const [begin, finish] = [x(axis.begins[place]), x(axis.begins[place] + end - start)];
    if (place + 1 < WHEN.parts.length) drawFold(finish, finish + axis.gap * pixels, WHEN.parts[place + 1][0] - end);
    if (finish < left || begin > width) return;
    const from = axis.toReal(Math.max(view.from, axis.begins[place]));
    const until = axis.toReal(Math.min(view.until, axis.begins[place] + end - start));
    pen.textAlign = "left";
    for (const [time, label] of ticks(from + WHEN.begin, until + WHEN.begin, 110 / pixels)) {
      const at = x(axis.toVirtual(time - WHEN.begin));
      pen.fillStyle = ink.line;
      pen.fillRect(at, TRAFFIC_ROOM, 1, height);
      if (at + pen.measureText(label).width + 8 > finish && place + 1 < WHEN.parts.length) continue;
      pen.fillStyle = ink.quiet;
      pen.fillText(label, at + 3, TRAFFIC_ROOM + AXIS_ROOM / 2);
    }
  });

  function drawFold(begin, finish, length) {
    if (finish < left || begin > width) return;
    pen.fillStyle = ink.line;
    pen.globalAlpha = 0.6;
    pen.fillRect(begin, 0, Math.max(finish - begin, 1), height);
    pen.globalAlpha = 1;
    const label = `idle ${duration(length)}`;
    if (finish - begin < 16) return;
    pen.save();
    pen.translate((begin + finish) / 2, 6);
    pen.rotate(Math.PI / 2);
    pen.fillStyle = ink.ink;
    pen.textAlign = "left";
    pen.fillText(label, 0, 0);
    pen.restore();
  }
}

// Bytes a second, of what the filter of pairs leaves.
function drawTraffic({ seen, highest }, { pen, ink, x }) {
  if (!highest) return;
  pen.fillStyle = ink.flow;
  // Of several in one pixel the highest.
  for (const { from, until, rate: own } of seen) {
    const high = Math.max((own / highest) * (TRAFFIC_ROOM - 20), 1);
    pen.fillRect(x(from), TRAFFIC_ROOM - high, Math.max(x(until) - x(from), 1), high);
  }
}

// How busy a lane was, of which not all is there by itself.
function drawBlocks({ blocks }, { pen, ink, left, width, x }) {
  pen.fillStyle = ink.quiet;
  for (const { lane, from, until, share } of blocks) {
    const [begin, finish] = [x(from), x(until)];
    if (finish < left || begin > width) continue;
    const high = Math.max((LANE_ROOM - 6) * share, 2);
    pen.globalAlpha = 0.45;
    pen.fillRect(begin, TOP_ROOM + (lane + 1) * LANE_ROOM - 3 - high, Math.max(finish - begin, 1), high);
  }
  pen.globalAlpha = 1;
}

function drawEvents(view, room) {
  const { pen, ink, left, width, x } = room;
  const { events } = view;
  const filtered = anyFilter();
  let lane = -1;
  let painted = -1;
  const wide = [];
  for (let row = 0; row < events.count; row++) {
    if (events.lane[row] !== lane) {
      lane = events.lane[row];
      painted = -1;
    }
    const begin = x(events.from[row]);
    const finish = Math.max(x(events.until[row]), begin + 1);
    if (finish < left || begin > width || finish <= painted) continue;
    painted = Math.max(painted, Math.floor(finish));
    const strength = filtered && !view.kept(row) ? PALE : 1;
    const colour = view.colour(row);
    const share = view.share(row);
    pen.globalAlpha = strength * (share === null ? 1 : WEAKEST + (STRONGEST - WEAKEST) * share);
    pen.fillStyle = colour;
    const y = TOP_ROOM + lane * LANE_ROOM + 3;
    pen.fillRect(begin, y, finish - begin, LANE_ROOM - 6);
    pen.globalAlpha = strength;
    // From where to where is known exactly.
    if (share !== null) {
      pen.strokeStyle = colour;
      pen.lineWidth = 1;
      pen.strokeRect(begin + 0.5, y + 0.5, Math.max(finish - begin - 1, 0), LANE_ROOM - 7);
    }
    if (finish - begin > 3) {
      pen.fillStyle = ink.panel;
      pen.fillRect(finish - 1, y, 1, LANE_ROOM - 6);
    }
    // Of waits the GPU has to be read.
    const least = share === null ? FEWEST_LETTERS : 2 * FEWEST_LETTERS;
    if (Math.min(finish, width) - Math.max(begin, left) >= least) wide.push([row, begin, finish, y]);
  }
  for (const [row, begin, finish, y] of wide) {
    pen.globalAlpha = filtered && !view.kept(row) ? 2 * PALE : 1;
    pen.save();
    pen.beginPath();
    pen.rect(Math.max(begin, left), y, Math.min(finish, width) - Math.max(begin, left) - 2, LANE_ROOM - 6);
    pen.clip();
    pen.fillStyle = view.share(row) === null ? inkOn(view.colour(row)) : ink.ink;
    pen.textAlign = "left";
    pen.fillText(events.names[events.name[row]][1], Math.max(begin, left) + 4, y + (LANE_ROOM - 6) / 2);
    pen.restore();
  }
  pen.globalAlpha = 1;
  if (view.chosen >= 0) {
    const begin = x(events.from[view.chosen]);
    pen.strokeStyle = ink.ink;
    pen.lineWidth = 2;
    pen.strokeRect(begin - 1, TOP_ROOM + events.lane[view.chosen] * LANE_ROOM + 2, Math.max(x(events.until[view.chosen]) - begin, 1) + 2, LANE_ROOM - 4);
  }
}

function drawMark({ marked }, { pen, ink, height }) {
  if (!marked) return;
  pen.fillStyle = ink.ink;
  pen.globalAlpha = 0.15;
  pen.fillRect(Math.min(...marked), 0, Math.abs(marked[1] - marked[0]), height);
  pen.globalAlpha = 1;
}
