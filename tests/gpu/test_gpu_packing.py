"""Accesses that share an injected call are counted and recorded as they are one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import TYPE_CHECKING

import pytest
from gpu_runs import Runner
from gpu_traffic import nothing_dropped

if TYPE_CHECKING:
    import pandas as pd

    from snoopie import Trace

PROGRAMS: dict[str, tuple[int, ...]] = {
    "opcodes": (),
    "mixed": (),
    "jacobi": (777, 130, 3),
    "ring": (1000, 2),
    "tensor": (),
    "memory": (),
    "launches": (),
    "graphs": (),
    "blocks": (),
    "textures": (1,),
}
# Kernels are launched at the same time: their order is another in every run.
ANY_ORDER = ("launches", "graphs")
RECORDED = ("opcodes", "mixed", "jacobi", "ring", "blocks")


def settings_of(program: str) -> dict[str, str]:
    return {"BLOCKS": "x:0-3;y:1"} if program == "blocks" else {}


def of_sites(trace: Trace, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the function and offset of each one's site, which are the same in every run."""
    return rows.assign(function=rows.site.map(trace.sites.kernel), offset=rows.site.map(trace.sites.offset))


def by_launch(trace: Trace, rows: pd.DataFrame, *columns: str) -> dict[tuple[str, int], list[Hashable]]:
    """(kernel, GPU) → for each launch in its order, how often each row's values occur in it."""
    values = of_sites(trace, rows)[["launch", "function", "offset", "owner", *columns]]
    found: dict[int, Counter[Hashable]] = {}
    for launch, *row in values.itertuples(index=False, name=None):
        found.setdefault(launch, Counter())[tuple(row)] += 1
    launches: dict[tuple[str, int], list[Hashable]] = {}
    for launch in trace.launches.sort_index().itertuples():
        rows_of_launch = found.get(launch.Index, Counter())
        launches.setdefault((launch.kernel, launch.gpu), []).append(frozenset(rows_of_launch.items()))
    return launches


def without_order(launches: dict[tuple[str, int], list[Hashable]]) -> dict[tuple[str, int], Counter[Hashable]]:
    return {kernel: Counter(tables) for kernel, tables in launches.items()}


def one_by_one_and_packed(runner: Runner, visible: tuple[str, ...], program: str, **settings: str) -> list[Trace]:
    options = settings_of(program) | settings
    alone = runner.traced(program, *PROGRAMS[program], visible=visible, PACKING="1", **options)
    packed = runner.traced(program, *PROGRAMS[program], visible=visible, **options)
    return [alone.trace, packed.trace]


# The probes that only count are others than those that record, too.
@pytest.mark.parametrize("settings", [{"SAMPLE_SIZE": "0"}, {}], ids=["counted", "recorded"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_counts_are_the_same(runner: Runner, pair: tuple[str, ...], program: str, settings: dict[str, str]) -> None:
    traces = one_by_one_and_packed(runner, pair, program, **settings)
    columns = ["accesses", "lanes", "wire_units", "bytes", "wire_bytes"]
    # Which objects are told apart, if many come and go, is a matter of time.
    alone, packed = (
        by_launch(trace, trace.counts.groupby(["launch", "site", "owner"])[columns].sum().reset_index(), *columns)
        for trace in traces
    )
    assert any(tables for tables in alone.values())
    if program in ANY_ORDER:
        assert without_order(packed) == without_order(alone)
    else:
        assert packed == alone
    lost, totals = ([trace.totals[name] for trace in traces] for name in ("launches_lost", "accesses"))
    assert lost[0] == lost[1]
    assert totals[0] == totals[1]


@pytest.mark.parametrize("program", RECORDED)
def test_records_are_the_same(runner: Runner, pair: tuple[str, ...], program: str) -> None:
    traces = one_by_one_and_packed(runner, pair, program)
    for trace in traces:
        nothing_dropped(trace)
        assert len(trace.records) == trace.totals["records_written"] > 0
    alone, packed = (by_launch(trace, trace.records, "block", "warp", "mask", "bytes") for trace in traces)
    assert packed == alone
    alone, packed = (
        by_launch(trace, with_places(trace, trace.lane_accesses()), "block", "warp", "lane", "width", "place")
        for trace in traces
    )
    assert packed == alone


def with_places(trace: Trace, lanes: pd.DataFrame) -> pd.DataFrame:
    """The rows with `place`: how far the address is behind the start of what was allocated there."""
    starts = trace.objects.address.drop_duplicates().sort_values().to_numpy("int64")
    addresses = lanes.address.to_numpy("int64")
    holder = starts.searchsorted(addresses, side="right") - 1
    assert (holder >= 0).all(), "an address below all allocations"
    return lanes.assign(place=addresses - starts[holder])
