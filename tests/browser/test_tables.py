"""Tables in the browser: sorted, searched, read and chosen from with mouse and keys."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import at_rest, running_app, settled
from tests.browser.steps import filtered_events, in_address, rows, table_at
from tests.support.encoder import TraceBuilder

OpenPage = Callable[[str], Page]


def opened(open_page: OpenPage, address: str) -> tuple[Page, Locator]:
    page = open_page(address)
    table_at(page).wait_for()
    settled(page)
    return page, table_at(page)


def column(table: Locator, heading: str) -> list[str]:
    """What stands in a column of the rows that are drawn, from the top."""
    headings = table.get_by_role("columnheader").all_inner_texts()
    place = next(place for place, text in enumerate(headings) if text.split("\n")[0] == heading)
    return [row.get_by_role("gridcell").nth(place).inner_text() for row in rows(table).all()]


def test_a_heading_sorts(sample_app: Callable[[str], str], open_page: OpenPage) -> None:
    """Amounts by what they are, and the largest first: 1.2 MiB is more than 824 B."""
    _, table = opened(open_page, f"{sample_app('halo-4gpu')}/objects")
    heading = table.get_by_role("columnheader", name="Size")
    before = column(table, "Size")
    heading.click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    assert column(table, "Size")[:4] == ["1 MiB", "1 MiB", "824 B", "824 B"]
    heading.click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    assert column(table, "Size")[0] == "4 B"
    heading.click()
    expect(heading).to_have_attribute("aria-sort", "none")
    assert column(table, "Size") == before


def test_long_tables_can_be_searched(sample_app: Callable[[str], str], open_page: OpenPage) -> None:
    _, table = opened(open_page, f"{sample_app('halo-4gpu')}/launches")
    # Of 160 rows those in sight are drawn.
    assert 10 < rows(table).count() < 60
    table.get_by_role("searchbox", name="Search rows").fill("INT push")
    expect(table.get_by_role("grid")).to_have_attribute("aria-rowcount", "81")
    assert {text.partition("(")[0] for text in column(table, "Kernel")} == {"push"}
    table.get_by_role("searchbox").fill("nothing is called so")
    expect(table.get_by_text("No row has all of these words.")).to_be_visible()
    # What scrolls comes into being.
    table.get_by_role("searchbox").fill("")
    table.get_by_role("columnheader", name="Launch").click()
    assert column(table, "Launch")[0] == "160"
    table.locator(".scroller").evaluate("scroller => scroller.scrollTop = scroller.scrollHeight")
    expect(rows(table).last.get_by_role("gridcell").first).to_have_text("1")


def test_a_row_is_chosen_by_keyboard(sample_app: Callable[[str], str], open_page: OpenPage) -> None:
    page, table = opened(open_page, f"{sample_app('halo-4gpu')}/kernels")
    grid = table.get_by_role("grid")
    first, second = rows(table).nth(0), rows(table).nth(1)
    expect(first).to_have_attribute("aria-selected", "true")
    grid.focus()
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        grid.press(key)
    page.get_by_role("heading", name="relax", exact=True).wait_for()
    in_address(page, "kernel=relax")
    expect(second).to_have_attribute("aria-selected", "true")
    settled(page)
    # It begins at what is chosen.
    page.get_by_role("combobox", name="Kernel").last.focus()
    grid.focus()
    grid.press("ArrowDown")
    active = grid.get_attribute("aria-activedescendant")
    assert active and second.locator(f"#{active}").count() == 1
    # From the first row up to the headings, which sort.
    for key in ("Home", "ArrowUp", "ArrowRight", "Enter"):
        grid.press(key)
    expect(table.get_by_role("columnheader", name="Launches")).to_have_attribute("aria-sort", "descending")
    active = grid.get_attribute("aria-activedescendant")
    assert active and table.locator(f"#{active}").inner_text().startswith("Launches")


def test_a_row_that_was_chosen_is_marked_when_one_comes_back(
    sample_app: Callable[[str], str], open_page: OpenPage
) -> None:
    page, _ = opened(open_page, f"{sample_app('allreduce-4gpu')}/collectives")
    by_operation = table_at(page, 1)
    rows(by_operation).nth(1).click()
    page.get_by_text("Choose a row to see its calls.").wait_for(state="hidden")
    settled(page)
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Sites", exact=True).click()
    page.get_by_role("heading", name="Sites", exact=True, level=2).wait_for()
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Collectives", exact=True).click()
    page.get_by_role("heading", name="Collectives", exact=True, level=2).wait_for()
    expect(rows(by_operation).nth(1)).to_have_attribute("aria-selected", "true")


def test_all_rows_are_copied_for_a_spreadsheet(sample_app: Callable[[str], str], open_page: OpenPage) -> None:
    """Also those that are not drawn: exact amounts with their unit, as they are sorted and searched."""
    page, table = opened(open_page, f"{sample_app('halo-4gpu')}/launches")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    table.get_by_role("searchbox", name="Search rows").fill("push")
    table.get_by_role("columnheader", name="Launch").click()
    table.get_by_role("grid").focus()
    page.keyboard.press("Control+c")
    heads, *lines = [line.split("\t") for line in page.evaluate("navigator.clipboard.readText()").split("\n")]
    assert len(lines) == 80
    assert {len(line) for line in lines} == {len(heads)}
    numbers = [int(line[heads.index("Launch")]) for line in lines]
    assert numbers == sorted(numbers, reverse=True)
    assert {line[heads.index("Bytes (bytes)")] for line in lines} == {"16384"}


def test_a_copied_name_is_no_formula_and_one_cell(tmp_path: Path, open_page: OpenPage) -> None:
    name = '=HYPERLINK("http://away")'
    trace = TraceBuilder(2)
    function = trace.function(f"{name}\t and\tmore")
    trace.count(trace.launch(function, 0), trace.site(function, "STG.E", "store", 4), 1, 1, 32, 4)
    with running_app(str(trace.write(tmp_path / "names.zst"))) as address:
        page, table = opened(open_page, f"{address}/kernels")
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        table.get_by_role("grid").focus()
        page.keyboard.press("Control+c")
        heads, row = [line.split("\t") for line in page.evaluate("navigator.clipboard.readText()").split("\n")]
    assert row[heads.index("Kernel")].startswith(f"'{name}")
    assert len(row) == len(heads)


def test_a_column_is_made_wider_and_as_it_was(sample_app: Callable[[str], str], open_page: OpenPage) -> None:
    page, table = opened(open_page, f"{sample_app('halo-4gpu')}/kernels")
    heading = table.get_by_role("columnheader", name="Kernel")
    before = at_rest(heading)
    edge = heading.locator(".edge")
    left, top, width, height = at_rest(edge)
    page.mouse.move(left + width / 2, top + height / 2)
    page.mouse.down()
    page.mouse.move(left + width / 2 + 70, top + height / 2, steps=4)
    page.mouse.up()
    assert round(at_rest(heading)[2] - before[2]) == 70
    assert round(at_rest(rows(table).first.get_by_role("gridcell").first)[2] - before[2]) == 70
    # It was no click on the heading.
    expect(heading).to_have_attribute("aria-sort", "none")
    edge.dblclick()
    assert at_rest(heading) == before


def test_columns_are_as_wide_as_what_is_in_them_now(tmp_path: Path, open_page: OpenPage) -> None:
    """Where a filter is taken away, longer names come."""
    trace = TraceBuilder(2)
    name = "exchange_the_halos_of_all_neighbours_in_three_dimensions"
    for kernel, operation in (("k", "load"), (name, "store")):
        function = trace.function(kernel)
        trace.count(trace.launch(function, 0), trace.site(function, "X", operation, 4), 1, 9, 9, 4)
    with running_app(str(trace.write(tmp_path / "wide.zst"))) as address:
        page, table = opened(open_page, f"{address}/kernels?operations=load")
        assert column(table, "Kernel") == ["k"]
        page.get_by_role("button", name="Clear filters").click()
        cell = rows(table).get_by_role("gridcell", name=name).first
        cell.wait_for()
        settled(page)
        assert cell.evaluate("cell => cell.scrollWidth <= cell.clientWidth")


def test_long_lists_of_events_have_filters_on_demand(sample_app: Callable[[str], str], open_page: OpenPage) -> None:
    page, _ = opened(open_page, f"{sample_app('halo-4gpu')}/copies")
    assert page.locator("iframe").count() == 0
    filters = page.get_by_text("Filter by column")
    filters.click()
    single = filtered_events(page)
    expect(single.first).to_contain_text("cuMemcpy")
    frame = page.frame_locator("iframe")
    frame.locator("[col-id=from] .ag-header-cell-filter-button").click()
    frame.get_by_role("textbox", name="Filter Value").first.fill("GPU 3")
    expect(single.first.locator("[col-id=from]")).to_have_text("GPU 3")
    page.keyboard.press("Escape")
    single.first.click()
    expect(page.get_by_role("link", name="This copy in the timeline")).to_be_visible()
    filters.click()
    expect(page.locator("iframe")).to_have_count(0)
    expect(rows(table_at(page, 2)).first).to_contain_text("cuMemcpy")
