"""Source lines: what the lines of a file moved, and how they were inlined."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

import numpy as np
import pandas as pd

from snoopie.analysis.traffic import counts as _counts
from snoopie.errors import UsageError

# Of functions that are inlined into one another.
_MOST_STEPS = 32
# In which the instructions of one line are inlined.
_MOST_WAYS = 8


def file_lines(traffic: pd.DataFrame, file: str) -> pd.DataFrame:
    """The lines of one file with traffic, in the order of the file: line, kernel, VALUES, wire_efficiency."""
    table = _counts.by_line(traffic[traffic["file"] == file])
    return table.drop(columns="file").sort_values("line", ignore_index=True)


def of_line(traffic: pd.DataFrame, file: str, line: int) -> pd.DataFrame:
    """The part of a joined traffic table that belongs to one line; ("", 0) is all that has no line."""
    return traffic[(traffic["file"] == file) & (traffic["line"] == line)]


def line_chain(lines: pd.DataFrame, line_id: int) -> list[tuple[str, int, str]]:
    """(file, line, function) of a line, then of the line that it was inlined at, and so on outward. [] for 0."""
    chain: list[tuple[str, int, str]] = []
    while line_id:
        if line_id not in lines.index:
            raise UsageError(
                f"there is no line with id {line_id}", "take an id from trace.lines or trace.sites.line_id"
            )
        row = lines.loc[[line_id]].iloc[0]
        chain.append((row["file"], int(row["line"]), row["function"]))
        line_id = int(row["inlined_at"])
    return chain


def inlined(lines: pd.DataFrame, line_ids: Iterable[int]) -> list[str]:
    """Of each of these lines how its code came to be where it is, as in "inlined: shift.h:4 (shifted) ← ring.cu:12"; ""
    of what is not inlined."""
    at = lines.index.get_indexer(pd.Index(list(line_ids)))
    around = lines.index.get_indexer(pd.Index(lines["inlined_at"]))
    files, numbers, functions = (lines[name].to_numpy() for name in ("file", "line", "function"))
    chains: list[list[str]] = [[] for _ in at]
    for _ in range(_MOST_STEPS):
        going = np.flatnonzero(at >= 0)
        for own, place in zip(going.tolist(), at[going].tolist(), strict=True):
            function = f" ({functions[place]})" if functions[place] else ""
            chains[own].append(f"{PurePath(files[place]).name}:{numbers[place]}{function}")
        at[going] = around[at[going]]
    for own in np.flatnonzero(at >= 0).tolist():
        chains[own].append("…")
    return ["inlined: " + " ← ".join(chain) if len(chain) > 1 else "" for chain in chains]


def ways(inlined: Iterable[str]) -> list[str]:
    """Of what `inlined` says of a line's instructions each way once, or the first and how many others there are."""
    every = list(dict.fromkeys(filter(None, inlined)))
    more = len(every) - _MOST_WAYS
    return [*every[:_MOST_WAYS], *([f"inlined in {more:,} other ways"] if more > 0 else [])]
