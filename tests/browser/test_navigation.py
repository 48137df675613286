"""A person goes back and forth, reloads, types an address: the app shows what was there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import running_app, settled
from tests.browser.steps import choose, go_to, in_address, metric
from tests.support import ring

OpenPage = Callable[[str], Page]


def heading(page: Page, title: str) -> None:
    page.get_by_role("heading", name=title, exact=True, level=2).wait_for()


def test_back_takes_back_what_a_click_chose(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    heading(page, "Overview")
    settled(page)
    begun = page.evaluate("history.length")
    choose(page, "Operations", "load")
    in_address(page, "operations=load")
    go_to(page, "Kernels")
    in_address(page, "/kernels?operations=load")
    # Two steps, whatever was written into the address on the way.
    page.wait_for_function(f"history.length === {begun + 2}")
    page.go_back()
    heading(page, "Overview")
    settled(page)
    assert metric(page, "Accesses") == "64"
    page.go_back()
    expect(page.get_by_test_id("stMetric").filter(has_text="Accesses")).to_contain_text("224")
    in_address(page, "operations", absent=True)
    page.go_forward()
    expect(page.get_by_test_id("stMetric").filter(has_text="Accesses")).to_contain_text("64")
    in_address(page, "operations=load")


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
    link = page.get_by_role("link", name="Skip to the content")
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport()
    page.keyboard.press("Enter")
    # What the next Tab reaches lies in the page, beyond the list of pages and the filters.
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('[data-testid=stMain]') !== null")
