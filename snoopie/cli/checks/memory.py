"""Memory that is free for the host's part of a run."""

from pathlib import Path

from snoopie.cli.checks.row import Row, ok, problem, warning
from snoopie.words import units

_INFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")
# The collector's pinned memory for one GPU is 66 MiB; code and tables of large programs come on top.
_LEAST, _COMFORTABLE = 256 << 20, 2 << 30


def available(info: str, limit: str = "", used: str = "") -> int | None:
    """Bytes that are free, by /proc/meminfo and by the control group's limit, if it has one; None if unknown."""
    amounts = []
    for line in info.splitlines():
        words = line.split()
        if words and words[0] == "MemAvailable:" and words[1].isdigit():
            amounts.append(int(words[1]) << 10)
    if limit.strip().isdigit() and used.strip().isdigit():
        amounts.append(max(0, int(limit) - int(used)))
    return min(amounts, default=None)


def free() -> int | None:
    """The same of this machine or container, now."""
    return available(*map(_text, (_INFO, _CGROUP / "memory.max", _CGROUP / "memory.current")))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def row(amount: int | None) -> Row:
    """Whether it is enough."""
    if amount is None:
        return warning("memory", "unknown", "see that the host has a few hundred MiB free for each GPU")
    found = f"{units.bytes(amount)} free"
    if amount < _LEAST:
        return problem("memory", found, "end other programs, or ask the batch system for more memory")
    if amount < _COMFORTABLE:
        return warning("memory", found, "the collector takes 66 MiB for each GPU, and more with large programs")
    return ok("memory", found)
