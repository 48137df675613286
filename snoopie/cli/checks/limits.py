"""The limits of a process (ulimit), as far as a run meets them."""

import resource
from collections.abc import Callable, Mapping

from snoopie.cli.checks.row import Row, ok, warning
from snoopie.words import units

UNLIMITED = resource.RLIM_INFINITY
# Letters of ulimit, as a user sets them.
_LIMITS = {
    "n": resource.RLIMIT_NOFILE,
    "v": resource.RLIMIT_AS,
    "u": resource.RLIMIT_NPROC,
    "f": resource.RLIMIT_FSIZE,
    "c": resource.RLIMIT_CORE,
}


def now() -> dict[str, int]:
    """The soft limits of this process, which the program will inherit."""
    return {letter: resource.getrlimit(number)[0] for letter, number in _LIMITS.items()}


def rows(limits: Mapping[str, int]) -> list[Row]:
    """One row for each limit."""
    return [judge(limits[letter]) for letter, judge in _JUDGES.items() if letter in limits]


def _said(value: int, write: Callable[[int], str] = str) -> str:
    return "unlimited" if value == UNLIMITED else write(value)


def _files(value: int) -> Row:
    found = f"{_said(value)} open files"
    if value != UNLIMITED and value < 1024:
        return warning("ulimit -n", found, "ulimit -n 4096: CUDA opens dozens of files for each GPU")
    return ok("ulimit -n", found)


def _addresses(value: int) -> Row:
    if value != UNLIMITED:
        return warning(
            "ulimit -v",
            f"{units.bytes(value)} of address space",
            "ulimit -v unlimited: CUDA reserves addresses by the gigabyte, and where fewer than 8 GiB for each GPU are "
            "left, nothing is recorded",
        )
    return ok("ulimit -v", "unlimited address space")


def _processes(value: int) -> Row:
    found = f"{_said(value)} processes and threads"
    if value != UNLIMITED and value < 512:
        return warning(
            "ulimit -u", found, "ulimit -u 4096: the collector starts threads, and a disassembler for each core"
        )
    return ok("ulimit -u", found)


def _sizes(value: int) -> Row:
    if value != UNLIMITED:
        return warning(
            "ulimit -f", f"files of up to {units.bytes(value)}", "ulimit -f unlimited: a longer trace is cut off there"
        )
    return ok("ulimit -f", "files of any size")


def _cores(value: int) -> Row:
    if value == 0:
        return ok("ulimit -c", "no core files")
    return ok("ulimit -c", f"core files: {_said(value, units.bytes)}")


_JUDGES: dict[str, Callable[[int], Row]] = {
    "n": _files,
    "v": _addresses,
    "u": _processes,
    "f": _sizes,
    "c": _cores,
}
