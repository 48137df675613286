"""`snoopie report --interactive` in a real browser, from a file, without a network."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, Position, expect

import snoopie
from snoopie.figures import colours
from snoopie.report.file import write
from snoopie.report.interactive import page as report
from snoopie.report.interactive.limits import Limits
from snoopie.words import units
from tests.browser.conftest import PATIENCE, picture
from tests.browser.steps import SAMPLES
from tests.support import axe, hostile_report, ring, waiting

VIEWS = ("Overview", "Source", "Matrix", "Timeline")
# What is in sight of the timeline, as the table below it says.
IN_SIGHT = re.compile(r"In sight: ([0-9,]+) launches and copies")
FEWER = """most => Number(
  /In sight: ([0-9,]+)/.exec(document.querySelector("caption").innerText)[1].replaceAll(",", "")) < most"""
ANOTHER = 'began => document.querySelector("tbody td:nth-child(4)").innerText !== began'
# What a script that got into the page might try.
TRIES = """async () => {
  const tries = {
    script: () => {
      const made = document.createElement("script");
      made.textContent = "window.taken = 1";
      document.body.append(made);
    },
    markup: () => { document.body.innerHTML += "<img src=x onerror='window.taken = 2'>"; },
    text: () => setTimeout("window.taken = 3", 0),
  };
  const failed = [];
  for (const [name, attempt] of Object.entries(tries)) {
    try { attempt(); } catch { failed.push(name); }
  }
  try { await fetch("https://example.invalid/"); } catch { failed.push("fetch"); }
  const image = new Image();
  image.src = "https://example.invalid/i.png";
  await new Promise((ended) => { image.onload = image.onerror = ended; });
  return [failed, window.taken ?? 0];
}"""

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = tmp_path_factory.mktemp("report") / "halo.html"
    write(snoopie.load(SAMPLES / "halo-4gpu"), written, [SAMPLES / "halo-4gpu"], interactive=True)
    return written


@pytest.fixture
def open_file(browser: Browser) -> Iterator[Open]:
    """open_file(path) → the page; the test fails if a script on it failed, or if it asked for anything but itself."""
    contexts, wrong = [], []

    def opened(path: Path, **options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 1000}} | options)
        context.set_default_timeout(PATIENCE)
        context.set_offline(True)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.on("request", lambda request: wrong.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        page.get_by_role("navigation", name="Views").wait_for()
        return page

    yield opened
    for context in contexts:
        context.close()
    assert wrong == []


def go_to(page: Page, view: str) -> None:
    page.get_by_role("navigation", name="Views").get_by_role("button", name=view).click()
    expect(page.get_by_role("button", name=view, exact=True)).to_have_attribute("aria-current", "page")


def rows(page: Page, caption: str) -> list[list[str]]:
    """The texts of a table's cells, once ten frames in a row have shown the same."""
    table = page.get_by_role("table", name=caption)
    found = ""
    looks = 0
    while looks < 10:
        seen = table.evaluate(_CELLS)
        looks = looks + 1 if seen == found else 1
        found = seen
    cells: list[list[str]] = json.loads(found)
    return cells


# After the next frame.
_CELLS = """table => new Promise(resolve => requestAnimationFrame(() => resolve(JSON.stringify(
    Array.from(table.querySelectorAll("tbody tr"), row => Array.from(row.querySelectorAll("td"), one => one.innerText))
))))"""


def line(page: Page, number: int) -> Locator:
    return page.locator(f"#line-{number}")


def in_sight(page: Page) -> int:
    found = IN_SIGHT.search(page.locator("caption").first.inner_text())
    assert found
    return int(found[1].replace(",", ""))


def test_a_cell_filters_lines_and_kernels(sample: Path, open_file: Open) -> None:
    page = open_file(sample)
    expect(page.locator(".story")).to_have_text(snoopie.load(SAMPLES / "halo-4gpu").story())
    go_to(page, "Matrix")
    assert [row[:2] for row in rows(page, "Lines")] == [["halo.cu:25", "1.2 MiB"], ["halo.cu:30", "1.2 MiB"]]
    # GPU 1 is below GPU 0: push sends there, relax to the one above.
    page.get_by_role("button", name="GPU 0 → GPU 1: 320 KiB").click()
    expect(page.get_by_role("combobox", name="Pair")).to_have_value("1")
    assert [row[:2] for row in rows(page, "Lines")] == [["halo.cu:30", "320 KiB"]]
    assert [row[:2] for row in rows(page, "Kernels")] == [["push", "320 KiB"]]
    page.go_back()
    expect(page.get_by_role("combobox", name="Pair")).to_have_value("-1")
    assert len(rows(page, "Lines")) == 2


def test_what_is_not_known_in_full_is_the_least(
    tmp_path: Path, open_file: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of eight sums by line and pair two are kept: what nothing filters is whole all the same."""
    monkeypatch.setattr(report, "Limits", lambda: Limits(cells=2))
    (tmp_path / "t.html").write_text(report.render(snoopie.load(SAMPLES / "halo-4gpu")), encoding="utf-8")
    page = open_file(tmp_path / "t.html")
    go_to(page, "Matrix")
    assert [row[:2] for row in rows(page, "Lines")] == [["halo.cu:25", "1.2 MiB"], ["halo.cu:30", "1.2 MiB"]]
    assert page.locator(".matrix button").all_inner_texts() == ["320 KiB"] * 8
    page.get_by_role("table", name="Kernels").get_by_role("button", name="push").click()
    expect(
        page.get_by_text("Of the 6 smallest sums by kernel, line and pair this page knows only the pair")
    ).to_be_visible()
    assert [row[:2] for row in rows(page, "Lines")] == [["halo.cu:30", "≥ 640 KiB"]]


def test_where_data_flowed(sample: Path, tmp_path: Path, open_file: Open) -> None:
    """What is loaded comes from its owner; what is filtered in one reading is not in the other."""
    (tmp_path / "ring.html").write_text(report.render(snoopie.load(ring.write_ring(tmp_path))), encoding="utf-8")
    page = open_file(tmp_path / "ring.html")
    go_to(page, "Matrix")
    page.get_by_role("button", name="Where data flowed").click()
    expect(page.get_by_role("columnheader", name="From ↓ To →")).to_be_visible()
    shown = {
        name.split(":")[0]
        for name in page.locator(".matrix button").evaluate_all("all => all.map(one => one.ariaLabel)")
    }
    flow = snoopie.load(ring.write_ring(tmp_path)).by_pair(reading="flow")
    assert shown == {f"{a} → {b}" for a, b in zip(flow["from"], flow["to"], strict=True)}
    for source, target, moved in flow[["from", "to", "bytes"]].itertuples(index=False):
        expect(page.get_by_role("button", name=f"{source} → {target}: {units.bytes(moved)}")).to_be_visible()


def test_a_line_shows_its_kernels_pairs_and_instructions(sample: Path, open_file: Open) -> None:
    page = open_file(sample)
    page.get_by_role("table", name="A click shows the line").get_by_role("button", name="halo.cu:30").click()
    expect(line(page, 30)).to_have_attribute("aria-selected", "true")
    assert "nvshmemx_float_put_block" in line(page, 30).inner_text()
    assert [row[0] for row in rows(page, "Kernels that ran it")] == ["push(float*, int, int, int)"]
    # Colours, which the page's policy lets classes give alone.
    code = line(page, 30).locator(".code")
    assert code.locator(".comment").all_inner_texts() == ["// remote: down"]
    looks = [one.evaluate("of => getComputedStyle(of).color") for one in (code, code.locator(".comment"))]
    assert looks[0] != looks[1]
    expect(page.get_by_text("← nvshmemx_defines.h:56 (nvshmemx_float_put_block) ← halo.cu:30")).to_be_visible()
    assert {row[0] for row in rows(page, "Who issued")} == {f"GPU {gpu} → GPU {(gpu + 1) % 4}" for gpu in range(4)}
    assert rows(page, "Instructions")[0][0].startswith("ST.E.128")
    # By the keyboard to the next line with traffic, which has the focus as before.
    page.get_by_role("listbox").focus()
    page.keyboard.press("ArrowUp")
    expect(line(page, 25)).to_have_attribute("aria-selected", "true")
    assert [row[0] for row in rows(page, "Kernels that ran it")] == ["relax(float const*, float*, int, int, int)"]
    assert page.evaluate("document.activeElement.dataset.focus") == "listing"
    line(page, 30).click()
    expect(page.get_by_role("heading", name="halo.cu:30")).to_be_visible()
    # A line without traffic is none to choose.
    expect(line(page, 29)).to_be_disabled()


def test_the_timeline_zooms_moves_and_tells(sample: Path, open_file: Open) -> None:
    page = open_file(sample)
    go_to(page, "Timeline")
    canvas = page.get_by_role("application")
    expect(page.get_by_text(IN_SIGHT)).to_be_visible()
    trace = snoopie.load(SAMPLES / "halo-4gpu")
    everything = len(trace.launches) + len(trace.copies)
    assert in_sight(page) == everything
    box = canvas.bounding_box()
    assert box is not None
    middle, lane = box["x"] + 0.62 * box["width"], box["y"] + 106

    def sees(fewer_than: int) -> int:
        page.wait_for_function(FEWER, arg=fewer_than)
        return in_sight(page)

    page.mouse.move(middle, lane)
    page.mouse.wheel(0, -600)
    zoomed = sees(everything)
    canvas.focus()
    page.keyboard.press("w")
    closer = sees(zoomed)
    page.keyboard.press("0")
    expect(page.get_by_text(f"In sight: {everything} launches")).to_be_visible()
    # What is marked fills the picture.
    page.keyboard.down("Shift")
    page.mouse.move(middle, lane)
    page.mouse.down()
    page.mouse.move(middle + 60, lane, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    marked = sees(everything)
    first = rows(page, "In sight")[0]
    assert first[3].endswith(" ms")  # when it began
    # Dragging moves: to what was before.
    page.mouse.move(middle, lane)
    page.mouse.down()
    page.mouse.move(middle + 500, lane, steps=4)
    page.mouse.up()
    page.wait_for_function(ANOTHER, arg=first[3])
    assert 0 < closer < zoomed and marked > 0
    # About the first of the longest, by its button.
    page.get_by_role("button", name="All", exact=True).click()
    page.locator("tbody").get_by_role("button", name="relax").first.click()
    told = page.get_by_role("status")
    expect(told).to_contain_text("relax(float const*, float*, int, int, int)")
    told.get_by_role("button", name="Only this kernel").click()
    expect(page.get_by_role("combobox", name="Kernel")).not_to_have_value("-1")
    go_to(page, "Matrix")
    assert [row[0] for row in rows(page, "Lines")] == ["halo.cu:25"]


def test_an_event_is_told_of_by_a_click(tmp_path: Path, open_file: Open) -> None:
    """The only launch of a trace fills its lane."""
    builder = ring.TraceBuilder(2)
    launch = builder.launch(builder.function("alone(int)"), 0)
    builder.add("spans", launch=launch, start=ring.START_NS, end=ring.START_NS + 5000)
    (tmp_path / "t.html").write_text(report.render(snoopie.load(builder.write(tmp_path / "t.zst"))), encoding="utf-8")
    page = open_file(tmp_path / "t.html")
    go_to(page, "Timeline")
    page.get_by_role("application").click(position={"x": 700, "y": 70 + 24 + 12})
    expect(page.get_by_role("status")).to_contain_text("alone(int) · GPU 0 · kernels · began at 0.000 ms · ran 5 µs")


def colour_at(canvas: Locator, place: Position) -> tuple[int, ...]:
    """Red, green and blue of what is seen there."""
    seen = Image.open(io.BytesIO(canvas.screenshot())).convert("RGB")
    return seen.getpixel((round(place["x"]), round(place["y"])))


def mixed_with_white(colour: str, strength: float) -> tuple[int, ...]:
    return tuple(round(255 + strength * (int(colour[at : at + 2], 16) - 255)) for at in (1, 3, 5))


def nearly(colours: list[tuple[int, ...]]) -> list[Any]:
    return [pytest.approx(colour, abs=2) for colour in colours]


def test_waits_are_told_of_and_filtered_with_their_kernel(tmp_path: Path, open_file: Open) -> None:
    """Below the kernels of each of four GPUs; GPU 3 waits once in each launch, the others four times."""
    written = tmp_path / "round.html"
    written.write_text(report.render(snoopie.load(waiting.write_round(tmp_path))), encoding="utf-8")
    page = open_file(written)
    go_to(page, "Timeline")
    canvas = page.get_by_role("application")
    page.get_by_text(IN_SIGHT).wait_for()
    box = canvas.bounding_box()
    assert box is not None
    first = 200 + (box["width"] - 200) * 0.35 / 19.7

    def amid_the_first_launch(lane: int) -> Position:
        return {"x": first, "y": 70 + 24 + 24 * lane + 12}

    canvas.hover(position=amid_the_first_launch(5))
    expect(page.locator(".tip")).to_have_text(
        "for GPU 1 at sync.cuh:12 · 200 µs in 4 waits, all warps added up; the longest 50 µs · "
        "from the first to the last 698 µs"
    )
    canvas.click(position=amid_the_first_launch(7))
    told = page.get_by_role("status")
    expect(told).to_contain_text("for GPU 2 at sync.cuh:12 · GPU 3 · waits · began at 1.001 ms · one wait of 698 µs")
    expect(page.get_by_text("Their times are known to ± 1 µs.")).to_be_visible()
    # In the colour of whom it was waited for, and as strong as the longest wait filled it.
    marks = colours.of_gpus(10)
    once, often = mixed_with_white(marks[2], 0.36), mixed_with_white(marks[1], 0.12 + 0.24 * 50 / 698)
    assert [colour_at(canvas, amid_the_first_launch(lane)) for lane in (7, 5)] == nearly([once, often])
    picture(page, "interactive_waits")
    told.get_by_role("button", name="Only this kernel").click()
    expect(page.get_by_role("combobox", name="Kernel")).not_to_have_value("-1")
    assert [colour_at(canvas, amid_the_first_launch(lane)) for lane in (7, 5)] == nearly([once, often])
    # Those of other launches are pale.
    pairs = page.get_by_role("combobox", name="Pair")
    pairs.select_option(pairs.locator("option", has_text="GPU 3 → GPU 0").get_attribute("value"))
    page.get_by_text("that the filters leave").wait_for()
    pale = mixed_with_white(marks[1], 0.22 * (0.12 + 0.24 * 50 / 698))
    assert [colour_at(canvas, amid_the_first_launch(lane)) for lane in (7, 5)] == nearly([once, pale])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 900])
def test_no_violation_and_nothing_too_wide(
    sample: Path, scheme: str, width: int, browser: Browser, open_file: Open
) -> None:
    # axe makes functions of text, which the page's own policy forbids.
    page = open_file(sample, color_scheme=scheme, viewport={"width": width, "height": 1000}, bypass_csp=True)
    found = {}
    for view in VIEWS:
        go_to(page, view)
        if view == "Timeline":
            page.get_by_text(IN_SIGHT).wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if violations := axe.violations(page):
            found[view] = violations
        picture(page, f"interactive_{view.lower()}_{scheme}_{width}")
    assert found == {}


def test_its_policy_lets_nothing_else_run_or_load(sample: Path, browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    failed: dict[str, str | None] = {}
    page.on("requestfailed", lambda request: failed.update({request.url: request.failure}))
    page.goto(sample.as_uri())
    page.get_by_role("navigation", name="Views").wait_for()
    done = page.evaluate(TRIES)
    context.close()
    assert done == [["script", "markup", "text", "fetch"], 0]
    # By the policy, before anything was asked of the network.
    assert failed == {"https://example.invalid/i.png": "csp"}


def test_hostile_names_stay_text(tmp_path: Path, open_file: Open) -> None:
    trace = snoopie.load(hostile_report.builder(60, 600).write(tmp_path / "t.zst"))
    (tmp_path / "t.html").write_text(report.render(trace, title=hostile_report.NAME), encoding="utf-8")
    page = open_file(tmp_path / "t.html")
    for view in VIEWS:
        go_to(page, view)
        assert page.locator("img, iframe, main script, main style").count() == 0
        assert "<script>alert(1)</script>" in page.locator("body").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= 1440


def test_numbers_are_written_as_everywhere(sample: Path, open_file: Open) -> None:
    """units.js writes what snoopie/words/units.py writes."""
    script = (Path(report.__file__).parent / "scripts" / "units.js").read_text(encoding="utf-8")
    values = [0, 1, 999, 999.96, 1023, 1024, 1280, 1_310_720, 1_835_008, 1_000_000, 12_345_678, 2**40 + 1, 1e18, 2**63]
    shares = [0, 0.125, 0.0005, 0.00125, 0.3333, 1, 0.5625]
    page = open_file(sample)
    said = page.evaluate(
        f"([values, shares]) => {{ {script}; return [values.map(bytes), values.map(count), values.map(rate), "
        "values.map(duration), shares.map(percent)]; }",
        [values, shares],
    )
    assert json.loads(json.dumps(said)) == [
        [units.bytes(value) for value in values],
        [units.count(value) for value in values],
        [units.rate(value) for value in values],
        [units.duration(value) for value in values],
        [units.percent(share) for share in shares],
    ]
