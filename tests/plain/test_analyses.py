"""Analyses against plain, slow ones on random traces. SNOOPIE_FUZZ_EXAMPLES=N makes it N traces a test."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given

from snoopie.api.trace import Trace
from tests.plain import random_traces
from tests.plain.drawing import seeds, some, written
from tests.plain.random_traces import RandomTrace
from tests.support.encoder import HOST, UNKNOWN

SUMS = ["accesses", "lanes", "bytes"]
PLACES = {HOST: -1, UNKNOWN: -2}


def loaded(seed: int) -> tuple[RandomTrace, Trace]:
    known = random_traces.make(seed)
    return known, written(known.builder, seed)


@some
@given(seeds)
def test_sums(seed: int) -> None:
    known, trace = loaded(seed)
    for table, key in (
        (trace.by_kernel(), ("kernel",)),
        (trace.by_operation(), ("operation",)),
        (trace.by_site(), ("site",)),
        (trace.by_launch(), ("launch",)),
        (trace.by_line(), ("file", "line")),
    ):
        rows = table[table["accesses"] > 0]
        found = {tuple(row[: len(key)]): tuple(row[len(key) :]) for row in rows[[*key, *SUMS]].itertuples(index=False)}
        assert found == random_traces.sums_by(known, *key)


@some
@given(seeds)
def test_matrices(seed: int) -> None:
    known, trace = loaded(seed)
    issued = Counter({pair: sums[2] for pair, sums in random_traces.sums_by(known, "issuer", "owner").items()})
    for reading, expected in (("issued", issued), ("flow", random_traces.flow(known))):
        matrix = trace.matrix(reading=reading)
        total = 0
        for (row, column), size in expected.items():
            labels = [trace.label(PLACES.get(place, place)) for place in (row, column)]
            if size:
                assert matrix.loc[labels[0], labels[1]] == size
            total += size
        assert matrix.to_numpy().sum() == total


@some
@given(seeds)
def test_what_bytes_were_touched(seed: int) -> None:
    known, trace = loaded(seed)
    found = trace.reuse("site")
    assert {(row.object, row.site): row.distinct for row in found.itertuples()} == random_traces.distinct_bytes(known)
    lanes = sorted(trace.lane_accesses()[["launch", "site", "address"]].itertuples(index=False, name=None))
    assert lanes == sorted((launch, site, at) for launch, site, addresses in known.records for at in addresses)


@some
@given(seeds)
def test_most_memory(seed: int) -> None:
    known, trace = loaded(seed)
    peaks = trace.memory_watermark().groupby("device")["peak"].first().to_dict()
    expected = {f"GPU {gpu}": random_traces.peak(known, gpu) for gpu in range(known.gpus)}
    assert peaks == {gpu: size for gpu, size in expected.items() if size}


@some
@given(seeds)
def test_copies_and_calls(seed: int) -> None:
    known, trace = loaded(seed)
    copied: Counter[tuple[str, str]] = Counter()
    for source, destination, size, _ in known.copies:
        copied[trace.label(PLACES.get(source, source)), trace.label(PLACES.get(destination, destination))] += size
    assert {
        (row[0], row[1]): row[2] for row in trace.by_copy()[["from", "to", "bytes"]].itertuples(index=False)
    } == copied
    assert trace.by_copy()["host_ns"].sum() == sum(took for *_, took in known.copies)
    for column, key in (("call", 0), ("thread", 1)):
        sums: Counter[tuple[object, str]] = Counter()
        for row in known.calls:
            for name, number in zip(("calls", "errors", "host_ns"), row[2:], strict=True):
                sums[row[key], name] += number
        table = trace.by_call() if column == "call" else trace.by_thread()
        for name in ("calls", "errors", "host_ns"):
            assert table.set_index(column)[name].to_dict() == {
                who: n for (who, what), n in sums.items() if what == name
            }


@pytest.mark.parametrize("seed", range(3))
def test_a_random_trace_has_something_in_it(seed: int) -> None:
    known = random_traces.make(seed)
    assert known.launches and known.sites
