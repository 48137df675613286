// What the page shows: its data, and what is chosen. The address holds what is chosen, so that Back undoes a choice.

const DATA = await unpacked(document.getElementById("data").textContent);

const VIEWS = [["overview", "Overview"], ["source", "Source"], ["matrix", "Matrix"], ["timeline", "Timeline"]];
const VALUES = { bytes: "Bytes", wire_bytes: "Wire bytes", accesses: "Accesses", efficiency: "Wire efficiency" };
const READINGS = { issued: "Who issued", flow: "Where data flowed" };

const state = { view: "overview", kernel: -1, line: -1, first: -1, second: -1, value: "bytes", reading: "issued" };
const initial = { ...state };

async function unpacked(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// Chooses, and has the page drawn: by the address, which tells when it has changed.
function choose(changes) {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries({ ...state, ...changes })) {
    if (value !== initial[key]) words.set(key, value);
  }
  location.hash = words.toString();
}

// Takes what is chosen from the address; what the trace does not have is not chosen.
function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  const number = (key, end) => {
    const value = Number(words.get(key) ?? -1);
    return Number.isInteger(value) && value >= 0 && value < end ? value : -1;
  };
  const among = (key, allowed) => (allowed.includes(words.get(key)) ? words.get(key) : initial[key]);
  const places = DATA.places.length + 1;
  Object.assign(state, {
    view: among("view", VIEWS.map(([key]) => key)),
    kernel: number("kernel", DATA.kernels.length + 1),
    line: number("line", DATA.lines.length + 1),
    first: number("first", places),
    second: number("second", places),
    value: among("value", Object.keys(VALUES)),
    reading: among("reading", Object.keys(READINGS)),
  });
  if (state.first < 0 || state.second < 0) state.first = state.second = -1;
}

const chosenPair = () => state.first >= 0;
const anyFilter = () => chosenPair() || state.kernel >= 0 || state.line >= 0;

// --- names; one more than there are is all others ---

const placeName = (place) => DATA.places[place] ?? others(DATA.left.places, "places");
const kernelName = (kernel) => (DATA.kernels[kernel] ?? [others(DATA.left.kernels, "kernels")])[0];
const shortKernel = (kernel) => (DATA.kernels[kernel] ?? [0, others(DATA.left.kernels, "kernels")])[1];

function lineName(line) {
  if (line >= DATA.lines.length) return others(DATA.left.lines, "lines");
  const [file, number] = DATA.lines[line];
  return number ? `${DATA.files[file].name}:${number}` : "(no source line)";
}

const others = (number, what) => `(other ${what}${number ? `: ${exact(number)}` : ""})`;
const pairName = (first, second) => `${placeName(first)} → ${placeName(second)}`;

// What stands before amounts that are estimates.
const ABOUT = DATA.estimated ? "≈ " : "";
