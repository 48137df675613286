"""What a person does in the app, and what they see, for the tests of its views."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from pathlib import Path

from playwright.sync_api import Error, Frame, Locator, Page, TimeoutError, expect

from tests.browser.conftest import PATIENCE, at_rest, drawn, settled
from visualizer.pages import VIEWS as PAGES

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
VIEWS = [view.title for view in PAGES]


def go_to(page: Page, view: str) -> None:
    # Who is to look at one thing at a time clicks on a page that is at rest.
    settled(page)
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=view, exact=True).click()
    page.get_by_role("heading", name=view, exact=True, level=2).wait_for()
    settled(page)


def metric(page: Page, label: str) -> str:
    """The number under a label of the overview."""
    box = page.get_by_test_id("stMetric").filter(has=page.get_by_text(label, exact=True))
    return box.get_by_test_id("stMetricValue").inner_text()


def cells(page: Page) -> list[str]:
    """The numbers in the cells of the last heatmap, sorted."""
    pictures = page.locator(".js-plotly-plot:has(.heatmaplayer .hm)").filter(visible=True)  # not what is loaded ahead
    labels = pictures.last.locator(".textpoint text")
    labels.first.wait_for()
    return sorted(filter(None, labels.all_text_contents()))


# What can be chosen in the graph of who reached whom (heads of arrows, then places), and in a heatmap.
GRAPH, MATRIX = ".graph .point > :first-child", ".js-plotly-plot .scatterlayer .point"


def over_a_point(page: Page, picture: str, point: int = 0) -> Locator:
    """Moves the mouse to what can be chosen in a picture, GRAPH or MATRIX; all that can be."""
    points = page.locator(picture).filter(visible=True)
    points.nth(point).scroll_into_view_if_needed()
    left, top, width, height = at_rest(points.nth(point))
    page.mouse.move(left + width / 2, top + height / 2)
    return points


def table_at(page: Page, place: int = 0) -> Locator:
    """One of the tables that are seen, from 0."""
    return page.locator(".table").filter(visible=True).nth(place)


def rows(table: Locator) -> Locator:
    """Those in sight, and some more."""
    return table.locator(".canvas .row")


def filtered_events(page: Page) -> Locator:
    """The rows of the page's list of single events where it has filters: a frame of AG Grid."""
    return page.frame_locator("iframe").locator(".ag-center-cols-container .ag-row")


def set_to(page: Page, option: str) -> None:
    """Picks an entry of a row of buttons."""
    page.get_by_role("radio", name=option, exact=True).click()
    settled(page)


def in_address(page: Page, part: str, *, absent: bool = False) -> None:
    """Waits until the address has this part, or has it no more: the browser hears of it after the page is drawn."""
    address = re.compile(re.escape(part))
    if absent:
        expect(page).not_to_have_url(address)
    else:
        expect(page).to_have_url(address)


# Clicks on the entry of an open list that says this, or has it in what it says; whether there is one. Not before ten
# looks in a row, one a frame, have seen the same list: what is clicked while it still comes can be another entry.
_CHOOSE = """([option, exact]) => {
  const said = (entry) => entry.textContent.replace(/\\s+/g, " ").trim();
  const meant = (text) => exact ? text === option : text.toLowerCase().includes(option.toLowerCase());
  const entries = [...document.querySelectorAll('[role="option"]')];
  const list = entries.map(said).join("\\n");
  window.looks = list === window.listed ? window.looks + 1 : 1;
  window.listed = list;
  if (window.looks < 10) return false;
  const entry = entries.find((one) => meant(said(one)));
  entry?.click();
  window.looks = 0;
  return Boolean(entry);
}"""


def choose(page: Page, label: str, option: str, *, exact: bool = False) -> None:
    """Picks an entry of a chooser by what it says, or by the whole of it."""
    chooser = page.get_by_role("combobox", name=label)
    # A list closes when what it stands in is scrolled, or drawn anew; a click on one that is open closes it.
    chooser.scroll_into_view_if_needed()
    settled(page)
    tries = 8
    for again in range(tries):
        if chooser.get_attribute("aria-expanded") != "true":
            chooser.click()
        try:
            # Found and clicked in one step: the elements of a list that is just being opened become those of other
            # entries ("Select all" comes before the first), and on a busy machine a list still moves under the mouse.
            page.wait_for_function(_CHOOSE, arg=[option, exact], timeout=PATIENCE / tries)
            break
        except TimeoutError:
            if again == tries - 1:
                raise
            # A list that is said to be open and shows nothing opens again after it was left.
            page.keyboard.press("Escape")
            chooser.blur()
    page.keyboard.press("Escape")
    settled(page)


def over_the_first_place(page: Page) -> Locator:
    """Moves the mouse to the leftmost place of the picture of links, which is GPU 0 of two; its tooltip."""
    frame = page.frame_locator("iframe").first
    frame.locator("canvas").wait_for()
    drawn(page)  # it moves into place
    box = page.locator("iframe").first.bounding_box()
    assert box is not None
    tooltip = frame.locator(".vis-tooltip")
    # Where the place is drawn is not known, and the tooltip comes a moment after the mouse: later on a busy machine.
    patience = 400.0
    while patience < PATIENCE:
        for right in range(20, int(box["width"] / 2), 20):
            page.mouse.move(box["x"] + right, box["y"] + box["height"] / 2 - 12)
            with suppress(TimeoutError):
                tooltip.wait_for(timeout=patience)
                return tooltip
        patience *= 2
    raise AssertionError("no tooltip has come")


# The page, and what in it has a root of its own, as tables: no search from above looks into that.
_ROOTS = """
const below = (root) =>
  [root, ...[...root.querySelectorAll("*")].flatMap((one) => (one.shadowRoot ? below(one.shadowRoot) : []))];
const roots = below(document);
"""
# An icon, too, which no browser without a window asks for.
_LOADED = """
return roots.flatMap((root) => [...root.querySelectorAll("link[href], [src]")]).map((one) => one.href || one.src);
"""
_SAID = """
const texts = roots.flatMap((root) => (root.body ? [root.body] : [...root.children]))
  .filter((one) => one.tagName !== "STYLE").map((one) => one.innerText ?? "");
const hints = roots.flatMap((root) => [...root.querySelectorAll("[title], [aria-label]")])
  .flatMap((one) => [one.getAttribute("title") ?? "", one.getAttribute("aria-label") ?? ""]);
return [...texts, ...hints].join("\\n");
"""


def said(frame: Frame) -> str:
    """What is written in a frame, also in its tables, and what is told of elements."""
    text: str = frame.evaluate(f"() => {{ {_ROOTS} {_SAID} }}")
    return text


def loaded(page: Page) -> list[str]:
    """The full addresses that elements of the page name to load something from, without what they hold themselves."""
    addresses: list[str] = page.evaluate(f"() => {{ {_ROOTS} {_LOADED} }}")
    return [address for address in addresses if not address.startswith("data:")]


def stayed_text(page: Page) -> None:
    """Checks that no markup of a name came to life, in the page or in a frame of it."""
    end = time.monotonic() + PATIENCE / 1000
    while True:
        frames = page.frames
        try:
            for frame in frames:
                frame.wait_for_load_state()
                assert "taken" not in frame.title()
                assert frame.locator("img[src=x]").count() == 0
            return
        except Error:
            # One was replaced meanwhile, and what came instead is to be looked at.
            assert any(frame.is_detached() for frame in frames) and time.monotonic() < end
