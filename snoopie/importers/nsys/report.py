"""What a report says of itself: the tool, the machine, the clock, the processes and their ranks, and what it lost."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from snoopie.importers.amounts import LIMIT
from snoopie.importers.nsys.export import ID_BITS, ID_MASK, Export, Ints
from snoopie.joined.ranks import LAUNCHERS

# Versions differ in how they call the table.
_ABOUT_EXPORT = ("META_DATA_EXPORT", "EXPORT_META_DATA")
_VARIABLE = re.compile(r'(\w+)="([0-9]{1,9})"')
_RANKS = {name for launcher in LAUNCHERS for name in (launcher.rank, *launcher.local_rank, launcher.ranks) if name}
# Messages of nsys on what is not in a report, of severity 2 (warning) or 3 (error); others are on what it did.
_INCOMPLETE = re.compile(
    r"might (?:have been|be|not have been) (?:collected|lost|missing|incomplete)"
    r"|\b(?:lost|dropped|discarded|truncated)\b|cannot be traced|(?:were|was) not (?:collected|recorded)"
    r"|buffer.{0,40}(?:full|overflow|exhausted)",
    re.IGNORECASE | re.DOTALL,
)
# What is not in a trace anyway.
_OF_OTHERS = re.compile(r"OpenGL|Vulkan|OS runtime|DX1|WDDM|\bCPU\b")
_MOST_MESSAGES = 20
_LONGEST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class Report:
    """``epoch``: what to add to a time of the report to make it a host time, in ns; ``dated``: from the Unix epoch.

    ``memory_recorded``: nsys was told to record allocations. ``ranks``: variables of its launcher.
    ``incomplete``: messages of nsys, each of (globalPid >> 24 or None, text).
    """

    tool: str
    host: str
    epoch: int
    dated: bool
    memory_recorded: bool
    ranks: dict[str, str]
    incomplete: list[tuple[int | None, str]]

    def host_times(self, times: Ints) -> Ints:
        """Times of the report as host times; 0 means "never" in a trace."""
        return np.maximum(times + self.epoch, 1)


def read_report(export: Export, first: Callable[[], int]) -> Report:
    """The report's own tables; ``first`` finds the first of all times in the others."""
    about = {str(name): str(value) for table in _ABOUT_EXPORT for name, value in export.rows(table, "name value")}
    version = about.get("EXPORT_PRODUCT_VERSION", "").strip()
    hosts = [
        value.strip()
        for name, value in export.rows("TARGET_INFO_SYSTEM_ENV", "name value")
        if isinstance(value, str) and str(name).replace(" ", "").casefold() == "hostname"
    ]
    epochs = [epoch for (epoch,) in export.rows("TARGET_INFO_SESSION_START_TIME", "utcEpochNs")]
    known = [epoch for epoch in epochs if isinstance(epoch, int) and 0 < epoch < LIMIT]
    return Report(
        f"Nsight Systems {version}".strip(),
        hosts[0] if hosts else "",
        known[0] if known else max(0, 1 - first()),
        bool(known),
        ("COLLECT_GPU_MEMORY_USAGE", "true") in export.rows("META_DATA_CAPTURE", "name value"),
        _ranks(export),
        _incomplete(export),
    )


def _ranks(export: Export) -> dict[str, str]:
    """The variables of the environment with which nsys was started that say a rank; no others leave the report."""
    found = {}
    for name, value in export.rows("META_DATA_CAPTURE", "name value"):
        match = _VARIABLE.fullmatch(str(value).strip())
        if match and match[1] in _RANKS and str(name).endswith(":ENVIRONMENT_VARIABLE"):
            found[match[1]] = match[2]
    return found


def _incomplete(export: Export) -> list[tuple[int | None, str]]:
    found: dict[tuple[int | None, str], None] = {}
    for severity, text, identity in export.rows("DIAGNOSTIC_EVENT", "severity text globalPid"):
        if severity in (2, 3) and isinstance(text, str) and _INCOMPLETE.search(text) and not _OF_OTHERS.search(text):
            words = " ".join(text.split())
            if len(words) > _LONGEST_MESSAGE:
                words = f"{words[: _LONGEST_MESSAGE - 1]}…"
            found[(identity >> ID_BITS if isinstance(identity, int) and identity > 0 else None), words] = None
    return list(found)[:_MOST_MESSAGES]


def program(export: Export, process: int) -> str:
    """The name of a process, "" where the report does not say it."""
    for identity, name in export.rows("PROCESSES", "globalPid name"):
        if isinstance(identity, int) and identity >> ID_BITS == process and isinstance(name, str):
            return name
    # Versions without that table name at least the threads; the first has the number of the process.
    for identity, name_id in export.rows("ThreadNames", "globalTid nameId"):
        main = process << ID_BITS | (process & ID_MASK)
        if identity == main and isinstance(name_id, int):
            return export.strings([name_id])[name_id]
    return ""
