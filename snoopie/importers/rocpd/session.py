"""What a database of rocpd holds of one process."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from snoopie.importers.activity.columns import Activity


@dataclass(frozen=True, slots=True)
class Allocation:
    """An allocation, or with ``frees`` the end of one; ``device`` is a GPU, ON_HOST or NOT_KNOWN, times are host ns."""

    time: int
    thread: int
    address: int
    bytes: int
    device: int
    call: str
    frees: bool


@dataclass(slots=True)
class Session:
    """``names`` are those of the GPUs, by their number; ``left_out`` counts what is in no table, by what it is."""

    pid: int
    host: str = ""
    command: str = ""
    names: dict[int, str] = field(default_factory=dict)
    activity: Activity = field(default_factory=Activity)
    allocations: list[Allocation] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    sizes_known: bool = False
