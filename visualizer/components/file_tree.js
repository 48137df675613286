// A tree of folders and files, with a search. What is open and where the keyboard is stays in the browser.

const MANY = 60; // rows beyond which small folders are closed at first
const SMALL = 0.05; // of all bytes

let made = 0;

export default function ({ parentElement, data, setTriggerValue }) {
  const view = viewOf(parentElement, build);
  const first = !view.data;
  const moved = first || view.data.chosen !== data.chosen;
  view.data = data;
  view.send = setTriggerValue;
  view.rows = data.rows.map(([path, name, depth, folder, bytes, share, percent, whole], place) => (
    { path, name, depth, folder, bytes, share, percent, whole, place }
  ));
  const above = [];
  for (const row of view.rows) {
    above.length = row.depth;
    row.above = [...above];
    above.push(row);
    if (first && row.folder && view.rows.length > MANY && row.share < SMALL) view.closed.add(row.path);
  }
  view.chosen = data.chosen;
  if (moved) {
    // What was chosen is in sight, however that came about.
    const row = view.rows.find(({ path, folder }) => path === data.chosen && !folder);
    row?.above.forEach(({ path }) => view.closed.delete(path));
    view.active = row ? idOf(row) : null;
  }
  view.note.textContent = data.left_out ? `${data.left_out.toLocaleString("en")} more, with fewer bytes, are not listed` : "";
  draw(view);
  if (moved) intoSight(view, "chosen");
}

function build(root) {
  root.classList.add("files");
  const search = searchField("Search files");
  const tree = element("div", "tree");
  tree.tabIndex = 0;
  tree.setAttribute("role", "tree");
  tree.setAttribute("aria-label", "Files by traffic");
  const note = element("div", "note");
  root.replaceChildren(search, tree, note);
  const view = { search, tree, note, rows: [], closed: new Set(), active: null, chosen: null, data: null, name: ++made };
  search.addEventListener("input", () => draw(view));
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") open(view, shown(view).find(({ folder }) => !folder));
    else if (event.key === "ArrowDown") tree.focus();
    else return;
    event.preventDefault();
  });
  tree.addEventListener("click", (event) => {
    const item = event.target.closest(".item");
    if (item) open(view, view.rows[Number(item.dataset.place)]);
  });
  tree.addEventListener("keydown", (event) => onKey(view, event));
  return view;
}

function onKey(view, event) {
  const rows = shown(view);
  const at = rows.findIndex((row) => idOf(row) === view.active);
  const row = rows[at];
  const isOpen = row?.folder && !view.closed.has(row.path);
  let next;
  if (event.key === "ArrowDown") next = rows[Math.min(at + 1, rows.length - 1)];
  else if (event.key === "ArrowUp") next = rows[Math.max(at - 1, 0)];
  else if (event.key === "Home") next = rows[0];
  else if (event.key === "End") next = rows[rows.length - 1];
  else if (event.key === "ArrowRight" && row?.folder && !isOpen) view.closed.delete(row.path);
  else if (event.key === "ArrowRight" && isOpen) next = rows[at + 1];
  else if (event.key === "ArrowLeft" && isOpen) view.closed.add(row.path);
  else if (event.key === "ArrowLeft" && row?.above.length) next = row.above[row.above.length - 1];
  else if (event.key === "Enter" || event.key === " ") open(view, row);
  else return;
  event.preventDefault();
  if (next) view.active = idOf(next);
  draw(view);
  intoSight(view, "active");
}

function open(view, row) {
  if (!row) return;
  view.active = idOf(row);
  if (row.folder) {
    if (!view.closed.delete(row.path)) view.closed.add(row.path);
  } else if (row.path !== view.chosen) {
    view.chosen = row.path;
    view.send("file", row.path);
  }
  draw(view);
}

function shown({ rows, closed, search }) {
  const words = wordsOf(search);
  if (!words.length) return rows.filter(({ above }) => !above.some(({ path }) => closed.has(path)));
  const found = new Set();
  for (const row of rows) {
    const path = row.path.toLowerCase();
    if (!row.folder && words.every((word) => path.includes(word))) [...row.above, row].forEach((one) => found.add(one));
  }
  return rows.filter((row) => found.has(row));
}

function draw(view) {
  const rows = shown(view);
  const searching = view.search.value.trim() !== "";
  const items = rows.map((row) => {
    const item = element("div", "item");
    item.id = `files-${view.name}-${row.place}`;
    item.dataset.place = row.place;
    item.title = `${row.whole}\n${row.bytes}, ${row.percent}`;
    item.setAttribute("role", "treeitem");
    item.setAttribute("aria-level", String(row.depth + 1));
    item.style.setProperty("--depth", row.depth);
    const isOpen = searching || !view.closed.has(row.path);
    if (row.folder) item.setAttribute("aria-expanded", String(isOpen));
    else item.setAttribute("aria-selected", String(row.path === view.chosen));
    if (row.folder) item.classList.add("folder");
    else if (row.path === view.chosen) item.classList.add("chosen");
    if (idOf(row) === view.active) {
      item.classList.add("active");
      view.tree.setAttribute("aria-activedescendant", item.id);
    }
    item.style.setProperty("--share", `${100 * row.share}%`);
    const mark = row.folder ? (isOpen ? "▾" : "▸") : "";
    item.append(element("span", "mark", mark), element("span", "name", row.name), element("span", "amount", row.bytes));
    return item;
  });
  view.tree.replaceChildren(...(items.length ? items : [element("div", "note", "No file has all of these words.")]));
}

function intoSight({ tree }, name) {
  const item = tree.querySelector(`.${name}`);
  if (!item) return;
  const over = item.offsetTop - tree.scrollTop;
  if (over < 0 || over + item.offsetHeight > tree.clientHeight) tree.scrollTop = item.offsetTop - tree.clientHeight / 3;
}

function idOf({ path, folder }) {
  return `${folder ? "folder" : "file"} ${path}`;
}
