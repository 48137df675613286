"""Several processes know the same GPU by different numbers: it is one GPU, wherever it is meant."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import snoopie
from tests.support import ring
from tests.support.encoder import UNKNOWN, TraceBuilder, gpu


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


def test_a_gpu_that_only_a_later_process_of_the_host_reaches(tmp_path: Path) -> None:
    """They say the same of the host's GPUs, of which nobody may use one; the second owns memory there."""
    paths = []
    for pid in (1, 2):
        trace = TraceBuilder(2, pid=pid)
        trace.header["gpus"][1]["visible"] = False
        site = trace.site(trace.function("k"), "LDG.E", "load", 4)
        trace.count(trace.launch(1, 0), site, pid - 1, 1, pid, 1)
        paths.append(trace.write(tmp_path / f"{pid}.zst"))
    assert snoopie.load(paths).gpus["visible"].tolist() == [True, False]
    assert snoopie.load(paths[:1]).gpus["visible"].tolist() == [True]


def test_equal_gpus_without_a_uuid_are_each_their_processes_own(tmp_path: Path) -> None:
    paths = []
    for pid in (1, 2):
        trace = TraceBuilder(1, pid=pid)
        trace.header["gpus"] = [gpu(0, uuid="")]
        paths.append(trace.write(tmp_path / f"{pid}.zst"))
    assert len(snoopie.load(paths, all_runs=True).gpus) == 2


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
    assert "2 accesses touched memory with an unknown owner." in loaded.losses()


def test_a_multicast_object_of_many_gpus(tmp_path: Path) -> None:
    trace = TraceBuilder(9)
    trace.set(64, *range(8))
    trace.set(65, *range(9), UNKNOWN)
    labels = snoopie.load(trace.write(tmp_path / "t.zst")).sets["label"].tolist()
    assert labels[0].endswith("GPU 6, GPU 7)")
    assert labels[1] == "multicast 1 (9 GPUs, those of other processes)"
