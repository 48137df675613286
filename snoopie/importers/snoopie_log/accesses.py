"""What a log has millions of, accesses and copies: summed as they come, and set aside in temporary files.

What refers to them, sites and objects, is only known once the whole log and the files beside it are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.importers.snoopie_log.fields import Flags, Ints
from snoopie.importers.spool import Spool, together
from snoopie.trace.writer import TableWriter

_COUNTED = ["launch", "site", "owner", "base", "measured"]
_KEYS = ["launch", "site", "owner", "object"]
_PATTERN = ["launch", "site", "issuer", "owner", "lanes", "stride"]
_SUMS = ["accesses", "lanes", "wire_units"]
_LANES = 32
# Rows of addresses of all lanes that are sorted at once.
_SCATTERED_AT_ONCE = 1 << 15


class Accesses:
    """Accesses by the sites, launches and bases of a log, which are places in its lists."""

    def __init__(self) -> None:
        self.rows = 0
        self._counts = pd.DataFrame()
        self._patterns = pd.DataFrame()
        self._even = Spool({"pattern": np.int64, "first": np.uint64})
        self._scattered = Spool({"pattern": np.int64, "addresses": (np.uint64, _LANES)})

    def add(self, columns: pd.DataFrame, first: NDArray[np.uint64], even: Flags, scattered: NDArray[np.uint64]) -> None:
        """Takes in accesses, a row each: launch site issuer owner base measured lanes wire_units stride.

        ``first`` is the address of the first lane; ``even`` says that the others follow at equal distances, the stride;
        where they do not, a row of ``scattered`` has the addresses of all, if they are ``measured``.
        """
        if columns.empty:
            return
        self.rows += len(columns)
        # Each piece is summed alone, so that what is joined is small.
        self._counts = _summed(_COUNTED, [self._counts, _summed(_COUNTED, [columns.assign(accesses=1)])])
        measured = columns["measured"].to_numpy()
        first, even = first[measured], even[measured]
        keys = columns.loc[measured, _PATTERN].reset_index(drop=True)
        keys.loc[~even, "stride"] = 0
        pattern = self._numbers(keys)
        _add(self._even, {"pattern": pattern[even], "first": first[even]})
        _add(self._scattered, {"pattern": pattern[~even], "addresses": scattered})

    def _numbers(self, keys: pd.DataFrame) -> Ints:
        """The place of the pattern of each row."""
        before = len(self._patterns)
        # Numbered by their first rows: those that are known keep their numbers.
        place = np.asarray(pd.concat([self._patterns, keys]).groupby(_PATTERN, sort=False).ngroup(), np.int64)
        number, row = np.unique(place[before:], return_index=True)
        self._patterns = pd.concat([self._patterns, keys.iloc[row[number >= before]]], ignore_index=True)
        return place[before:]

    def write(self, writer: TableWriter, sites: Ints, objects: Ints) -> None:
        """Writes counts, patterns and records: ``sites`` and ``objects`` are the ids of the log's sites and bases."""
        if not self.rows:
            return
        counts = self._counts.assign(
            launch=self._counts["launch"] + 1,
            site=sites[self._counts["site"]],
            object=np.where(self._counts["measured"], objects[self._counts["base"]], 0),
        )
        counts = _summed(_KEYS, [counts])
        writer.write("counts", **{str(name): counts[name].to_numpy() for name in counts.columns})
        pattern = self._write_patterns(writer, sites)
        for rows in _pieces(self._even):
            number = pattern[rows["pattern"]]
            order = np.lexsort((rows["first"], number))
            writer.write("records", pattern=number[order], base=rows["first"][order])
        for rows in _pieces(self._scattered, _SCATTERED_AT_ONCE):
            number = pattern[rows["pattern"]]
            order = np.argsort(number, kind="stable")
            writer.write("scattered", pattern=number[order], addresses=rows["addresses"][order])
        self._even.close()
        self._scattered.close()

    def _write_patterns(self, writer: TableWriter, sites: Ints) -> Ints:
        """Returns the id of each pattern; several sites of a log can be one of the trace."""
        if self._patterns.empty:
            return np.empty(0, np.int64)
        table = self._patterns.assign(launch=self._patterns["launch"] + 1, site=sites[self._patterns["site"]])
        groups = table.groupby(_PATTERN, sort=False)
        distinct = groups.head(1)
        writer.write(
            "patterns", id=np.arange(1, len(distinct) + 1), mask=(1 << distinct["lanes"].to_numpy()) - 1,
            **{name: distinct[name].to_numpy() for name in _PATTERN if name != "lanes"},
        )  # fmt: skip
        return np.asarray(groups.ngroup(), np.int64) + 1


class Copies:
    """Copies: call source destination (codes of owners) destination_address context bytes. ``bytes`` is their sum."""

    def __init__(self) -> None:
        self.bytes = 0.0
        self._spool = Spool(
            {"call": np.int64, "source": np.int64, "destination": np.int64, "destination_address": np.uint64,
             "context": np.int64, "bytes": np.int64}
        )  # fmt: skip

    @property
    def rows(self) -> int:
        return self._spool.rows

    def add(self, columns: Mapping[str, NDArray[Any]]) -> None:
        self.bytes += float(columns["bytes"].sum(dtype=np.float64))
        _add(self._spool, columns)

    def read(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Some rows after others, in their order; once."""
        yield from _pieces(self._spool)
        self._spool.close()


def _add(spool: Spool, columns: Mapping[str, NDArray[Any]]) -> None:
    """Sets rows aside. They join nothing: their keys are their places."""
    rows = len(next(iter(columns.values())))
    spool.add(np.arange(spool.rows, spool.rows + rows), columns)


def _pieces(spool: Spool, most: int = 0) -> Iterator[dict[str, NDArray[Any]]]:
    return (spool.read(groups) for groups in together([spool], most))


def _summed(keys: list[str], parts: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(parts).groupby(keys, sort=False)[_SUMS].sum().reset_index()
