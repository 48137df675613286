"""The filters in the sidebar, by mouse and keyboard, and their address as a colleague opens it."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.conftest import picture, settled
from tests.browser.steps import choose, go_to, in_address, metric

OpenPage = Callable[[str], Page]


def selected(page: Page) -> str:
    return page.get_by_test_id("stSidebar").get_by_text("Selected").inner_text()


def test_the_list_of_the_next_chooser_opens_below_the_mouse(mixed_app: str, open_page: OpenPage) -> None:
    page = open_page(mixed_app)
    go_to(page, "Overview")
    choose(page, "Process", "rank 1: mixed 4712", exact=True)
    # Nobody presses and lets go at once: the list is there in between, and takes what it is let go on.
    page.get_by_role("combobox", name="Owner").hover()
    page.mouse.down()
    expect(page.get_by_role("option", name="GPU 0", exact=True)).to_be_visible()
    page.mouse.up()
    settled(page)
    assert "owners" not in page.url
    # What was chosen was.
    in_address(page, "processes=1")


def test_filters_by_mouse_and_keyboard(mixed_app: str, open_page: OpenPage) -> None:
    page = open_page(mixed_app)
    go_to(page, "Overview")
    expect(page.get_by_role("button", name="Clear filters")).to_have_count(0)
    choose(page, "Process", "rank 1: mixed 4712", exact=True)
    choose(page, "Owner", "GPU 0", exact=True)
    assert (metric(page, "Accesses"), metric(page, "Ranks")) == ("96", "0–1")
    # From the last moment back by the keyboard: what is left is a time that ends before the end.
    page.get_by_role("slider").nth(1).focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    settled(page)
    expect(page).to_have_url(re.compile(r"between=0-\d+"))
    assert metric(page, "Copies") == "2"
    page.get_by_role("spinbutton", name="Last launch").fill("5")
    page.keyboard.press("Enter")
    settled(page)
    assert (metric(page, "Accesses"), metric(page, "Copies")) == ("80", "0")
    assert "2 of 6 launches" in selected(page)
    picture(page, "filters")

    # On every page the same, and for a colleague who opens the address.
    go_to(page, "Communication")
    for part in ("processes=1", "owners=GPU+0", "between=0-", "launches=1-5"):
        in_address(page, part)
    other = open_page(page.url)
    other.get_by_role("heading", name="Communication", exact=True, level=2).wait_for()
    settled(other)
    assert selected(other) == selected(page)
    go_to(other, "Overview")
    assert metric(other, "Accesses") == "80"
    expect(other.get_by_role("spinbutton", name="Last launch")).to_have_value("5")

    other.get_by_role("button", name="Clear filters").click()
    settled(other)
    assert metric(other, "Accesses") == "218"
    in_address(other, "?", absent=True)
    expect(other.get_by_role("spinbutton", name="Last launch")).to_have_value("")
