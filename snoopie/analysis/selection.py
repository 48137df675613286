"""What a view of a trace keeps: masks over launches, sites, owners, copies and collectives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.trace.merge import HOST, UNKNOWN, Tables

Mask = NDArray[np.bool_]
Names = str | Iterable[str] | None
Places = int | str | Iterable[int | str] | None


@dataclass(frozen=True, slots=True)
class Selection:
    """Masks aligned with the rows of the tables of their names, and the kept owners (None: all).

    ``named`` is True where launches were named one by one: then each stands for itself, and nothing is an estimate.
    """

    launches: Mask
    sites: Mask
    owners: frozenset[int] | None
    copies: Mask
    collectives: Mask
    named: bool = False

    def rows(self, tables: Tables, table: pd.DataFrame) -> Mask:
        """Which rows of a table with the columns launch, site, owner are kept."""
        kept = self.launched(tables, table)
        kept &= self.sites[tables.site_places.of(table["site"].to_numpy())]
        if self.owners is not None:
            kept &= np.isin(table["owner"].to_numpy(), sorted(self.owners))
        return kept

    def traffic(self, tables: Tables, joined: pd.DataFrame) -> pd.DataFrame:
        """The kept rows of `analysis.traffic.joined`."""
        return self._weighted(joined[self.rows(tables, joined)])

    def of_launches(self, tables: Tables, table: pd.DataFrame) -> pd.DataFrame:
        """The rows of a table with the column launch, and perhaps weight, whose launches are kept."""
        return self._weighted(table[self.launched(tables, table)])

    def launched(self, tables: Tables, table: pd.DataFrame) -> Mask:
        """Which rows of a table with the column launch belong to launches that are kept."""
        return self.launches[tables.launch_places.of(table["launch"].to_numpy())]

    def _weighted(self, kept: pd.DataFrame) -> pd.DataFrame:
        return kept.drop(columns="weight", errors="ignore") if self.named else kept

    def part(self, tables: Tables, process: int) -> Selection:
        """The same for `Tables.part`. Copies and collectives are left out: they are in no part."""
        none = np.zeros(0, np.bool_)
        launches, sites = (
            mask[(table["process"] == process).to_numpy()]
            for mask, table in ((self.launches, tables.launches), (self.sites, tables.sites))
        )
        return Selection(launches, sites, self.owners, none, none, self.named)


def everything(tables: Tables) -> Selection:
    """The selection that keeps all."""
    launches, sites, copies, collectives = (
        np.ones(len(table), np.bool_) for table in (tables.launches, tables.sites, tables.copies, tables.collectives)
    )
    return Selection(launches, sites, None, copies, collectives)


def narrow(
    tables: Tables,
    selection: Selection,
    *,
    kernels: Names = None,
    operations: Names = None,
    issuers: Places = None,
    owners: Places = None,
    launches: int | Iterable[int] | None = None,
    files: Names = None,
) -> Selection:
    """A selection that keeps what the given one keeps and the arguments name; None names all."""
    launch_mask, site_mask, kept_owners = selection.launches.copy(), selection.sites.copy(), selection.owners
    copy_mask, collective_mask = selection.copies.copy(), selection.collectives.copy()
    if any(of_kernels is not None for of_kernels in (kernels, operations, launches, files)):
        copy_mask[:] = False
    if kernels is not None:
        launch_mask &= _named(tables.launches["kernel"], kernels)
    if issuers is not None:
        chosen = sorted(_places(tables, issuers))
        launch_mask &= np.isin(tables.launches["gpu"].to_numpy(), chosen)
        copy_mask &= np.isin(tables.copies["issuer"].to_numpy(), chosen)
        collective_mask &= np.isin(tables.collectives["issuer"].to_numpy(), chosen)
    if launches is not None:
        wanted = [launches] if isinstance(launches, (int, np.integer)) else list(launches)
        launch_mask &= np.isin(tables.launches.index.to_numpy(), np.array(wanted, np.int64))
    if kernels is not None or launches is not None:
        kept = tables.launches[launch_mask & (tables.launches["group"] > 0).to_numpy()]
        carried_out = pd.MultiIndex.from_frame(kept[["group", "gpu"]])
        collective_mask &= pd.MultiIndex.from_frame(tables.collectives[["group", "issuer"]]).isin(carried_out)
    if operations is not None:
        site_mask &= _named(tables.sites["operation"], operations)
    if files is not None:
        site_mask &= _named(tables.sites["file"], files)
    if owners is not None:
        of_owners = _places(tables, owners)
        kept_owners = of_owners if kept_owners is None else kept_owners & of_owners
        ends = tables.copies[["source", "destination"]].to_numpy()
        copy_mask &= np.isin(ends, sorted(of_owners)).any(axis=1)
    named = selection.named or launches is not None
    return Selection(launch_mask, site_mask, kept_owners, copy_mask, collective_mask, named)


def _named(column: pd.Series[str], names: Names) -> Mask:
    wanted = [names] if isinstance(names, str) else list(names or ())
    codes, present = pd.factorize(column)
    chosen = _matching(list(present), wanted)
    return np.array([name in chosen for name in present] + [False], np.bool_)[codes]


def _matching(present: list[str], wanted: list[str]) -> set[str]:
    """A name means itself; one that no name equals is a pattern (C++ names hold * and [, so equality goes first)."""
    chosen: set[str] = set()
    for name in wanted:
        chosen |= {name} if name in present else {other for other in present if fnmatchcase(other, name)}
    return chosen


def _places(tables: Tables, wanted: Places) -> frozenset[int]:
    if wanted is None:
        return frozenset()
    values = [wanted] if isinstance(wanted, (int, str, np.integer)) else list(wanted)
    places = (*range(len(tables.gpus)), HOST, UNKNOWN, *tables.sets.index.tolist())
    by_label = {tables.label(place): place for place in places}
    # A label that nothing has selects nothing.
    return frozenset(
        place
        for value in values
        if (place := by_label.get(value) if isinstance(value, str) else int(value)) is not None
    )
