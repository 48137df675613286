// Draws what is chosen, now and whenever the address changes.

const DRAW = { overview: drawOverview, source: drawSource, matrix: drawMatrix, timeline: drawTimelineView };

function draw() {
  const root = document.getElementById("view");
  keepingFocus(document.body, () => {
    drawBar();
    root.replaceChildren();
    DRAW[state.view](root);
  });
}

addEventListener("hashchange", () => {
  const before = state.view;
  readAddress();
  draw();
  if (state.view !== before) scrollTo(0, 0);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
document.getElementById("bar").hidden = false;
document.getElementById("wait").remove();
readAddress();
draw();
