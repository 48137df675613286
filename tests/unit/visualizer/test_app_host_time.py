"""The app's views of memory and driver calls by Streamlit's own test harness."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from snoopie.importers.nsys import import_nsys
from tests.support import busy
from tests.support.busy import AT, MIB, MS, START
from tests.support.encoder import SCHEMA, TraceBuilder, without
from tests.support.nsys_export import Export
from tests.support.pages import chosen_row, metrics, said, sent, table_rows, view
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
    assert table_rows(app, "memory_agreement") == [
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
    assert chosen_row(app, "calls_by_call")[0] == "cuLaunchKernel"
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
    assert any("kernels" in lane["label"] for lane in sent(timeline, "timeline")["lanes"])
