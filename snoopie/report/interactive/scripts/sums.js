// Sums of the trace's traffic by any key, of what the filters leave.

const CELLS = DATA.cells;
const OPERATION = Object.fromEntries(DATA.operations.map((name, number) => [name, number]));

// Calls use(row, first, second) for each row that the filters leave, with its ends in the reading that is chosen; `but`
// names filters that are to be left out ("pair", "kernel", "line"). An atomic that flows both ways is two.
function eachRow(but, use) {
  const flow = state.reading === "flow";
  const byPair = chosenPair() && !but.includes("pair");
  const { kernel, line, operation, issuer, owner } = CELLS;
  const wantedKernel = but.includes("kernel") ? -1 : state.kernel;
  const wantedLine = but.includes("line") ? -1 : state.line;
  const one = (row, first, second) => {
    if (!byPair || (first === state.first && second === state.second)) use(row, first, second);
  };
  for (let row = 0; row < kernel.length; row++) {
    if (wantedKernel >= 0 && kernel[row] !== wantedKernel) continue;
    if (wantedLine >= 0 && line[row] !== wantedLine) continue;
    if (!flow || operation[row] !== OPERATION.load) one(row, issuer[row], owner[row]);
    if (flow && (operation[row] === OPERATION.load || operation[row] === OPERATION.atomic)) one(row, owner[row], issuer[row]);
  }
}

const none = () => ({ bytes: 0, wire_bytes: 0, accesses: 0 });

function add(sum, row) {
  sum.bytes += CELLS.bytes[row];
  sum.wire_bytes += CELLS.wire_bytes[row];
  sum.accesses += CELLS.accesses[row];
}

// Sums by key(row, first, second), as [key, sums], most bytes first; among equals in the order of the keys.
function sumsBy(key, but = []) {
  const sums = new Map();
  eachRow(but, (row, first, second) => {
    const own = key(row, first, second);
    if (!sums.has(own)) sums.set(own, none());
    add(sums.get(own), row);
  });
  return [...sums].sort(([key, one], [after, other]) => other.bytes - one.bytes || key - after);
}

const byKernel = (but) => sumsBy((row) => CELLS.kernel[row], but);
const byLine = (but) => sumsBy((row) => CELLS.line[row], but);
// The key is a number of both places.
const PLACES = DATA.places.length + 1;
const byPair = (but) => sumsBy((row, first, second) => first * PLACES + second, but);
const endsOf = (pair) => [Math.floor(pair / PLACES), pair % PLACES];

// Of what is selected. An atomic is one, however it flows.
function total() {
  const sum = none();
  const seen = new Set();
  eachRow([], (row) => {
    if (!seen.has(row)) add(sum, row);
    seen.add(row);
  });
  return sum;
}

function amount(sums, value) {
  if (value === "efficiency") return efficiency(sums.bytes, sums.wire_bytes);
  return ABOUT + (value === "accesses" ? count : bytes)(sums[value]);
}
