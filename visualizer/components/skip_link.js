// The first that the keyboard reaches: a link over the list of pages and the filters, to what the page shows.

const NAME = "snoopie-skip";
const HIDDEN = "translateY(-300%)";

export default function () {
  if (document.getElementById(NAME)) return;
  const link = document.createElement("a");
  link.id = NAME;
  link.href = "#";
  link.textContent = "Skip to the content";
  Object.assign(link.style, {
    position: "fixed", top: "0.5rem", left: "0.5rem", zIndex: 1000000, padding: "0.5rem 1rem",
    background: "#0173b2", color: "#ffffff", borderRadius: "0.5rem", transform: HIDDEN,
  });
  link.addEventListener("focus", () => { link.style.transform = "none"; });
  link.addEventListener("blur", () => { link.style.transform = HIDDEN; });
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const content = document.querySelector("[data-testid=stMainBlockContainer]");
    if (!content) return;
    content.tabIndex = -1;
    content.focus();
    content.scrollIntoView({ block: "start" });
  });
  document.body.prepend(link);
}
