// Sums of the trace's traffic by any key, of what the filters leave.

const CELLS = DATA.cells;
const OPERATION = Object.fromEntries(DATA.operations.map((name, number) => [name, number]));
const AMOUNTS = ["bytes", "wire_bytes", "accesses"];
const PLACES = DATA.places.length + 1;
const KERNELS = DATA.kernels.length + 1;
const LINES = DATA.lines.length + 1;

// A pair of places as one number.
const pairOf = (first, second) => first * PLACES + second;
const endsOf = (pair) => [Math.floor(pair / PLACES), pair % PLACES];

// Calls use(pair) for the pairs of a row in the reading that is chosen: an atomic that flows both ways has two.
function eachPair(table, row, use) {
  const [issuer, owner, operation] = [table.issuer[row], table.owner[row], table.operation[row]];
  const flow = state.reading === "flow";
  if (!flow || operation !== OPERATION.load) use(pairOf(issuer, owner));
  if (flow && (operation === OPERATION.load || operation === OPERATION.atomic)) use(pairOf(owner, issuer));
}

// Calls use(row) for each row of CELLS that the filters leave, but for those named ("pair", "kernel", "line").
function eachRow(but, use) {
  const kernel = but.includes("kernel") ? -1 : state.kernel;
  const line = but.includes("line") ? -1 : state.line;
  const pair = but.includes("pair") || !chosenPair() ? -1 : pairOf(state.first, state.second);
  for (let row = 0; row < CELLS.bytes.length; row++) {
    if (kernel >= 0 && CELLS.kernel[row] !== kernel) continue;
    if (line >= 0 && CELLS.line[row] !== line) continue;
    let kept = pair < 0;
    if (!kept) eachPair(CELLS, row, (own) => { kept ||= own === pair; });
    if (kept) use(row);
  }
}

// Sums by what `keys` calls, with each row, its function for: numbers below `size`. As [key, sums], most bytes first;
// what stands for all others (the last number) comes last.
function summed(size, table, rows, keys, least) {
  const sums = AMOUNTS.map(() => new Float64Array(size));
  const seen = new Uint8Array(size);
  const columns = AMOUNTS.map((name) => table[name]);
  rows((row) => keys(row, (key) => {
    seen[key] = 1;
    for (let of = 0; of < columns.length; of++) sums[of][key] += columns[of][row];
  }));
  const found = [];
  seen.forEach((there, key) => {
    if (there) found.push([key, { ...Object.fromEntries(AMOUNTS.map((name, of) => [name, sums[of][key]])), least }]);
  });
  return found.sort(([key, one], [after, other]) => (key === size - 1) - (after === size - 1) || other.bytes - one.bytes || key - after);
}

// Of a small row its kernel and line may not be known: then sums of what is filtered are the least that they can be.
const whole = (but) => (but.includes("kernel") || state.kernel < 0) && (but.includes("line") || state.line < 0) && (but.includes("pair") || !chosenPair());

function sumsOf(name, size, but, keys) {
  if (DATA.together && whole(but)) {
    const table = DATA.margins[name];
    return summed(size, table, (use) => table.bytes.forEach((_, row) => use(row)), (row, use) => keys(table, row, use), false);
  }
  return summed(size, CELLS, (use) => eachRow(but, use), (row, use) => keys(CELLS, row, use), DATA.together > 0);
}

const byKernel = (but) => sumsOf("kernel", KERNELS, but, (table, row, use) => use(table.kernel[row]));
const byLine = (but) => sumsOf("line", LINES, but, (table, row, use) => use(table.line[row]));
const byPair = (but) => sumsOf("pair", PLACES * PLACES, but, eachPair);

// Of one line, whatever filter of lines there is.
function ofLine(line, size, keys) {
  const rows = (use) => eachRow(["line"], (row) => CELLS.line[row] === line && use(row));
  return summed(size, CELLS, rows, keys, DATA.together > 0);
}

function total() {
  const [[, sums] = [0, { bytes: 0, wire_bytes: 0, accesses: 0 }]] = summed(1, CELLS, (use) => eachRow([], use), (row, use) => use(0), DATA.together > 0 && !whole([]));
  return sums;
}

function amount(sums, value) {
  if (value === "efficiency") return (sums.least ? "≈ " : "") + efficiency(sums.bytes, sums.wire_bytes);
  return ABOUT + (sums.least ? "≥ " : "") + (value === "accesses" ? count : bytes)(sums[value]);
}

// The same in little room.
const shortAmount = (sums, value) => amount(sums, value).replace(/ \(.*/, "");
