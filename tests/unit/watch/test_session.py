"""What the kernel part tells → recorders, sums and metrics, without a kernel."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import snoopie
from snoopie.live.about import About
from snoopie.live.metrics import Bounded
from snoopie.watch import stream
from snoopie.watch.elf import ElfFile, demangled
from snoopie.watch.memory import Memory
from snoopie.watch.metrics import WatchMetrics
from snoopie.watch.session import Session
from snoopie.watch.stream import Frame, Start
from snoopie.watch.sums import refined

FUNCTIONS = ["cuMemAlloc_v2", "cuMemFree_v2", "cuLaunchKernel"]
ALLOCATE, FREE, LAUNCH = 1, 7, 8


def rows(kind: np.dtype[Any], *values: dict[str, Any]) -> Any:
    table = np.zeros(len(values), kind)
    for row, some in zip(table, values, strict=True):
        for name, value in some.items():
            row[name] = value
    return table


def session(**options: Any) -> Session:
    one = Session(read_about=lambda pid: About(pid, program="app"), **options)
    one.take_one(Frame.START, Start(10**18, FUNCTIONS))
    return one


def launches(pid: int, calls: int, kernel: int) -> Any:
    return rows(stream.SUMS, {"pid": pid, "tid": pid, "function": 2, "kernel": kernel, "calls": calls, "gpu": 0})


def test_a_stream_that_is_cut_ends_where_it_is_whole() -> None:
    whole = struct.pack("=II", Frame.TICK, 8) + struct.pack("=Q", 5)
    assert [int(content[0]) for _, content in stream.frames(io.BytesIO(whole * 2))] == [5, 5]
    for cut in range(1, len(whole)):
        assert len(list(stream.frames(io.BytesIO(whole + whole[:cut])))) == 1


def test_a_number_that_comes_again_is_another_process(tmp_path: Path) -> None:
    one = session()
    news = rows(stream.NEWS, {"pid": 7, "time": 50, "program": b"app"})
    for calls in (3, 5):
        one.take_one(Frame.PROCESS, news)
        one.take_one(Frame.NAMES, rows(stream.NAME, {"pid": 7, "function": 1, "name": b"k%d" % calls}))
        one.take_one(Frame.SUMS, launches(7, calls, 1))
        one.take_one(Frame.END, news)
    paths = [tmp_path / "1.zst", tmp_path / "2.zst"]
    for recorder, path in zip(one.recorders, paths, strict=True):
        recorder.finish(path, {"id": "r", "of": "run"}, one.live_of(recorder), 60, one.lost, True)
    found = [snoopie.load(path).call_totals.iloc[0] for path in paths]
    assert [(int(row["calls"]), str(row["kernel"])) for row in found] == [(3, "k3"), (5, "k5")]


def test_memory_that_is_handed_out_again_at_once() -> None:
    memory = Memory()

    def made(time: int) -> dict[str, int]:
        return dict.fromkeys(("gpu", "object", "tid", "function", "context"), 0) | {
            "address": 100, "bytes": 8, "end": time,
        }  # fmt: skip

    # The free of the first is told after the second was made.
    memory.make(made(1), 0)
    memory.make(made(5), 0)
    memory.free({"object": 0, "address": 100, "end": 6, "tid": 0, "other": 1})
    (left,) = memory.live()
    assert left.time == 5
    assert memory.gpu_at(107) == 0
    assert memory.gpu_at(108) == stream.NOT_KNOWN
    # Of calls that were lost, what is there says what there was.
    there = rows(stream.LIVE, {"address": 300, "time": 7})
    missing, frees = memory.settle(there, 9)
    assert (len(missing), frees) == (1, 1)
    assert list(memory.live()) == []


def test_copies_that_say_more_than_their_call() -> None:
    key = {"tid": 1, "function": 0, "gpu": 0, "direction": 6}
    sums = pd.DataFrame(
        [{"kernel": 0, **key, "calls": 5, "errors": 0, "total": 50, "least": 1, "most": 20, "bytes": 500}]
    )
    copies = pd.DataFrame([{**key, "towards": 1, "spent": 10, "failed": 0, "bytes": 100}] * 3)
    table = refined(sums, copies).set_index("direction")
    assert table["calls"].to_dict() == {6: 2, 1: 3}
    assert table["bytes"].to_dict() == {6: 200, 1: 300}
    assert table["total"].to_dict() == {6: 20, 1: 30}


def test_counters_never_fall_when_processes_end() -> None:
    one = session(keep=False)
    metrics = WatchMetrics(one)

    def launched() -> float:
        (family,) = [family for family in metrics.families() if family.name == "launches"]
        return sum(family.values.values())

    one.take_one(Frame.SUMS, launches(7, 3, 1))
    one.take_one(Frame.SUMS, launches(8, 4, 1))
    assert launched() == 7
    one.take_one(Frame.LIVE, rows(stream.LIVE, {"pid": 7, "bytes": 64}))
    one.take_one(Frame.END, rows(stream.NEWS, {"pid": 7}))
    assert launched() == 7
    one.take_one(Frame.SUMS, launches(7, 2, 1))
    assert launched() == 9
    (leaked,) = [family for family in metrics.families() if family.name == "leaked_bytes"]
    assert list(leaked.values.values()) == [64]
    # Of what has ended nothing else stays.
    assert [recorder.about.pid for recorder in one.recorders] == [8, 7]


def test_labels_are_bounded_for_good() -> None:
    bounded = Bounded()
    seen = {bounded.value("kernel", f"k{number}") for number in range(1000)}
    assert len(seen) == 201
    assert bounded.value("kernel", "k999") == "other"
    assert bounded.value("kernel", "k0") == "k0"


def test_odd_files_have_no_functions(tmp_path: Path) -> None:
    for number, content in enumerate((b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\xff" * 200)):
        path = tmp_path / str(number)
        path.write_bytes(content)
        file = ElfFile(path)
        assert (file.build_id, file.function(5), file.address(5)) == ("", "", 5)
    assert ElfFile(tmp_path / "absent").function(5) == ""


def test_names() -> None:
    assert demangled("plain") == "plain"
    assert demangled("_Z6kernelPfi") in ("kernel(float*, int)", "_Z6kernelPfi")
    assert demangled("_Znonsense") == "_Znonsense"
