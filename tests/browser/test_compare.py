"""A person compares two traces in the app."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import picture, running_app, settled
from tests.browser.steps import go_to, in_address, metric, rows, set_to, table_at
from tests.support import compared, ring

OpenPage = Callable[[str], Page]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The ring, and the ring as it became."""
    folder = tmp_path_factory.mktemp("compared")
    return ring.write_ring(folder), compared.write_later(folder)


@pytest.fixture(scope="module")
def app(paths: tuple[Path, Path]) -> Iterator[str]:
    with running_app(str(paths[0])) as address:
        yield address


def heatmap(page: Page, number: int) -> Locator:
    return page.locator(".js-plotly-plot").nth(number)


def in_cells(page: Page, number: int) -> list[str]:
    labels = heatmap(page, number).locator(".textpoint text")
    labels.first.wait_for()
    return sorted(_lines(label) for label in labels.all())


def _lines(label: Locator) -> str:
    """A number and its unit, which stand below one another."""
    return " ".join(label.locator("tspan").all_text_contents()) or label.text_content() or ""


def open_b(page: Page, path: Path) -> None:
    page.get_by_role("textbox", name="Trace file, or folder").fill(str(path))
    page.get_by_role("button", name="Compare", exact=True).click()
    page.get_by_test_id("stMetric").first.wait_for()
    settled(page)


def test_open_another_trace_and_see_what_changed(app: str, paths: tuple[Path, Path], open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Compare")
    picture(page, "compare_choose")
    open_b(page, paths[1])
    assert metric(page, "Bytes") == "61.2 KiB"
    expect(page.get_by_test_id("stMetric").first).to_contain_text("+9 KiB")
    assert in_cells(page, 0) == sorted(["10 KiB"] * 3 + ["4.1 KiB"] * 2 + ["14.1 KiB"])
    assert in_cells(page, 2) == sorted(["+2 KiB"] * 4 + ["+1 KiB"] + ["="] * 2)
    picture(page, "compare")

    table = table_at(page)
    expect(rows(table)).to_have_count(5)
    expect(rows(table).first).to_contain_text("ring_bump")
    expect(rows(table).first).to_contain_text("-12.2 KiB")
    expect(rows(table).first).to_contain_text("only in A")
    set_to(page, "Lines")
    first = rows(table_at(page)).first
    expect(first).to_contain_text("include/shift.h")
    expect(first).to_contain_text("2 ×")
    in_address(page, "by=Lines")
    table_at(page).scroll_into_view_if_needed()
    picture(page, "compare_lines")

    # It outlives a reload; but the address alone opens no file that nobody asked for here.
    page.reload()
    page.get_by_test_id("stMetric").first.wait_for()
    settled(page)
    assert metric(page, "Bytes") == "61.2 KiB"
    other = open_page(f"{app}/compare?with={paths[1]}")
    other.get_by_text("which has not been opened here").wait_for()
    expect(other.get_by_test_id("stMetric")).to_have_count(0)

    # It is still there after a look at another page.
    go_to(page, "Communication")
    go_to(page, "Compare")
    assert metric(page, "Bytes") == "61.2 KiB"


def test_named_when_the_app_was_started(paths: tuple[Path, Path], open_page: OpenPage) -> None:
    with running_app(str(paths[0]), f"--compare={paths[0]}", f"--compare={paths[1]}") as address:
        page = open_page(f"{address}/compare")
        # The first page of an app that has just been started, and two traces to read.
        page.get_by_test_id("stMetric").first.wait_for()
        expect(page.get_by_text("No difference: every amount")).to_be_visible()
        settled(page)
        picture(page, "compare_same")
        # The other one may be named by the address.
        page = open_page(f"{address}/compare?with={paths[1]}&initiated=host")
        page.get_by_test_id("stMetric").first.wait_for()
        settled(page)
        assert in_cells(page, 2) == ["+1 MiB"]
        page.set_viewport_size({"width": 900, "height": 1000})
        settled(page)
        picture(page, "compare_narrow")
        page.get_by_text("What changed").scroll_into_view_if_needed()
        picture(page, "compare_narrow_below")
        page.set_viewport_size({"width": 420, "height": 900})
        settled(page)
        picture(page, "compare_phone")
        in_address(page, "with=")
