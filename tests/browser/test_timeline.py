"""A person looks at when things ran: with the wheel, by keys and by dragging; chooses, selects and searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import PATIENCE, at_rest, picture, running_app, settled
from tests.browser.steps import go_to, in_address, metric, rows, set_to, table_at
from tests.support import busy, waiting
from tests.support.busy import MS, US
from visualizer.components import timeline

OpenPage = Callable[[str], Page]
Time = tuple[int, int]
ROW = 22  # px
# The first moment is that of a call, 7 µs before the first kernel: see tests/support/busy.py.
BEGUN = 7 * US
COMPONENTS = Path(timeline.__file__).parent
# Of the lanes.
STEP, TICK, REDUCE = 0, 1, 3


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on the program of tests/support/busy.py."""
    with running_app(str(busy.write_busy(tmp_path_factory.mktemp("busy")))) as address:
        yield address


def stage(page: Page) -> Locator:
    """The picture, once it shows all that there is to see of what it looks at."""
    found = page.locator(".timeline .stage")
    expect(found).to_have_attribute("data-settled", "true", timeout=2 * PATIENCE)
    settled(page)
    expect(found).to_have_attribute("data-settled", "true")
    return found


def shown(page: Page) -> Time:
    """What it looks at, ns without the folds."""
    first, last = (stage(page).get_attribute("data-shown") or "").split()
    return int(first), int(last)


def number(page: Page, name: str) -> int:
    return int(stage(page).get_attribute(f"data-{name}") or 0)


def place(page: Page, moment: float, lane: int) -> tuple[float, float]:
    """Where in the window a moment of a lane is drawn."""
    first, last = shown(page)
    left, _, width, _ = at_rest(stage(page).locator("canvas.sticky"))
    _, top, _, _ = at_rest(stage(page).locator(".lanes"))
    gutter = number(page, "gutter")
    return left + gutter + (moment - first) / (last - first) * (width - gutter), top + (lane + 0.5) * ROW


def changed(page: Page, before: Time) -> Time:
    """What it looks at, after it was something else."""
    expect(page.locator(".timeline .stage")).not_to_have_attribute("data-shown", f"{before[0]} {before[1]}")
    return shown(page)


# The unit of the axis, and what its marks say, of parts of time on a picture so wide.
AXIS = """([looks, script]) => {
  const { marksOf, foldedTime } = new Function(`${script}; return { marksOf, foldedTime };`)();
  const pen = { measureText: (text) => ({ width: 7 * text.length }) };
  return looks.map(([from, to, width]) => {
    const { unit, marks } = marksOf({ from, to, gutter: 150, width, time: foldedTime([]) }, pen);
    return [unit, marks.map(({ text }) => text)];
  });
}"""


def test_marks_of_the_axis_have_the_unit_of_what_is_shown(open_page: OpenPage) -> None:
    scripts = [COMPONENTS / f"timeline_{name}.js" for name in ("time", "drawing")]
    looks = {
        # 13 ms at 900 pixels, of which the list of pages has some.
        (0, 13 * MS, 560): ("ms", ["2", "4", "6", "8", "10", "12"]),
        (0, 60 * MS, 560): ("ms", ["10", "20", "30", "40", "50"]),
        (0, 700 * MS, 400): ("ms", ["200", "400", "600"]),
        (0, 3000 * MS, 560): ("s", ["0.5", "1.0", "1.5", "2.0", "2.5"]),
        (0, 90_000 * MS, 1100): ("s", ["10", "20", "30", "40", "50", "60", "70", "80"]),
        (2 * MS, 2 * MS + 90 * US, 560): ("µs", ["2,020", "2,040", "2,060", "2,080"]),
        (2 * MS, 2 * MS + 900, 560): ("ns", ["2,000,200", "2,000,400", "2,000,600", "2,000,800"]),
    }
    page = open_page("about:blank")
    said = page.evaluate(AXIS, [list(looks), "".join(script.read_text() for script in scripts)])
    # A mark at the end has no room for words.
    assert [(unit, list(filter(None, texts))) for unit, texts in said] == list(looks.values())


def test_the_wheel_looks_closer_where_the_mouse_is(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    asked: set[str] = set()
    page.on("request", lambda request: asked.add(urlsplit(request.url).hostname or ""))
    go_to(page, "Timeline")
    whole, few = shown(page), number(page, "bars")
    # Nothing runs for 3 of 13 ms: they are folded, but for a little.
    assert whole[0] == 0 and 10 * MS < whole[1] < 10.5 * MS
    picture(page, "timeline")
    at = place(page, 4 * MS, STEP)
    page.mouse.move(*at)
    page.mouse.wheel(0, -1000)
    closer = first, last = changed(page, whole)
    assert last - first < 0.7 * whole[1]
    # What was under the mouse still is, to a pixel.
    assert place(page, 4 * MS, STEP)[0] == pytest.approx(at[0], abs=1.5)
    assert page.evaluate("document.scrollingElement.scrollTop") == 0
    in_address(page, "time_from=")
    # In one go, as a hand does.
    for _ in range(8):
        page.mouse.wheel(0, -1000)
    closer = changed(page, closer)
    # Single ticks, of which all are drawn together at first.
    assert closer[1] - closer[0] < 200 * US
    assert number(page, "bars") != few
    picture(page, "timeline_closer")
    # The address alone shows a colleague the same.
    other = open_page(page.url)
    assert shown(other) == closer
    # And all the way back.
    while closer != whole:
        for _ in range(3):
            page.mouse.wheel(0, 2000)
        closer = changed(page, closer)
    in_address(page, "time_from=", absent=True)
    assert asked <= {"127.0.0.1", ""}


def test_dragging_moves(app: str, open_page: OpenPage) -> None:
    page = open_page(f"{app}/timeline?time_from={4 * MS}&time_to={5 * MS}")
    before = shown(page)
    assert before == (4 * MS, 5 * MS)
    begin, end = place(page, 4.2 * MS, TICK), place(page, 4.7 * MS, TICK)
    page.mouse.move(*begin)
    page.mouse.down()
    page.mouse.move(*end, steps=5)
    page.mouse.up()
    first, last = changed(page, before)
    assert last - first == pytest.approx(MS, abs=2)
    assert first == pytest.approx(3.5 * MS, abs=5 * US)
    in_address(page, f"time_from={first}")


def test_keys(app: str, open_page: OpenPage) -> None:
    page = open_page(f"{app}/timeline")
    whole = shown(page)
    stage(page).focus()
    page.keyboard.press("w")
    closer = changed(page, whole)
    assert closer[1] - closer[0] == pytest.approx(0.6 * (whole[1] - whole[0]), rel=0.01)
    page.keyboard.press("a")
    earlier = changed(page, closer)
    assert earlier[0] < closer[0] and earlier[1] - earlier[0] == pytest.approx(closer[1] - closer[0], abs=2)
    page.keyboard.press("d")
    again = changed(page, earlier)
    assert again == pytest.approx(closer, abs=2)
    page.keyboard.press("s")
    assert changed(page, again) == whole
    page.goto(f"{app}/timeline?time_from={5 * MS}&time_to={5 * MS + 300 * US}")
    assert shown(page) == (5 * MS, 5 * MS + 300 * US)
    stage(page).focus()
    # To the second bar of the first lane, and what it is.
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".timeline .told")).to_contain_text("step, 80 µs")
    page.keyboard.press("Enter")
    in_address(page, "event=kernel%3A52")
    page.get_by_text("Kernel 52").first.wait_for()
    page.keyboard.press("0")
    assert changed(page, (5 * MS, 5 * MS + 300 * US)) == whole


def test_a_bar_says_what_it_is(app: str, open_page: OpenPage) -> None:
    page = open_page(f"{app}/timeline?time_from={5 * MS + BEGUN}&time_to={5 * MS + BEGUN + 300 * US}")
    at = place(page, 5 * MS + BEGUN + 40 * US, STEP)
    page.mouse.move(*at)
    tip = page.locator(".timeline .tip")
    expect(tip).to_contain_text("step")
    expect(tip).to_contain_text("80 µs, at 5,007 µs")
    expect(tip).to_contain_text("GPU 0, kernels · stream 7")
    page.mouse.click(*at)
    page.get_by_text("Kernel 51").first.wait_for()
    in_address(page, "event=kernel%3A51")
    settled(page)
    picture(page, "timeline_kernel")
    # The same by the table, which works by keyboard.
    table = table_at(page)
    table.get_by_text("Copy", exact=True).first.click()
    page.get_by_text("Copy 6").first.wait_for()
    # Everything else now shows this time alone.
    page.get_by_role("button", name="Filter to this time").click()
    settled(page)
    go_to(page, "Kernels")
    in_address(page, "between=")
    expect(rows(table_at(page))).to_have_count(2, timeout=PATIENCE)


def test_what_is_selected_is_added_up(app: str, open_page: OpenPage) -> None:
    page = open_page(f"{app}/timeline?time_from={5 * MS + BEGUN}&time_to={6 * MS + BEGUN}")
    # What is seen of a lane, by its name.
    left, _, _, _ = at_rest(stage(page))
    _, y = place(page, 5.5 * MS, STEP)
    page.mouse.click(left + 40, y)
    in_address(page, f"selection={5 * MS + BEGUN}-{6 * MS + BEGUN}-0-0")
    page.get_by_text("Bytes are those of all that touches the selection").wait_for()
    settled(page)
    assert [metric(page, name) for name in ("Kernels", "Bytes of kernels", "Busy")] == ["10", "40 KiB", "800 µs (80 %)"]
    picture(page, "timeline_selected")
    # A part of it and of what is below, by Shift and the mouse: from a kernel's middle to that after the next.
    begin, end = (place(page, 5 * MS + BEGUN + part * US, lane) for part, lane in ((140, STEP), (340, REDUCE)))
    page.keyboard.down("Shift")
    page.mouse.move(*begin)
    page.mouse.down()
    page.mouse.move(*end, steps=5)
    page.mouse.up()
    page.keyboard.up("Shift")
    page.wait_for_function("location.search.endsWith('-0-3')")
    settled(page)
    # 3 of step, 2 of reduce; of the ticks there is none any more.
    assert metric(page, "Kernels") == "5"
    assert metric(page, "Bytes of kernels") == "16 KiB"
    stage(page).focus()
    page.keyboard.press("Escape")
    in_address(page, "selection=", absent=True)
    expect(page.get_by_text("Bytes are those of all that touches the selection")).to_have_count(0)


def test_a_search_finds_and_goes_there(app: str, open_page: OpenPage) -> None:
    page = open_page(f"{app}/timeline")
    whole = shown(page)
    stage(page).focus()
    page.keyboard.press("/")
    search = page.get_by_role("searchbox", name="Search names in the timeline")
    expect(search).to_be_focused()
    search.fill("reduce<")
    search.press("Enter")
    result = page.locator(".timeline .result")
    expect(result).to_have_text("1 of 40")
    in_address(page, "event=kernel%3A4101")
    first, last = changed(page, whole)
    # One is 150 µs, and seen: in the middle of a part that is not much longer than it.
    assert first <= BEGUN and BEGUN + 150 * US <= last <= BEGUN + 41 * 150 * US
    page.get_by_role("button", name="The next one").click()
    expect(result).to_have_text("2 of 40")
    in_address(page, "event=kernel%3A4102")
    search.press("Shift+Enter")
    expect(result).to_have_text("1 of 40")
    search.press("Shift+Enter")
    expect(result).to_have_text("40 of 40")
    picture(page, "timeline_search")
    search.fill("no such name")
    search.press("Enter")
    expect(result).to_have_text("Nothing is called so.")
    search.press("Escape")
    expect(result).to_have_text("")
    in_address(page, "search=", absent=True)


def test_idle_gaps_can_be_seen(app: str, open_page: OpenPage) -> None:
    page = open_page(f"{app}/timeline")
    folded = shown(page)
    _, last = folded
    page.mouse.move(*place(page, last - (last - 10 * MS) / 2, TICK))
    expect(page.locator(".timeline .tip")).to_contain_text("in which no GPU did anything")
    set_to(page, "Whole")
    assert changed(page, folded) == (0, 13_007_001)
    in_address(page, "idle=whole")
    page.get_by_label("From (ms)").fill("2.007")
    page.get_by_label("To (ms)").fill("2.017")
    page.get_by_label("To (ms)").press("Enter")
    in_address(page, "time_from=2007000")
    in_address(page, "time_to=2017000")
    # 10 µs: one of step, 20 ticks and the copy, each by itself; one of reduce, one call.
    expect(stage(page)).to_have_attribute("data-bars", "24")
    page.get_by_role("button", name="Earlier").click()
    assert changed(page, (2_007_000, 2_017_000)) == (2_002_000, 2_012_000)
    page.get_by_role("button", name="All", exact=True).click()
    in_address(page, "time_from", absent=True)


def test_waits_are_seen_and_lead_to_their_line(tmp_path: Path, open_page: OpenPage) -> None:
    """GPU 3 waits for the slow GPU 2; the line that polls is in a file of which nothing crossed."""
    with running_app(str(waiting.write_round(tmp_path))) as address:
        page = open_page(address)
        go_to(page, "Timeline")
        # The second lane of the fourth GPU, amid its first launch.
        page.mouse.move(*place(page, 1.35 * MS, 7))
        tip = page.locator(".timeline .tip")
        expect(tip).to_contain_text("waited for GPU 2 at sync.cuh:12")
        expect(tip).to_contain_text("one wait of 698 µs")
        expect(page.get_by_text("Their times are known to ± 1 µs.")).to_be_visible()
        page.mouse.move(*place(page, 1.35 * MS, 5))
        expect(tip).to_contain_text("200 µs in 4 waits, all warps added up; the longest 50 µs")
        picture(page, "waits")
        page.mouse.click(*place(page, 1.35 * MS, 7))
        in_address(page, "event=wait")
        settled(page)
        assert metric(page, "The longest wait") == "698 µs"
        page.get_by_role("link", name="sync.cuh:12").click()
        page.get_by_role("heading", name="sync.cuh:12").wait_for()
        settled(page)
        chosen = page.get_by_role("treeitem", name="sync.cuh")
        expect(chosen).to_have_attribute("aria-selected", "true")
        expect(chosen).to_contain_text("waited")
        expect(page.get_by_text("This line reached no memory outside its GPU: it waited.")).to_be_visible()
        picture(page, "waits_source")
