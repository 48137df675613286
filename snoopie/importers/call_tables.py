"""Single calls → the table of calls and the tables of their sums."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from snoopie.trace.writer import UNKNOWN, TableWriter

Ints = NDArray[np.int64]

_SUMMED = ["call", "kernel", "thread", "gpu", "direction"]
_TIMED = ["call", "thread", "gpu", "log2"]
_FAILED = ["call", "thread", "gpu", "code"]
# As least and most of calls of which the shortest and longest are not known.
NOT_KNOWN = (1, 0)


class CallTables:
    """Writes calls as they come, and sums them; `finish` writes the sums."""

    def __init__(self, writer: TableWriter) -> None:
        self._writer = writer
        self._totals = self._times = self._errors = pd.DataFrame()
        self._sums_alone: list[dict[str, int]] = []
        self._last = 0

    def add(self, columns: Mapping[str, ArrayLike]) -> None:
        """Writes calls.

        ``columns`` are call, kernel (strings of the trace), thread, gpu (a code), direction, start, end (host ns; 0 =
        not known), code and bytes.
        """
        table = pd.DataFrame({name: np.asarray(values, np.int64) for name, values in columns.items()}, copy=False)
        if table.empty:
            return
        given = {str(name): table[name].to_numpy() for name in table.columns}
        first = self._writer.rows("calls") + 1
        self._writer.write("calls", id=np.arange(first, first + len(table)), **given)
        self._last = max(self._last, int(table["end"].max()))
        ended = table["end"] > 0
        spent = (table["end"] - table["start"]).where(ended, 0)
        failed = table["code"] != 0
        table = table.assign(
            calls=1,
            errors=failed.astype(np.int64),
            total=spent,
            least=spent.where(ended, NOT_KNOWN[0]),
            most=spent,
            log2=np.frexp(np.maximum(spent, 1).astype(np.float64))[1].astype(np.int64) - 1,
            bytes=table["bytes"].where(~failed, 0),
        )
        # Of calls whose ends are not known, the known ones say how long they take.
        table["unknown"] = (~ended).astype(np.int64)
        # Each block is summed alone, so that what is joined is small.
        self._totals = _totals(_joined(self._totals, _totals(table)))
        self._times = _counted(_joined(self._times, _counted(table[ended], _TIMED)), _TIMED)
        self._errors = _counted(_joined(self._errors, _counted(table[failed], _FAILED)), _FAILED)

    def add_sums(self, call: int, calls: int, total: int) -> None:
        """Says of a call how often it was made, and the ns in it: what the single ones lack is known only as a sum."""
        single = self._totals[self._totals["call"] == call] if len(self._totals) else self._totals
        some, spent = (int(single[name].sum()) if len(single) else 0 for name in ("calls", "total"))
        if calls <= some:
            return
        rest = dict.fromkeys((*_SUMMED, "errors", "bytes", "least", "most"), 0) | {
            "call": call, "gpu": UNKNOWN, "calls": calls - some, "total": max(total - spent, 0),
            "unknown": calls - some,
        }  # fmt: skip
        self._sums_alone.append(rest)

    @property
    def sums_alone(self) -> int:
        """Of how many calls only the sums are known."""
        return sum(rest["calls"] for rest in self._sums_alone)

    def amounts(self, column: str) -> Ints:
        """The sums of ``bytes``, or ``total`` ns, of single calls, by what distinguishes them."""
        return self._totals[column].to_numpy(np.int64) if len(self._totals) else np.empty(0, np.int64)

    def finish(self, meaning: Callable[[int], str], *, totals: bool = True) -> None:
        """Writes call_totals (unless ``totals`` is False), call_times and call_errors.

        ``meaning`` names a code that is not 0.
        """
        table = _joined(self._totals, pd.DataFrame(self._sums_alone))
        if totals and len(table):
            columns = {name: table[name].to_numpy(np.int64) for name in (*_SUMMED, *_SUMS)}
            none = (table["unknown"] == table["calls"]).to_numpy()
            columns["least"] = np.where(none, NOT_KNOWN[0], columns["least"])
            columns["most"] = np.where(none, NOT_KNOWN[1], columns["most"])
            self._writer.write("call_totals", time=self._last, **columns)
        if len(self._times):
            self._writer.write("call_times", **_columns(self._times))
        if len(self._errors):
            names = self._writer.intern_all(meaning(int(code)) for code in self._errors["code"])
            self._writer.write("call_errors", name=names, **_columns(self._errors))


def write_call_tables(
    writer: TableWriter, columns: Mapping[str, ArrayLike], meaning: Callable[[int], str], *, totals: bool = True
) -> None:
    """Writes all calls of a trace at once, and their sums: the ``columns`` of `CallTables.add`."""
    tables = CallTables(writer)
    tables.add(columns)
    tables.finish(meaning, totals=totals)


_SUMS = ("calls", "errors", "total", "least", "most", "bytes")


def _totals(table: pd.DataFrame) -> pd.DataFrame:
    # The shortest of those that are known: others have an end of their own.
    shortest = table["least"].where(table["unknown"] < table["calls"], np.iinfo(np.int64).max)
    how = dict.fromkeys(("calls", "errors", "total", "bytes", "unknown"), np.add)
    return _grouped(table.assign(least=shortest), _SUMMED, how | {"least": np.minimum, "most": np.maximum})


def _counted(table: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    return _grouped(table, keys, {"calls": np.add})


def _grouped(table: pd.DataFrame, keys: Sequence[str], how: Mapping[str, np.ufunc]) -> pd.DataFrame:
    """What pandas' groupby does, several times as fast for a few thousand rows."""
    if table.empty:
        return table
    group = np.zeros(len(table), np.int64)
    for key in keys:
        codes, distinct = pd.factorize(table[key].to_numpy())
        group, _ = pd.factorize(group * len(distinct) + codes)
    order = np.argsort(group, kind="stable")
    first = np.searchsorted(group[order], np.arange(int(group.max()) + 1))
    columns = {key: table[key].to_numpy()[order[first]] for key in keys}
    sums = {name: join.reduceat(table[name].to_numpy()[order], first) for name, join in how.items()}
    return pd.DataFrame(columns | sums)


def _joined(before: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([part for part in (before, more) if len(part)] or [more], ignore_index=True)


def _columns(table: pd.DataFrame) -> dict[str, Ints]:
    return {str(name): table[name].to_numpy(np.int64) for name in table.columns}


def codes_of(texts: Iterable[str], intern: Callable[[Iterable[str]], NDArray[np.uint32]]) -> NDArray[np.uint32]:
    """The id of each of many texts, of which few are different."""
    codes, distinct = pd.factorize(np.fromiter(texts, object))
    return intern(str(text) for text in distinct)[codes] if len(codes) else np.empty(0, np.uint32)
