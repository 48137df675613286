"""The app in a real Chromium. SNOOPIE_CHROMIUM names another browser; SNOOPIE_SCREENSHOTS a folder for pictures."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from tests.support import mixed, ring
from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "visualizer" / "app.py"
SERVER = ROOT / "visualizer" / "server" / "serve.py"
# The first draws pages as the others do, and has nothing around them.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    # Without these the browser asks its maker's servers at every start.
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # It takes at the next load what it has compiled also of scripts that are modules, as nearly all of the app's are.
    "--disable-features=BackgroundResourceFetch",
    # A page is closed before it has won back what it takes to optimize its scripts: a seventh of all its time.
    "--js-flags=--no-opt --no-maglev",
]
_Seen = TypeVar("_Seen")
PATIENCE = 120_000  # ms, for a machine that is busy with something else
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Callable[..., Any]]:
    """chromium("launch", …): Playwright's function of this name, for the browser of this machine."""
    path = os.environ.get("SNOOPIE_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.fail("install Chromium (Debian: chromium-headless-shell, or chromium), or name one in SNOOPIE_CHROMIUM")
    with sync_playwright() as playwright:
        yield lambda function, *arguments, **options: getattr(playwright.chromium, function)(
            *arguments, executable_path=path, args=SWITCHES, **options
        )


@pytest.fixture(scope="session")
def browser(chromium: Callable[..., Any]) -> Iterator[Browser]:
    started: Browser = chromium("launch")
    yield started
    started.close()


@contextmanager
def running_app(*words: str) -> Iterator[str]:
    """The app's address, while `snoopie view`'s server serves it with these words."""
    port = free_port()
    with _answering([str(SERVER), f"--port={port}", "--no-token", "--", *words], port) as address:
        yield address


@contextmanager
def streamlit_run(*words: str) -> Iterator[str]:
    """The same by `streamlit run`, with the settings that lie beside the app."""
    port = free_port()
    options = [f"--server.port={port}", "--server.fileWatcherType=none"]
    with _answering(["-m", "streamlit", "run", str(APP), *options, *words], port) as address:
        yield address


@contextmanager
def _answering(words: list[str], port: int) -> Iterator[str]:
    without_a_browser = os.environ | {"STREAMLIT_SERVER_HEADLESS": "true"}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, *words], stdout=output, stderr=subprocess.STDOUT, env=without_a_browser
        )
        try:
            _wait_for(f"http://127.0.0.1:{port}/_stcore/health", process, output)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.kill()
            process.wait()


def _wait_for(address: str, process: subprocess.Popen[bytes], output: IO[bytes]) -> None:
    end = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    output.seek(0)
    pytest.fail(f"the app did not start:\n{output.read().decode(errors='replace')}")


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on the ring of tests/support/ring.py, with its sources beside the trace."""
    folder = tmp_path_factory.mktemp("ring")
    ring.write_sources(folder)
    with running_app(str(ring.write_ring(folder))) as address:
        yield address


@pytest.fixture(scope="session")
def mixed_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on the two ranks of tests/support/mixed.py."""
    with running_app(str(mixed.write_mixed(tmp_path_factory.mktemp("mixed")))) as address:
        yield address


@pytest.fixture(scope="session")
def sample_app() -> Iterator[Callable[[str], str]]:
    """sample_app(sample) → the address of the app on it, one for all tests; beside jacobi of two GPUs that of four."""
    addresses: dict[str, str] = {}
    with ExitStack() as apps:

        def address(sample: str) -> str:
            if sample not in addresses:
                path = ROOT / "sample_traces" / sample
                beside = ["--compare", str(path.with_name("jacobi-4gpu.zst"))] if "jacobi" in sample else []
                addresses[sample] = apps.enter_context(running_app(str(path), *beside))
            return addresses[sample]

        yield address


# Notes when the page last asked the app for something, and when the app last answered: between the two, which takes
# long on a busy machine, nothing on the page tells that an answer is to come. What changes in a table's frame is noted
# in the page around it.
_NOTE = """
window.asked = window.answered = window.changes = 0;
window.WebSocket = class extends WebSocket {
  constructor(...words) {
    super(...words);
    this.addEventListener("message", () => { window.answered = performance.now(); });
  }
  send(data) {
    window.asked = performance.now();
    super.send(data);
  }
};
// Frames of no origin, as the browser makes some itself, must not look at the page.
if (window.origin !== "null") {
  new MutationObserver((seen) => { window.top.changes += seen.length; }).observe(
    document, {subtree: true, childList: true, attributes: true, characterData: true}
  );
}
"""


@pytest.fixture(scope="session")
def note() -> str:
    """The script by which `settled` knows what was asked, for contexts of a test's own."""
    return _NOTE


@pytest.fixture(scope="session")
def context(chromium: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """One for all pages, with a profile on disk: the app's scripts are loaded and compiled once.

    Its user wants no movement: a browser that draws without a GPU takes long for each of the sixty pictures a second.
    """
    shared: BrowserContext = chromium(
        "launch_persistent_context",
        tmp_path_factory.mktemp("profile"),
        viewport={"width": 1400, "height": 1000},
        reduced_motion="reduce",
    )
    shared.set_default_timeout(PATIENCE)
    shared.add_init_script(_NOTE)
    # The empty page that it begins with.
    for page in shared.pages:
        page.close()
    yield shared
    shared.close()


@pytest.fixture
def open_page(context: BrowserContext) -> Iterator[Callable[[str], Page]]:
    """open_page(address) → a page; the test fails if a script on it failed."""
    errors: list[str] = []

    def open_one(address: str) -> Page:
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        return page

    yield open_one
    exceptions = [page.locator("[data-testid=stException]").count() for page in context.pages]
    for page in context.pages:
        page.close()
    assert not any(exceptions)
    assert not errors


# Resolves once the app has answered, its script has ended, tables are drawn in their frames, and nothing has changed at
# `looks` looks in a row. What a script sends is drawn after its end, by components that replace each other's elements:
# who takes hold of one before may lose it. And a table that is drawn may tell the app, which runs its script again.
# Looks are counted, not time: while the page is busy it takes none.
_QUIET = """
([looks, patience]) => new Promise((done, failed) => {
  const begun = performance.now();
  let calm = 0, last = "";
  const empty = (frame) => {
    // What is loaded ahead is hidden, and may go before it is drawn.
    if (!frame.checkVisibility({visibilityProperty: true})) return false;
    const root = frame.contentDocument?.querySelector("#root");
    return frame.contentDocument?.readyState !== "complete" || root?.childElementCount === 0;
  };
  const look = setInterval(() => {
    const now = [changes, asked, answered].join();
    const ended = document.querySelector("[data-testid=stApp][data-test-script-state=notRunning]");
    const undrawn = [...document.querySelectorAll("iframe[src*='/component/']")].filter(empty);
    const waiting = {
      "the script runs": !ended, "no answer": answered < asked,
      "frames are empty": undrawn.length, "it changes": now !== last,
    };
    calm = Object.values(waiting).some(Boolean) ? 0 : calm + 1;
    last = now;
    const late = performance.now() - begun > patience;
    if (!late && calm < looks) return;
    clearInterval(look);
    const why = Object.keys(waiting).filter((one) => waiting[one]).join(", ");
    const empties = undrawn.map((frame) => frame.src).join(" ");
    late ? failed(new Error(`the page has not come to rest: ${why} (${now}) ${empties}`)) : done();
  }, 50);
})
"""


def settled(page: Page) -> None:
    """Waits until the app has answered and the page has come to rest."""
    page.evaluate(_QUIET, [6, PATIENCE])


def drawn(page: Page) -> bytes:
    """What is seen: all is drawn, and at its place."""
    return _steady(page, page.screenshot, 200)


def at_rest(place: Locator) -> tuple[float, float, float, float]:
    """Left, top, width and height of an element that has come to its place."""
    box = _steady(place.page, place.bounding_box, 100)
    return box["x"], box["y"], box["width"], box["height"]


def _steady(page: Page, look: Callable[[], _Seen | None], pause: int) -> _Seen:
    """What two looks in a row, with so many ms between, see the same."""
    last, now = None, look()
    end = time.monotonic() + PATIENCE / 1000
    while now is None or now != last:
        assert time.monotonic() < end, "the page has not come to rest"
        page.wait_for_timeout(pause)
        last, now = now, look()
    return now


def picture(page: Page, name: str) -> None:
    """Saves what is seen, if the user asked for pictures."""
    if folder := os.environ.get("SNOOPIE_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / f"{name}.png").write_bytes(drawn(page))
