"""Ids of several processes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import snoopie
from snoopie.joined.ids import Ids
from snoopie.trace.tables import Process
from tests.support import ranks


def test_ids_of_later_processes_move_up(tmp_path: Path) -> None:
    sources = [Process.open(path) for path in sorted(ranks.write(tmp_path / "job", 3).iterdir())]
    own = len(sources[0].column("launches", "id"))
    ids = Ids.of(sources)
    assert ids.added["launches"].tolist() == [0, own, 2 * own] and ids.last["launches"] == 3 * own
    moved = ids.moved("launches", np.array([0, 1, 2, 2]), np.array([5, 5, 5, 0]))
    assert moved.tolist() == [5, own + 5, 2 * own + 5, 0]
    assert ids.part(2).moved("launches", np.array([0]), np.array([5])).tolist() == [2 * own + 5]
    # No process has any: nothing is added.
    assert ids.added["copies"].tolist() == [0, 0, 0] and ids.last["copies"] == 0


def test_a_folder_is_the_sum_of_its_files(tmp_path: Path) -> None:
    folder = ranks.write(tmp_path / "job", 20)
    every = snoopie.load(folder)
    alone = [snoopie.load(path) for path in sorted(folder.iterdir())]
    assert every.summary()["accesses"] == sum(one.summary()["accesses"] for one in alone) == 20 * 24 * 20
    assert len(every.launches) == sum(len(one.launches) for one in alone)
    assert every.launches["kernel"].tolist() == [kernel for one in alone for kernel in one.launches["kernel"]]
    # Each issues from its own GPU, which others of the host see too.
    assert every.launches["gpu"].unique().tolist() == list(range(20))
    # The last host has four ranks, which see all eight of its GPUs.
    assert len(every.gpus) == 24
    assert every.gpus["uuid"].is_unique
