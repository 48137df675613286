// Tables and the other parts that Python has made ready.

// rows: [label, sums, {choose, chosen, title}]; a table of names with their amounts, bars behind the bytes.
function amounts(caption, heading, rows, most, more = "") {
  const shown = rows.slice(0, most);
  const largest = Math.max(1, ...shown.map(([, sums]) => sums.bytes));
  const body = shown.map(([label, sums, { choose: chose, chosen = false, title = "" } = {}]) => {
    const name = chose
      ? make("button", { type: "button", class: "name", title, "aria-pressed": String(chosen), "data-focus": `${heading} ${label}`, click: chose }, label)
      : make("span", { title }, label);
    const moved = make("td", { class: "number bar", title: exact(sums.bytes) }, amount(sums, "bytes"));
    moved.style.setProperty("--share", `${(100 * sums.bytes) / largest}%`);
    return make(
      "tr",
      { class: chosen ? "chosen" : null },
      make("td", { class: "text" }, name),
      moved,
      make("td", { class: "number", title: exact(sums.wire_bytes) }, amount(sums, "wire_bytes")),
      make("td", { class: "number", title: amount(sums, "efficiency") }, shortAmount(sums, "efficiency")),
      make("td", { class: "number", title: exact(sums.accesses) }, amount(sums, "accesses")),
    );
  });
  const left = rows.length - shown.length;
  const foot = left > 0 ? `The ${exact(shown.length)} with most bytes of ${exact(rows.length)}. ${more}` : more;
  const table = framed(caption, [heading, "Bytes", "Wire bytes", "Wire efficiency", "Accesses"], body, foot);
  table.classList.add("tall");
  return table;
}

// `looks` of columns: text or number; by default all but the first are numbers.
function framed(caption, headings, rows, foot = "", looks = headings.map((_, place) => (place ? "number" : "text"))) {
  const heads = headings.map((text, place) => make("th", { scope: "col", class: looks[place] }, text));
  return make(
    "div",
    { class: "wide", tabindex: 0, role: "region", "aria-label": caption },
    make(
      "table",
      {},
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...heads)),
      make("tbody", {}, ...rows),
      foot && make("tfoot", {}, make("tr", {}, make("td", { colspan: headings.length }, foot))),
    ),
  );
}

// A part of snoopie/report/parts.py.
function part(of) {
  if (of.kind === "text") return remark(of.text);
  if (of.kind === "sentences") return make("ul", { class: "lacks" }, ...of.texts.map((text) => make("li", {}, text)));
  if (of.kind === "numbers") return cards(of.numbers);
  const rows = of.rows.map((cells) =>
    make("tr", {}, ...cells.map(({ text, share }, place) => {
      const cell = make("td", { class: share === null ? of.looks[place] : `${of.looks[place]} bar` }, text);
      if (share !== null) cell.style.setProperty("--share", `${share}%`);
      return cell;
    })),
  );
  const foot = of.more ? `… and ${exact(of.more)} more${of.where ? `: ${of.where}` : ""}` : "";
  return framed(of.caption, of.headings, rows, foot, of.looks);
}

// What an amount means in more than a few words is told when the mouse rests on it: the foot of the page explains it.
const FEW_WORDS = 40;

function cards(numbers) {
  const made = numbers.map(([name, value, meaning]) => {
    const [number, about = ""] = value.split(/ (?=\()/);
    const few = about || (meaning.length <= FEW_WORDS ? meaning : "");
    return make("div", { title: few === meaning ? null : meaning }, make("dt", {}, name), make("dd", {}, number), few ? make("dd", { class: "meaning" }, few) : "");
  });
  return make("dl", {}, ...made);
}
