"""A person looks through the source: files in the tree, lines by mouse, keyboard and address, files elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from snoopie.words.text import visible
from tests.browser.conftest import picture, running_app, settled
from tests.browser.steps import cells, go_to, in_address, rows, set_to, stayed_text, table_at
from tests.support import ring
from tests.support.encoder import TraceBuilder

OpenPage = Callable[[str], Page]


def lines(page: Page) -> Locator:
    return page.get_by_role("listbox", name="Source lines")


def line(page: Page, number: int) -> Locator:
    return lines(page).locator(f"#line-{number}")


def file(page: Page, name: str) -> Locator:
    return page.get_by_role("treeitem").filter(has_text=name)


def table(page: Page) -> Locator:
    """The rows of what is said of the line."""
    found = rows(table_at(page))
    found.first.wait_for()
    return found


def opened(page: Page, place: str) -> None:
    """Waits for "file:line" to be what is shown."""
    page.get_by_role("heading", name=place, exact=True).wait_for()
    settled(page)


def test_click_through_to_a_source_line(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Source")
    expect(line(page, 6)).to_have_attribute("aria-selected", "true")
    before = lines(page).bounding_box()
    lines(page).get_by_text("turn = atomicAdd(ticket,").click()
    opened(page, "ring.cu:18")
    in_address(page, "source_line=18")
    expect(line(page, 18)).to_have_attribute("aria-selected", "true")
    expect(line(page, 18)).to_contain_text("192 B")
    expect(line(page, 18)).to_contain_text("12.5 %")
    assert lines(page).bounding_box() == before
    # Its instruction, who reached whom by it, and what it touched.
    expect(table(page)).to_contain_text("ATOMG.E.ADD.STRONG.GPU")
    picture(page, "source_line")
    set_to(page, "Who reached whom")
    assert cells(page) == ["64 B"] * 3
    set_to(page, "Objects")
    touched = table(page)
    expect(touched).to_have_count(1)
    expect(touched).to_contain_text("192 B")
    # What is looked at stays, from line to line.
    line(page, 6).click()
    opened(page, "ring.cu:6")
    expect(table(page)).to_have_count(4)
    picture(page, "source_objects")


def test_by_keyboard_alone(app: str, open_page: OpenPage) -> None:
    page = open_page(f"{app}/source")
    opened(page, "ring.cu:6")
    lines(page).focus()
    page.keyboard.press("ArrowDown")
    opened(page, "ring.cu:18")
    page.keyboard.press("ArrowDown")
    opened(page, "ring.cu:19")
    # There is none below; keys that come fast are one choice.
    for key in ("ArrowDown", "ArrowUp", "ArrowUp"):
        page.keyboard.press(key)
    opened(page, "ring.cu:6")
    page.get_by_role("tree").focus()
    for key in ("End", "Enter"):
        page.keyboard.press(key)
    opened(page, "shift.h:4")
    expect(file(page, "shift.h")).to_have_attribute("aria-selected", "true")
    # Left to its folder, closed, and back up into the other one.
    for key in ("ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
    expect(file(page, "shift.h")).to_have_count(0)
    for key in ("ArrowUp", "Enter"):
        page.keyboard.press(key)
    opened(page, "ring.cu:6")


def test_the_tree_finds_files(app: str, open_page: OpenPage) -> None:
    page = open_page(f"{app}/source?source_line=18")
    opened(page, "ring.cu:18")
    expect(file(page, "/home/u/ring")).to_contain_text("52.2 KiB")
    page.get_by_role("searchbox", name="Search files").fill("SHIFT include")
    expect(page.get_by_role("treeitem")).to_have_count(3)
    page.keyboard.press("Enter")
    opened(page, "shift.h:4")
    # The line was of the other file.
    in_address(page, "source_file=")
    in_address(page, "source_line", absent=True)
    expect(page.get_by_text("ring.cu:12")).to_be_visible()
    expect(lines(page).get_by_text("shifted")).to_be_visible()
    page.get_by_role("searchbox", name="Search files").fill("nothing")
    expect(page.get_by_text("No file has all of these words")).to_be_visible()
    page.get_by_role("searchbox", name="Search files").fill("")
    file(page, "ring.cu").click()
    opened(page, "ring.cu:6")


def test_an_address_opens_its_line(app: str, open_page: OpenPage) -> None:
    page = open_page(f"{app}/source?source_file={ring.RING_CU}&source_line=18&source_detail=kernels")
    opened(page, "ring.cu:18")
    expect(line(page, 18)).to_have_attribute("aria-selected", "true")
    expect(table(page)).to_contain_text("ring_bump")
    # What was chosen is still there after a look at another page.
    go_to(page, "Kernels")
    go_to(page, "Source")
    opened(page, "ring.cu:18")
    in_address(page, "source_line=18")
    in_address(page, "source_detail=kernels")


def test_files_that_lie_elsewhere(tmp_path: Path, open_page: OpenPage) -> None:
    ring.write_sources(tmp_path / "elsewhere")
    lonely = tmp_path / "lonely"
    lonely.mkdir()
    with running_app(str(ring.write_ring(lonely))) as address:
        page = open_page(f"{address}/source")
        opened(page, "ring.cu:6")
        expect(page.get_by_text("Only folders that you name are looked into")).to_be_visible()
        expect(line(page, 18)).to_contain_text("192 B")
        expect(page.get_by_role("textbox", name="Built at")).to_have_value("/home/u/ring/src")
        picture(page, "source_missing")
        page.get_by_role("textbox", name="Built at").fill("/home/u/ring")
        page.get_by_role("textbox", name="Is here").fill(str(tmp_path / "elsewhere"))
        page.get_by_role("button", name="Look there").click()
        expect(lines(page).get_by_text("turn = atomicAdd(ticket,")).to_be_visible()
        # The mapping holds for all files, until it is taken back.
        file(page, "shift.h").click()
        opened(page, "shift.h:4")
        expect(lines(page).get_by_text("shifted")).to_be_visible()
        page.get_by_role("button", name="Source folders").click()
        expect(page.get_by_text(f"built at /home/u/ring → here {tmp_path / 'elsewhere'}")).to_be_visible()
        picture(page, "source_folders")
        page.get_by_role("button", name="Remove").click()
        expect(page.get_by_text("Only folders that you name are looked into")).to_be_visible()


EVIL = (
    """</b><img src=x onerror="document.title='taken'"><script>document.title='taken'</script> `$x$` :red[r] \u202e"""
)


def test_hostile_source_stays_text_and_a_large_file_is_scrolled(tmp_path: Path, open_page: OpenPage) -> None:
    trace = TraceBuilder(2)
    function = trace.function("k()")
    launch = trace.launch(function, 0)
    name = f"/home/u/{EVIL.replace('/', '|')}.cu"
    for number in (2, 4000):
        site = trace.site(function, "STG.E", "store", 4, line=trace.line(name, number))
        trace.count(launch, site, 1, number, 32 * number, 4 * number)
    path = trace.write(tmp_path / "t.zst")
    written = [f"int a{number}; // {number}" for number in range(1, 5001)]
    written[1] = EVIL
    written[2] = f"// {EVIL}"
    (tmp_path / name.rpartition("/")[2]).write_text("\n".join(written))
    with running_app(str(path)) as address:
        page = open_page(f"{address}/source")
        opened(page, visible(f"{name.rpartition('/')[2]}:4000"))
        expect(line(page, 4000)).to_contain_text("int a4000; // 4000")
        # What was not sent comes when it is scrolled to; the line that is chosen stays.
        lines(page).evaluate("listing => { listing.scrollTop = 0; }")
        expect(line(page, 2)).to_contain_text(EVIL)
        expect(line(page, 3)).to_contain_text(f"// {EVIL}")
        picture(page, "source_hostile")
        lines(page).focus()
        page.keyboard.press("ArrowUp")
        settled(page)
        expect(line(page, 2)).to_have_attribute("aria-selected", "true")
        in_address(page, "source_line=2")
        stayed_text(page)
