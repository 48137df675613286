"""A person opens the app: every view, the filters, a click through to a source line, bad and hostile traces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import picture, running_app, settled
from tests.support import ring
from tests.support.encoder import TraceBuilder

OpenPage = Callable[[str], Page]

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
VIEWS = ["Overview", "Graph", "Matrix", "Kernels", "Sites", "Source"]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on the ring of tests/support/ring.py, with its sources beside the trace."""
    folder = tmp_path_factory.mktemp("ring")
    trace = ring.write_ring(folder)
    ring.write_sources(folder)
    with running_app(str(trace)) as address:
        yield address


def go_to(page: Page, view: str) -> None:
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=view, exact=True).click()
    page.get_by_role("heading", name=view, exact=True, level=2).wait_for()
    settled(page)


def metric(page: Page, label: str) -> str:
    """The number under a label of the overview."""
    box = page.get_by_test_id("stMetric").filter(has=page.get_by_text(label, exact=True))
    return box.get_by_test_id("stMetricValue").inner_text()


def cells(page: Page) -> list[str]:
    """The numbers in the heatmap's cells, sorted."""
    labels = page.locator(".js-plotly-plot .heatmap-label")
    labels.first.wait_for()
    return sorted(labels.all_text_contents())


def choose(page: Page, label: str, option: str) -> None:
    """Picks an entry of a chooser by what it says."""
    page.get_by_role("combobox", name=label).click()
    page.get_by_role("option", name=option).click()
    page.keyboard.press("Escape")
    settled(page)


def test_every_view_opens(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    for view in VIEWS:
        go_to(page, view)
        if view in ("Graph", "Overview", "Kernels", "Sites", "Source"):
            page.locator("iframe").first.wait_for()
        picture(page, view.lower())


def test_totals(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Overview")
    assert metric(page, "Accesses") == "224"
    assert metric(page, "Bytes") == "52.2 KiB"
    assert metric(page, "Wire bytes") == "99 KiB"
    expect(page.get_by_text("What this trace does not show")).to_be_visible()


def test_filters_hold_everywhere_and_stand_in_the_address(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Overview")
    choose(page, "Operations", "load")
    assert metric(page, "Accesses") == "64"
    assert metric(page, "Bytes") == "8 KiB"
    assert "operations=load" in page.url
    go_to(page, "Kernels")
    table = page.frame_locator("iframe").first
    expect(table.locator(".ag-center-cols-container .ag-row")).to_have_count(1)
    expect(table.get_by_text("ring_get")).to_be_visible()
    assert "operations=load" in page.url

    # The address alone brings a colleague to the same view.
    other = open_page(page.url.replace("kernels?", "overview?"))
    other.get_by_test_id("stMetric").first.wait_for()
    settled(other)
    assert metric(other, "Accesses") == "64"


def test_matrix_in_both_readings(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Matrix")
    heatmap = page.locator(".js-plotly-plot")
    expect(page.get_by_text("A row's GPU executed the instructions")).to_be_visible()
    # By row: GPU 3 issued 14400 bytes at GPU 0; each of the others 10240 at the next.
    assert cells(page) == sorted(["10 KiB"] * 3 + ["4.1 KiB"] * 2 + ["14.1 KiB"])
    page.get_by_role("radio", name="Where data flowed").click()
    settled(page)
    expect(page.get_by_text("Data left A row's GPU")).to_be_visible()
    expect(heatmap.get_by_text("12.1 KiB").first).to_be_visible()
    assert cells(page).count("4.1 KiB") == 1
    page.get_by_role("radio", name="Accesses").click()
    expect(heatmap.get_by_text("KiB")).to_have_count(0)


def test_click_through_to_a_source_line(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Source")
    listing = page.frame_locator("iframe").first
    line = listing.locator(".ag-row").filter(has=page.get_by_text("turn = atomicAdd(ticket, 1u);"))
    listing.get_by_text("turn = atomicAdd(ticket, 1u);").click()
    page.get_by_role("heading", name="ring.cu:18").wait_for()
    settled(page)
    expect(line).to_contain_text("192 B")
    expect(line).to_contain_text("12.5 %")
    # Its instruction, and who reached whom by it.
    instructions = page.frame_locator("iframe").nth(1)
    expect(instructions.get_by_text(re.compile("ATOM"))).to_be_visible()
    heatmap = page.locator(".js-plotly-plot")
    heatmap.scroll_into_view_if_needed()
    assert cells(page) == ["64 B"] * 3
    picture(page, "source_line")


def test_source_that_was_inlined(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Source")
    choose(page, "File", "shift.h")
    page.get_by_role("heading", name="shift.h:4").wait_for()
    expect(page.get_by_text("ring.cu:12")).to_be_visible()
    expect(page.frame_locator("iframe").first.get_by_text("return from[64 * i];")).to_be_visible()


def test_source_in_a_folder_that_the_user_names(tmp_path: Path, open_page: OpenPage) -> None:
    trace = ring.write_ring(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ring.write_sources(elsewhere)
    lonely = tmp_path / "lonely"
    lonely.mkdir()
    with running_app(str(trace.rename(lonely / "ring.zst"))) as address:
        page = open_page(address)
        go_to(page, "Source")
        expect(page.get_by_text("Only folders that you name are looked into")).to_be_visible()
        expect(page.get_by_label("Folder with the source")).to_have_value("/home/u/ring/src")
        page.get_by_label("Folder with the source").fill(str(elsewhere))
        page.get_by_role("button", name="Look there").click()
        settled(page)
        expect(page.frame_locator("iframe").first.get_by_text("turn = atomicAdd(ticket, 1u);")).to_be_visible()


def test_graph_shows_one_gpu(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Graph")
    page.frame_locator("iframe").first.locator("canvas").wait_for()
    choose(page, "GPU", "GPU 1")
    table = page.frame_locator("iframe").nth(1)
    # To GPU 0 and GPU 2, and from GPU 0.
    expect(table.locator(".ag-center-cols-container .ag-row")).to_have_count(3)


def test_without_a_trace(tmp_path: Path, open_page: OpenPage) -> None:
    trace = ring.write_ring(tmp_path)
    with running_app() as address:
        page = open_page(address)
        for sample in [*SAMPLES.glob("*.zst"), *{path.parent for path in SAMPLES.glob("*/*.zst")}]:
            expect(page.get_by_role("button", name=sample.stem)).to_be_visible()
        picture(page, "open")
        page.get_by_label("Trace file").fill(str(tmp_path / "absent.zst"))
        page.get_by_role("button", name="Open", exact=True).click()
        expect(page.get_by_text("there is no")).to_be_visible()
        page.get_by_label("Trace file").fill(str(trace))
        page.get_by_role("button", name="Open", exact=True).click()
        page.get_by_test_id("stMetric").first.wait_for()
        assert metric(page, "Accesses") == "224"


def test_truncated_trace(tmp_path: Path, open_page: OpenPage) -> None:
    trace = ring.write_ring(tmp_path)
    trace.write_bytes(trace.read_bytes()[:-10])
    with running_app(str(trace)) as address:
        page = open_page(address)
        page.get_by_role("button", name="Read what is whole").click()
        page.get_by_test_id("stMetric").first.wait_for()
        assert metric(page, "Accesses") == "224"
        expect(page.get_by_text("What this trace does not show")).to_be_visible()


def test_not_a_trace(tmp_path: Path, open_page: OpenPage) -> None:
    text = tmp_path / "notes.zst"
    text.write_text("no trace")
    with running_app(str(text)) as address:
        page = open_page(address)
        expect(page.get_by_test_id("stAlert")).to_contain_text("notes.zst")


EVIL = "<img src=x onerror=\"document.title='taken'\">**bold** $x$ :red[r] `c`"


def test_names_with_markup_stay_text(tmp_path: Path, open_page: OpenPage) -> None:
    trace = TraceBuilder(2)
    trace.header["gpus"][0]["name"] = EVIL
    trace.header["process"]["program"] = EVIL
    trace.notice(EVIL)
    function = trace.function(f"{EVIL}(int)")
    site = trace.site(function, f"STG.{EVIL}", "store", 4, line=trace.line(f"/home/u/{EVIL}.cu", 3))
    launch = trace.launch(function, 0)
    trace.count(launch, site, 1, 1, 32, 4)
    path = trace.write(tmp_path / "evil.zst")
    with running_app(str(path)) as address:
        page = open_page(address)
        for view in VIEWS:
            go_to(page, view)
            page.wait_for_timeout(1500)
            assert "taken" not in page.title()
            assert page.locator("img[src=x]").count() == 0
            for frame in page.frames:
                assert frame.locator("img[src=x]").count() == 0


# A sample of several processes is a folder, with its sources.
OF_CUDA = [*SAMPLES.glob("*.zst"), *(path.parent for path in SAMPLES.glob("*/halo.cu"))]


@pytest.mark.parametrize("sample", sorted(OF_CUDA), ids=lambda path: path.stem)
def test_samples_show_their_source(sample: Path, open_page: OpenPage) -> None:
    with running_app(str(sample)) as address:
        page = open_page(address)
        for view in VIEWS:
            go_to(page, view)
            picture(page, f"{sample.stem}-{view.lower()}")
        # The program lies beside its trace: the marked lines are there, and one of them is chosen.
        listing = page.frame_locator("iframe").first
        expect(listing.get_by_text("// remote:").first).to_be_visible()
        expect(page.get_by_role("heading", name=re.compile(r"\.cu:\d+"))).to_be_visible()
        page.get_by_text("Who reached whom by this line").scroll_into_view_if_needed()
        picture(page, f"{sample.stem}-line")
