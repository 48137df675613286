"""What the values of a column are, by the role that its declaration names: see docs/trace-format.md."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Ids of rows of another table, which stand in an earlier block or the same one; whether 0 says that there is none.
REFERENCES = {"row": False, "row or none": True}
# Places in the list of this name in the header.
LISTS = ("operations", "codes", "copy_kinds", "object_kinds", "directions")
# They use all 64 bits; everything else must fit a signed 64-bit number.
UNSIGNED = ("address", "handle")
# The numbers from 0 on that mean something.
_LIMITS = {"flag": 2, "log2": 64}
# Roles of numbers of which only some mean something in a process: `Codes` says which.
CODED = frozenset({"gpu", "gpu or unknown", "set", "owner", *LISTS, *_LIMITS})


@dataclass(frozen=True, slots=True)
class Role:
    """A role by its name, "" of a plain number or string; of a reference also the table."""

    name: str
    ref: str

    def __str__(self) -> str:
        return " of ".join(filter(None, (self.name, self.ref))) or "plain"


@dataclass(frozen=True, slots=True)
class Codes:
    """What the numbers of one process mean. Owners from ``first_set`` up to ``host`` are multicast objects."""

    gpus: int
    host: int
    unknown: int
    first_set: int
    lists: dict[str, tuple[str, ...]]

    def mean_something(self, role: Role, values: NDArray[np.int64]) -> bool:
        """Whether all of a column's values mean something; ids are not looked at."""
        match role.name:
            case "gpu":
                known = self._gpus(values)
            case "gpu or unknown":
                known = self._gpus(values) | (values == self.unknown)
            case "set":
                known = self._sets(values) & (values != self.unknown)
            case "owner":
                known = self._gpus(values) | self._sets(values) | (values == self.unknown) | (values == self.host)
            case name if name in self.lists:
                known = _within(values, len(self.lists[name]))
            case name if name in _LIMITS:
                known = _within(values, _LIMITS[name])
            case _:
                return True
        return bool(known.all())

    def _gpus(self, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        return _within(values, self.gpus)

    def _sets(self, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        return (values >= self.first_set) & (values < self.host)


def _within(values: NDArray[np.int64], limit: int) -> NDArray[np.bool_]:
    # As unsigned numbers, those below 0 are the highest.
    inside: NDArray[np.bool_] = values.view(np.uint64) < limit
    return inside
