"""Instructions that several processes have in common."""

from __future__ import annotations

from pathlib import Path

import snoopie
from tests.support.encoder import TraceBuilder


def test_the_same_instruction_of_two_processes_is_one(tmp_path: Path) -> None:
    for rank in range(2):
        trace = TraceBuilder(2, ranks={"RANK": str(rank)})
        kernel = trace.function("step()")
        for line in (3, 4):
            site = trace.site(kernel, "STG.E", "store", 4, line=trace.line("/src/a.cu", line))
            trace.count(trace.launch(kernel, rank), site, 1 - rank, line, 32 * line, 4 * line)
        trace.write(tmp_path / f"{rank}.zst")
    loaded = snoopie.load(tmp_path)
    assert len(loaded.by_site()) == 4
    merged = loaded.by_site(merged=True)
    assert merged[["line", "bytes", "accesses"]].to_numpy().tolist() == [[4, 2 * 512, 8], [3, 2 * 384, 6]]
    assert merged["wire_efficiency"].tolist() == [1.0, 1.0]
    assert loaded.line_sites("/src/a.cu", 3, merged=True)["bytes"].tolist() == [768]


def test_it_is_one_also_where_other_kernels_called_it(tmp_path: Path) -> None:
    for rank, kernels in enumerate((["first()", "second()"], ["first()"])):
        trace = TraceBuilder(2, ranks={"RANK": str(rank)})
        site = trace.site(trace.function("called()", kernel=False), "STG.E", "store", 4)
        for kernel in kernels:
            trace.count(trace.launch(trace.function(kernel), rank), site, 1 - rank, 1, 32, 4)
        trace.write(tmp_path / f"{rank}.zst")
    merged = snoopie.load(tmp_path).by_site(merged=True)
    assert merged[["site", "kernel", "function", "accesses"]].to_numpy().tolist() == [
        [1, "first(), second()", "called()", 3]
    ]
