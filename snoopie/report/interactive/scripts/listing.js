// The lines of a file with what they moved beside them: draws only the rows in sight.

const ROW = 21;
const BEYOND = 15; // rows drawn above and below what is in sight
const scrolled = new Map();

// rows: [number, kind and characters of the line's runs one after another], in order; traffic: number → [line, sums]; chosen: a number; chose(line).
function listing(name, rows, traffic, chosen, chose) {
  const largest = Math.max(1, ...[...traffic.values()].map(([, sums]) => sums.bytes));
  const widest = rows.reduce((most, [, runs]) => Math.max(most, lengthOf(runs)), 0);
  const canvas = make("div", { class: "canvas" });
  canvas.style.height = `${rows.length * ROW}px`;
  canvas.style.setProperty("--code", `${widest + 2}ch`);
  const scroller = make("div", {
    class: "scroller",
    tabindex: 0,
    role: "listbox",
    "aria-label": `${name}: arrow keys go to the next line with traffic`,
    "data-focus": "listing",
    scroll: () => {
      scrolled.set(name, scroller.scrollTop);
      drawRows();
    },
    keydown: (event) => {
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
      event.preventDefault();
      const hot = rows.filter(([number]) => traffic.has(number)).map(([number]) => number);
      const next = event.key === "ArrowDown" ? hot.find((number) => number > chosen) : hot.findLast((number) => number < chosen);
      if (next !== undefined) chose(traffic.get(next)[0]);
    },
    click: (event) => {
      const row = event.target.closest("[data-line]");
      // Who marks text does not want another line.
      if (row && getSelection().isCollapsed && traffic.has(Number(row.dataset.line))) chose(traffic.get(Number(row.dataset.line))[0]);
    },
  }, canvas);
  scroller.style.height = `${Math.min(rows.length, 24) * ROW + 12}px`;

  function drawRows() {
    const begin = Math.max(0, Math.floor(scroller.scrollTop / ROW) - BEYOND);
    const end = Math.min(rows.length, Math.ceil((scroller.scrollTop + (scroller.clientHeight || 600)) / ROW) + BEYOND);
    canvas.replaceChildren(...rows.slice(begin, end).map((row, at) => drawRow(row, begin + at)));
    const active = canvas.querySelector("[aria-selected=true]");
    if (active) scroller.setAttribute("aria-activedescendant", active.id);
    else scroller.removeAttribute("aria-activedescendant");
  }

  function drawRow([number, runs], place) {
    const [, sums] = traffic.get(number) ?? [];
    const cut = place > 0 && rows[place - 1][0] + 1 !== number;
    const row = make("div", {
      class: `row${sums ? " hot" : ""}${number === chosen ? " chosen" : ""}${cut ? " cut" : ""}`,
      role: "option",
      id: `line-${number}`,
      "data-line": number,
      "aria-selected": String(number === chosen),
      "aria-disabled": sums ? null : "true",
    });
    row.style.top = `${place * ROW}px`;
    const gutter = [["bytes", sums?.bytes], ["efficiency", null]].map(([value, raw]) => {
      const box = make("span", { class: "cell", title: raw ? exact(raw) : null }, sums ? shortAmount(sums, value) : "");
      if (raw) box.style.setProperty("--share", `${(100 * raw) / largest}%`);
      return box;
    });
    const code = make("span", { class: "code" });
    for (let part = 0; part < runs.length; part += 2) code.append(make("span", { class: runs[part] || null }, runs[part + 1]));
    row.append(...gutter, make("span", { class: "line" }, String(number)), code);
    return row;
  }

  // Once it stands in the page, and has a height.
  queueMicrotask(() => {
    const at = rows.findIndex(([number]) => number === chosen);
    let top = scrolled.get(name) ?? -Infinity;
    if (at * ROW < top || (at + 2) * ROW > top + scroller.clientHeight) top = at * ROW - scroller.clientHeight / 3;
    scroller.scrollTop = Math.max(0, top);
    drawRows();
  });
  const head = make("div", { class: "head", "aria-hidden": "true" }, ...["Bytes", "Wire eff."].map((text) => make("span", { class: "cell" }, text)), make("span", { class: "line" }, "Line"), make("span", { class: "code" }, "Code"));
  return make("div", { class: "listing" }, head, scroller);
}

function lengthOf(runs) {
  let letters = 0;
  for (let part = 1; part < runs.length; part += 2) letters += runs[part].length;
  return letters;
}
