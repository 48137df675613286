"""The collector: which one a run takes, and whether it fits this Snoopie, the driver and the GPUs."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from snoopie.cli import places, tool
from snoopie.cli.architectures import uncovered
from snoopie.cli.checks.driver import Driver
from snoopie.cli.checks.folders import executable
from snoopie.cli.checks.programs import says
from snoopie.cli.checks.row import Row, ok, problem, refusal, warning
from snoopie.cli.identity import Identity, identity
from snoopie.errors import SnoopieError

_NAME = "collector"
_DRIVER = "libcuda.so.1"
_ABSENT = re.compile(r"^[ \t]*(\S+) => not found", re.MULTILINE)
_TOO_OLD = re.compile(r"version `(\S+)' not found")


def rows(
    library: Path | SnoopieError, arches: Sequence[str], driver: Driver, environment: Mapping[str, str]
) -> list[Row]:
    """What speaks against the library that `snoopie run` takes, or why it takes none."""
    if isinstance(library, SnoopieError):
        return [refusal(_NAME, library)]
    made = [] if executable(library.parent) else [_no_code(library)]
    opened = places.beside(library)
    if not opened.is_file():
        made.append(problem(_NAME, f"{library} needs {opened.name} beside it", "copy it there, too, or snoopie build"))
    for file in (library, opened):
        if needs := lacking(says(["ldd", str(file)], environment) or ""):
            made.append(
                problem(
                    _NAME, f"{file} needs {', '.join(needs)}", "build it here, or on a system no newer: snoopie build"
                )
            )
    return [*made, *judged(library, identity(library), arches, driver)]


def judged(library: Path, built: Identity | None, arches: Sequence[str], driver: Driver) -> list[Row]:
    """Whether what the library says of itself fits."""
    if built is None:
        return [warning(_NAME, f"{library} does not say how it was built", "snoopie build makes one that does")]
    found = f"{library}: {built.version}, CUDA {built.cuda}, NVBit {built.nvbit}, for {' '.join(built.arches)}"
    made = []
    if other := tool.misfit(library):
        made.append(warning(_NAME, other, "snoopie build makes one that fits"))
    if missing := uncovered(built.arches, arches):
        made.append(
            problem(
                _NAME,
                f"{found}; not for {' '.join(missing)}",
                f"snoopie build --arch {','.join(dict.fromkeys(arches))}",
            )
        )
    if driver.cuda and _major(driver.cuda) < _major(built.cuda):
        made.append(
            problem(
                _NAME,
                f"built with CUDA {built.cuda}, and the driver runs CUDA {driver.cuda}",
                f"update the driver, or build with a toolkit of CUDA {_major(driver.cuda)} or older",
            )
        )
    return made or [ok(_NAME, found)]


def lacking(text: str) -> list[str]:
    """The libraries and versions that `ldd` does not find; the driver has its own row."""
    absent = [name for name in _ABSENT.findall(text) if name != _DRIVER]
    return [*dict.fromkeys(absent + _TOO_OLD.findall(text))]


def _no_code(library: Path) -> Row:
    return problem(
        _NAME,
        f"{library.parent} is mounted with noexec, so nothing in it can be preloaded",
        "set XDG_DATA_HOME to a folder on another file system, and snoopie build",
    )


def _major(version: str) -> int:
    digits = version.partition(".")[0]
    return int(digits) if digits.isdigit() else 0
