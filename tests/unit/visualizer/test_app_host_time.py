"""The app's views of time, memory and driver calls by Streamlit's own test harness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from snoopie.importers.nsys import import_nsys
from tests.support import busy, mixed
from tests.support.busy import AT, MIB, MS, START, US
from tests.support.encoder import HOST, SCHEMA, TraceBuilder, without
from tests.support.nsys_export import Export
from tests.support.pages import metrics, said, view
from visualizer.look import theme
from visualizer.pictures import lanes, time_axis
from visualizer.views import memory

Patch = pytest.MonkeyPatch


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return busy.write_busy(tmp_path_factory.mktemp("busy"))


def figure(app: AppTest) -> dict[str, Any]:
    (chart,) = app.get("plotly_chart")
    found: dict[str, Any] = json.loads(chart.proto.spec)
    return found


def captions(app: AppTest) -> str:
    return " ".join(caption.value for caption in app.caption)


# The timeline


def test_lanes_and_traffic(monkeypatch: Patch, path: Path) -> None:
    app = view(monkeypatch, "timeline", path)
    assert not app.exception
    picture = figure(app)
    assert [text.strip() for text in picture["layout"]["yaxis"]["ticktext"]] == [
        "<b>GPU 0</b>  kernels · stream 0x7",
        "kernels · stream 0x8",
        "copies (calls) · stream 0x7",
        "<b>GPU 1</b>  kernels · stream 0x9",
        "NCCL (calls) · stream 0x9",
        "<b>host</b>  driver calls · thread 4711",
        "driver calls · thread 4712",
    ]
    bars, *areas = picture["data"]
    # 100 of step, 10 copies, 40 of reduce, 5 calls, 102 calls; the ticks are drawn together.
    assert len(bars["base"]) < 100 + 10 + 40 + 5 + 102 + 200
    assert sum("click to look closer" in text for text in bars["customdata"]) > 10
    assert [area["name"] for area in areas] == ["GPU 0 → GPU 1", "GPU 1 → GPU 0"]
    # Rates times widths: what there was.
    for area, size in zip(areas, (100 * 4096, 40 * 2048), strict=True):
        width = (area["x"][1] - area["x"][0]) / 1e9
        assert sum(area["y"]) * width == pytest.approx(size)
    assert "Instrumentation slows kernels" in captions(app)


def test_a_part_of_the_time_by_the_address(monkeypatch: Patch, path: Path) -> None:
    """5 ms to 5.1 ms: one of step, one of reduce; times in the address are after the first moment of all."""
    app = view(monkeypatch, "timeline", path, time_from=str(5 * MS + 7 * US), time_to=str(5 * MS + 107 * US))
    assert not app.exception
    bars = figure(app)["data"][0]
    kernels = [text for text in bars["customdata"] if "kernels" in text]
    assert [text.split("</b>")[0].removeprefix("<b>") for text in kernels] == ["step", "reduce&lt;4&gt;"]
    assert bars["base"][0] == 5 * MS + 7 * US
    assert app.number_input(key="timeline_from").value == pytest.approx(5.007)
    app.button(key="timeline_further").click().run()
    assert app.query_params["time_from"] in (["4957000"], "4957000")
    app.number_input(key="timeline_from").set_value(2.007).run()
    assert app.query_params["time_from"] in (["2007000"], "2007000")
    assert app.query_params["time_to"] in (["5157000"], "5157000")
    # An end before the beginning moves both.
    app.number_input(key="timeline_to").set_value(1.0).run()
    assert not app.exception
    assert app.query_params["time_to"] in (["3150000"], "3150000")
    app.button(key="timeline_all").click().run()
    assert "time_from" not in app.query_params
    assert "time_to" not in app.query_params


def test_filter_to_the_time(monkeypatch: Patch, path: Path) -> None:
    app = view(monkeypatch, "timeline", path, time_from=str(5 * MS + 7 * US), time_to=str(5 * MS + 107 * US))
    app.button(key="timeline_filter").click().run()
    assert not app.exception
    assert app.session_state["between"] == [AT + 5 * MS, AT + 5 * MS + 100 * US]
    # Now that is all there is to look at.
    assert app.button(key="timeline_filter").disabled
    calls = view(monkeypatch, "calls", path, between=app.query_params["between"][0])
    assert not calls.exception


def test_lanes_of_gpus_and_only_some(monkeypatch: Patch, path: Path) -> None:
    app = view(monkeypatch, "timeline", path, lanes="together", only="kernel")
    assert figure(app)["layout"]["yaxis"]["ticktext"] == ["<b>GPU 0</b>  kernels ", "<b>GPU 1</b>  kernels "]
    app.session_state["only"] = ["call", "copy call"]
    app.run()
    assert len(figure(app)["layout"]["yaxis"]["ticktext"]) == 2
    assert not app.exception


@pytest.mark.parametrize(
    ("event", "facts"),
    [
        ("kernel:1", {"On": "GPU 0", "Took": "80 µs", "Bytes": "4 KiB", "Stream": "0x7"}),
        ("copy call:2", {"On": "GPU 0", "Took": "60 µs", "Bytes": "1 MiB"}),
        ("collective:1", {"On": "GPU 1", "Took": "20 µs", "Bytes": "4 KiB"}),
        ("call:1", {"Took": "6 µs", "Thread": "4711"}),
    ],
)
def test_what_was_chosen(monkeypatch: Patch, path: Path, event: str, facts: dict[str, str]) -> None:
    app = view(monkeypatch, "timeline", path, event=event)
    assert not app.exception
    shown = metrics(app)
    assert {name: shown[name] for name in facts} == {name: theme.plain(value) for name, value in facts.items()}
    app.button(key="timeline_event_closer").click().run()
    assert not app.exception


def test_ranges_have_lanes_of_their_own(monkeypatch: Patch, tmp_path: Path) -> None:
    path = mixed.write_mixed(tmp_path)
    app = view(monkeypatch, "timeline", path, event="range:1", only="range")
    assert not app.exception
    assert [text.strip() for text in figure(app)["layout"]["yaxis"]["ticktext"]] == [
        "<b>host</b>  ranges · rank 0 · thread 4711"
    ]
    assert {name: metrics(app)[name] for name in ("On", "Took", "Thread")} == {
        "On": "host",
        "Took": "1 µs",
        "Thread": "4711",
    }
    app.button(key="timeline_event_range").click().run()
    assert not app.exception
    assert app.multiselect(key="ranges").value == ["exchange"]


@pytest.mark.parametrize("event", ["kernel:99999", "x:1", "kernel:-1", "kernel:1e9", "::", "<b>"])
def test_nonsense_in_the_address(monkeypatch: Patch, path: Path, event: str) -> None:
    app = view(monkeypatch, "timeline", path, event=event, time_from="-5", time_to="9" * 19, lanes="x", only="y")
    assert not app.exception
    assert not metrics(app)
    assert len(figure(app)["layout"]["yaxis"]["ticktext"]) == 7


def test_launches_without_a_time_on_the_gpu(monkeypatch: Patch, ring_path: Path) -> None:
    app = view(monkeypatch, "timeline", ring_path)
    assert not app.exception
    assert "are shown as marks at the time of their host call" in captions(app)
    assert all("launches (calls)" in text for text in figure(app)["layout"]["yaxis"]["ticktext"])
    assert "This trace has no GPU timestamps" in captions(app)


def test_names_from_a_trace_are_no_markup(monkeypatch: Patch, tmp_path: Path) -> None:
    trace = TraceBuilder(1)
    evil = trace.function("<img src=x onerror=alert(1)>")
    trace.add("spans", launch=trace.launch(evil, 0), start=AT, end=AT + 100)
    app = view(monkeypatch, "timeline", trace.write(tmp_path / "t.zst"), event="kernel:1")
    assert not app.exception
    assert "<img" not in json.dumps(figure(app))
    assert any(theme.plain("<img src=x onerror=alert(1)>") in text.value for text in app.markdown)


def test_many_lanes(monkeypatch: Patch, tmp_path: Path) -> None:
    trace = TraceBuilder(1)
    kernel = trace.function("k()")
    for stream in range(60):
        trace.launch(kernel, 0, stream=stream + 10)
    path = trace.write(tmp_path / "t.zst")
    assert len(figure(view(monkeypatch, "timeline", path))["layout"]["yaxis"]["ticktext"]) == 1
    app = view(monkeypatch, "timeline", path, lanes="streams")
    assert len(figure(app)["layout"]["yaxis"]["ticktext"]) == 48
    assert "The first 48 of 60 lanes" in captions(app)


def test_it_opens_on_what_happened(monkeypatch: Patch, tmp_path: Path) -> None:
    """Of a second, in which one kernel runs early and ten run within 1 ms, that millisecond; All shows the second."""
    trace = TraceBuilder(1)
    kernel = trace.function("k()")
    for start in (0, *(900 * MS + number * 100 * US for number in range(10))):
        launch = trace.launch(kernel, 0, time=AT + start)
        trace.add("spans", launch=launch, start=AT + start, end=AT + start + 50 * US)
    trace.copy(0, HOST, 64, gpu=0, start=AT + 1000 * MS, end=AT + 1000 * MS + US)
    app = view(monkeypatch, "timeline", trace.write(tmp_path / "t.zst"))
    low, high = figure(app)["layout"]["xaxis"]["range"]
    assert 899 * MS < low < 900 * MS and 901 * MS > high > 900 * MS + 950 * US
    assert "It opens on the 988 µs in which most kernels ran" in captions(app)
    assert "time_from" not in app.query_params
    app.button(key="timeline_all").click().run()
    low, high = figure(app)["layout"]["xaxis"]["range"]
    assert (low, high) == (0, 1000 * MS + US + 1)
    assert app.query_params["time_from"] in ("0", ["0"])


def test_only_names_of_kernels_are_shortened() -> None:
    assert lanes.short("kernel", "void n::k<int>(float*)") == "n::k<int>"
    assert lanes.short("copy", "host → GPU 0") == "host → GPU 0"


def test_marks_of_an_axis() -> None:
    axis = time_axis.axis(1_000_000, 1_010_000, 0)
    assert axis["ticktext"] == ["1,000", "1,002", "1,004", "1,006", "1,008", "1,010"]
    assert (axis["range"], axis["title"]["text"]) == ([1_000_000, 1_010_000], "µs after the start")
    assert time_axis.axis(5, 105, 5)["ticktext"] == ["0", "20", "40", "60", "80", "100"]
    assert time_axis.axis(0, 90 * 10**9, 0)["ticktext"] == ["0", "20", "40", "60", "80"]
    assert time_axis.axis(0, 13_010_000, 0)["title"]["text"] == "ms after the start"


# Memory


def test_memory(monkeypatch: Patch, path: Path) -> None:
    app = view(monkeypatch, "memory", path)
    assert not app.exception
    picture = figure(app)
    assert [note["text"] for note in picture["layout"]["annotations"]] == [
        "<b>GPU 0</b>  peak 96 MiB after 2 ms",
        "<b>GPU 1</b>  peak 16 MiB after 1 ms",
        "<b>host</b>  peak 8 MiB after 507 µs",
    ]
    first = picture["data"][0]
    assert (first["name"], max(first["y"]), first["y"][-1]) == ("device", 96 * MIB, 64 * MIB)
    # Each name once in the legend.
    assert [one["name"] for one in picture["data"] if one["showlegend"]] == [
        "device", "driver: change since the first sample", "pool", "host",
    ]  # fmt: skip
    assert "64 MiB were never freed" in captions(app)
    (said_by_driver,) = (table.value for table in app.dataframe)
    assert said_by_driver.to_numpy().tolist() == [
        ["GPU 0", "peak", "2 ms", "600 MiB", "+32 MiB", "96 MiB"],
        ["GPU 0", "last", "11 ms", "568 MiB", "0 B", "64 MiB"],
    ]


def test_memory_of_one_device(monkeypatch: Patch, path: Path) -> None:
    app = view(monkeypatch, "memory", path, device="GPU 1")
    assert not app.exception
    assert [note["text"] for note in figure(app)["layout"]["annotations"]] == ["<b>GPU 1</b>  peak 16 MiB after 1 ms"]
    assert "No leaks: everything was freed" in said(app)
    assert view(monkeypatch, "memory", path, device="GPU 9").session_state["device"] == "all"


def test_what_the_driver_reports_hides_nothing(monkeypatch: Patch, tmp_path: Path) -> None:
    """Of 1 MiB that was allocated nothing would be seen below 5 MiB."""
    for used, seen in ((5 * MIB, "legendonly"), (MIB, True)):
        trace = TraceBuilder(1)
        trace.allocation("device", MIB, 0, START)
        trace.memory_use(0, START, 0)
        trace.memory_use(0, START + MS, used)
        drawn = figure(view(monkeypatch, "memory", trace.write(tmp_path / "t.zst")))
        assert [line["visible"] for line in drawn["data"] if line["name"] == memory.DRIVER] == [seen]
        assert drawn["layout"]["yaxis"]["range"][1] == pytest.approx(1.1 * MIB)


def test_memory_that_only_the_driver_reports(monkeypatch: Patch, tmp_path: Path) -> None:
    trace = TraceBuilder(1)
    trace.memory_use(0, START, 5 * MIB)
    trace.memory_use(0, START + MS, 2 * MIB)
    app = view(monkeypatch, "memory", trace.write(tmp_path / "t.zst"))
    assert not app.exception
    assert figure(app)["layout"]["annotations"][0]["text"] == "<b>GPU 0</b>  nothing allocated"


# Driver calls


def test_calls(monkeypatch: Patch, path: Path) -> None:
    app = view(monkeypatch, "calls", path)
    assert not app.exception
    assert metrics(app) == {"Calls": "112", "Failed": "1", "Host time": "1.8 ms"}
    headings = [heading.value for heading in app.subheader]
    assert headings == ["Failed", "By call", "Single calls", "Launches by kernel", "Copies by direction", "By thread"]
    assert app.selectbox(key="call").options == ["cuLaunchKernel", "cuMemAlloc_v2"]
    app.selectbox(key="call").set_value("cuMemAlloc_v2").run()
    assert not app.exception
    assert app.query_params["call"] in (["cuMemAlloc_v2"], "cuMemAlloc_v2")


def test_sums_of_calls_alone(monkeypatch: Patch, tmp_path: Path) -> None:
    trace = TraceBuilder(1)
    trace.add("call_totals", call=trace.string("cuCtxSynchronize"), time=AT, calls=3, total=30, least=10, most=10)
    app = view(monkeypatch, "calls", trace.write(tmp_path / "t.zst"))
    assert not app.exception
    assert "CALLS=all" in captions(app)


# Where there is none of it


@pytest.mark.parametrize(
    ("settings", "schema", "sentence"),
    [
        ({"calls": "off"}, SCHEMA, "Driver calls were not recorded: CALLS=off"),
        ({}, without("call_totals"), "did not record driver calls"),
        ({"calls": "summary"}, SCHEMA, "No driver call was recorded"),
    ],
)
def test_why_there_are_no_calls(
    monkeypatch: Patch, tmp_path: Path, settings: dict[str, str], schema: list[dict[str, Any]], sentence: str
) -> None:
    path = TraceBuilder(2, settings=settings, schema=schema).write(tmp_path / "t.zst")
    assert sentence in said(view(monkeypatch, "calls", path))


def test_what_an_imported_trace_lacks(monkeypatch: Patch, tmp_path: Path) -> None:
    export = Export()
    export.kernel("step(int)", 800, 900, export.call("cudaLaunchKernel", 710, 720))
    imported = import_nsys(export.write(tmp_path / "report.sqlite"), tmp_path / "out.zst")
    memory = view(monkeypatch, "memory", *imported.paths)
    assert "which does not record allocations" in said(memory)
    timeline = view(monkeypatch, "timeline", *imported.paths)
    assert not timeline.exception
    assert "Instrumentation slows kernels" not in captions(timeline)
    assert any("kernels" in text for text in figure(timeline)["layout"]["yaxis"]["ticktext"])
