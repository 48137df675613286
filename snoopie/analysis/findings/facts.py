"""What the rules look at: the traffic and the copies of (a part of) a trace, and what its records say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from snoopie.analysis import sums
from snoopie.analysis.findings.thresholds import Threshold
from snoopie.analysis.host import copies as _copies
from snoopie.analysis.objects.lookup import ObjectLookups
from snoopie.analysis.objects.reuse import Touched
from snoopie.analysis.traffic import counts
from snoopie.joined.tables import Tables
from snoopie.trace.tables import Ints

# One row of the source, or, where lines are unknown, one instruction of a function.
PLACE = ["file", "line", "function", "offset"]
_SITES = ("site", "kernel", "issuer", "owner", "operation")
# How many places are named in a sentence.
_NAMED = 3


def rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table, column → value."""
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the recorded accesses touched: ``moved`` has the columns object site issuer accesses bytes, ``intervals``
    object site issuer start end (addresses, in any order)."""

    moved: pd.DataFrame
    intervals: pd.DataFrame

    @staticmethod
    def of(touched: Touched) -> Recorded:
        """The same from what `reuse.merged` makes."""
        pieces = touched.pieces
        groups = touched.groups[["object", "site", "issuer"]].take(pieces.groups).reset_index(drop=True)
        return Recorded(touched.groups, groups.assign(start=pieces.starts, end=pieces.ends))


@dataclass(frozen=True)
class Facts:
    """``sums`` gives the traffic with at least the keys it is asked for, ``recorded`` and ``divided`` go through all
    records, ``stack_labels`` and ``object_names`` say what stacks and objects are called."""

    tables: Tables
    sums: Callable[..., pd.DataFrame]
    copies: pd.DataFrame
    recorded: Callable[[], Recorded]
    divided: Callable[[], pd.DataFrame]
    stack_labels: Callable[[Iterable[int]], pd.Series]
    object_names: Callable[[], pd.Series]

    @cached_property
    def by_site(self) -> pd.DataFrame:
        """The traffic by site kernel issuer owner operation, with its PLACE and the number of that (``place``); without
        what has an unknown width."""
        moved = counts.plain(counts.summarise(self.sums(*_SITES), _SITES))
        known = self.at_places(moved[self.tables.widths(moved["site"].to_numpy()) > 0])
        return known.assign(place=sums.codes(known, PLACE))

    def at_places(self, table: pd.DataFrame) -> pd.DataFrame:
        """A table with the column site and the columns of PLACE."""
        rows = self.tables.site_places.of(table["site"].to_numpy())
        sites = self.tables.sites
        known = sites["line"].to_numpy()[rows] > 0
        return table.assign(
            file=np.where(known, sites["file"].to_numpy(object)[rows], ""),
            line=sites["line"].to_numpy()[rows],
            function=np.where(known, "", sites["kernel"].to_numpy(object)[rows]),
            offset=np.where(known, 0, sites["offset"].to_numpy()[rows]),
        )

    def large_lines(
        self,
        operations: Sequence[str],
        value: str,
        least: Threshold,
        least_share: Threshold,
        efficiency: Threshold | None = None,
    ) -> pd.DataFrame:
        """What each PLACE moved by some operations, where that is enough of a value for a finding, and less efficient
        than the last threshold: place, counts.VALUES, share (of the value), PLACE, site (one of them), kernels (how
        many), kernel, issuer, owner (names, joined)."""
        own = self.by_site[self.by_site["operation"].isin(operations)]
        table = counts.settled(own, ["place"])
        table["share"] = self.shares(table[value], value)
        table = table[(table[value] >= least.limit) & (table["share"] >= least_share.limit)]
        if efficiency is not None:
            table = table[table["bytes"] < efficiency.limit * table["wire_bytes"]]
        if table.empty:
            return table
        # Names are joined for these few alone.
        places = own["place"].to_numpy()
        rows = [np.flatnonzero(places == place) for place in table["place"].tolist()]
        first = own[[*PLACE, "site"]].take([of_place[0] for of_place in rows])
        kernels, issuers, owners = (own[name].to_numpy(object) for name in ("kernel", "issuer", "owner"))
        names = [sorted(set(kernels[of_place])) for of_place in rows]
        return table.assign(
            **{name: first[name].array for name in [*PLACE, "site"]},
            kernels=list(map(len, names)),
            kernel=list(map(", ".join, names)),
            issuer=[self.joined_labels(issuers[of_place]) for of_place in rows],
            owner=[self.joined_labels(owners[of_place]) for of_place in rows],
        )

    def shares(self, amounts: pd.Series, value: str) -> pd.Series:
        """Some amounts as shares of all that was moved, by one of counts.VALUES."""
        return amounts / max(self.totals[value], 1)

    @cached_property
    def totals(self) -> dict[str, int]:
        """The sums of counts.VALUES over all."""
        return counts.totals(self.by_site)

    @cached_property
    def copied(self) -> int:
        """Bytes of all copies."""
        return int(self.copies["bytes"].sum())

    @cached_property
    def crossed(self) -> pd.DataFrame:
        """from to bytes: what flowed between GPUs, as wire bytes of kernels and bytes of copies."""
        device = counts.directed(self.by_site, "flow").rename(columns={"wire_bytes": "moved"})
        host = _copies.directed(self.copies, "flow").rename(columns={"bytes": "moved"})
        both = pd.concat([part[["from", "to", "moved"]] for part in (device, host)], ignore_index=True)
        both = both[(both["from"] >= 0) & (both["to"] >= 0)].rename(columns={"moved": "bytes"})
        return both.groupby(["from", "to"])["bytes"].sum().reset_index()

    def linked(self, one: int, other: int) -> bool:
        """Whether one of two GPUs can reach the other's memory, as the driver says."""
        links = self.tables.links
        ends = {one, other}
        return any(
            access and {issuer, owner} == ends
            for issuer, owner, access in zip(links["issuer"], links["owner"], links["access"], strict=True)
        )

    def held(self, end: str) -> Ints:
        """The object at one end (source or destination) of each copy, 0 where it is none."""
        lookups = ObjectLookups(self.tables)
        found: Ints = np.zeros(len(self.copies), np.int64)
        process = self.copies["process"].to_numpy()
        for number in np.unique(process).tolist():
            rows = np.flatnonzero(process == number)
            addresses, times = (self.copies[name].to_numpy()[rows] for name in (f"{end}_address", "start"))
            found[rows] = lookups[number].find(addresses, times)
        return found

    def label(self, place: int) -> str:
        """The name for reading of an issuer or owner."""
        return self.tables.label(int(place))

    def joined_labels(self, places: Iterable[int]) -> str:
        """The names of some, or, of many, the first and how many more."""
        labels = [self.label(place) for place in sorted(set(places), key=lambda place: (place < 0, place))]
        more = len(labels) - _NAMED
        return ", ".join(labels[:_NAMED]) + (f" and {more} more" if more > 0 else "")

    def object_called(self, number: int) -> str:
        """ "`a` (object 5)", or "object 5"."""
        name = str(self.object_names().get(number, ""))
        return f"{name} (object {number})" if name else f"object {number}"
