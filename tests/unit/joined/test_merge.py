"""Several processes become one trace: the same GPU is one GPU, and no id means two things."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import snoopie
from snoopie.errors import CorruptError
from snoopie.joined.records import lanes_of, lowest_lane
from tests.support import ring
from tests.support.encoder import START_NS, UNKNOWN, TraceBuilder, gpu


def test_two_processes_that_number_the_gpus_differently(two_process_folder: Path) -> None:
    trace = snoopie.load(two_process_folder)
    assert trace.gpus["uuid"].tolist() == [gpu(number)["uuid"] for number in range(4)]
    assert trace.gpus["label"].tolist() == ["GPU 0", "GPU 1", "GPU 2", "GPU 3"]
    assert trace.matrix().to_numpy().tolist() == ring.ISSUED_BYTES
    assert trace.matrix(reading="flow").to_numpy().tolist() == ring.FLOW_BYTES
    # Process 1 calls GPUs 2, 3, 0, 1 by the ordinals 0, 1, 2, 3.
    assert trace.launches.loc[trace.launches["process"] == 1, "gpu"].tolist() == [2, 2, 2, 3, 3, 3]
    assert trace.objects.groupby("process")["owner"].agg(list).tolist() == [[0, 1, 2, 3], [2, 3, 0, 1]]
    assert len(trace.links) == 12
    assert set(zip(trace.links["issuer"], trace.links["owner"], strict=True)) == {
        (issuer, owner) for issuer in range(4) for owner in range(4) if issuer != owner
    }


def test_the_order_of_the_gpus_is_that_of_first_appearance(tmp_path: Path) -> None:
    first = ring.ring_builder((2, 3, 0, 1), (2, 3), pid=1).write(tmp_path / "a.zst")
    second = ring.ring_builder((0, 1, 2, 3), (0, 1), pid=2).write(tmp_path / "b.zst")
    trace = snoopie.load([first, second])
    order = [2, 3, 0, 1]
    assert trace.gpus["uuid"].tolist() == [gpu(number)["uuid"] for number in order]
    expected = np.array(ring.ISSUED_BYTES)[np.ix_(order, order)]
    assert trace.matrix().to_numpy().tolist() == expected.tolist()


def test_processes_that_see_one_gpu_each_and_another(tmp_path: Path) -> None:
    """As with CUDA_VISIBLE_DEVICES: the union of the GPUs, and a GPU without UUID is never another's."""
    paths = []
    for pid, numbers in enumerate(((5, 1), (1, 7)), start=1):
        trace = TraceBuilder(numbers, pid=pid)
        site = trace.site(trace.function("k"), "LDG.E", "load", 4)
        trace.count(trace.launch(1, 0), site, 1, pid, pid, pid)
        paths.append(trace.write(tmp_path / f"{pid}.zst"))
    nameless = TraceBuilder((0,), pid=3)
    nameless.header["gpus"] = [gpu(0, uuid=""), gpu(0, uuid="")]
    paths.append(nameless.write(tmp_path / "3.zst"))
    loaded = snoopie.load(paths)
    assert loaded.gpus["uuid"].tolist() == [gpu(5)["uuid"], gpu(1)["uuid"], gpu(7)["uuid"], "", ""]
    assert loaded.counts[["issuer", "owner", "bytes"]].to_numpy().tolist() == [[0, 1, 4], [1, 2, 8]]


def test_facts_that_only_one_process_could_read(tmp_path: Path) -> None:
    unknown, known = TraceBuilder((0,), pid=1), TraceBuilder((0,), pid=2)
    unknown.header["gpus"] = [gpu(0, nvlinks=-1)]
    trace = snoopie.load([unknown.write(tmp_path / "a.zst"), known.write(tmp_path / "b.zst")])
    assert trace.gpus["nvlinks"].tolist() == [18]


def test_gpus_that_a_process_cannot_use(tmp_path: Path) -> None:
    """Each process may use one GPU and knows of others; together they may use two of four, and reach a third."""
    paths = []
    for pid, own in enumerate((1, 0), start=1):
        trace = TraceBuilder((own, 1 - own, 2, 3), pid=pid)
        for other in trace.header["gpus"][1:]:
            other |= {"visible": False, "nvlinks": -1, "sm": 0, "memory": 0}
        site = trace.site(trace.function("k"), "LDG.E", "load", 4)
        launch = trace.launch(1, 0)
        trace.count(launch, site, 1, 1, pid, 1)
        if own == 0:
            trace.count(launch, site, 2, 1, 5, 1)
        paths.append(trace.write(tmp_path / f"{pid}.zst"))
    loaded = snoopie.load(paths)
    assert loaded.gpus["uuid"].tolist() == [gpu(number)["uuid"] for number in (1, 0, 2)]
    assert loaded.gpus["visible"].tolist() == [True, True, False]
    assert loaded.gpus["sm"].tolist() == [90, 90, 0]
    assert loaded.gpus["nvlinks"].tolist() == [18, 18, -1]
    assert loaded.matrix().to_numpy().tolist() == [[0, 4, 0], [8, 0, 20], [0, 0, 0]]


def test_multicast_objects(tmp_path: Path) -> None:
    """Each process has its own, whatever the values; their GPUs are told by UUID; a view can name them."""
    paths = []
    for pid, ordinals in enumerate(((0, 1), (1, 0)), start=1):
        trace = TraceBuilder(ordinals, pid=pid)
        site = trace.site(trace.function("k"), "STG.E", "store", 4)
        launch = trace.launch(1, 0)
        trace.count(launch, site, trace.set(70, 0, UNKNOWN), 1, pid, 1)
        trace.count(launch, site, trace.set(64, 1, 0, 1), 1, 10 * pid, 1)
        trace.record(launch, site, 64, 0x1000, 4)
        trace.add("objects", address=0x1000, bytes=1, owner=70, kind=9)
        # A multicast object without members, as when the end of a trace is lost: nobody knows whose memory it is.
        trace.count(launch, site, 65, 1, 100 * pid, 1)
        trace.set(66, UNKNOWN)
        paths.append(trace.write(tmp_path / f"{pid}.zst"))
    loaded = snoopie.load(paths)
    both = "multicast {} (GPU 0, GPU 1)".format
    assert loaded.sets.index.tolist() == [-3, -4, -5, -6, -7, -8]
    assert loaded.sets["label"].tolist() == [
        both(0),
        "multicast 1 (those of other processes)",
        "multicast 2 (GPU 0, those of other processes)",
        both(3),
        "multicast 4 (those of other processes)",
        "multicast 5 (GPU 1, those of other processes)",
    ]
    assert loaded.sets["process"].tolist() == [0, 0, 0, 1, 1, 1]
    assert loaded.sets["gpus"].tolist() == ["GPU 0, GPU 1", "", "GPU 0", "GPU 0, GPU 1", "", "GPU 1"]
    assert loaded.sets["others"].tolist() == [False, True, True] * 2
    assert loaded.label(-3) == both(0)
    assert loaded.counts["owner"].tolist() == [-5, -3, -2, -8, -6, -2]
    assert loaded.records["owner"].tolist() == [-3, -6]
    assert loaded.objects["owner"].tolist() == [-5, -8]
    assert loaded.objects["kind"].tolist() == ["multicast"] * 2
    matrix = loaded.matrix("lanes")
    assert matrix.index.tolist()[2:] == ["unknown", *loaded.sets["label"].loc[[-3, -5, -6, -8]]]
    assert matrix.to_numpy()[:2].tolist() == [[0, 0, 100, 10, 1, 0, 0], [0, 0, 200, 0, 0, 20, 2]]
    assert set(loaded.by_pair()["owner"]) == {"unknown", *loaded.sets["label"].loc[[-3, -5, -6, -8]]}
    assert loaded.select(owners=both(3)).summary()["lanes"] == 20
    assert loaded.select(owners=-4).summary()["lanes"] == 0
    assert "2 accesses touched memory whose owner is not known." in loaded.losses()


def test_a_multicast_object_of_many_gpus(tmp_path: Path) -> None:
    trace = TraceBuilder(9)
    trace.set(64, *range(8))
    trace.set(65, *range(9), UNKNOWN)
    labels = snoopie.load(trace.write(tmp_path / "t.zst")).sets["label"].tolist()
    assert labels[0].endswith("GPU 6, GPU 7)")
    assert labels[1] == "multicast 1 (9 GPUs, those of other processes)"


def test_ids_are_unique_and_references_follow(two_process_folder: Path) -> None:
    trace = snoopie.load(two_process_folder)
    assert trace.functions.index.tolist() == [1, 2, 3, 4, 5, 6]
    assert trace.sites.index.tolist() == list(range(1, 11))
    assert trace.sites["function"].tolist() == [1, 1, 2, 3, 3, 4, 4, 5, 6, 6]
    assert trace.sites["kernel"].tolist() == trace.functions["name"].loc[trace.sites["function"]].tolist()
    assert trace.lines.index.is_unique
    assert trace.lines["inlined_at"].tolist() == [0, 0, 0, 3, 0, 0, 0, 0, 0, 9, 0, 0]
    for line_id in (4, 10):
        assert trace.line_chain(line_id) == [
            (ring.SHIFT_H, 4, "shifted(float const *, int)"),
            (ring.RING_CU, 12, ""),
        ]
    # Process 0 launches put, get, put, get, bump; process 1 put, get, bump twice.
    assert trace.launches["function"].tolist() == [1, 2, 1, 2, 3, 4, 5, 6, 4, 5, 6]
    for table in (trace.counts, trace.records):
        assert (trace.launches["process"].loc[table["launch"]].to_numpy() == table["process"].to_numpy()).all()
        assert (trace.launches["gpu"].loc[table["launch"]].to_numpy() == table["issuer"].to_numpy()).all()
        assert (trace.sites["process"].loc[table["site"]].to_numpy() == table["process"].to_numpy()).all()
    assert trace.objects["freed"].tolist() == [START_NS + 1_000_000_000, 0, 0, 0] * 2


def test_processes_and_totals(two_process_folder: Path) -> None:
    trace = snoopie.load(two_process_folder)
    assert trace.processes["pid"].tolist() == [4711, 4712]
    assert trace.processes["rank"].tolist() == [0, 1]
    assert trace.processes["command"].tolist() == ["./ring 65536 3"] * 2
    assert trace.totals["launches_seen"] == 11
    assert trace.totals["records_written"] == 224
    assert [path.name for path in trace.paths] == ["ring.0.zst", "ring.1.zst"]
    assert len(trace.settings) == 2


def test_the_same_file_counts_once(ring_path: Path, tmp_path: Path) -> None:
    link, copied = tmp_path / "link.zst", tmp_path / "copy.zst"
    link.symlink_to(ring_path)
    copied.write_bytes(ring_path.read_bytes())
    sources: list[list[Path | str]] = [
        [ring_path, ring_path],
        [ring_path, str(ring_path)],
        [link, ring_path],
        [ring_path, copied],
        [ring_path.parent],
    ]
    for source in sources:
        trace = snoopie.load(source)
        assert len(trace.processes) == 1
        assert trace.summary()["bytes"] == ring.TOTALS["bytes"]


def test_a_cut_copy_counts_once(ring_path: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.zst"
    cut.write_bytes(ring_path.read_bytes()[:-10])
    for source in ([ring_path, cut], [cut, ring_path]):
        trace = snoopie.load(source, allow_truncated=True)
        assert trace.complete
        assert trace.paths == [ring_path]
        assert trace.summary()["bytes"] == ring.TOTALS["bytes"]


def test_two_traces_that_claim_to_be_one_process(ring_path: Path, tmp_path: Path) -> None:
    other = ring.ring_builder()
    other.rows["counts"][0]["lanes"] += 1
    with pytest.raises(CorruptError, match="same process"):
        snoopie.load([ring_path, other.write(tmp_path / "other.zst")])


def test_lanes_of_masks() -> None:
    masks = np.array([0, 1, 0xFFFFFFFF, 0x80000000, 0b1010_0000], np.uint32)
    assert lanes_of(masks).tolist() == [0, 1, 32, 1, 2]
    assert lowest_lane(masks).tolist() == [0, 0, 0, 31, 5]
    single = np.array([1 << lane for lane in range(32)], np.uint32)
    assert lowest_lane(single).tolist() == list(range(32))
