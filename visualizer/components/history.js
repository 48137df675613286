// The browser's Back and Forward, as a person means them: a click is one step, and a step back takes back what it chose.
//
// Streamlit pushes an address for each thing that the app writes into it. Of all that is written between two actions of
// a person only the first is a step; what the app adds to the address of a page, it adds to the step that opened it.

const ACTIONS = ["pointerdown", "keydown"];
const PATIENCE = 5000; // ms
const STEP = 30;
let told = () => {};
let patched = false;

export default function ({ setTriggerValue }) {
  told = (search) => setTriggerValue("back", search);
  if (patched) return;
  patched = true;
  let stepped = true; // what comes first completes the address with which the page was opened
  const acted = () => { stepped = false; };
  ACTIONS.forEach((action) => window.addEventListener(action, acted, { capture: true }));
  // A click within a table is seen by its frame alone, which then says what was chosen; as it does when it is drawn.
  window.addEventListener("message", ({ data }) => {
    if (data?.type === "streamlit:setComponentValue" && document.activeElement?.tagName === "IFRAME") acted();
  }, { capture: true });
  const push = history.pushState.bind(history);
  history.pushState = (state, title, address) => {
    const page = new URL(address ?? location.href, location.href).pathname;
    if (stepped && page === location.pathname) {
      history.replaceState(state, title, address);
    } else {
      push(state, title, address);
      stepped = true;
    }
  };
  window.addEventListener("popstate", () => {
    stepped = true;
    tell(location.pathname, location.search, PATIENCE);
  }, { capture: true });
}

// Streamlit changes the page; what is told before that, the page before would be told.
function tell(page, search, patience) {
  const shown = document.querySelector("[data-testid=stSidebarNavLink][aria-current=page]");
  if (!shown || shown.pathname === page || patience <= 0) told(search);
  else setTimeout(tell, STEP, page, search, patience - STEP);
}
