"""What a load of a page moves, and what it asks the server for, where `snoopie view` serves the app."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Route, expect

from tests.browser.conftest import PATIENCE, ROOT, settled
from tests.support.viewing import Viewed, viewing
from visualizer.pages import VIEWS

SAMPLES = ROOT / "sample_traces"
# How much may move, as browsers measure it (cumulative layout shift): more is called poor.
STILL = 0.1
# Each move that is not the answer to what a user just did: how much, and what moved from where to where.
_OBSERVE = """
window.moves = [];
new PerformanceObserver((seen) => {
  for (const { value, hadRecentInput, sources } of seen.getEntries()) {
    if (hadRecentInput) continue;
    const rectangle = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(" ");
    const what = sources.map(({ node, previousRect, currentRect }) =>
      `${node?.className ?? node?.nodeName} ${rectangle(previousRect)} -> ${rectangle(currentRect)}`);
    moves.push([value, ...what]);
  }
}).observe({ type: "layout-shift", buffered: true });
"""


@pytest.fixture(scope="module")
def app() -> Iterator[Viewed]:
    with viewing(SAMPLES / "halo-4gpu", "--compare", SAMPLES / "jacobi-4gpu.zst") as running:
        yield running


@pytest.fixture(scope="module")
def inside(
    app: Viewed, chromium: Callable[..., Any], note: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrowserContext]:
    """A browser that was let in, and has loaded nothing of the app."""
    context: BrowserContext = chromium(
        "launch_persistent_context", tmp_path_factory.mktemp("profile"), viewport={"width": 1440, "height": 900}
    )
    context.set_default_timeout(PATIENCE)
    context.add_init_script(note)
    context.add_init_script(_OBSERVE)
    name, _, token = app.cookie["Cookie"].partition("=")
    context.add_cookies([{"name": name, "value": token, "url": f"http://{app.host}"}])
    yield context
    context.close()


@dataclass
class Asked:
    """What was asked of the server, and not taken from what the browser keeps."""

    sizes: dict[str, int] = field(default_factory=dict)

    def watch(self, page: Page) -> None:
        session = page.context.new_cdp_session(page)
        kept = set()

        def received(event: dict[str, Any]) -> None:
            # What came together is in the page itself.
            if event["response"].get("fromDiskCache") or event["response"]["url"].startswith("blob:"):
                kept.add(event["requestId"])

        def finished(event: dict[str, Any]) -> None:
            if event["requestId"] not in kept:
                self.sizes[event["requestId"]] = event["encodedDataLength"]

        session.on("Network.requestServedFromCache", lambda event: kept.add(event["requestId"]))
        session.on("Network.responseReceived", received)
        session.on("Network.loadingFinished", finished)
        session.send("Network.enable")


def loaded(page: Page) -> None:
    """Waits until nothing is still to come."""
    settled(page)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    settled(page)


# First, before the browser keeps anything.
def test_a_load_asks_for_little_and_a_later_one_for_next_to_nothing(app: Viewed, inside: BrowserContext) -> None:
    """A page with pictures and tables."""
    page = inside.new_page()
    asked = Asked()
    asked.watch(page)

    def load() -> list[int]:
        asked.sizes.clear()
        page.goto(f"http://{app.host}/communication")
        page.locator(".js-plotly-plot .heatmaplayer").first.wait_for()
        loaded(page)
        return list(asked.sizes.values())

    first, later = load(), load()
    page.close()
    # With the scripts of pictures, more than a megabyte.
    assert 2_000_000 < sum(first) <= 4_000_000
    assert len(later) <= len(first) <= 30
    assert sum(later) <= 100_000


def test_scripts_come_one_by_one_where_a_browser_takes_them_in_no_other_way(
    app: Viewed, inside: BrowserContext
) -> None:
    """As where something between browser and server has rules of its own."""
    page = inside.new_page()

    def stricter(route: Route) -> None:
        answer = route.fetch()
        policy = answer.headers["content-security-policy"].replace(" blob:;", ";", 1)
        assert "script-src 'self' 'unsafe-inline' 'unsafe-eval';" in policy
        route.fulfill(response=answer, headers=answer.headers | {"content-security-policy": policy})

    page.route("**/calls", stricter)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"http://{app.host}/calls")
    # More of the page is not to be had: browsers let one that the test hands them open no WebSocket.
    page.get_by_role("link", name="Skip to main content").wait_for(state="attached")
    page.close()
    assert sum(address.startswith(f"http://{app.host}/static/js/") for address in asked) > 60


@pytest.mark.parametrize("name", ["", *(view.name for view in VIEWS[1:])])
def test_nothing_moves(app: Viewed, inside: BrowserContext, name: str) -> None:
    page = inside.new_page()
    page.goto(f"http://{app.host}/{name}")
    loaded(page)
    # They come with the list of pages.
    page.get_by_test_id("stSidebar").get_by_text("Filters", exact=True).wait_for()
    moves = page.evaluate("moves")
    page.close()
    assert sum(value for value, *_ in moves) <= STILL, moves
