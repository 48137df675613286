"""Waits added up: by line, instruction, kernel, launch, thread block, owner, or those who are waited for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import pandas as pd

from snoopie.analysis.waits.stores import KNOWN_BY, TARGET
from snoopie.errors import UsageError
from snoopie.joined.tables import Tables

By = Literal["line", "site", "kernel", "launch", "block", "owner", "awaited"]

KEYS: dict[By, list[str]] = {
    "line": ["file", "line"],
    "site": ["site"],
    "kernel": ["kernel"],
    "launch": ["launch"],
    "block": ["launch", "first_block", "blocks"],
    "owner": ["owner"],
    "awaited": ["awaited"],
}
SUMS = ("waits", "given_up", "polls", "waited")
# Columns that have names of one kind, without commas; and how many of them a cell shows.
_LISTS = ("awaited", "stored_by")
_MOST = 8


def by_wait(
    tables: Tables, waits: pd.DataFrame, stores: pd.DataFrame, label: Callable[[int], str], by: By
) -> pd.DataFrame:
    """The keys of ``by``, kernel, issuer owner awaited (labels), stored_by, known_by, SUMS, longest, blocks; longest
    time first. UsageError for another ``by``."""
    if by not in KEYS:
        raise UsageError(f"waits are not summed by {by}", f"choose one of {', '.join(KEYS)}")
    every = named(tables, waits, stores, label)
    keys = KEYS[by]
    names = [name for name in ("kernel", "issuer", "owner", "awaited", "stored_by", "known_by") if name not in keys]
    groups = every.groupby(keys, observed=True, sort=False)
    table = groups[list(SUMS)].sum()
    table["longest"] = groups["longest"].max()
    if "blocks" not in keys:
        table["blocks"] = groups["blocks"].sum()
    for name in names:
        table[name] = groups[name].agg(_listed if name in _LISTS else _together)
    # The least that is known of any.
    table["known_by"] = groups["known_by"].agg(_least_known)
    table = table.reset_index()
    if by == "site":
        own = tables.sites.loc[table["site"].to_numpy()].reset_index(drop=True)
        table = table.assign(**{name: own[name] for name in ("file", "line", "sass")})
    first = [*keys, *(name for name in ("file", "line", "sass") if name in table and name not in keys), *names]
    rest = [*SUMS, "longest", *([] if "blocks" in keys else ["blocks"])]
    order = ["waited", *keys]
    return table[[*first, *rest]].sort_values(order, ascending=[name != "waited" for name in order], ignore_index=True)


def named(tables: Tables, waits: pd.DataFrame, stores: pd.DataFrame, label: Callable[[int], str]) -> pd.DataFrame:
    """Waits with the names of kernels, lines and places, and of who stores to what they poll: GPUs (``awaited``) and
    lines (``stored_by``)."""
    launches = tables.launch_places.of(waits["launch"].to_numpy())
    sites = tables.site_places.of(waits["site"].to_numpy())
    places = {int(place): label(int(place)) for name in ("issuer", "owner") for place in waits[name].unique()}
    every = waits.rename(columns={"block": "first_block"}).assign(
        kernel=tables.launches["kernel"].to_numpy(dtype=object)[launches],
        file=tables.sites["file"].to_numpy(dtype=object)[sites],
        line=tables.sites["line"].to_numpy()[sites],
    )
    who = _who(tables, stores, label)
    every = every.merge(who, on=TARGET, how="left")
    for name in ("awaited", "stored_by", "known_by"):
        every[name] = every[name].astype("object").where(every[name].notna(), "")
    for name in ("issuer", "owner"):
        every[name] = [places[place] for place in every[name].tolist()]
    return every


def line_of(file: str, line: int, function: str) -> str:
    """A source line for people; its function where the line is not known."""
    return f"{file.rsplit('/', 1)[-1]}:{line}" if line else function


def _who(tables: Tables, stores: pd.DataFrame, label: Callable[[int], str]) -> pd.DataFrame:
    """TARGET awaited stored_by known_by: a row a target."""
    sites = tables.sites.loc[stores["store"].to_numpy()]
    places = [
        line_of(file, line, kernel)
        for file, line, kernel in zip(sites["file"], sites["line"].tolist(), sites["kernel"], strict=True)
    ]
    said = stores.assign(
        awaited=pd.Series([label(place) for place in stores["issuer"].tolist()], dtype="str"),
        stored_by=pd.Series(places, dtype="str"),
    )
    groups = said.groupby(TARGET, sort=False)
    table = pd.DataFrame({name: groups[name].agg(_together) for name in _LISTS})
    return table.assign(known_by=groups["known_by"].first()).reset_index()


def _together(names: pd.Series[str]) -> str:
    """The different names."""
    every = sorted({str(name) for name in names} - {""})
    return ", ".join(every[:_MOST]) + (", …" if len(every) > _MOST else "")


def _listed(lists: pd.Series[str]) -> str:
    """The different names of what `_together` made."""
    return _together(pd.Series([name for one in set(lists) for name in str(one).split(", ")], dtype="str"))


def _least_known(levels: Sequence[str]) -> str:
    known = [KNOWN_BY.index(level) for level in levels if level]
    return KNOWN_BY[max(known)] if known else ""
