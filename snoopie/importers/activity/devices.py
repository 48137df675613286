"""The GPUs of a process, by the numbers that a file gives them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from snoopie.errors import SnoopieError
from snoopie.importers.activity.values import Ints
from snoopie.trace.writer import MOST_GPUS, UNKNOWN


@dataclass(frozen=True, slots=True)
class Devices:
    """The GPUs of a process, as a header has them."""

    gpus: list[dict[str, Any]]
    _ids: Ints

    def places(self, devices: Ints) -> Ints:
        """Numbers of the file as codes of owners."""
        found = np.searchsorted(self._ids, devices).clip(max=max(len(self._ids) - 1, 0))
        known = self._ids[found] == devices if len(self._ids) else np.zeros(len(devices), np.bool_)
        return np.where(known, found, UNKNOWN)


def numbers(name: str, used: Iterable[Ints]) -> Ints:
    """The numbers that stand in these columns. SnoopieError where there are too many."""
    ids = np.unique(np.concatenate([np.zeros(0, np.int64), *used]))
    ids = ids[ids >= 0]
    if len(ids) > MOST_GPUS:
        raise SnoopieError(f"{name} names {len(ids)} GPUs, more than a trace can hold", "export it again")
    return ids.astype(np.int64)
