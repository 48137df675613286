// The browser's Back and Forward, as a person means them: a click is one step, and a step back takes back what it chose.
//
// Streamlit pushes an address for each thing that the app writes into it. Of all that is written between two actions of
// a person only the first is a step; what the app adds to the address of a page, it adds to the step that opened it.
//
// Who goes on while the page of a step is still being drawn has left it: what the app then says of it is late.
//
// And a click on a page holds. Until the app has answered it, all that tables tell the app is told in the
// name of the page before, and the last that was told decides: the click is made again.

const ACTIONS = ["pointerdown", "keydown"];
const PATIENCE = 5000; // ms
const STEP = 30;
const LINK = "[data-testid=stSidebarNavLink]";
const CALM = 10; // steps
const TRIES = 5;
let told = () => {};
let patched = false;
let wanted = null; // the page of a click that the app has not answered for good
let insisting = 0;

export default function ({ setTriggerValue }) {
  told = (search) => setTriggerValue("back", search);
  if (patched) return;
  patched = true;
  let stepped = true; // what comes first completes the address with which the page was opened
  let returned = false; // by Back or Forward, and nothing was done since
  const acted = () => {
    stepped = returned = false;
    wanted = null;
  };
  ACTIONS.forEach((action) => window.addEventListener(action, acted, { capture: true }));
  window.addEventListener("click", ({ target, isTrusted }) => {
    const link = isTrusted && target.closest?.(LINK);
    if (!link) return;
    wanted = link.pathname;
    clearTimeout(insisting);
    insist(CALM, TRIES);
  }, { capture: true });
  // A click within a table is seen by its frame alone, which then says what was chosen; as it does when it is drawn.
  window.addEventListener("message", ({ data }) => {
    if (data?.type === "streamlit:setComponentValue" && document.activeElement?.tagName === "IFRAME") acted();
  }, { capture: true });
  const push = history.pushState.bind(history);
  history.pushState = (state, title, address) => {
    const page = new URL(address ?? location.href, location.href).pathname;
    if (returned && page !== location.pathname) {
      // Late. Streamlit takes the page for the one to be shown, and has to be told again.
      when(page, () => window.dispatchEvent(new PopStateEvent("popstate", { state: history.state })));
    } else if (wanted && page !== wanted) {
      // Late, too: the click is made again.
    } else if (stepped && page === location.pathname) {
      history.replaceState(state, title, address);
    } else {
      push(state, title, address);
      stepped = true;
    }
  };
  window.addEventListener("popstate", () => {
    stepped = returned = true;
    wanted = null;
    // Streamlit changes the page; what is told before that, the page before would be told.
    const { pathname, search } = location;
    when(pathname, () => location.pathname === pathname && location.search === search && told(search));
  }, { capture: true });
}

// Does something once this page is the one that Streamlit shows.
function when(page, act, patience = PATIENCE) {
  const shown = document.querySelector(`${LINK}[aria-current=page]`);
  if (!shown || shown.pathname === page || patience <= 0) act();
  else setTimeout(when, STEP, page, act, patience - STEP);
}

// Once the app has been idle for some steps, it shows the page, or is asked for it again.
function insist(steps, tries) {
  const link = [...document.querySelectorAll(LINK)].find(({ pathname }) => pathname === wanted);
  const idle = document.querySelector("[data-testid=stApp][data-test-script-state=notRunning]");
  if (!link || tries === 0) {
    wanted = null;
  } else if (steps > 0) {
    insisting = setTimeout(insist, STEP, idle ? steps - 1 : CALM, tries);
  } else if (link.ariaCurrent === "page") {
    wanted = null;
  } else {
    link.click();
    insisting = setTimeout(insist, STEP, CALM, tries - 1);
  }
}
