// Who reached whom, as a matrix whose cells choose a pair, and what kernels and lines did so.

// Cells of more places have no room for numbers.
const ROOMY = 12;
const MOST_ROWS = 100;

function drawMatrix(root) {
  if (DATA.unknown) {
    root.append(remark(DATA.unknown));
    root.append(...DATA.tables.map(part));
    return;
  }
  root.append(
    make(
      "div",
      { class: "choices" },
      choice("Amount", Object.entries(VALUES), state.value, (value) => choose({ value })),
      choice("Reading", Object.entries(READINGS), state.reading, (reading) => choose({ reading, first: -1, second: -1 })),
    ),
    matrixTable(""),
    remark(caption()),
    make("div", { class: "two" },
      amounts("Kernels", "Kernel", byKernel(["kernel"]).map(([kernel, sums]) => [shortKernel(kernel), sums, kernelLink(kernel)]), MOST_ROWS),
      amounts("Lines", "Line", byLine(["line"]).map(([line, sums]) => [lineName(line), sums, toggle("line", line, lineTitle(line))]), MOST_ROWS),
    ),
    DATA.tables.length && anyFilter() ? remark("Filters do not apply to NCCL calls and copies.") : "",
    ...DATA.tables.map(part),
  );
}

const kernelLink = (kernel) => toggle("kernel", kernel, kernelName(kernel));

// Chooses by a click, and no more by another.
function toggle(key, value, title) {
  const chosen = state[key] === value;
  return { title, chosen, choose: () => choose({ [key]: chosen ? -1 : value }) };
}

function caption() {
  const reading = state.reading === "issued"
    ? "Rows: the issuer, which executed the accesses. Columns: the owner of the memory."
    : "Rows: where data came from. Columns: where it went. An atomic counts once each way.";
  const left = DATA.left.places > 0 ? ` The ${DATA.places.length} places with most traffic of ${exact(DATA.places.length + DATA.left.places)}.` : "";
  const together = DATA.together > 0 ? ` Of the ${exact(DATA.together)} smallest sums by kernel, line and pair this page knows only the pair: what is filtered is at least (≥) what it says.` : "";
  return `${reading} A click chooses a pair, and another one all.${left}${together}`;
}

function matrixTable(size) {
  const sums = new Map(byPair(["pair"]));
  if (!sums.size) return remark(anyFilter() ? "The filters leave nothing." : "No kernel reached memory outside its GPU.");
  // All GPUs, and what else has traffic; the last one stands for all others.
  const every = [...DATA.places.keys(), DATA.places.length];
  const [firsts, seconds] = [0, 1].map((end) => {
    const there = new Set([...sums.keys()].map((pair) => endsOf(pair)[end]));
    return every.filter((place) => DATA.gpus[place] || there.has(place));
  });
  const height = (own) => (state.value === "efficiency" ? Math.min(own.wire_bytes ? own.bytes / own.wire_bytes : 0, 1) : own[state.value]);
  // What stands for all others is no measure for single places.
  const single = [...sums].filter(([pair]) => !endsOf(pair).includes(DATA.places.length)).map(([, own]) => height(own));
  const largest = state.value === "efficiency" ? 1 : Math.max(1, ...single);
  const roomy = seconds.length <= ROOMY;
  const [rowName, columnName] = state.reading === "issued" ? ["Issuer", "Owner"] : ["From", "To"];
  const head = make("tr", {}, make("th", { scope: "col" }, `${rowName} ↓ ${columnName} →`), ...seconds.map((place) => make("th", { scope: "col" }, placeName(place))));
  const rows = firsts.map((first) => make("tr", {}, make("th", { scope: "row" }, placeName(first)), ...seconds.map((second) => cell(first, second))));

  function cell(first, second) {
    const own = sums.get(pairOf(first, second));
    if (!own) return make("td", { class: "empty" });
    const chosen = first === state.first && second === state.second;
    const text = shortAmount(own, state.value);
    const button = make("button", {
      type: "button",
      title: `${pairName(first, second)}: ${exact(own.bytes)} bytes, ${exact(own.accesses)} accesses`,
      "aria-label": `${pairName(first, second)}: ${text}`,
      "aria-pressed": String(chosen),
      "data-focus": `cell ${first} ${second}`,
      click: () => choose(chosen ? { first: -1, second: -1 } : { first, second }),
    }, roomy ? text : "");
    const colour = heat(Math.min(height(own) / largest, 1));
    button.style.backgroundColor = colour;
    button.style.color = inkOn(colour);
    return make("td", {}, button);
  }

  const scale = make("p", { class: "scale" }, "0 ", ...DATA.colours.heat.map((_, step) => {
    const mark = make("span", {});
    mark.style.backgroundColor = heat(step / DATA.colours.heat.length);
    return mark;
  }), ` ${state.value === "efficiency" ? "100 %" : ABOUT + (state.value === "accesses" ? count : bytes)(largest)}`);
  return make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": "Matrix" },
    make("table", { class: `matrix ${size} ${roomy ? "" : "many"}` }, make("caption", {}, VALUES[state.value]), make("thead", {}, head), make("tbody", {}, ...rows)), scale);
}
