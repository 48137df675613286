"""Traces while they are written → metrics, which in the end are what the whole traces say."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import snoopie
from snoopie.live.metrics import Durations
from snoopie.live.recording import Recording
from snoopie.trace.growing import Growing
from tests.support import ring
from tests.support.encoder import START_NS, TraceBuilder

SAMPLES = Path(__file__).resolve().parents[3] / "sample_traces"


def sums(recording: Recording, family: str, *labels: str) -> dict[Any, float]:
    """The values of a family by labels."""
    (found,) = [one for one in recording.families() if one.name == family]
    added: dict[Any, float] = defaultdict(float)
    for values, number in found.values.items():
        named = dict(zip(found.labels, values, strict=True))
        added[tuple(named[label] for label in labels)] += number
    return dict(added)


def number(trace: snoopie.Trace, place: int) -> str:
    """A GPU as metrics name it."""
    return trace.label(place).removeprefix("GPU ")


def grow(recording: Recording, source: Path, target: Path, pieces: int) -> None:
    """Writes a trace piece by piece; no total falls meanwhile."""
    content = source.read_bytes()
    before: dict[Any, float] = {}
    with target.open("wb", buffering=0) as file:
        for piece in range(pieces):
            file.write(content[len(content) * piece // pieces : len(content) * (piece + 1) // pieces])
            recording.look()
            now = {
                (one.name, key): value for one in recording.families() if one.total for key, value in one.values.items()
            }
            assert all(now[key] >= value for key, value in before.items())
            before = now


@pytest.mark.parametrize("name", ["findings-2gpu", "jacobi-2gpu", "jacobi-4gpu", "ring-4gpu"])
def test_the_end_is_what_the_trace_says(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The machine that recorded them may have had this one's name.
    monkeypatch.setattr(Growing, "_gone", lambda self: False)
    recording = Recording(lambda: tmp_path.glob("*.zst"))
    grow(recording, SAMPLES / f"{name}.zst", tmp_path / "t.zst", 23)
    while recording.look():
        pass
    trace = snoopie.load(tmp_path / "t.zst")
    counts = trace.counts.merge(trace.sites[["operation"]], left_on="site", right_index=True)
    for family, column in (("accesses", "accesses"), ("accessed_bytes", "bytes")):
        expected = counts.groupby(["issuer", "owner", "operation"], observed=True)[column].sum()
        assert sums(recording, family, "issuer", "owner", "operation") == {
            (number(trace, issuer), number(trace, owner), operation): value
            for (issuer, owner, operation), value in expected.items()
        }
    assert sums(recording, "accessed_bytes") == {(): counts["bytes"].sum()}
    totals = trace.call_totals
    expected = totals.groupby("call", observed=True)["calls"].sum()
    assert sums(recording, "calls", "call") == {(call,): value for call, value in expected.items()}
    launched = totals[totals["kernel"] != ""].groupby("kernel", observed=True)["calls"].sum()
    assert sums(recording, "launches", "kernel") == {(kernel,): value for kernel, value in launched.items()}
    across = trace.copies[trace.copies["source"] != trace.copies["destination"]]
    within = totals[totals["direction"] == "device to device"]
    ends = across.groupby(["source", "destination"])["bytes"].sum()
    copied = {(number(trace, source), number(trace, end)): value for (source, end), value in ends.items()}
    copied |= {(number(trace, gpu),) * 2: value for gpu, value in within.groupby("gpu")["bytes"].sum().items()}
    assert sums(recording, "copied_bytes", "source", "destination") == copied
    leaks = trace.leaks()
    leaked = leaks[(leaks["state"] == "never freed")]["bytes"].sum()
    assert sum(sums(recording, "leaked_bytes", "gpu").values()) == leaked
    assert sums(recording, "allocated_bytes", "gpu") == {}
    assert sums(recording, "gpu_info", "gpu", "uuid") == {
        (str(place), uuid): 1.0 for place, uuid in enumerate(trace.gpus["uuid"])
    }
    times = trace.call_times.groupby("call", observed=True)["calls"].sum()
    found = recording.durations()
    assert {call: int(found.buckets(call)[-1]) for call in found.slots} == times.to_dict()
    spent = totals.groupby("call", observed=True)["total"].sum()
    assert {call: round(seconds * 1e9) for call, seconds in found.seconds.items()} == spent.to_dict()
    recording.close()


def running(gpus: list[int] | int = 2, pid: int | None = None) -> TraceBuilder:
    """A trace of a process that runs here: this one."""
    trace = TraceBuilder(gpus, pid=os.getpid() if pid is None else pid, host=socket.gethostname())
    trace.header["process"]["command"] = Path("/proc/self/cmdline").read_bytes().decode().split("\0")[:-1]
    return trace


def test_memory_comes_goes_and_leaks(tmp_path: Path) -> None:
    trace = running()
    trace.allocation("device", 1000, 0, 10)
    trace.allocation("device", 300, 0, 10, end=20)
    trace.allocation("pool", 50, 1, 10)
    trace.allocation("mapping", 7, 1, 10)
    # One context ends while the program runs, one because it exits.
    trace.allocation("device", 4000, 1, 10, end=30, by=1)
    trace.allocation("device", 20000, 1, 10, end=500, by=1)
    trace.exit_ns = START_NS + 400
    path = tmp_path / "t.zst"
    recording = Recording(lambda: [path])
    trace.write(path, footer=False)
    assert recording.look()
    assert sums(recording, "allocated_bytes", "gpu", "kind") == {("0", "device"): 1000, ("1", "pool"): 50}
    assert sums(recording, "allocations", "kind") == {("device",): 4, ("pool",): 1, ("mapping",): 1}
    (one,) = recording.running()
    assert (one.memory, one.about.pid) == (1050, os.getpid())
    assert one.about.user
    assert sums(recording, "processes") == {(): 1}
    trace.write(path)
    # A second more for what comes behind the first footer.
    assert recording.look()
    assert not recording.look()
    assert sums(recording, "leaked_bytes", "gpu", "kind") == {
        ("0", "device"): 1000, ("1", "pool"): 50, ("1", "device"): 20000,
    }  # fmt: skip
    assert sums(recording, "allocated_bytes", "gpu") == {}
    assert sums(recording, "processes") == {(): 0}


def test_rows_behind_the_footer(tmp_path: Path) -> None:
    """The collector takes its footer back for rows that come late, and writes another behind them."""
    trace, path = running(), tmp_path / "t.zst"
    trace.add("call_totals", call=trace.string("cuMemAlloc_v2"), calls=3, thread=1, gpu=0, total=5, least=1, most=2)
    blocks = trace.blocks()
    recording = Recording(lambda: [path])
    path.write_bytes(b"".join(blocks))
    assert recording.look()
    trace.add("call_totals", call=trace.string("cuMemAlloc_v2"), calls=4, thread=1, gpu=0, total=5, least=1, most=2)
    later = [*blocks[:-1], *trace.blocks(block_rows=1)[len(blocks) - 1 :]]
    assert len(later) == len(blocks) + 1
    path.write_bytes(b"".join(later))
    recording.look()
    assert sums(recording, "calls", "call") == {("cuMemAlloc_v2",): 7}


def test_gpus_of_several_processes_are_told_apart(tmp_path: Path) -> None:
    recording = Recording(lambda: tmp_path.glob("*.zst"))
    for name, gpus in (("a", [1, 0]), ("b", [0, 1])):
        trace = running(gpus)
        kernel = trace.function("k()")
        site = trace.site(kernel, "STG.E", "store", 4)
        trace.count(trace.launch(kernel, 0), site, 1, 1, 32, 8)
        trace.write(tmp_path / f"{name}.zst", footer=False)
        recording.look()
    # What is first in the first process is second in the other.
    assert sums(recording, "accessed_bytes", "issuer", "owner") == {("0", "1"): 128, ("1", "0"): 128}
    assert sums(recording, "gpu_info", "gpu") == {("0",): 1, ("1",): 1}
    recording.close()


def test_launches_in_any_order_and_sites_that_are_not_measured(tmp_path: Path) -> None:
    trace, path = running(), tmp_path / "t.zst"
    kernel = trace.function("k()")
    sites = [trace.site(kernel, "LDG.E", "load", 8), trace.site(kernel, "X", "load", 8, measured=False)]
    for launch, gpu in ((7, 1), (3, 0), (5, 1)):
        trace.launch(kernel, gpu, id=launch)
        for site in sites:
            trace.count(launch, site, 1 - gpu, launch, 10 * launch, 1)
    recording = Recording(lambda: [path])
    trace.write(path, footer=False, block_rows=1)
    recording.look()
    assert sums(recording, "accesses", "issuer", "owner") == {("0", "1"): 3, ("1", "0"): 12}
    assert sums(recording, "accessed_bytes", "issuer") == {("0",): 240, ("1",): 960}
    recording.close()


def test_a_damaged_trace_ends_alone_and_is_told(tmp_path: Path) -> None:
    recording = Recording(lambda: tmp_path.glob("*.zst"))
    for name in ("good", "bad"):
        trace = running()
        trace.allocation("device", 1000, 0, 10)
        content = bytearray(trace.encode(footer=False))
        content[-1] ^= name == "bad"
        (tmp_path / f"{name}.zst").write_bytes(content)
    (tmp_path / "other.zst").write_bytes(b"something else that is long enough to be read as an entry" * 2)
    assert recording.look()
    assert len(recording.problems) == 2
    assert sums(recording, "allocated_bytes", "gpu") == {("0",): 1000}
    recording.close()


def test_traces_of_other_machines_are_theirs_to_offer(tmp_path: Path) -> None:
    ring.write_ring(tmp_path)
    for here, families in ((True, 0), (False, 1)):
        recording = Recording(lambda: tmp_path.glob("*.zst"), here=here)
        recording.look()
        assert bool(sums(recording, "accesses", "issuer")) == families
        recording.close()


def test_records_that_were_dropped_are_lost(tmp_path: Path) -> None:
    trace, path = running(), tmp_path / "t.zst"
    trace.allocation("device", 1000, 0, 10)
    trace.dropped, trace.totals["launches_lost"] = 12, 3
    recording = Recording(lambda: [path])
    trace.write(path, footer=False)
    recording.look()
    assert recording.lost == {"records": 12}
    trace.write(path)
    while recording.look():
        pass
    assert recording.lost == {"records": 12, "launches": 3}


def test_a_process_that_is_killed_ends(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    path = tmp_path / "t.zst"
    trace = running(pid=child.pid)
    trace.allocation("device", 1000, 0, 10)
    trace.write(path, footer=False)
    recording = Recording(lambda: [path])
    assert not recording.look()
    assert sums(recording, "leaked_bytes", "gpu") == {("0",): 1000}


def test_histograms_have_whole_slots() -> None:
    found = Durations()
    slots = [0] * 64
    # 2^10 ns and more is above the first bucket, below it is in it.
    slots[9], slots[10], slots[40] = 1, 2, 4
    found.add("c", slots)  # type: ignore[arg-type]
    buckets = found.buckets("c").tolist()
    assert buckets[:2] == [1, 3]
    assert buckets[-2:] == [3, 7]
