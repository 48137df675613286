// The source by what its lines moved: files, the lines of one, and of a line its kernels, pairs and instructions.

const MOST_FILES = 200;
const MOST_INSTRUCTIONS = 200;

function drawSource(root) {
  const lines = byLine(["line"]);
  if (!lines.length) {
    root.append(remark(DATA.unknown || (anyFilter() ? "The filters leave no line." : "No line reached memory outside its GPU.")));
    return;
  }
  const line = state.line >= 0 ? state.line : lines[0][0];
  const file = line < DATA.lines.length ? DATA.lines[line][0] : -1;
  const code = file >= 0 && DATA.files[file].path ? listed(file, line, lines) : remark(
    file < 0 ? "These lines are added up: each moved little." : "These instructions have no source line. Compile with nvcc -lineinfo to see them in the source.",
  );
  root.append(make("div", { class: "files-and-lines" }, fileList(file, lines), make("div", {}, code)), ...aboutLine(line));
}

function fileList(chosen, lines) {
  const files = new Map();
  for (const [line, sums] of lines) {
    const file = line < DATA.lines.length ? DATA.lines[line][0] : -1;
    if (!files.has(file)) files.set(file, { line, bytes: 0 });
    files.get(file).bytes += sums.bytes;
  }
  const sorted = [...files].sort(([file, one], [after, other]) => (file < 0) - (after < 0) || other.bytes - one.bytes);
  const items = sorted.slice(0, MOST_FILES).map(([file, own]) => {
    const name = file < 0 ? others(DATA.left.lines, "lines") : DATA.files[file].name || "(no source line)";
    const title = file < 0 ? "" : DATA.files[file].path;
    return make("li", {}, make("button", { type: "button", title, "aria-pressed": String(file === chosen), "data-focus": `file ${file}`, click: () => choose({ line: own.line }) },
      make("span", {}, name), " ", make("span", { class: "amount" }, ABOUT + bytes(own.bytes))));
  });
  const more = sorted.length > items.length ? remark(`The ${items.length} with most bytes of ${exact(sorted.length)}.`) : "";
  return make("nav", { class: "files", "aria-label": "Files" }, make("ul", {}, ...items), more);
}

function listed(file, line, lines) {
  const { path, origin, parts } = DATA.files[file];
  const traffic = new Map(lines.filter(([own]) => DATA.lines[own]?.[0] === file).map(([own, sums]) => [DATA.lines[own][1], [own, sums]]));
  const rows = new Map(parts.flatMap(([first, codes]) => codes.map((code, place) => [first + place, code])));
  for (const number of traffic.keys()) {
    if (!rows.has(number)) rows.set(number, []);
  }
  const ordered = [...rows].sort(([one], [other]) => one - other);
  return make("figure", {}, make("figcaption", {}, make("code", {}, path), ` · ${origin}`),
    listing(path, ordered, traffic, DATA.lines[line][1], (own) => choose({ line: own })));
}

function aboutLine(line) {
  const kernels = ofLine(line, KERNELS, (row, use) => use(CELLS.kernel[row])).map(([kernel, sums]) => [kernelName(kernel), sums, kernelLink(kernel)]);
  const pairs = ofLine(line, PLACES * PLACES, (row, use) => eachPair(CELLS, row, use)).map(([pair, sums]) => {
    const [first, second] = endsOf(pair);
    const chosen = first === state.first && second === state.second;
    return [pairName(first, second), sums, { chosen, choose: () => choose(chosen ? { first: -1, second: -1 } : { first, second }) }];
  });
  if (!kernels.length) return [remark("The filters leave nothing of this line.")];
  const inlined = (DATA.instructions.inlined[line] ?? []).map(remark);
  return [
    section(lineName(line), ...inlined, make("div", { class: "two" }, amounts("Kernels that ran it", "Kernel", kernels, MOST_ROWS), amounts(READINGS[state.reading], "Pair", pairs, MOST_ROWS))),
    instructionTable(line),
  ];
}

function instructionTable(line) {
  const own = DATA.instructions;
  const rows = [];
  for (let row = 0; row < own.line.length; row++) if (own.line[row] === line) rows.push(row);
  const sums = (row) => ({ bytes: own.bytes[row], wire_bytes: own.wire_bytes[row], accesses: own.accesses[row] });
  const kept = own.line.length < own.all ? `This page holds the ${exact(own.line.length)} instructions with most bytes of ${exact(own.all)}.` : "";
  if (!rows.length) return kept ? remark(kept) : "";
  const body = rows.slice(0, MOST_INSTRUCTIONS).map((row) => make("tr", {},
    make("td", { class: "text" }, make("code", {}, own.code[row])),
    make("td", { class: "text" }, own.function[row]),
    make("td", { class: "number" }, own.offset[row]),
    ...["bytes", "efficiency", "accesses"].map((value) => make("td", { class: "number" }, shortAmount(sums(row), value)))));
  const more = rows.length > body.length ? `The ${body.length} with most bytes of ${exact(rows.length)} of this line. ` : "";
  const filtered = chosenPair() || state.kernel >= 0 ? "Filters of pairs and kernels do not apply to instructions. " : "";
  const table = framed("Instructions", ["Instruction", "Function", "Offset", "Bytes", "Wire efficiency", "Accesses"], body, more + filtered + kept, ["text", "text", "number", "number", "number", "number"]);
  table.classList.add("tall");
  return table;
}
