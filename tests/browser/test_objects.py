"""A person looks at objects, from all of one down to its single elements, at kernels, and at launches."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE, picture, settled
from tests.browser.steps import choose, go_to, in_address, rows, set_to, table_at

OpenPage = Callable[[str], Page]


def box(page: Page, left: float, right: float, top: float = 0.2, bottom: float = 0.8) -> None:
    """Draws a box in the picture, by shares of its width and height."""
    settled(page)
    plot = page.locator(".js-plotly-plot .nsewdrag").first
    plot.scroll_into_view_if_needed()
    settled(page)
    area = plot.bounding_box()
    assert area is not None
    page.mouse.move(area["x"] + left * area["width"], area["y"] + top * area["height"])
    page.mouse.down()
    page.mouse.move(area["x"] + right * area["width"], area["y"] + bottom * area["height"], steps=5)
    page.mouse.up()
    settled(page)


def number(page: Page, label: str) -> int:
    return int(page.get_by_role("spinbutton", name=label, exact=True).input_value())


def type_number(page: Page, label: str, value: int) -> None:
    field = page.get_by_role("spinbutton", name=label, exact=True)
    field.fill(str(value))
    field.press("Enter")
    settled(page)


def test_from_an_object_to_single_elements(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Objects")
    rows(table_at(page)).nth(2).click()
    settled(page)
    page.get_by_role("heading", name="Object 3", exact=True).wait_for()
    in_address(page, "object=3")
    page.get_by_text("Each cell is 4 KiB, 1,024 elements").wait_for()
    picture(page, "objects")

    # A box around the first eighth, then by the keyboard down to 128 bytes of what one warp loads.
    box(page, 0.0, 0.125)
    assert number(page, "From byte") == 0
    assert 0.1 * (1 << 21) < number(page, "To byte (exclusive)") < 0.15 * (1 << 21)
    in_address(page, "object_to=")
    type_number(page, "From byte", 8192)
    type_number(page, "To byte (exclusive)", 9216)
    page.get_by_text("Each cell is 4 B, one element").wait_for()
    page.locator(".js-plotly-plot .heatmaplayer image").first.wait_for()
    picture(page, "objects-elements")
    page.get_by_role("button", name="Zoom out").press("Enter")
    settled(page)
    assert (number(page, "From byte"), number(page, "To byte (exclusive)")) == (6656, 10752)

    # The address alone shows a colleague the same.
    other = open_page(page.url)
    other.get_by_role("heading", name="Object 3", exact=True).wait_for()
    for label, value in (("From byte", "6656"), ("To byte (exclusive)", "10752")):
        field = other.get_by_role("spinbutton", name=label, exact=True)
        expect(field).to_have_value(value, timeout=PATIENCE)


def test_an_object_in_rows(app: str, open_page: OpenPage) -> None:
    page = open_page(f"{app}/objects?object=2")
    settled(page)
    set_to(page, "In rows")
    type_number(page, "Elements in a row", 256)
    page.get_by_text("Each cell is 8 rows × 4 B, one element").wait_for()
    picture(page, "objects-rows")
    box(page, 0.1, 0.3, 0.0, 0.05)
    assert number(page, "From row") == 0
    assert 80 <= number(page, "To row (exclusive)") <= 130
    assert 80 < number(page, "From byte of a row") < 130
    assert 280 < number(page, "To byte of a row (exclusive)") < 340
    in_address(page, "object_mode=rows")
    in_address(page, "object_row=256")
    in_address(page, "object_left=")
    page.get_by_text("Each cell is 1 row × 4 B, one element").wait_for()
    choose(page, "Only operation", "load")
    picture(page, "objects-rows-elements")
    in_address(page, "object_operation=load")


def test_a_kernel_and_its_launches(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Kernels")
    rows(table_at(page)).nth(1).click()
    settled(page)
    page.get_by_role("heading", name="ring_bump", exact=True).wait_for()
    in_address(page, "kernel=ring_bump")
    set_to(page, "Objects")
    table_at(page, 1).get_by_text("GPU 0").first.wait_for()
    picture(page, "kernels-objects")
    kernel = page.url
    page.get_by_role("link", name="Object 1").click()
    page.get_by_role("heading", name="Object 1", exact=True).wait_for()
    page = open_page(kernel)
    page.get_by_role("heading", name="ring_bump", exact=True).wait_for()
    set_to(page, "Over time")
    page.locator(".js-plotly-plot .barlayer").first.wait_for(state="attached")
    picture(page, "kernels-time")
    page.get_by_role("link", name="Launch 5, with the most bytes").click()
    page.get_by_role("heading", name="Launch 5: ring_bump", exact=True).wait_for()
    in_address(page, "launch=5")
    picture(page, "launches")
    rows(table_at(page)).nth(0).click()
    settled(page)
    page.get_by_role("heading", name="Launch 1: ring_put", exact=False).wait_for()
