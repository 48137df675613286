"""Tensors from snapshots of PyTorch's allocator; a snapshot is a pickle, and untrusted."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import snoopie
from snoopie.errors import NotATraceError, UsageError
from snoopie.importers import torch_memory
from tests.support.encoder import START_NS, TraceBuilder

HEAP = 0x7F00_0000_0000
START_US = START_NS // 1000
OURS = {"filename": "/home/u/train.py", "line": 12, "name": "step"}
THEIRS = {"filename": "/usr/lib/python3.12/site-packages/torch/nn/linear.py", "line": 9, "name": "forward"}


def event(action: str, address: int, size: int, time_us: int, frames: list[dict[str, Any]] | None = None) -> Any:
    return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": time_us, "frames": frames or []}


def snapshot(*gpus: list[Any], segments: list[Any] | None = None) -> dict[str, Any]:
    return {"segments": segments or [], "device_traces": list(gpus), "allocator_settings": {}}


def save(content: Any, path: Path) -> Path:
    path.write_bytes(pickle.dumps(content))
    return path


def train() -> dict[str, Any]:
    """On GPU 1 two tensors after each other at one address, one more beside; one older than the history."""
    older = {"address": HEAP + 4096, "size": 1024, "requested_size": 1000, "state": "active_allocated", "frames": []}
    free = {"address": HEAP + 5120, "size": 512, "state": "inactive"}
    return snapshot(
        [],
        [
            event("segment_alloc", HEAP, 1 << 21, START_US),
            event("alloc", HEAP, 1024, START_US + 1, [THEIRS, OURS]),
            event("alloc", HEAP + 1024, 1024, START_US + 2, [OURS | {"line": 13}]),
            event("free_requested", HEAP, 1024, START_US + 3),
            event("free_completed", HEAP, 1024, START_US + 4),
            event("alloc", HEAP, 512, START_US + 6, [THEIRS]),
        ],
        segments=[{"device": 1, "address": HEAP, "blocks": [older, free]}],
    )


def test_a_history_becomes_tensors(tmp_path: Path) -> None:
    table, stacks = torch_memory.read(save(train(), tmp_path / "s.pickle"))
    assert table[["address", "bytes", "gpu"]].values.tolist() == [
        [HEAP, 1024, 1],
        [HEAP + 1024, 1024, 1],
        [HEAP, 512, 1],
        [HEAP + 4096, 1000, 1],
    ]
    assert ((table["allocated"] - START_NS) // 1000).tolist()[:3] == [1, 2, 6]
    assert table["freed"].tolist() == [1000 * (START_US + 4), 0, 0, 0]
    assert [stacks[place][0] if place >= 0 else None for place in table["stack"]] == [
        (THEIRS["filename"], 9, "forward"),
        ("/home/u/train.py", 13, "step"),
        (THEIRS["filename"], 9, "forward"),
        None,
    ]


def traced(folder: Path, *, pid: int = 4711) -> snoopie.Trace:
    """GPU 0 stores into GPU 1's segment before and after the first tensor's place was given to another."""
    trace = TraceBuilder(2, pid=pid)
    put = trace.function("put")
    site = trace.site(put, "STG.E", "store", 4)
    trace.add("objects", address=HEAP, bytes=1 << 21, owner=1, kind=0, time=START_NS)
    for moment, warps in ((2500, 8), (7000, 12)):
        launch = trace.launch(put, 0, time=START_NS + moment)
        trace.count(launch, site, 1, warps, 32 * warps, 4 * warps)
        for warp in range(warps):
            trace.record(launch, site, 1, HEAP + 128 * warp, 4, warp=warp)
    trace.copy(0, 1, 4096, gpu=0, destination_address=HEAP + 1024, start=START_NS + 2600, end=START_NS + 2700)
    return snoopie.load(trace.write(folder / f"t.{pid}.zst"))


def test_traffic_by_tensor(tmp_path: Path) -> None:
    trace = traced(tmp_path)
    save(train(), tmp_path / "snoopie-tensors.host.4711.pickle")
    table = trace.by_tensor().set_index("tensor")
    # At first all eight warps fit the first tensor; later four fit the third, four lie behind it, four in the second.
    assert table["bytes"].to_dict() == {1: 1024, 2: 512, 3: 512, 0: 512}
    assert table["copied_in"].to_dict() == {1: 0, 2: 4096, 3: 0, 0: 0}
    assert table.loc[1, ["file", "line", "function", "size", "gpu"]].tolist() == [
        "/home/u/train.py",
        12,
        "step",
        1024,
        1,
    ]
    # A stack of nothing but PyTorch's frames has only those.
    assert table.loc[3, "function"] == "forward"
    assert table["exact"].all()
    assert trace.by_object()["bytes"].tolist() == [20 * 128]


def test_objects_that_counts_name_do_not_part_tensors(tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    put = trace.function("put")
    site, launch = trace.site(put, "STG.E", "store", 4), trace.launch(put, 0, time=START_NS + 2500)
    for number in range(2):
        segment = trace.add("objects", address=HEAP + 1024 * number, bytes=1024, owner=1, kind=0, time=START_NS)
        trace.add("counts", launch=launch, site=site, owner=1, object=segment, accesses=1, lanes=32, wire_units=8)
        trace.record(launch, site, 1, HEAP + 1024 * number, 4)
    save(train(), tmp_path / "snoopie-tensors.host.4711.pickle")
    table = snoopie.load(trace.write(tmp_path / "t.zst")).by_tensor()
    assert table[["tensor", "bytes", "exact"]].values.tolist() == [[1, 128, True], [2, 128, True]]


def test_a_history_without_tensors(tmp_path: Path) -> None:
    trace = traced(tmp_path)
    found = trace.tensors(save(snapshot([], []), tmp_path / "s.pickle"))
    kept = trace.tensors(save(train(), tmp_path / "t.pickle"))
    pd.testing.assert_frame_equal(found, kept.iloc[:0], check_index_type=False)


def test_a_program_that_ran_out_of_memory(tmp_path: Path) -> None:
    """That event has no address: under its name PyTorch says how much the GPU had left."""
    history = train()
    event_ = {"action": "oom", "device_free": 77, "size": 1 << 40, "stream": 0, "time_us": START_US + 5, "frames": []}
    history["device_traces"][1].insert(4, event_)
    table, _ = torch_memory.read(save(history, tmp_path / "s.pickle"))
    pd.testing.assert_frame_equal(table, torch_memory.read(save(train(), tmp_path / "t.pickle"))[0])


def test_a_history_without_times_is_refused(tmp_path: Path) -> None:
    """As PyTorch before 2.2 wrote it. All its tensors would seem to have been there all the time."""
    history = train()
    for event_ in history["device_traces"][1]:
        del event_["time_us"]
    with pytest.raises(NotATraceError, match="does not say when tensors were allocated"):
        torch_memory.read(save(history, tmp_path / "s.pickle"))


def test_each_process_has_its_own_history(tmp_path: Path) -> None:
    traced(tmp_path), traced(tmp_path, pid=4712)
    both = snoopie.load(tmp_path)
    save(train(), tmp_path / "snoopie-tensors.host.4712.pickle")
    assert set(both.tensors()["process"]) == {1}
    with pytest.raises(UsageError, match="several"):
        both.tensors(tmp_path / "snoopie-tensors.host.4712.pickle")
    assert len(both.by_tensor(tmp_path)) == 4


def test_without_a_history_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NotATraceError, match="--tensors"):
        traced(tmp_path).by_tensor()
    with pytest.raises(NotATraceError, match="no history"):
        traced(tmp_path, pid=5).tensors(tmp_path)


class Evil:
    """Unpickled freely, it would end the tests."""

    def __reduce__(self) -> Any:
        return os._exit, (3,)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"not a pickle", id="text"),
        pytest.param(pickle.dumps(train())[:-20], id="cut"),
        pytest.param(pickle.dumps(Evil()), id="code"),
        pytest.param(pickle.dumps([1, 2]), id="a list"),
        pytest.param(pickle.dumps({"segments": 1, "device_traces": [[{"action": "alloc"}]]}), id="other members"),
        pytest.param(pickle.dumps(snapshot([event("alloc", -1, 5, 0)])), id="an address below 0"),
        pytest.param(pickle.dumps(snapshot([event("alloc", 1 << 70, 5, 0)])), id="an address beyond all"),
        pytest.param(
            pickle.dumps(snapshot([event("alloc", HEAP, 5, 0, [OURS | {"line": 10**30}])])), id="a line beyond all"
        ),
    ],
)
def test_what_is_no_snapshot(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "s.pickle"
    path.write_bytes(content)
    with pytest.raises(NotATraceError, match=r"s\.pickle"):
        torch_memory.read(path)


FAKE_TORCH = """
import pathlib, pickle, sys
class memory:
    @staticmethod
    def _record_memory_history(max_entries, stacks): print("recording", stacks)
    @staticmethod
    def _dump_snapshot(path): pathlib.Path(path).write_bytes(pickle.dumps({"segments": [], "device_traces": []}))
def _lazy_call(action): _lazy_call.waiting = action
def use(): _lazy_call.waiting()
"""


@pytest.mark.parametrize("opcode", [b"r\xff\xff\xff\x0f", b"p268435455\n"], ids=["bytes", "digits"])
def test_a_pickle_that_numbers_more_than_it_holds(tmp_path: Path, opcode: bytes) -> None:
    # The table of these numbers would have 268 million rows.
    path = tmp_path / "x.pickle"
    path.write_bytes(pickle.dumps(train(), 2).replace(b"q\x01", opcode, 1))
    with pytest.raises(NotATraceError, match="numbers more than it holds"):
        torch_memory.read(path)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_all_protocols(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "x.pickle"
    odd: dict[str, Any] = {"text": "r\xff\xff\xff\x7f\n" * 300, "numbers": [1, -1, 2.5, 10**30, None, True]}
    if protocol >= 3:
        odd["bytes"] = b"p99999999999\n" * 40
    path.write_bytes(pickle.dumps(train() | odd, protocol))
    assert len(torch_memory.read(path)[0]) == len(torch_memory.read(save(train(), tmp_path / "y.pickle"))[0])


def test_names_that_are_endless_when_written_out(tmp_path: Path) -> None:
    name: list[Any] = []
    for _ in range(60):
        name = [name, name]
    snapshot_ = snapshot([event("alloc", HEAP, 1024, START_US, [OURS | {"name": name}])])
    with pytest.raises(NotATraceError, match="has no allocator history"):
        torch_memory.read(save(snapshot_, tmp_path / "x.pickle"))


def test_an_unmodified_program_keeps_its_history(tmp_path: Path) -> None:
    package = tmp_path / "torch"
    (package / "cuda").mkdir(parents=True)
    (package / "__init__.py").write_text("from . import cuda\n")
    (package / "cuda" / "__init__.py").write_text(FAKE_TORCH)
    (tmp_path / "sitecustomize.py").write_text("print('another')\n")
    hooks = Path(snoopie.__file__).parent / "hooks"
    env = os.environ | {"PYTHONPATH": f"{hooks}:{tmp_path}", "SNOOPIE_TENSORS": str(tmp_path)}
    command = [sys.executable, "-c", "import torch.cuda, os; print(os.getpid()); torch.cuda.use()"]
    run = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True)
    assert run.stderr == ""
    other, pid, recording = run.stdout.splitlines()
    assert (other, recording) == ("another", "recording python")
    table, _ = torch_memory.read(tmp_path / f"snoopie-tensors.{os.uname().nodename}.{pid}.pickle")
    assert table.empty
