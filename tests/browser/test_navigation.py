"""A person goes back and forth, reloads, types an address: the app shows what was there."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, WebSocketRoute, expect

from tests.browser.conftest import PATIENCE, running_app, settled
from tests.browser.steps import SAMPLES, choose, go_to, in_address, metric
from tests.support import ring
from tests.support.viewing import viewing

OpenPage = Callable[[str], Page]


def heading(page: Page, title: str) -> None:
    page.get_by_role("heading", name=title, exact=True, level=2).wait_for()


def steps_so_far(page: Page) -> int:
    """As the browser counts them: history.length can be out of date after a frame was loaded."""
    session = page.context.new_cdp_session(page)
    steps = len(session.send("Page.getNavigationHistory")["entries"])
    session.detach()
    return steps


def until_steps(page: Page, wanted: int) -> None:
    end = time.monotonic() + PATIENCE / 1000
    while (steps := steps_so_far(page)) != wanted:
        assert time.monotonic() < end, f"{steps} steps, not {wanted}"
        page.wait_for_timeout(50)


def test_back_takes_back_what_a_click_chose(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    heading(page, "Overview")
    settled(page)
    begun = steps_so_far(page)
    choose(page, "Operations", "load")
    in_address(page, "operations=load")
    go_to(page, "Kernels")
    in_address(page, "/kernels?operations=load")
    # Two steps, whatever was written into the address on the way.
    until_steps(page, begun + 2)
    page.go_back()
    heading(page, "Overview")
    settled(page)
    assert metric(page, "Accesses") == "64"
    page.go_back()
    expect(page.get_by_test_id("stMetric").filter(has_text="Accesses")).to_contain_text("224")
    in_address(page, "operations", absent=True)
    settled(page)
    page.go_forward()
    expect(page.get_by_test_id("stMetric").filter(has_text="Accesses")).to_contain_text("64")
    in_address(page, "operations=load")


def test_a_click_on_a_page_outlasts_what_the_page_before_tells(app: str, open_page: OpenPage) -> None:
    page = open_page(f"{app}/communication")
    heading(page, "Communication")
    settled(page)
    # As a table does once it is drawn: the app hears of the click, and at once of something on the page before.
    page.get_by_test_id("stMain").get_by_role("radio", name="Accesses", exact=True).evaluate(
        "value => { addEventListener('click', () => { setTimeout(() => value.click()); }, { once: true }); }"
    )
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Kernels", exact=True).click()
    heading(page, "Kernels")
    settled(page)
    heading(page, "Kernels")


# Resolves once the browser is back, and so many ms later forth again.
_BACK_AND_FORTH = """
later => new Promise((done) => {
  const came = (act) => window.addEventListener("popstate", act, { once: true });
  came(() => setTimeout(() => { came(done); history.forward(); }, later));
  history.back();
})
"""


@pytest.mark.parametrize("later", [0, 1500])
def test_who_goes_on_before_a_page_is_drawn_gets_there(app: str, open_page: OpenPage, later: int) -> None:
    """Forward at once after Back, and while what Back asked for is on its way."""
    page = open_page(app)
    heading(page, "Overview")
    settled(page)
    begun = steps_so_far(page)
    choose(page, "Operations", "load")
    in_address(page, "operations=load")
    page.evaluate(_BACK_AND_FORTH, later)
    expect(page.get_by_test_id("stMetric").filter(has_text="Accesses")).to_contain_text("64")
    settled(page)
    in_address(page, "operations=load")
    go_to(page, "Kernels")
    in_address(page, "/kernels?operations=load")
    until_steps(page, begun + 2)
    page.evaluate(_BACK_AND_FORTH, later)
    in_address(page, "/kernels?operations=load")
    heading(page, "Kernels")
    settled(page)
    heading(page, "Kernels")
    in_address(page, "/kernels?operations=load")
    until_steps(page, begun + 2)


def test_a_reload_shows_what_was_opened_in_the_page(tmp_path: Path, open_page: OpenPage) -> None:
    trace = ring.write_ring(tmp_path)
    with running_app() as address:
        page = open_page(address)
        page.get_by_label("Trace file").fill(str(trace))
        page.get_by_role("button", name="Open", exact=True).click()
        heading(page, "Overview")
        in_address(page, "trace=")
        go_to(page, "Kernels")
        page.reload()
        heading(page, "Kernels")
        # An address can name only what was opened here.
        other = open_page(re.sub("trace=[0-9a-f]+", "trace=0123456789ab", page.url))
        other.get_by_label("Trace file").wait_for()


def test_traces_of_the_browser_are_opened_as_one_run(open_page: OpenPage) -> None:
    with running_app() as address:
        page = open_page(address)
        page.locator("input[type=file]").set_input_files(sorted((SAMPLES / "halo-4gpu").glob("*.zst")))
        settled(page)
        page.get_by_role("button", name="Open these").click()
        heading(page, "Overview")
        settled(page)
        assert [metric(page, name) for name in ("Processes", "Ranks", "Launches")] == ["4", "0–3", "160"]
        expect(page.get_by_text("halo.cu:25 sends half of all bytes, each GPU to the next one")).to_be_visible()
        # Among what was opened before.
        page.get_by_role("button", name="Open another trace").click()
        expect(page.get_by_role("button", name="rank0.zst and 3 more")).to_be_visible()


def test_a_page_is_small_on_the_wire(ring_path: Path, context: BrowserContext, open_page: OpenPage) -> None:
    with viewing(ring_path) as app:
        page = open_page(app.address)
        heading(page, "Overview")
        settled(page)
        sent = [
            (entry["name"], entry["encodedBodySize"], entry["decodedBodySize"])
            for entry in page.evaluate("performance.getEntriesByType('resource').map(entry => entry.toJSON())")
            if entry["name"].endswith(".js")
        ]
        assert sent
        # Scripts are compressed.
        assert sum(small for _, small, _ in sent) < 0.45 * sum(large for _, _, large in sent)


def test_the_first_page_by_its_name(app: str, open_page: OpenPage) -> None:
    page = open_page(f"{app}/overview?operations=load")
    heading(page, "Overview")
    settled(page)
    assert metric(page, "Accesses") == "64"
    expect(page.get_by_text("Page not found")).to_have_count(0)


def test_the_first_tab_skips_to_the_content(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    heading(page, "Overview")
    settled(page)
    page.keyboard.press("Tab")
    link = page.get_by_role("link", name="Skip to main content")
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport()
    page.keyboard.press("Enter")
    # What the next Tab reaches lies in the page, beyond the list of pages and the filters.
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('[data-testid=stMain]') !== null")


def test_a_request_that_is_long_on_its_way_is_answered(app: str, context: BrowserContext) -> None:
    """It says which messages the browser has, which are not sent again: meanwhile the browser must keep them."""
    page = context.new_page()
    servers: list[WebSocketRoute] = []
    held: list[str | bytes] = []
    holding = False

    def between(browser: WebSocketRoute) -> None:
        servers.append(browser.connect_to_server())
        browser.on_message(said)

    def said(message: str | bytes) -> None:
        nonlocal holding
        held.append(message)
        if not holding:
            servers[-1].send(held.pop())
        holding = False

    page.route_web_socket("**/_stcore/stream", between)
    page.goto(f"{app}/communication")
    heading(page, "Communication")
    settled(page)
    go_to(page, "Kernels")
    holding = True
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Communication", exact=True).click()
    for operation in ("load", "store", "reduction"):
        choose(page, "Operations", operation)
    servers[-1].send(held.pop())
    heading(page, "Communication")
    settled(page)
    page.close()
