"""Where objects were touched: by arithmetic on a small trace, and against counting byte by byte on a mixed one."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import snoopie
from snoopie.analysis.objects import coverage, reuse
from snoopie.errors import UsageError
from tests.support.encoder import START_NS, TraceBuilder
from tests.support.ring import ring_builder, write_two_processes

HEAP = 0x7F00_0000_0000
SIZE = 3000


@pytest.fixture
def ring(tmp_path: Path) -> snoopie.Trace:
    return snoopie.load(ring_builder().write(tmp_path / "ring.zst"))


def mixed() -> TraceBuilder:
    """Accesses of all shapes by two GPUs to two objects side by side, some of them across the border, some outside."""
    trace = TraceBuilder(3)
    kernel = trace.function("mixed")
    sites = [
        trace.site(kernel, "OP", operation, width) for operation, width in (("store", 4), ("load", 8), ("load", 1))
    ]
    copied = trace.site(kernel, "UBLKCP", "store", 0)
    for number in range(2):
        trace.add("objects", address=HEAP + SIZE * number, bytes=SIZE, owner=2, kind=0, time=START_NS)
    launches = [trace.launch(kernel, gpu) for gpu in (0, 1, 0)]
    random = np.random.default_rng(3)

    def mask() -> int:
        return int(random.choice([0xFFFF_FFFF, 0xFF, 0xF0F0, 1])) & int(random.choice([0xFFFF_FFFF, 0xF1FF_FFFF]))

    for number in range(120):
        launch, site = launches[number % 3], sites[int(random.integers(3))]
        base = HEAP + int(random.integers(200, 2 * SIZE))
        match number % 4:
            case 0:
                trace.record(launch, site, 2, base, int(random.choice([0, 1, 4, 8, -4, -8, 12])), mask=mask())
            case 1:
                lanes = {int(lane): base + 4 * int(random.integers(-20, 20)) for lane in random.choice(32, 9, False)}
                trace.scattered(launch, site, 2, lanes)
            case 2:
                trace.bulk(launch, copied, 2, base, int(random.integers(1, 300)))
            case _:
                trace.record(launch, site, 2, HEAP + 128 * (number % 10), 4, mask=0xFFFF_FFFF)
    return trace


@pytest.fixture
def trace(tmp_path: Path) -> snoopie.Trace:
    return snoopie.load(mixed().write(tmp_path / "mixed.zst", block_rows=7))


def touched(trace: snoopie.Trace, object: int) -> dict[tuple[int, str], Counter[int]]:
    """How often each byte of an object was touched, by issuer and operation: one lane access after the other."""
    first = int(trace.objects["address"].loc[object])
    bytes_: dict[tuple[int, str], Counter[int]] = {}
    for row in trace.lane_accesses().itertuples():
        if HEAP + SIZE * (object - 1) <= row.address < HEAP + SIZE * object:
            own = bytes_.setdefault((row.issuer, trace.sites["operation"].loc[row.site]), Counter())
            own.update(range(row.address - first, row.address - first + row.width))
    return bytes_


def moved(trace: snoopie.Trace, object: int, start: int, stop: int, **only: object) -> int:
    return sum(
        times
        for (issuer, operation), own in touched(trace, object).items()
        for byte, times in own.items()
        if start <= byte < stop
        and only.get("issuer", issuer) == issuer
        and operation in only.get("operations", (operation,))
    )


def test_along_an_object(ring: snoopie.Trace) -> None:
    # 256 bins of 8 KiB: GPU 0 stores 8 KiB in the first, and loads 128 bytes in each of the first sixteen.
    heat = ring.object_heat(2, bins=256)
    assert heat.index.tolist() == ["GPU 0"]
    assert heat.columns.tolist() == [8192 * part for part in range(256)]
    assert heat.loc["GPU 0"].tolist() == [8192 + 128] + 15 * [128] + 240 * [0]
    assert ring.object_heat(2, bins=256, operations=["load"]).loc["GPU 0"].tolist() == 16 * [128] + 240 * [0]
    # The ticket of all, and the sum, each a word that three GPUs touch: by 16 warps, and by all their lanes.
    words = ring.object_heat(1, 512, 0, 16, width=4, operations=("atomic", "reduction"))
    assert words.columns.tolist() == [0, 4, 8, 12]
    assert words.to_numpy().tolist() == [[16 * 4, 0, 512 * 4, 512 * 4]] * 3
    assert words.index.tolist() == ["GPU 1", "GPU 2", "GPU 3"]


def test_single_elements(ring: snoopie.Trace) -> None:
    # Loads of 4 bytes, 256 apart; every element of a store of 16 bytes is touched once.
    loads = ring.object_heat(2, 512, 8192, 8192 + 512, width=4, operations=["load"]).loc["GPU 0"]
    assert loads[loads > 0].to_dict() == {8192: 4, 8192 + 256: 4}
    stores = ring.object_heat(2, 512, 1024, 1024 + 64, width=16, operations=["store"])
    assert stores.loc["GPU 0"].tolist() == [16, 16, 16, 16]


def test_in_rows(ring: snoopie.Trace) -> None:
    # Rows of 1 KiB: the stores fill eight, each warp's 32 loads lie in one row of eight, 256 bytes apart.
    stored = ring.object_rows(2, 1024, cells=(4096, 512), operations=["store"])
    assert stored.shape == (2048, 512)
    assert (stored.loc[:7] == 2).all(axis=None)
    assert not stored.loc[8:].any(axis=None)
    loads = ring.object_rows(2, 1024, rows=(0, 16), cells=(16, 256), operations=["load"])
    assert loads.columns[:2].tolist() == [0, 4]
    assert loads.sum(axis=1).tolist() == [16, 16, 16, 16, 16, 16, 16, 16] + [16] * 8
    assert loads.loc[0][loads.loc[0] > 0].to_dict() == {0: 4, 256: 4, 512: 4, 768: 4}
    few = ring.object_rows(2, 1024, issuer="GPU 0")
    assert few.shape == (256, 512)
    assert few.index[1] == 8
    assert few.to_numpy().sum() == 8192 + 2048
    assert not ring.object_rows(2, 1024, issuer="GPU 3").any(axis=None)
    # Four rows from 4 KiB on, all stored; the loads of warp 0 take 4 bytes at their beginnings.
    assert ring.object_rows(2, 1024, 4096, 8192)[0].to_dict() == {row: 2 + 2 for row in range(4)}


def test_any_cut_has_the_same_bytes(trace: snoopie.Trace) -> None:
    for object in (1, 2):
        heat = trace.object_heat(object, bins=SIZE)
        for issuer in (0, 1):
            own = sum((v for (who, _), v in touched(trace, object).items() if who == issuer), Counter())
            assert heat.loc[f"GPU {issuer}"].tolist() == [own[byte] for byte in range(SIZE)]
        part = trace.object_heat(object, 7, 501, 1399, width=2, operations=["load"])
        edges = [*part.columns, 1399]
        assert part.columns.tolist() == list(range(501, 1399, 2 * 65))
        assert part.sum().tolist() == [
            moved(trace, object, begin, end, operations=["load"]) for begin, end in pairwise(edges)
        ]


def test_any_matrix_has_the_same_bytes(trace: snoopie.Trace) -> None:
    @cache
    def flat() -> np.ndarray:
        return trace.object_heat(1, SIZE).sum().to_numpy()

    for length, start, rows, columns, cells in (
        (100, 0, None, None, (1000, 1000)),
        (96, 7, (3, 20), (5, 90), (4, 9)),
        (7, 1000, None, (2, 6), (30, 3)),
        (5000, 0, None, None, (8, 64)),
        (1, 0, None, None, (50, 1)),
    ):
        table = trace.object_rows(1, length, start, rows=rows, columns=columns, cells=cells)
        assert table.shape[0] <= cells[0] and table.shape[1] <= cells[1]
        down, across = rows or (0, -(-(SIZE - start) // length)), columns or (0, min(length, SIZE - start))
        padded = np.zeros(max(down[1] * length, SIZE - start), np.int64)
        padded[: SIZE - start] = flat()[start:]
        grid = pd.DataFrame(
            [padded[row * length : row * length + min(length, SIZE)][slice(*across)] for row in range(*down)]
        ).fillna(0)
        steps = (np.diff(table.index)[0] if len(table) > 1 else down[1], np.diff(table.columns)[:1].sum() or across[1])
        expected = grid.groupby(grid.index // steps[0]).sum().T
        expected = expected.groupby(expected.index // steps[1]).sum().T
        assert table.to_numpy().tolist() == expected.to_numpy().astype(np.int64).tolist()


def test_reuse_against_bytes(trace: snoopie.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {}
    for object in (1, 2):
        own: dict[int, Counter[int]] = {}
        for (issuer, _), bytes_ in touched(trace, object).items():
            own.setdefault(issuer, Counter()).update(bytes_)
        expected[object] = sum(map(len, own.values()))
        often = Counter(int(np.ceil(np.log2(times))) for bytes_ in own.values() for times in bytes_.values())
        table = trace.object_reuse(object)
        assert table["bytes"].tolist() == [often[power] for power in sorted(often)]
        assert table["at_most"].tolist() == [1 << power for power in sorted(often)]
        assert table["at_least"].tolist() == [1 if not power else (1 << power - 1) + 1 for power in sorted(often)]
    assert trace.reuse().set_index("object").drop(index=0, errors="ignore")["distinct"].to_dict() == expected
    # However many blocks are added up at once, and in which way.
    table = trace.reuse("site")
    monkeypatch.setattr(reuse, "_WAITING", 0)
    monkeypatch.setattr(coverage, "_DENSE", 0)
    again = snoopie.load(trace.paths[0])
    pd.testing.assert_frame_equal(again.reuse("site"), table)
    assert table["accesses"].sum() >= 120


def test_ranges_of_offsets(ring: snoopie.Trace) -> None:
    whole = ring.object_offsets(2, bins=1 << 14)
    part = ring.object_offsets(2, 64, 8192, 16384)
    assert part.values.tolist() == whole[whole["offset"].between(8192, 16383)].values.tolist()
    assert part["offset"].tolist() == [8192 + 256 * number for number in range(32)]
    # 25 stored elements of 16 bytes, of which none begins before 112, and the load at 256.
    unaligned = ring.object_offsets(2, 8, 100, 500)
    assert unaligned["offset"].drop_duplicates().tolist() == [100 + 50 * number for number in range(8)]
    assert unaligned.groupby("operation")["lanes"].sum().to_dict() == {"load": 1, "store": 25}


def test_two_processes_have_objects_of_their_own(tmp_path: Path) -> None:
    trace = snoopie.load(write_two_processes(tmp_path))
    found = {object: trace.object_heat(object, 1).to_numpy().sum() for object in trace.objects.index}
    assert sum(found.values()) == trace.summary()["bytes"]
    sums = trace.by_object().set_index("object")["bytes"]
    assert {object: amount for object, amount in found.items() if amount} == sums.to_dict()


def test_views_show_their_part(ring: snoopie.Trace) -> None:
    view = ring.select(operations="load")
    assert view.object_heat(2, 1).to_numpy().tolist() == [[2048]]
    assert ring.select(kernels="nothing").object_heat(2).shape == (0, 512)
    assert ring.select(kernels="nothing").object_reuse(2).empty


def test_without_records_there_is_no_heat(tmp_path: Path) -> None:
    builder = ring_builder()
    for table in ("records", "scattered"):
        builder.rows[table].clear()
    trace = snoopie.load(builder.write(tmp_path / "t.zst"))
    assert trace.object_heat(2).empty
    assert not trace.object_rows(2, 1024).any(axis=None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"object": 99}, "no object 99"),
        ({"object": 2, "start": -1}, "no bytes from -1"),
        ({"object": 2, "start": 5, "stop": 5}, "no bytes from 5 to 5"),
        ({"object": 2, "stop": (1 << 21) + 1}, "those from 0 to 2097152"),
    ],
)
def test_what_is_not_there(ring: snoopie.Trace, arguments: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ring.object_heat(**arguments)
    with pytest.raises(UsageError, match=message):
        ring.object_offsets(**arguments)
    with pytest.raises(UsageError, match=message):
        ring.object_rows(length=1024, **arguments)


def test_rows_that_are_none(ring: snoopie.Trace) -> None:
    with pytest.raises(UsageError, match="a row cannot have 0 bytes"):
        ring.object_rows(2, 0)
    with pytest.raises(UsageError, match="no rows"):
        ring.object_rows(2, 1024, columns=(0, 2000))
    with pytest.raises(UsageError, match="no GPU 9"):
        ring.object_rows(2, 1024, issuer="GPU 9")
