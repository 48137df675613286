"""A person opens the app: every view, the filters, a click through to a source line, bad and hostile traces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import FrameLocator, Locator, Page, expect

from tests.browser.conftest import picture, running_app, settled
from tests.support import mixed, ring
from tests.support.encoder import FIRST_SET, HOST, TraceBuilder

OpenPage = Callable[[str], Page]

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
VIEWS = ["Overview", "Graph", "Matrix", "Copies", "Collectives", "Kernels", "Sites", "Source"]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on the ring of tests/support/ring.py, with its sources beside the trace."""
    folder = tmp_path_factory.mktemp("ring")
    trace = ring.write_ring(folder)
    ring.write_sources(folder)
    with running_app(str(trace)) as address:
        yield address


@pytest.fixture(scope="module")
def mixed_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on the two ranks of tests/support/mixed.py."""
    with running_app(str(mixed.write_mixed(tmp_path_factory.mktemp("mixed")))) as address:
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


def rows(table: FrameLocator) -> Locator:
    return table.locator(".ag-center-cols-container .ag-row")


def set_to(page: Page, option: str) -> None:
    """Picks an entry of a row of buttons."""
    page.get_by_role("radio", name=option, exact=True).click()
    settled(page)


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


def test_plotly_is_loaded_before_a_picture_needs_it(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    page.get_by_test_id("stMetric").first.wait_for()
    page.wait_for_function(
        "performance.getEntriesByType('resource').some(entry => /PlotlyChart.*js$/.test(entry.name))"
    )
    # What made the browser load it goes away by itself.
    page.locator(".js-plotly-plot").first.wait_for(state="attached")
    expect(page.locator(".js-plotly-plot")).to_have_count(0)
    expect(page.get_by_role("heading", name="Overview", exact=True, level=2)).to_be_visible()


def test_filters_hold_everywhere_and_stand_in_the_address(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Overview")
    choose(page, "Operations", "load")
    assert metric(page, "Accesses") == "64"
    assert metric(page, "Bytes") == "8 KiB"
    assert "operations=load" in page.url
    go_to(page, "Kernels")
    table = page.frame_locator("iframe").first
    expect(rows(table)).to_have_count(1)
    expect(table.get_by_text("ring_get")).to_be_visible()
    assert "operations=load" in page.url

    # The address alone brings a colleague to the same part of the trace.
    other = open_page(page.url.replace("kernels?", "?"))
    other.get_by_test_id("stMetric").first.wait_for()
    settled(other)
    assert metric(other, "Accesses") == "64"


def test_matrix_in_both_readings(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Matrix")
    heatmap = page.locator(".js-plotly-plot")
    expect(page.get_by_text("The row executed the instructions")).to_be_visible()
    # By row: GPU 3 issued 14400 bytes at GPU 0; each of the others 10240 at the next.
    assert cells(page) == sorted(["10 KiB"] * 3 + ["4.1 KiB"] * 2 + ["14.1 KiB"])
    page.get_by_role("radio", name="Where data flowed").click()
    settled(page)
    expect(page.get_by_text("Data left the row")).to_be_visible()
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
    choose(page, "Place", "GPU 1")
    table = page.frame_locator("iframe").nth(1)
    # To GPU 0 and GPU 2, and from GPU 0.
    expect(rows(table)).to_have_count(3)


def test_sides_hold_over_graph_and_matrix(mixed_app: str, open_page: OpenPage) -> None:
    page = open_page(mixed_app)
    go_to(page, "Matrix")
    # By instructions: 43008 bytes each way between the GPUs; the host, two multicast objects, one that is not known.
    assert cells(page) == sorted(["42 KiB"] * 2 + ["1 KiB"] * 2 + ["512 B"] * 2 + ["256 B"])
    set_to(page, "Accesses")
    set_to(page, "Both")
    # Copies have no accesses: bytes again, and the other values cannot be chosen.
    expect(page.get_by_text("Copies have bytes only")).to_be_visible()
    expect(page.get_by_role("radio", name="Lanes", exact=True)).to_be_disabled()
    set_to(page, "Where data flowed")
    expect(page.locator(".js-plotly-plot").get_by_text("1 MiB").first).to_be_visible()
    # From the host: 1 MiB copied and 1 KiB loaded; to it, 4 KiB copied. Between the GPUs 42 and twice 64 KiB.
    assert cells(page) == sorted(["1 MiB"] * 2 + ["4 KiB"] * 2 + ["170 KiB"] * 2 + ["512 B"] * 2 + ["256 B"])
    picture(page, "mixed-matrix")
    go_to(page, "Graph")
    assert "initiated=both" in page.url
    expect(page.get_by_text("Copies have bytes only")).to_be_visible()
    table = page.frame_locator("iframe").nth(1)
    expect(rows(table)).to_have_count(9)
    expect(rows(table).first).to_contain_text("host")
    picture(page, "mixed-graph")
    set_to(page, "Host")
    expect(rows(page.frame_locator("iframe").nth(1))).to_have_count(6)
    # What was chosen among the values is still there for the device's side.
    set_to(page, "Device")
    expect(page.get_by_role("radio", name="Accesses", exact=True)).to_be_checked()
    assert "value=accesses" in page.url
    other = open_page(page.url)
    other.get_by_role("heading", name="Graph", exact=True).wait_for()
    expect(other.get_by_role("radio", name="Accesses", exact=True)).to_be_checked()


def test_graph_tells_who_a_gpu_is(mixed_app: str, open_page: OpenPage) -> None:
    page = open_page(mixed_app)
    go_to(page, "Graph")
    tooltip = over_the_first_place(page)
    expect(tooltip).to_contain_text("GPU-00000000-aaaa-bbbb-cccc-000000000000")
    expect(tooltip).to_contain_text("used by rank 0")
    page.mouse.down()
    page.mouse.up()
    # To GPU 1, the host, a multicast object, an unknown owner; and from GPU 1.
    expect(rows(page.frame_locator("iframe").nth(1))).to_have_count(5)
    for kind in ("host", "unknown", "multicast"):
        expect(page.get_by_test_id("stCaptionContainer").get_by_text(kind, exact=True)).to_be_visible()


def over_the_first_place(page: Page) -> Locator:
    """Moves the mouse to the place at the top of the graph, which is GPU 0; its tooltip."""
    frame = page.frame_locator("iframe").first
    frame.locator("canvas").wait_for()
    page.wait_for_timeout(1000)  # it moves into place
    box = page.locator("iframe").first.bounding_box()
    assert box is not None
    tooltip = frame.locator(".vis-tooltip")
    for down in range(10, 200, 12):
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + down)
        page.wait_for_timeout(500)
        if tooltip.is_visible():
            break
    return tooltip


def test_copies(mixed_app: str, open_page: OpenPage) -> None:
    page = open_page(mixed_app)
    go_to(page, "Copies")
    assert [metric(page, name) for name in ("Copies", "Bytes copied", "Host time")] == ["8", "2.3 MiB", "16 µs"]
    by_pair, by_call, single = (page.frame_locator("iframe").nth(place) for place in range(3))
    expect(rows(by_pair)).to_have_count(6)
    expect(rows(by_pair).nth(2)).to_contain_text("128.0 KiB")
    expect(by_call.get_by_text("cuMemcpyPeerAsync").first).to_be_visible()
    expect(rows(single)).to_have_count(8)
    expect(rows(single).first).to_contain_text("1.0 MiB")
    expect(rows(single).first).to_contain_text("2.0 µs")
    picture(page, "mixed-copies")
    set_to(page, "Earliest")
    last = rows(page.frame_locator("iframe").nth(2)).last
    expect(last).to_contain_text("300.0 µs")
    expect(last).to_contain_text("cuMemcpyDtoH_v2")


def test_collectives_and_their_calls(mixed_app: str, open_page: OpenPage) -> None:
    page = open_page(mixed_app)
    go_to(page, "Collectives")
    table = page.frame_locator("iframe").first
    expect(rows(table)).to_have_count(2)
    expect(rows(table).first).to_contain_text("AllReduce")
    expect(rows(table).first).to_contain_text("64.0 KiB")
    table.get_by_text("Recv + Send").click()
    page.get_by_role("heading", name="Recv + Send float32").wait_for()
    settled(page)
    calls = page.frame_locator("iframe").nth(1)
    expect(rows(calls)).to_have_count(4)
    expect(calls.get_by_text("0 of 2").first).to_be_visible()
    picture(page, "mixed-collectives")
    table.get_by_text("AllReduce").click()
    page.get_by_role("heading", name="AllReduce sum float32").wait_for()
    expect(rows(page.frame_locator("iframe").nth(1))).to_have_count(2)


def test_from_what_was_not_measured_to_its_sites(mixed_app: str, open_page: OpenPage) -> None:
    page = open_page(mixed_app)
    go_to(page, "Overview")
    assert [metric(page, name) for name in ("Processes", "Ranks", "Copies")] == ["2", "0–1", "8"]
    expect(page.get_by_text("memory whose owner the collector could not tell")).to_be_visible()
    in_words = page.frame_locator("iframe").nth(2)
    expect(rows(in_words).first).to_contain_text("reads of textures")
    expect(rows(in_words).first).to_contain_text("24")
    picture(page, "mixed-overview")
    page.get_by_role("link", name="Each of them, with its line").click()
    page.get_by_role("heading", name="Sites", exact=True, level=2).wait_for()
    settled(page)
    unmeasured = page.frame_locator("iframe").nth(1)
    expect(rows(unmeasured)).to_have_count(4)
    expect(rows(unmeasured).first).to_contain_text("TEX.SCR.B.LL")
    expect(rows(unmeasured).first).to_contain_text("12")
    picture(page, "mixed-sites")


@pytest.mark.parametrize(
    ("view", "sentence"), [("Copies", "The host started no copy"), ("Collectives", "No NCCL calls in this trace")]
)
def test_views_without_content_explain_themselves(app: str, open_page: OpenPage, view: str, sentence: str) -> None:
    page = open_page(app)
    go_to(page, view)
    expect(page.get_by_test_id("stAlert").filter(has_text=sentence)).to_be_visible()


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


EVIL = "<img src=x onerror=\"document.title='taken'\"><b>b</b>**bold** $x$ :red[r] `c`"


def test_names_with_markup_stay_text(tmp_path: Path, open_page: OpenPage) -> None:
    trace = TraceBuilder(2, ranks={"RANK": EVIL})
    for name in ("name", "uuid", "pci"):
        trace.header["gpus"][0][name] = EVIL
    for name in ("program", "host"):
        trace.header["process"][name] = EVIL
    trace.notice(EVIL)
    function = trace.function(f"{EVIL}(int)")
    site = trace.site(function, f"STG.{EVIL}", "store", 4, line=trace.line(f"/home/u/{EVIL}.cu", 3))
    launch = trace.launch(function, 0)
    trace.count(launch, site, 1, 1, 32, 4)
    trace.count(launch, site, trace.set(FIRST_SET, 0, 1), 1, 32, 4)
    trace.count(launch, trace.site(function, EVIL, "load", 4, measured=False, sass=EVIL), 1, 1, 32, 4)
    trace.copy(HOST, 0, 4096, gpu=0, call=EVIL)
    trace.collective(1, EVIL, 1, gpu=0, reduction=EVIL, type=EVIL)
    trace.count(trace.launch(function, 0, group=1), site, 1, 1, 32, 4)
    path = trace.write(tmp_path / "evil.zst")
    with running_app(str(path)) as address:
        page = open_page(address)
        for view in VIEWS:
            go_to(page, view)
            page.wait_for_timeout(1500)
            if view == "Graph":
                expect(over_the_first_place(page)).to_contain_text(EVIL)
                for clicks in (1, 2):
                    page.mouse.down(click_count=clicks)
                    page.mouse.up(click_count=clicks)
                settled(page)
            if view == "Matrix":
                page.locator(".js-plotly-plot .nsewdrag").hover(position={"x": 400, "y": 20})
                expect(page.locator(".js-plotly-plot .hoverlayer")).to_contain_text(EVIL)
            if view == "Collectives":
                rows(page.frame_locator("iframe").first).first.click()
                settled(page)
                expect(rows(page.frame_locator("iframe").nth(1))).to_have_count(1)
            assert len(page.context.pages) == 1
            for frame in page.frames:
                assert "taken" not in frame.title()
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
