"""Names in tables of waits and moves: of lines, and of what several rows have."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd

from snoopie.analysis import sums

# So many names a cell shows.
_MOST = 8


def line_of(file: str, line: int, function: str) -> str:
    """A source line for people; its function where the line is not known."""
    return f"{file.rsplit('/', 1)[-1]}:{line}" if line else function


def together(names: Iterable[str]) -> str:
    """The different names."""
    every = sorted({str(name) for name in names} - {""})
    return ", ".join(every[:_MOST]) + (", …" if len(every) > _MOST else "")


def listed(lists: Iterable[str]) -> str:
    """The different names of what `together` made."""
    return together(name for one in set(lists) for name in str(one).split(", "))


def shared(every: pd.DataFrame, keys: list[str], name: str, several: Callable[[Iterable[str]], str]) -> pd.Series[str]:
    """The keys | the name that rows have, or what is made of several; those without one are missing."""
    distinct = every.loc[every[name] != "", [*keys, name]].drop_duplicates()
    group = sums.codes(distinct, keys)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    ends = np.append(starts[1:], len(order))
    names = distinct[name].to_numpy(dtype=object)[order]
    made = names[starts]
    # Where there are many, groups of pandas' would take ten times as long.
    for several_names in np.flatnonzero(ends - starts > 1).tolist():
        made[several_names] = several(names[starts[several_names] : ends[several_names]])
    found: pd.Series[str] = distinct.iloc[order[starts]][keys].assign(**{name: made}).set_index(keys)[name]
    return found
