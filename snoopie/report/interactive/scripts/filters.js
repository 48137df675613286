// The bar with the views and the filters, which hold for all of them.

const MOST_CHOICES = 500;

function drawBar() {
  const links = VIEWS.map(([key, label]) =>
    make("button", { type: "button", "aria-current": key === state.view ? "page" : null, "data-focus": `view ${key}`, click: () => choose({ view: key }) }, label),
  );
  document.getElementById("views").replaceChildren(...links);
  const filters = [
    filter("Pair", byPair(["pair"]), (pair) => pairName(...endsOf(pair)), chosenPair() ? pairOf(state.first, state.second) : -1, (pair) => {
      const [first, second] = pair < 0 ? [-1, -1] : endsOf(pair);
      choose({ first, second });
    }),
    filter("Kernel", byKernel(["kernel"]), shortKernel, state.kernel, (kernel) => choose({ kernel })),
    filter("Line", byLine(["line"]), lineName, state.line, (line) => choose({ line })),
    make("button", { type: "button", disabled: !anyFilter(), "data-focus": "clear", click: () => choose({ first: -1, second: -1, kernel: -1, line: -1 }) }, "Clear filters"),
  ];
  document.getElementById("filters").replaceChildren(...filters);
}

function filter(label, sums, name, chosen, chose) {
  const shown = sums.slice(0, MOST_CHOICES);
  const options = [[-1, `All ${label.toLowerCase()}s`], ...shown.map(([key, own]) => [key, `${name(key)} · ${amount(own, "bytes")}`])];
  if (chosen >= 0 && !shown.some(([key]) => key === chosen)) options.splice(1, 0, [chosen, name(chosen)]);
  const list = chooser(label, options, chosen, (key) => chose(Number(key)));
  list.dataset.focus = label;
  if (chosen >= 0) list.classList.add("active");
  const more = sums.length > shown.length ? `: the ${shown.length} with most bytes of ${exact(sums.length)}` : "";
  return make("label", {}, make("span", {}, label + more), list);
}
