"""Traffic by object: addresses to allocations, division by records, offsets, reuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import snoopie
from snoopie.analysis.objects.lookup import Lookup
from snoopie.errors import UsageError
from tests.support.encoder import HOST, START_NS, TraceBuilder
from tests.support.ring import ring_builder

HEAP = 0x7F00_0000_0000


def load(trace: TraceBuilder, folder: Path) -> snoopie.Trace:
    return snoopie.load(trace.write(folder / "t.zst"))


def objects(*rows: tuple[int, int, int, int, int]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["address", "bytes", "allocated", "freed", "inside"])
    table["address"] = table["address"].astype(np.uint64)
    table.index = pd.RangeIndex(1, len(table) + 1)
    return table


def find(lookup: Lookup, *places: tuple[int, int]) -> list[int]:
    addresses = np.array([address for address, _ in places], np.uint64)
    return lookup.find(addresses, np.array([time for _, time in places], np.int64)).tolist()


def test_an_address_belongs_to_who_held_it_then() -> None:
    lookup = Lookup(objects((0x1000, 0x100, 10, 20, 0), (0x1000, 0x80, 30, 0, 0), (0x2000, 0x10, 5, 0, 0)))
    assert find(lookup, (0x1000, 9), (0x1000, 10), (0x10FF, 19), (0x1000, 20)) == [0, 1, 1, 0]
    assert find(lookup, (0x1000, 35), (0x10FF, 35), (0x1080, 35), (0x107F, 99)) == [2, 0, 0, 2]
    assert find(lookup, (0xFFF, 40), (0x2000, 4), (0x2000, 5), (0x200F, 50), (0x2010, 50)) == [0, 0, 3, 3, 0]


def test_a_part_goes_before_its_whole() -> None:
    heap = (0x1000, 0x1000, 0, 0, 0)
    lookup = Lookup(objects(heap, (0x1100, 0x100, 10, 20, 1), (0x1140, 0x10, 12, 0, 2), (0, 0x40, 0, 0, 0)))
    assert find(lookup, (0x1100, 5), (0x1100, 15), (0x1140, 15), (0x1150, 15), (0x1140, 25)) == [1, 2, 3, 2, 3]


def test_objects_of_the_ring(tmp_path: Path) -> None:
    trace = load(ring_builder(), tmp_path)
    table = trace.by_object().set_index("object")
    # Each GPU's heap gets what its left neighbour puts and gets; that of GPU 0 the tickets of the others too.
    assert table.loc[2, ["accesses", "lanes", "bytes", "wire_units"]].tolist() == [32, 1024, 8192 + 2048, 256 + 512]
    bump = (3 * 32, 3 * (16 + 512), 3 * (16 * 4 + 512 * 8))
    assert table.loc[1, ["accesses", "lanes", "bytes"]].tolist() == [32 + bump[0], 1024 + bump[1], 10240 + bump[2]]
    assert table["exact"].all()
    assert table["bytes"].sum() == trace.summary()["bytes"]
    assert table.loc[3, ["owner", "kind", "size"]].tolist() == ["GPU 2", "device", 1 << 21]


def test_counts_that_name_the_object_need_no_records(tmp_path: Path) -> None:
    trace = ring_builder()
    for table in ("records", "scattered"):
        trace.rows[table].clear()
    for row in trace.rows["counts"]:
        row["object"] = row["owner"] + 1 if row["owner"] < 4 else 0
    named = load(trace, tmp_path).by_object()
    (tmp_path / "t.zst").unlink()
    pd.testing.assert_frame_equal(named, load(ring_builder(), tmp_path).by_object())


def two_neighbours(recorded: int) -> TraceBuilder:
    """Sixteen stores of a launch to two objects of 1 KiB each, one after the other; some were recorded."""
    trace = TraceBuilder(2)
    put = trace.function("put")
    site = trace.site(put, "STG.E", "store", 4)
    for number in range(2):
        trace.add("objects", address=HEAP + 1024 * number, bytes=1024, owner=1, kind=0, time=START_NS)
    launch = trace.launch(put, 0)
    trace.count(launch, site, 1, 16, 512, 64)
    for warp in range(recorded):
        trace.record(launch, site, 1, HEAP + 128 * warp, 4, warp=warp)
    return trace


def test_objects_that_share_pages_are_told_apart_by_records(tmp_path: Path) -> None:
    table = load(two_neighbours(16), tmp_path).by_object()
    assert table[["object", "accesses", "lanes", "bytes", "wire_units", "exact"]].values.tolist() == [
        [1, 8, 256, 1024, 32, True],
        [2, 8, 256, 1024, 32, True],
    ]


def test_a_sample_of_records_divides_in_proportion(tmp_path: Path) -> None:
    # Of twelve records eight are of the first object.
    table = load(two_neighbours(12), tmp_path).by_object()
    assert table[["object", "accesses", "lanes", "bytes", "exact"]].values.tolist() == [
        [1, 11, 341, 1365, False],
        [2, 5, 171, 683, False],
    ]
    assert table["bytes"].sum() == 2048
    assert table[["wire_units", "wire_bytes"]].values.tolist() == [[43, 1365], [21, 683]]


def test_bulk_copies_are_told_apart_by_records(tmp_path: Path) -> None:
    trace = two_neighbours(0)
    site = trace.site(1, "UBLKCP.S.G", "load", 16)
    trace.rows["counts"][0].update(site=site, accesses=2, lanes=11, wire_units=6)
    trace.bulk(1, site, 1, HEAP, 160)
    trace.bulk(1, site, 1, HEAP + 1024, 16)
    table = load(trace, tmp_path).by_object()
    assert table[["object", "accesses", "lanes", "bytes", "exact"]].values.tolist() == [
        [1, 1, 10, 160, True],
        [2, 1, 1, 16, True],
    ]


def test_more_bytes_than_floats_tell_apart(tmp_path: Path) -> None:
    trace = two_neighbours(0)
    trace.rows["counts"][0].update(object=1, lanes=(1 << 56) + 1)
    trace.copy(0, 1, (1 << 57) + 1, gpu=0, source_address=0, destination_address=HEAP + 1024, start=START_NS)
    table = load(trace, tmp_path).by_object().set_index("object")
    assert table["bytes"].to_dict() == {1: (1 << 58) + 4, 2: 0}
    assert table["copied_in"].to_dict() == {1: 0, 2: (1 << 57) + 1}


def test_times_are_exact_beside_memory_of_no_object(tmp_path: Path) -> None:
    trace = two_neighbours(16)
    trace.rows["objects"][1]["time"] += 1
    trace.add("frees", object=2, time=START_NS + 123_457)
    trace.count(1, 1, HOST, 1, 32, 4)
    table = load(trace, tmp_path).by_object().set_index("object")
    assert table["allocated"].to_dict() == {0: 0, 1: START_NS, 2: START_NS + 1}
    assert table["freed"].to_dict() == {0: 0, 1: 0, 2: START_NS + 123_457}


def test_without_records_nothing_is_guessed(tmp_path: Path) -> None:
    table = load(two_neighbours(0), tmp_path).by_object()
    assert table[["object", "accesses", "bytes", "kind", "exact"]].values.tolist() == [[0, 16, 2048, "", True]]


def test_an_access_that_reaches_two_objects(tmp_path: Path) -> None:
    trace = two_neighbours(0)
    trace.rows["counts"][0].update(accesses=1, lanes=32, wire_units=4)
    trace.record(1, 1, 1, HEAP + 1024 - 40, 4)
    loaded = load(trace, tmp_path)
    table = loaded.by_object().set_index("object")
    # Ten lanes before the border. An access of each, so the parts are more than the whole and only lanes are exact.
    assert table["lanes"].to_dict() == {1: 10, 2: 22}
    assert table["bytes"].to_dict() == {1: 40, 2: 88}
    assert loaded.reuse()[["object", "bytes", "distinct"]].sort_values("object").values.tolist() == [
        [1, 40, 40],
        [2, 88, 88],
    ]


def test_an_access_whose_ends_lie_beside_what_it_touches(tmp_path: Path) -> None:
    trace = two_neighbours(0)
    # The second object becomes a part in the middle of the first, which grows to hold all.
    trace.rows["objects"][0]["bytes"] = 4096
    trace.rows["objects"][1]["inside"] = 1
    trace.rows["counts"][0].update(accesses=2, lanes=6, wire_units=6)
    for below in (HEAP, HEAP - 64):
        # Below the part, in it and above it; of the second access both ends are of no object.
        above = below + 2048 if below == HEAP else HEAP + 4096
        trace.scattered(1, 1, 1, {0: below, 1: HEAP + 1024, 2: above})
    loaded = load(trace, tmp_path)
    expected = {0: 2, 1: 2, 2: 2}
    assert loaded.by_object().set_index("object")["lanes"].to_dict() == expected
    moved = loaded.reuse().set_index("object")[["bytes", "distinct"]].to_dict("index")
    assert moved == {0: {"bytes": 8, "distinct": 8}, 1: {"bytes": 8, "distinct": 8}, 2: {"bytes": 8, "distinct": 4}}


def test_offsets_within_an_object(tmp_path: Path) -> None:
    trace = load(ring_builder(), tmp_path)
    # Bins of 8 KiB: the stores fill the first; each warp's loads are one bin of their own.
    table = trace.object_offsets(2, bins=256)
    stores = table[table["operation"] == "store"]
    assert stores[["offset", "issuer", "accesses", "lanes", "bytes"]].values.tolist() == [[0, "GPU 0", 16, 512, 8192]]
    loads = table[table["operation"] == "load"]
    assert loads["offset"].tolist() == [8192 * warp for warp in range(16)]
    assert loads["lanes"].tolist() == [32] * 16
    # Bins of 128 bytes: a store of 512 bytes is an access of four of them.
    fine = trace.object_offsets(2, bins=1 << 14)
    stores = fine[fine["operation"] == "store"]
    assert stores[["accesses", "lanes", "bytes"]].drop_duplicates().values.tolist() == [[1, 8, 128]]
    assert len(stores) == 64
    assert fine["lanes"].sum() == table["lanes"].sum() == 1024
    with pytest.raises(UsageError, match="no object 99"):
        trace.object_offsets(99)


def test_offsets_of_bytes_that_are_no_whole_parts(tmp_path: Path) -> None:
    trace = load(two_neighbours(1), tmp_path)
    # Parts of 34 bytes, of which the last has 32: the lane that begins after these is left out.
    table = trace.object_offsets(1, bins=3, stop=100)
    assert table[["offset", "accesses", "lanes", "bytes"]].values.tolist() == [
        [0, 1, 9, 36],
        [34, 1, 8, 32],
        [68, 1, 8, 32],
    ]


def test_reuse(tmp_path: Path) -> None:
    trace = load(ring_builder(), tmp_path)
    table = trace.reuse().set_index("object")
    # The loads' first warp reads what the stores wrote: 31 of its 32 words, and all of those but the first, lie there.
    assert table.loc[2, ["accesses", "bytes", "distinct"]].tolist() == [32, 10240, 8192 + 15 * 32 * 4]
    sites = trace.reuse("site").set_index(["object", "site"])
    atomics = sites.loc[1].loc[[4, 5]]
    # Three issuers touch the same 4 and 8 bytes again and again; each has to once.
    assert atomics["bytes"].tolist() == [3 * 16 * 4, 3 * 512 * 8] or sorted(atomics["bytes"]) == [192, 12288]
    assert sorted(atomics["distinct"]) == [12, 24]
    assert sites["reuse"].loc[(1, 5)] == 512


def test_memory_that_nobody_knows_is_of_each_process(tmp_path: Path) -> None:
    for process in range(2):
        trace = two_neighbours(1)
        trace.header["process"]["pid"] += process
        trace.rows["objects"].clear()
        trace.write(tmp_path / f"{process}.zst")
    table = snoopie.load(tmp_path).reuse()
    assert table[["object", "bytes", "distinct"]].values.tolist() == [[0, 256, 256]]


def test_views_keep_their_part(tmp_path: Path) -> None:
    trace = load(ring_builder(), tmp_path).select(operations="store")
    assert trace.by_object()["bytes"].sum() == trace.summary()["bytes"] == 4 * 8192
    assert trace.reuse()["reuse"].tolist() == [1.0] * 4


def test_copies_of_the_host_count_for_both_ends(tmp_path: Path) -> None:
    trace = ring_builder()
    trace.copy(0, 1, 4096, gpu=0, source_address=HEAP, destination_address=HEAP + (1 << 30) + 512)
    table = load(trace, tmp_path).by_object().set_index("object")
    assert table["copied_out"].to_dict() == {1: 4096, 2: 0, 3: 0, 4: 0}
    assert table["copied_in"].to_dict() == {1: 0, 2: 4096, 3: 0, 4: 0}


def test_an_object_is_named_after_its_variable(tmp_path: Path) -> None:
    trace = ring_builder()
    module = trace.add("modules", path=trace.string("/home/u/ring"))
    stack, codes = 0, ["buffers[gpu] = make(n);", "return allocate(n);", "CHECK(cudaMalloc(&made, n));"]
    stacks = []
    for number, code in enumerate(codes, 1):
        frame = trace.add("frames", module=module, address=number)
        stack = trace.add("stacks", frame=frame, caller=stack)
        place = {"file": trace.string("/home/u/ring.cu"), "function": trace.string(f"f{number}()"), "line": number}
        trace.add("symbols", frame=frame, code=trace.string(code), **place)
        stacks.append(stack)
    for row, own in zip(trace.rows["objects"], (stacks[2], stacks[1], 0, 0), strict=True):
        row["stack"] = own
    trace.rows["objects"][3]["name"] = trace.string("table")
    named = load(trace, tmp_path).by_object().set_index("object")
    # A line that only hands on what it got leaves the name to its caller.
    assert named["name"].to_dict() == {1: "made", 2: "buffers[gpu]", 3: "", 4: "table"}
    assert named["source"].to_dict() == {1: "ring.cu:3 f3", 2: "ring.cu:2 f2", 3: "", 4: ""}
