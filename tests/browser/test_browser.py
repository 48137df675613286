"""A person opens the app: every view, the filters, bad and hostile traces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.conftest import at_rest, drawn, picture, running_app, settled, streamlit_run
from tests.browser.steps import (
    GRAPH,
    MATRIX,
    SAMPLES,
    VIEWS,
    choose,
    go_to,
    in_address,
    loaded,
    metric,
    over_a_point,
    over_the_first_place,
    rows,
    said,
    set_to,
    stayed_text,
    table_at,
)
from tests.support import markup, ring
from tests.support.encoder import FIRST_SET, HOST, TraceBuilder
from tests.support.everything import long_builder
from tests.support.markup import EVIL, ODD
from tests.support.viewing import viewing

OpenPage = Callable[[str], Page]


def test_totals(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Overview")
    assert metric(page, "Accesses") == "224"
    assert metric(page, "Bytes") == "52.2 KiB"
    assert metric(page, "Wire bytes") == "99 KiB"
    expect(page.get_by_text("What this trace does not show")).to_be_visible()


def test_plotly_is_loaded_before_a_picture_needs_it(app: str, open_page: OpenPage) -> None:
    page = open_page(f"{app}/sites")
    page.get_by_role("heading", name="Sites", exact=True, level=2).wait_for()
    page.wait_for_function(
        "performance.getEntriesByType('resource').some(entry => /PlotlyChart.*js$/.test(entry.name))"
    )
    # What made the browser load it stood there before it was loaded, and goes away by itself, perhaps already has.
    expect(page.locator(".st-key-preload")).to_have_count(0)
    expect(page.locator(".js-plotly-plot")).to_have_count(0)
    expect(page.get_by_role("heading", name="Sites", exact=True, level=2)).to_be_visible()


def test_filters_hold_everywhere_and_stand_in_the_address(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Overview")
    choose(page, "Operations", "load")
    assert metric(page, "Accesses") == "64"
    assert metric(page, "Bytes") == "8 KiB"
    in_address(page, "operations=load")
    go_to(page, "Kernels")
    table = table_at(page)
    expect(rows(table)).to_have_count(1)
    expect(table.get_by_text("ring_get")).to_be_visible()
    in_address(page, "operations=load")

    # The address alone brings a colleague to the same part of the trace.
    other = open_page(page.url.replace("kernels?", "?"))
    other.get_by_test_id("stMetric").first.wait_for()
    settled(other)
    assert metric(other, "Accesses") == "64"


def test_copies(mixed_app: str, open_page: OpenPage) -> None:
    page = open_page(mixed_app)
    go_to(page, "Copies")
    assert [metric(page, name) for name in ("Copies", "Bytes copied", "Host time")] == ["8", "2.3 MiB", "16 µs"]
    by_pair, by_call, single = table_at(page), table_at(page, 1), rows(table_at(page, 2))
    expect(rows(by_pair)).to_have_count(6)
    expect(rows(by_pair).nth(2)).to_contain_text("128 KiB")
    expect(by_call.get_by_text("cuMemcpyPeerAsync").first).to_be_visible()
    expect(single).to_have_count(8)
    expect(single.first).to_contain_text("1 MiB")
    expect(single.first).to_contain_text("2 µs")
    picture(page, "mixed-copies")
    set_to(page, "Earliest")
    last = single.last
    expect(last).to_contain_text("0.399 ms")
    expect(last).to_contain_text("cuMemcpyDtoH_v2")
    last.click()
    page.get_by_role("link", name="This copy in the timeline").click()
    page.get_by_role("heading", name="Timeline", level=2).wait_for()
    page.get_by_text("Copy 8").first.wait_for()


def test_collectives_and_their_calls(mixed_app: str, open_page: OpenPage) -> None:
    page = open_page(mixed_app)
    go_to(page, "Collectives")
    # Before it, each collective over all ranks.
    table = table_at(page, 1)
    expect(rows(table)).to_have_count(2)
    expect(rows(table).first).to_contain_text("AllReduce")
    expect(rows(table).first).to_contain_text("64 KiB")
    table.get_by_text("Recv + Send").click()
    page.get_by_role("heading", name="Recv + Send float32").wait_for()
    settled(page)
    calls = table_at(page, 2)
    expect(rows(calls)).to_have_count(4)
    expect(calls.get_by_text("0 of 2").first).to_be_visible()
    picture(page, "mixed-collectives")
    table.get_by_text("AllReduce").click()
    page.get_by_role("heading", name="AllReduce sum float32").wait_for()
    expect(rows(table_at(page, 2))).to_have_count(2)


def test_from_what_was_not_measured_to_its_sites(mixed_app: str, open_page: OpenPage) -> None:
    page = open_page(mixed_app)
    go_to(page, "Overview")
    assert [metric(page, name) for name in ("Processes", "Ranks", "Copies")] == ["2", "0–1", "8"]
    expect(page.get_by_text("memory whose owner the collector does not know")).to_be_visible()
    in_words = table_at(page)
    expect(rows(in_words).first).to_contain_text("texture reads")
    expect(rows(in_words).first).to_contain_text("24")
    picture(page, "mixed-overview")
    page.get_by_role("link", name="Each instruction, with its source line").click()
    page.get_by_role("heading", name="Sites", exact=True, level=2).wait_for()
    settled(page)
    unmeasured = table_at(page, 1)
    expect(rows(unmeasured)).to_have_count(2)
    expect(page.get_by_text("2 more did not run in any launch with probes.")).to_be_visible()
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
    """By `streamlit run`: all others are served as by `snoopie view`."""
    trace = ring.write_ring(tmp_path)
    with streamlit_run() as address:
        page = open_page(address)
        for sample in [*SAMPLES.glob("*.zst"), *{path.parent for path in SAMPLES.glob("*/*.zst")}]:
            expect(page.get_by_role("button", name=sample.stem)).to_be_visible()
        picture(page, "open")
        page.get_by_label("Trace file").fill(str(tmp_path / "absent.zst"))
        page.get_by_role("button", name="Open", exact=True).click()
        expect(page.get_by_text("there is no")).to_be_visible()
        # What is typed while the page is drawn anew can be lost.
        settled(page)
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


def stays_harmless(page: Page, own: str) -> None:
    """Checks what is seen, after each step on pages of names with markup."""
    # Tables load in frames of their own.
    drawn(page)
    assert len(page.context.pages) == 1
    stayed_text(page)
    # The icon, too, which this browser does not load and others do.
    assert page.locator("link[rel~=icon]").count() > 0
    assert [url for url in loaded(page) if not url.startswith((own, f"blob:{own}"))] == []
    # Not a letter that steers, neither on the page nor in the tables.
    for frame in page.frames:
        assert not re.search("[\u202e\u2066\x00\x1b\x85]", said(frame))


def test_names_with_markup_stay_text(tmp_path: Path, context: BrowserContext, open_page: OpenPage) -> None:
    """And the pages, which all are looked at here, ask nobody but the app for anything."""
    asked: list[str] = []
    refused: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    context.on("console", lambda message: refused.append(message.text) if "Content Security" in message.text else None)
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
    for row in trace.rows["strings"]:
        row["text"] = row["text"].encode() + ODD.encode() + b"\xff\xfe"
    with viewing(trace.write(tmp_path / "evil.zst")) as app:
        own = f"http://{app.host}/"
        page = open_page(app.address)
        page.get_by_test_id("stMetric").first.wait_for()
        # The address loses the token.
        assert page.url == own
        for view in VIEWS:
            go_to(page, view)
            drawn(page)
            if view == "Overview":
                for folded in page.get_by_test_id("stExpander").all():
                    folded.locator("summary").click()
                    settled(page)
                assert page.get_by_test_id("stExpander").locator(".table").count() >= 4
            if view == "Communication":
                # After the arrows: GPU 0, GPU 1 and the multicast object.
                over_a_point(page, GRAPH, over_a_point(page, GRAPH).count() - 3)
                expect(page.locator(".graph .tip")).to_contain_text(EVIL)
                over_a_point(page, MATRIX)
                expect(page.locator(".js-plotly-plot .hoverlayer").first).to_contain_text(EVIL)
                set_to(page, "Links")
                expect(over_the_first_place(page)).to_contain_text(EVIL)
                for clicks in (1, 2):
                    page.mouse.down(click_count=clicks)
                    page.mouse.up(click_count=clicks)
                settled(page)
            if view == "Collectives":
                rows(table_at(page, 1)).first.click()
                settled(page)
                expect(rows(table_at(page, 2))).to_have_count(1)
            stays_harmless(page, own)
    # What the page itself made, or holds, is no request to anybody.
    assert [url for url in asked if not url.startswith((own, f"blob:{own}", "data:"))] == []
    assert [url for url in asked if app.token in url] == [app.address]
    assert refused == []


# Pages that show what the trace above has not: which views of each are chosen, and in which tables the first row.
_SEEN: dict[str, tuple[Sequence[str], Sequence[int]]] = {
    "Timeline": (["GPUs", "Lines"], [0]),
    "Source": (["Objects", "Launched by", "Kernels", "Moving or waiting"], [0]),
    "Flame graph": ([], []),
    "Kernels": (["Lines", "Objects", "Who launched it"], []),
    "Objects": ([], [0]),
    "Calls": ([], [0, 1, 2]),
    "Memory": ([], [0, 1, 2]),
    "Compare": (["Lines", "Objects", "Pairs"], []),
}


def test_every_text_of_a_trace_stays_text(tmp_path: Path, open_page: OpenPage) -> None:
    one, other = markup.everywhere(), markup.later()
    for name, table in one.schema.items():
        for column in table["columns"]:
            # Strings that no row names would prove nothing.
            assert column.get("ref") != "strings" or any(row[column["name"]] for row in one.rows[name]), (name, column)
    paths = one.write(tmp_path / "evil.zst"), other.write(tmp_path / "later.zst")
    with viewing(paths[0], "--compare", paths[1]) as app:
        own = f"http://{app.host}/"
        page = open_page(app.address)
        page.get_by_test_id("stMetric").first.wait_for()
        for view, (choices, tables) in _SEEN.items():
            go_to(page, view)
            stays_harmless(page, own)
            # It stands there, as it was written.
            assert markup.TIGHT in said(page.main_frame), view
            for table in tables:
                rows(table_at(page, table)).first.click()
                settled(page)
                stays_harmless(page, own)
            for choice in choices:
                set_to(page, choice)
                stays_harmless(page, own)


# Of a trace that is beyond the limits: who trusts it waits for it, but the browser is not to hold it.
def test_names_of_a_megabyte_have_room(tmp_path: Path, open_page: OpenPage) -> None:
    with viewing(long_builder().write(tmp_path / "long.zst"), "--trust") as app:
        page = open_page(app.address)
        page.get_by_test_id("stMetric").first.wait_for()
        for view in VIEWS:
            go_to(page, view)
            drawn(page)
            # All that is written on it, seen or not, is less than one name.
            assert 100 < len(said(page.main_frame)) < 500_000, view
            wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
            assert not page.evaluate(wide), view


# A file beside sources of all samples, and a folder of several processes with its own.
@pytest.mark.parametrize("sample", ["ring-4gpu.zst", "halo-4gpu"])
def test_samples_show_their_source(sample: str, sample_app: Callable[[str], str], open_page: OpenPage) -> None:
    page = open_page(sample_app(sample))
    # The program lies beside its trace: the marked lines are there, and one of them is chosen.
    go_to(page, "Source")
    lines = page.get_by_role("listbox", name="Source lines")
    expect(lines.get_by_text("// remote:").first).to_be_visible()
    expect(page.get_by_role("heading", name=re.compile(r"\.cu:\d+"))).to_be_visible()
    set_to(page, "Who reached whom")
    # After it comes, for a moment, what makes the browser load Plotly.
    page.locator(".js-plotly-plot").first.scroll_into_view_if_needed()
    picture(page, f"{sample}-line")


@pytest.mark.parametrize("width", [900, 1200, 1440])
def test_no_card_stands_alone(width: int, sample_app: Callable[[str], str], open_page: Callable[[str], Page]) -> None:
    """The sample has two rows of cards, of six and of five."""
    page = open_page(sample_app("halo-4gpu"))
    page.set_viewport_size({"width": width, "height": 1000})
    page.get_by_text("Bytes copied", exact=True).wait_for()
    settled(page)
    cards = [at_rest(card) for card in page.get_by_test_id("stMetric").all()]
    assert len(cards) == 11
    in_rows = Counter(top for _, top, _, _ in cards)
    assert min(in_rows.values()) > 1
    assert max(left + wide for left, _, wide, _ in cards) <= width
    assert len({round(wide) for _, _, wide, _ in cards}) == 1
