"""A person looks at when things ran, closer and closer; at memory at its peak; at driver calls, one by one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE, at_rest, picture, running_app, settled
from tests.browser.steps import go_to, in_address, rows, set_to
from tests.support import busy

OpenPage = Callable[[str], Page]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on the program of tests/support/busy.py."""
    with running_app(str(busy.write_busy(tmp_path_factory.mktemp("busy")))) as address:
        yield address


def choose(page: Page, first: float, last: float) -> None:
    """Drags over the lanes, between two shares of the time that they show, until the page shows that time alone.

    The picture can be drawn anew under the mouse, and a drag that it began with is lost then.
    """
    shown = page.url
    end = time.monotonic() + PATIENCE / 1000
    while page.url == shown:
        assert time.monotonic() < end, "no drag has chosen a time"
        left, top, width, _ = at_rest(page.locator(".nsewdrag").first)
        page.mouse.move(left + first * width, top + 20)
        page.mouse.down()
        page.mouse.move(left + (first + last) / 2 * width, top + 30, steps=4)
        page.mouse.move(left + last * width, top + 30, steps=4)
        page.mouse.up()
        settled(page)


def moment(page: Page, key: str) -> int:
    """What the address says, ns."""
    value: str = page.evaluate(f"new URL(location).searchParams.get('{key}')")
    return int(value)


def test_closer_and_closer(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Timeline")
    page.locator(".barlayer .point path").first.wait_for(timeout=3 * PATIENCE)
    page.get_by_text("kernels · stream 0x8").first.wait_for()
    picture(page, "timeline")
    choose(page, 0.25, 0.35)
    page.wait_for_function("location.search.includes('time_from')")
    first, last = moment(page, "time_from"), moment(page, "time_to")
    # The time that was dragged over, to a pixel or two, of 13 ms.
    assert abs(first - 0.25 * 13_007_000) < 100_000
    assert abs(last - 0.35 * 13_007_000) < 100_000
    # The ticks, every 500 ns, are still several a block; a click looks closer.
    page.locator(".barlayer .point path").first.wait_for(timeout=3 * PATIENCE)
    page.get_by_role("button", name="Earlier").click()
    settled(page)
    assert moment(page, "time_from") < first
    page.get_by_label("From (ms)").fill("2.007")
    page.get_by_label("From (ms)").press("Enter")
    settled(page)
    page.get_by_label("To (ms)").fill("2.017")
    page.get_by_label("To (ms)").press("Enter")
    settled(page)
    assert (moment(page, "time_from"), moment(page, "time_to")) == (2_007_000, 2_017_000)
    # 10 µs: one of step, 20 ticks and the copy, each by itself.
    expect(page.locator(".barlayer .point path")).to_have_count(1 + 20 + 1 + 1 + 1, timeout=PATIENCE)
    picture(page, "timeline_closer")

    # The address alone shows a colleague the same.
    other = open_page(page.url)
    expect(other.locator(".barlayer .point path")).to_have_count(24, timeout=PATIENCE)
    page.get_by_role("button", name="All", exact=True).click()
    page.wait_for_function("!location.search.includes('time_from')")


def test_a_block_says_what_it_is(app: str, open_page: OpenPage) -> None:
    page = open_page(f"{app}/timeline?time_from=5007000&time_to=5307000&mouse=choose")
    page.get_by_role("heading", name="Timeline", level=2).wait_for()
    bars = page.locator(".barlayer .point path")
    bars.first.wait_for(timeout=3 * PATIENCE)
    settled(page)
    box = bars.first.bounding_box()
    assert box is not None
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    # A click is on what the mouse was seen over.
    page.locator(".js-plotly-plot .hoverlayer .hovertext").first.wait_for()
    page.mouse.click(*middle)
    page.get_by_text("Kernel 51").first.wait_for()
    in_address(page, "event=kernel%3A51")
    settled(page)
    picture(page, "timeline_kernel")
    # The same by the table, which works by keyboard.
    table = page.frame_locator("iframe").first
    table.get_by_text("Copy", exact=True).first.click()
    page.get_by_text("Copy 6").first.wait_for()
    # Everything else now shows this time alone.
    page.get_by_role("button", name="Filter to this time").click()
    settled(page)
    go_to(page, "Kernels")
    in_address(page, "between=")
    expect(rows(page.frame_locator("iframe").first)).to_have_count(2, timeout=PATIENCE)


def test_memory_at_its_peak(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Memory")
    page.locator(".annotation-text").filter(has_text="peak 96 MiB after 2 ms").wait_for(timeout=2 * PATIENCE)
    picture(page, "memory")
    set_to(page, "GPU 0")
    in_address(page, "device=GPU")
    peak = page.frame_locator("iframe").nth(1)
    peak.get_by_text("busy.cu:20").first.click()
    stack = page.frame_locator("iframe").nth(2)
    stack.get_by_text("Model::Model(int)").first.wait_for()
    picture(page, "memory_stack")


def test_a_call_and_its_place_in_time(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Calls")
    page.frame_locator("iframe").first.get_by_text("CUDA_ERROR_ILLEGAL_ADDRESS").wait_for(timeout=2 * PATIENCE)
    page.frame_locator("iframe").nth(1).get_by_text("cuMemAlloc_v2").click()
    page.wait_for_function("location.search.includes('call=cuMemAlloc_v2')")
    single = page.frame_locator("iframe").nth(2)
    expect(rows(single)).to_have_count(2, timeout=PATIENCE)
    picture(page, "calls")
    rows(single).first.click()
    page.get_by_role("link", name="This call in the timeline").click()
    page.get_by_role("heading", name="Timeline", level=2).wait_for()
    page.get_by_text("Driver call 101").first.wait_for()
