"""Moving and waiting, against plain loops over random waits, moves and stores."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pandas as pd
from hypothesis import given

from snoopie.api.trace import Trace
from tests.plain import plain_waits, random_runs
from tests.plain.comparing import falls, rows
from tests.plain.drawing import seeds, some
from tests.plain.plain_runs import label
from tests.plain.plain_waits import Waiting

KEYS = {
    "line": ("file", "line"),
    "site": ("site",),
    "kernel": ("kernel",),
    "launch": ("launch",),
    "block": ("launch", "first_block", "blocks"),
    "owner": ("owner",),
    "awaited": ("awaited",),
}


def loaded(seed: int) -> tuple[Waiting, Trace]:
    known = plain_waits.add_waits(random_runs.make(seed))
    return known, known.run.load(seed)


@some
@given(seeds)
def test_by_wait(seed: int) -> None:
    known, trace = loaded(seed)
    sites = {site.id: (site.file, site.line, site.sass) for site in known.run.sites}
    for by, keys in KEYS.items():
        table, expected = trace.by_wait(by), plain_waits.by_wait(known, by)  # type: ignore[arg-type]
        assert len(table) == len(expected)
        for key, row in zip(rows(table, *keys), table.to_dict("records"), strict=True):
            assert {name: row[name] for name in expected[key] if name not in keys} == {
                name: value for name, value in expected[key].items() if name not in keys
            }
            if by == "site":
                assert (row["file"], row["line"], row["sass"]) == sites[key[0]]
        assert falls(table["waited"].dropna())
        assert ("accesses" in table) == (by not in ("owner", "awaited"))


@some
@given(seeds)
def test_file_waits(seed: int) -> None:
    known, trace = loaded(seed)
    expected = plain_waits.by_wait(known, "line")
    for file in {site.file for site in known.run.sites if site.file}:
        if file not in set(trace.lines["file"]):
            continue
        own = sorted((line, row) for (name, line), row in expected.items() if name == file)
        assert trace.file_waits(file).to_dict("records") == [{"line": line, **row} for line, row in own]


@some
@given(seeds)
def test_by_launch(seed: int) -> None:
    known, trace = loaded(seed)
    owners = {
        pair: [count for count in known.run.counts if (count.launch, count.site) == pair]
        for pair in {move[:2] for move in known.moves}
    }
    tables: tuple[tuple[pd.DataFrame, str, list[Any]], ...] = (
        (trace.waits_by_launch(), "awaited", known.waits),
        (trace.moves_by_launch(), "owner", known.moves),
    )
    for table, whom, every in tables:
        times = plain_waits.times(known, every)
        assert list(table.index) == sorted(launch.id for launch in times)
        found = table.to_dict("index")
        for launch, (start, end, error) in times.items():
            own = [row for row in every if row.launch == launch]
            row = found[launch.id]
            assert (row["kernel"], row["gpu"]) == (launch.kernel, label(launch.gpu))
            assert (row["start"], row["end"], row["error"]) == (start, end, error)
            most = plain_waits.where_most(known, own, None if whom == "awaited" else owners)
            assert (row["name"], row[whom], row["file"], row["line"]) in most
            if whom == "awaited":
                for name in ("waits", "given_up", "waited"):
                    assert row[name] == sum(getattr(one, name) for one in own)
                assert row["longest"] == max(one.longest for one in own)
            else:
                assert row["accesses"] == sum(one.accesses for one in own)
                assert row["moving"] == plain_waits.moving(known, own)


@some
@given(seeds)
def test_awaited_stores(seed: int) -> None:
    known, trace = loaded(seed)
    table = trace.awaited_stores()
    target = ("process", "owner", "object", "address")
    found = rows(table, *target, "known_by", "issuer", "kernel", "file", "line", "operation", "accesses", "bytes")
    assert Counter(found) == Counter(
        (
            *(where.process, label(where.owner), where.object, where.address, one.known_by, label(one.issuer)),
            *(one.site.kernel, one.site.file, one.site.line, one.site.operation, one.accesses, one.bytes),
        )
        for where, every in known.stores.items()
        for one in every
    )
    assert all(falls(own["bytes"].dropna()) for _, own in table.groupby(list(target)))


def test_random_waits_have_something_in_them() -> None:
    every = [plain_waits.add_waits(random_runs.make(seed)) for seed in range(60)]
    levels = {store.known_by for one in every for stores in one.stores.values() for store in stores}
    assert levels == {"address", "object", "owner"}
    assert any(not stores for one in every for stores in one.stores.values())
    assert any(len({wait.block for wait in one.waits}) > 1 for one in every)
    some = [one for one in every if one.waits and one.moves]
    assert any(plain_waits.moving(one, one.moves) < plain_waits.moving(Waiting(one.run), one.moves) for one in some)
    assert any(plain_waits.times(one, one.waits) for one in every)
