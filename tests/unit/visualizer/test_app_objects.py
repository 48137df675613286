"""The views of kernels, launches and objects, by Streamlit's test harness."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.support import mixed, ring
from tests.support.encoder import START_NS, TraceBuilder
from tests.support.pages import PATIENCE, ROOT, metrics, said, table, until, view
from visualizer.session import background
from visualizer.session.question import Question


def captions(app: AppTest) -> str:
    return " ".join(element.value for element in app.caption)


def cells(app: AppTest) -> list[list[float | None]]:
    """Of the picture of an object, None where nothing was touched."""
    (chart,) = app.get("plotly_chart")
    found: list[list[float | None]] = json.loads(chart.proto.spec)["data"][0]["customdata"]
    return found


def texts(app: AppTest) -> str:
    return " ".join(element.value for element in [*app.markdown, *app.subheader, *app.caption])


# --- objects ---


def test_the_object_with_the_most_bytes_comes_first(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    app = view(monkeypatch, "objects", ring_path)
    assert not app.exception
    # GPU 3 puts and gets 10240 bytes, and the tickets and sums of three GPUs are there.
    assert metrics(app) == {"Size": "2 MiB", "Owner": "GPU 0", "Bytes moved": "22.2 KiB", "Accesses": "128"}
    assert "All 128 accesses were recorded" in captions(app)
    assert "Each cell is 4 KiB, 1,024 elements" in captions(app)
    assert app.selectbox(key="object").value == 1
    assert "object" not in app.query_params


def test_an_address_names_object_and_range(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    query = {"object": "2", "object_from": "8192", "object_to": "8704", "object_width": "4"}
    app = view(monkeypatch, "objects", ring_path, **query)
    assert not app.exception
    assert app.selectbox(key="object").value == 2
    assert "Each cell is 4 B, one element" in captions(app)
    assert "10 KiB moved for 9.9 KiB of distinct bytes" in texts(app)
    app.button(key="object_from_Zoom out").click().run()
    assert [app.number_input(key=f"object_{end}").value for end in ("from", "to")] == [7424, 9472]
    app.button(key="object_from_Forward").click().run()
    assert app.number_input(key="object_from").value == 8448
    app.button(key="object_from_Back").click().run()
    app.button(key="object_from_All").click().run()
    assert [app.number_input(key=f"object_{end}").value for end in ("from", "to")] == [0, 1 << 21]
    assert "object_from" not in app.query_params
    # Closer is where it was touched: within its first 128 KiB.
    app.button(key="object_from_Zoom in").click().run()
    assert [app.number_input(key=f"object_{end}").value for end in ("from", "to")] == [0, 128 << 10]
    for _ in range(3):
        app.button(key="object_from_Zoom in").click().run()
        assert any(value is not None for line in cells(app) for value in line)
    # Another object is shown as a whole.
    app.selectbox(key="object").set_value(3).run()
    assert [app.number_input(key=f"object_{end}").value for end in ("from", "to")] == [0, 1 << 21]


def test_an_instruction_of_all_processes_is_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under Sites. Each of four GPUs pushes 16 KiB to the next one twenty times, half of it into this array."""
    app = view(monkeypatch, "objects", ROOT / "sample_traces" / "halo-4gpu")
    assert not app.exception
    (key,) = [one.proto.id for one in app.get("bidi_component") if "object_sites" in one.proto.id]
    sites = table(app, key.rpartition("-")[2])
    assert [sites[name] for name in ("Line", "Bytes", "Reuse")] == [["30", "25"], ["640 KiB"] * 2, ["10 ×"] * 2]
    # Its program has no lines of its own in the stacks.
    (key,) = [one.proto.id for one in app.get("bidi_component") if "object_stack" in one.proto.id]
    assert list(table(app, key.rpartition("-")[2])) == ["Function", "Module"]


def test_what_takes_long_comes_later(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    released, answer = threading.Event(), background._Worker.answer

    def held(self: background._Worker, question: Question[Any]) -> object:
        assert released.wait(PATIENCE)
        return answer(self, question)

    monkeypatch.setattr(background._Worker, "answer", held)
    monkeypatch.setattr(background, "_FEW", 0)
    app = view(monkeypatch, "objects", ring_path)
    assert not app.exception
    assert "Going through the recorded accesses" in captions(app)
    assert metrics(app) == {}
    released.set()
    until(app, lambda: "Each cell is" in captions(app))
    assert metrics(app) == {"Size": "2 MiB", "Owner": "GPU 0", "Bytes moved": "22.2 KiB", "Accesses": "128"}
    # What comes after the picture is there as well.
    until(app, lambda: "By which instructions" in texts(app))
    # A part of the object is the same as here.
    app.button(key="object_from_Zoom in").click().run()
    until(app, lambda: "Going through" not in captions(app))
    later = captions(app)
    monkeypatch.setattr(background, "_FEW", 1 << 30)
    assert captions(app.run()) == later


AHEAD = """
import streamlit as st
from visualizer.session import state
from visualizer.views import objects
if state.is_open():
    objects.show() if "look" in st.session_state else objects.ahead()
"""


def test_the_first_look_was_made_ahead(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    """Other views have made what the first look at objects needs: nothing is asked then."""
    asked: list[str] = []
    answer = background._Worker.answer

    def told(self: background._Worker, question: Question[Any]) -> object:
        asked.append(question.method.__name__)
        if len(asked) > 6:
            raise AssertionError(question)
        return answer(self, question)

    monkeypatch.setattr(background._Worker, "answer", told)
    monkeypatch.setattr(background, "_FEW", 0)
    monkeypatch.setattr(sys, "argv", ["app.py", str(ring_path)])
    app = AppTest.from_string(AHEAD, default_timeout=PATIENCE).run()
    until(app, lambda: len(asked) >= 6)
    assert asked == ["by_object", "reuse", "object_heat", "object_heat", "object_reuse", "reuse"]
    app.session_state["look"] = True
    # The last answer may be under way.
    until(app, lambda: "By which instructions" in texts(app))
    assert "Each cell is 4 KiB" in captions(app)
    bars = " ".join(element.proto.body for element in app.get("html"))
    assert all(words in bars for words in ("1 ×", "KiB", "width: max(2px"))


def test_rows(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    query = {"object": "2", "object_mode": "rows", "object_row": "256", "object_top": "2", "object_bottom": "9"}
    app = view(monkeypatch, "objects", ring_path, **query, object_operation="store", object_issuer="GPU 0")
    assert not app.exception
    assert "Each cell is 1 row × 4 B, one element" in captions(app)
    assert app.number_input(key="object_bottom").value == 9
    assert app.number_input(key="object_right").value == 1024
    app.button(key="object_left_Zoom in").click().run()
    assert [app.number_input(key=f"object_{end}").value for end in ("left", "right")] == [384, 640]
    app.segmented_control(key="object_shown").set_value("moved").run()
    assert "bytes moved" in captions(app)


def test_all_stays_all_where_rows_get_shorter(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    app = view(monkeypatch, "objects", ring_path, object="2", object_mode="rows", object_row="1024")
    assert app.number_input(key="object_bottom").value == 512
    app.number_input(key="object_row").set_value(256).run()
    assert [app.number_input(key=f"object_{end}").value for end in ("bottom", "right")] == [2048, 1024]
    assert "object_bottom" not in app.query_params
    assert "Each cell is 8 rows × 4 B, one element" in captions(app)


@pytest.mark.parametrize(
    "query",
    [
        {"object": "99"},
        {"object": "x"},
        {"object": "2", "object_from": "-3", "object_to": "99999999999999999999999"},
        {"object": "2", "object_from": "600", "object_to": "600"},
        {"object": "2", "object_mode": "rows", "object_row": "0", "object_top": "7", "object_bottom": "1"},
        {"object": "2", "object_mode": "cube", "object_width": "3", "object_issuer": "<b>", "object_operation": "²"},
    ],
)
def test_an_address_that_makes_no_sense(
    monkeypatch: pytest.MonkeyPatch, ring_path: Path, query: dict[str, str]
) -> None:
    app = view(monkeypatch, "objects", ring_path, **query)
    assert not app.exception
    assert "Size" in metrics(app)


def test_operations_and_filters(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    app = view(monkeypatch, "objects", ring_path, operations="load", object="2")
    assert metrics(app)["Bytes moved"] == "2 KiB"
    assert "no byte went twice" in texts(app)
    assert not app.exception


def test_a_sample_says_what_share_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    builder = ring.ring_builder()
    builder.rows["records"] = builder.rows["records"][::2]
    app = view(monkeypatch, "objects", builder.write(tmp_path / "t.zst"), object="2")
    assert "16 of 32 accesses were recorded" in captions(app)


def test_objects_without_records(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    builder = ring.ring_builder()
    builder.rows["records"].clear()
    builder.rows["scattered"].clear()
    for row in builder.rows["counts"]:
        row["object"] = row["owner"] + 1 if row["owner"] < 4 else 0
    app = view(monkeypatch, "objects", builder.write(tmp_path / "t.zst"))
    assert not app.exception
    assert "no recorded accesses" in said(app)
    assert metrics(app)["Accesses"] == "128"


def test_no_object_at_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    app = view(monkeypatch, "objects", mixed.write_mixed(tmp_path))
    assert "no allocations" in said(app)
    off = TraceBuilder(2, settings={"object_attribution": False})
    app = view(monkeypatch, "objects", off.write(tmp_path / "off.zst"))
    assert "Record without --no-objects" in said(app)


def test_objects_that_nobody_reached(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    trace.add("objects", address=4096, bytes=64, owner=0, kind=0, time=START_NS)
    app = view(monkeypatch, "objects", trace.write(tmp_path / "t.zst"))
    assert "No object was reached" in said(app)


def test_no_tensors(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    app = view(monkeypatch, "objects", ring_path, object_by="tensor")
    assert not app.exception
    assert "snoopie run --tensors" in said(app)


def stacked(folder: Path, code: str = "CHECK(cudaMalloc(&halo, n));") -> Path:
    """The ring, with who allocated object 2 and launched everything."""
    trace = ring.ring_builder()
    module = trace.add("modules", path=trace.string("/home/u/ring/ring"))
    frame = trace.add("frames", module=module, address=64)
    place = {"file": trace.string(ring.RING_CU), "function": trace.string("main"), "line": 18}
    trace.add("symbols", frame=frame, code=trace.string(code), **place)
    stack = trace.add("stacks", frame=frame, caller=0)
    trace.rows["objects"][1] |= {"stack": stack, "call": trace.string("cuMemAlloc_v2"), "thread": 4711}
    trace.rows["objects"][1]["time"] = START_NS + 2_000_000
    trace.add("frees", object=2, time=START_NS + 5_000_000, thread=4712)
    for row in trace.rows["launches"]:
        row["stack"] = stack
        row["time"] += 3_000_000
    return trace.write(folder / "stacked.zst")


def test_who_allocated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    app = view(monkeypatch, "objects", stacked(tmp_path), object="2")
    assert not app.exception
    said_of_it = texts(app).replace("\\", "")
    assert "Object 2: halo" in said_of_it
    assert "By cuMemAlloc_v2 in thread 4711 of process 4711, 2 ms after the start; " in said_of_it
    assert "freed by thread 4712 3 ms later" in said_of_it


def test_hostile_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    app = view(monkeypatch, "objects", stacked(tmp_path, "[x](javascript:alert(1)) = make();"), object="2")
    assert not app.exception
    assert "](javascript" not in texts(app)


# --- kernels and launches ---


def test_a_kernel_in_detail(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = stacked(tmp_path)
    for detail, expected in (
        ("matrix", "The row executed the instructions"),
        ("time", "Bytes of 3 measured launches"),
        ("lines", ""),
        ("objects", ""),
        ("stacks", "The stack of ring.cu:18 main"),
    ):
        app = view(monkeypatch, "kernels", path, kernel=ring.BUMP, kernel_detail=detail)
        assert not app.exception
        assert app.selectbox(key="kernel").value == ring.BUMP
        assert expected in texts(app).replace("\\", "")
        assert app.query_params["kernel"] in (ring.BUMP, [ring.BUMP])


def test_a_kernel_that_is_not_there(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    app = view(monkeypatch, "kernels", ring_path, kernel="nothing", kernel_detail="nothing")
    assert not app.exception
    assert app.selectbox(key="kernel").value == ring.PUT


def test_a_launch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    app = view(monkeypatch, "launches", stacked(tmp_path), launch="5", launch_order="start")
    assert not app.exception
    assert metrics(app) == {"GPU": "GPU 1", "Bytes": "4.1 KiB", "Accesses": "32", "Ran": "–"}
    assert "4 blocks of 128 threads" in texts(app)
    assert app.segmented_control(key="launch_order").value == "start"
    app.selectbox(key="launch").set_value(1).run()
    assert metrics(app)["Bytes"] == "8 KiB"


def test_a_launch_that_is_not_there(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    app = view(monkeypatch, "launches", ring_path, launch="77", launch_order="size")
    assert not app.exception
    assert app.selectbox(key="launch").value == 1


def test_a_launch_of_a_collective(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    app = view(monkeypatch, "launches", mixed.write_mixed(tmp_path))
    assert not app.exception
    assert "collectives that it carries out" in texts(app)
    assert metrics(app)["Bytes"] == "32 KiB"
