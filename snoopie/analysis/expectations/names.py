"""What the names in an expectation mean in a trace. UsageError for what cannot be in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import pandas as pd

from snoopie.errors import AbsentError, UsageError
from snoopie.words import units

_LINE = re.compile(r"(.+):(\d{1,9})", re.DOTALL)
_SOME = 8


def line_of(sites: pd.DataFrame, text: str) -> tuple[str, int]:
    """The file and the number of "halo.cu:42": a line that holds memory instructions."""
    found = _LINE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{text} is no line", 'give file and number, as in line="halo.cu:42"')
    file, line = file_of(sites["file"], found[1]), int(found[2])
    lines = sorted(set(sites.loc[sites["file"] == file, "line"].tolist()))
    if line not in lines:
        raise AbsentError(
            f"no memory instruction of the trace is at {file}:{line}", f"those of the file are at {_some(lines)}"
        )
    return file, line


def file_of(files: Iterable[str], text: str) -> str:
    """The file whose path is, or ends in, these parts."""
    present = sorted({file for file in files if file})
    if text in present:
        return text
    wanted = _parts(text)
    found = [file for file in present if wanted and _parts(file)[-len(wanted) :] == wanted]
    if not found:
        raise AbsentError(f"no memory instruction of the trace is in a file {text}", f"the trace has {_some(present)}")
    if found[1:]:
        raise UsageError(f"{text} is the end of several files", f"write more of its path: {_some(found)}")
    return found[0]


def processes_of(processes: pd.DataFrame, process: str | None, rank: str | None) -> list[int] | None:
    """The numbers of the processes with this number and this rank, as written; None where neither is given."""
    if process is None and rank is None:
        return None
    chosen = processes
    for what, text, numbers in (("process", process, processes.index), ("rank", rank, processes["rank"])):
        if text is None:
            continue
        known = sorted({int(number) for number in numbers if number >= 0})
        number = int(text) if text.isdecimal() and len(text) < 10 else -1
        if number not in known:
            raise AbsentError(
                f"there is no {what} {text}", f"the trace has {units.numbers(known)}" if known else "it knows none"
            )
        column = chosen.index if what == "process" else chosen["rank"]
        chosen = chosen[column == number]
    return [int(number) for number in chosen.index]


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def _some(values: Sequence[object]) -> str:
    return ", ".join(map(str, values[:_SOME])) + (", …" if values[_SOME:] else "") if values else "none"
