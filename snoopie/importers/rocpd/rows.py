"""Rows of a query → columns of an activity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.importers.activity.columns import Activity
from snoopie.importers.activity.values import MISSING, Ints, handles, wholes
from snoopie.importers.amounts import LIMIT

_DEVICES = 1 << 31


def add_kernels(
    activity: Activity, *, start: Sequence[Any], end: Sequence[Any], name: Sequence[Any], device: Sequence[Any],
    stream: Sequence[Any], correlation: Sequence[Any], grid: NDArray[np.uint32], block: NDArray[np.uint32],
    shared_memory: Sequence[Any],
) -> None:  # fmt: skip
    begin, spent = _times(start, end)
    where = wholes(device, _DEVICES)
    keep = (begin != MISSING) & (where != MISSING)
    activity.wrong += int((~keep).sum())
    activity.kernels.append(
        keep, start=begin, spent=spent, name=activity.names.numbers(name), device=where, stream=handles(stream),
        correlation=wholes(correlation, 1 << 63, 1), shared_memory=np.maximum(wholes(shared_memory, 1 << 32), 0),
        collective=np.zeros(len(begin), np.uint32),
        **{f"grid_{axis}": grid[:, place] for place, axis in enumerate("xyz")},
        **{f"block_{axis}": block[:, place] for place, axis in enumerate("xyz")},
    )  # fmt: skip


def add_copies(
    activity: Activity, *, start: Sequence[Any], end: Sequence[Any], name: Sequence[Any], device: Sequence[Any],
    stream: Sequence[Any], correlation: Sequence[Any], size: Sequence[Any], source: Sequence[int],
    destination: Sequence[int],
) -> None:  # fmt: skip
    begin, spent = _times(start, end)
    keep = (begin != MISSING) & (spent != MISSING)
    activity.wrong += int((~keep).sum())
    activity.copies.append(
        keep, start=begin, spent=spent, name=activity.names.numbers(name),
        device=np.maximum(wholes(device, _DEVICES), -1), stream=handles(stream),
        correlation=wholes(correlation, 1 << 63, 1), bytes=wholes(size, LIMIT),
        source=np.array(source, np.int64), destination=np.array(destination, np.int64),
    )  # fmt: skip


def add_calls(
    activity: Activity, *, start: Sequence[Any], end: Sequence[Any], name: Sequence[Any], thread: Sequence[Any],
    correlation: Sequence[Any],
) -> None:  # fmt: skip
    begin, spent = _times(start, end)
    keep = (begin != MISSING) & (spent != MISSING)
    activity.wrong += int((~keep).sum())
    activity.calls.append(
        keep, start=begin, spent=spent, name=activity.names.numbers(name),
        thread=np.maximum(wholes(thread, 1 << 32), 0), correlation=wholes(correlation, 1 << 63, 1),
        bytes=np.full(len(begin), MISSING),
    )  # fmt: skip


def _times(start: Sequence[Any], end: Sequence[Any]) -> tuple[Ints, Ints]:
    """The start, and the time from it to the end; MISSING for what is none."""
    begin, last = wholes(start, LIMIT), wholes(end, LIMIT)
    return begin, np.where((last >= begin) & (begin != MISSING), last - np.maximum(begin, 0), MISSING)
