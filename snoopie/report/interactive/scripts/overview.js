// What happened: a sentence, the totals, who reached whom, the lines that moved most, findings, and what is not known.

const TOP = 10;

function drawOverview(root) {
  const moved = make("div", { class: "two" }, section("Who reached whom", matrixTable("small")), section("The lines that moved most", topLines()));
  root.append(
    make("p", { class: "story" }, DATA.unknown || ABOUT + DATA.story),
    ...DATA.totals.map(part),
    anyFilter() ? selected() : "",
    DATA.unknown ? "" : moved,
    section("What to look at first", ...findings()),
    section("What this trace lacks", ...DATA.losses.map(part)),
    make("details", {}, make("summary", {}, "GPUs and processes"), ...DATA.machine.map(part)),
  );
}

function selected() {
  const sums = total();
  const numbers = ["bytes", "wire_bytes", "efficiency", "accesses"].map((value) => [VALUES[value], amount(sums, value), ""]);
  return section("Of this, what the filters leave", cards(numbers));
}

function topLines() {
  if (!CELLS.line.length) return remark("No kernel reached memory outside its GPU.");
  const rows = byLine(["line"]).map(([line, sums]) => [lineName(line), sums, lineLink(line)]);
  return amounts("A click shows the line in its source", "Line", rows, TOP);
}

const lineLink = (line) => ({ title: lineTitle(line), chosen: line === state.line, choose: () => choose({ view: "source", line }) });

function lineTitle(line) {
  if (line >= DATA.lines.length) return "";
  const [file, number] = DATA.lines[line];
  return number ? `${DATA.files[file].path}:${number}` : "";
}

function findings() {
  if (!DATA.findings.length) return [remark("No findings: no rule found expensive traffic.")];
  const made = DATA.findings.map((finding) => make(
    "article",
    { class: finding.severity },
    make("h3", {}, finding.title),
    make("p", { class: "where" }, `${finding.severity} · ${finding.where}`),
    make("p", {}, `${finding.numbers}. Threshold: ${finding.threshold}.`),
    make("p", {}, make("b", {}, "What to do: "), finding.remedy),
    showLine(finding.line),
  ));
  const more = DATA.all_findings - DATA.findings.length;
  return [anyFilter() ? remark("Of the whole trace, whatever the filters.") : "", ...made, more > 0 ? remark(`${exact(more)} more: snoopie findings lists them all.`) : ""];
}

// A button that shows the line of this name, if the page has it.
function showLine(name) {
  const line = name ? DATA.lines.findIndex((_, number) => lineTitle(number) === name) : -1;
  return line < 0 ? "" : make("button", { type: "button", click: () => choose({ view: "source", line }) }, `Show ${lineName(line)}`);
}
