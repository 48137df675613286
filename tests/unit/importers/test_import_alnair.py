"""Alnair's logs: sums and single calls, told by what stands in a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import snoopie
from snoopie.api.trace import Trace
from snoopie.errors import NotATraceError, SnoopieError
from snoopie.importers.alnair import import_alnair

METRICS = "name:mem_used,count:452984832\nname:cuLaunchKernel,count:523848,burst:1436854\n"
START = 1663174512512732618
TIMELINE = (
    f"name:cuMemAlloc, start:{START}, burst:1192, bytes:2097152, kind:-1\n"
    f"name:cuMemcpy, start:{START + 5}, burst:11, bytes:64, kind:1\n"
    f"name:cuMemFree, start:{START + 7}, burst:3, bytes:0\n"
)


def load(source: Path, target: Path) -> Trace:
    imported = import_alnair(source, target, force=True)
    trace = snoopie.load(imported.paths)
    assert sorted(set(trace.notices["text"])) == sorted(imported.notices)
    return trace


@pytest.mark.parametrize("swapped", [False, True])
def test_both_logs_whatever_their_names(tmp_path: Path, swapped: bool) -> None:
    names = ["metrics.log", "timeline.log"]
    for name, content in zip(reversed(names) if swapped else names, (METRICS, TIMELINE), strict=True):
        (tmp_path / name).write_text(content)
    trace = load(tmp_path, tmp_path / "t.zst")
    assert trace.call_totals[["call", "calls", "total"]].to_numpy().tolist() == [
        ["cuLaunchKernel", 523848, 1_436_854_000]
    ]
    assert trace.calls[["call", "start", "end", "bytes", "direction"]].to_numpy().tolist() == [
        ["cuMemAlloc", START, START + 1_192_000, 2097152, ""],
        ["cuMemcpy", START + 5, START + 11_005, 64, "host to device"],
        ["cuMemFree", START + 7, START + 3_007, 0, ""],
    ]
    assert trace.memory_use[["own", "used"]].to_numpy().tolist() == [[452984832, -1]]


def test_one_log_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text(TIMELINE)
    trace = load(path, tmp_path / "t.zst")
    assert trace.call_totals[["call", "calls", "total", "bytes"]].to_numpy().tolist() == [
        ["cuMemAlloc", 1, 1_192_000, 2097152], ["cuMemcpy", 1, 11_000, 64], ["cuMemFree", 1, 3_000, 0]
    ]  # fmt: skip
    assert any("no metrics.log" in sentence for sentence in trace.losses())
    path.write_text(METRICS)
    trace = load(path, tmp_path / "t.zst")
    assert trace.calls.empty
    assert any("no timeline.log" in sentence for sentence in trace.losses())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.text(max_size=50), st.just("name:a, start:99999999999999999999, burst:1, bytes:1")),
                max_size=10))  # fmt: skip
def test_no_line_stops_the_others(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "x.log"
    path.write_text("\n".join([*lines, METRICS + TIMELINE]), encoding="utf-8")
    assert len(load(path, tmp_path / "t.zst").calls) == 3


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text(f"name:cuMemAlloc, start:{START}, burst:1, bytes:{10**18 - 1}\n" * 3)
    with pytest.raises(SnoopieError, match="more than any machine can move"):
        import_alnair(path, tmp_path / "t.zst")
    with pytest.raises(NotATraceError, match="no line of Alnair's logs"):
        import_alnair(tmp_path, tmp_path / "t.zst")
