"""Moving and waiting, added up: by line, instruction, kernel, launch, thread block, owner, or who is waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import numpy as np
import pandas as pd

from snoopie.analysis.waits import moving
from snoopie.analysis.waits.moving import BLOCKS
from snoopie.analysis.waits.names import line_of, listed, shared, together
from snoopie.analysis.waits.stores import KNOWN_BY, TARGET, Stores
from snoopie.errors import UsageError
from snoopie.joined.limits import check_sums
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
SUMS = ("waits", "given_up", "polls", "waited", "held")
# What is known of accesses by these keys alone: whose memory each was of is not.
MOVED = ("accesses", "moving")
OF_MOVES: tuple[By, ...] = ("line", "site", "kernel", "launch", "block")
# Columns that have names of one kind, without commas.
_LISTS = ("owner", "awaited", "stored_by")


def by_wait(tables: Tables, waits: pd.DataFrame, moves: pd.DataFrame, all_waits: pd.DataFrame, by: By) -> pd.DataFrame:
    """The keys of ``by``, kernel, issuer owner awaited (labels), stored_by, known_by, SUMS, longest, blocks, of
    OF_MOVES also MOVED; longest time first. UsageError for another ``by``.

    ``waits`` as `named` has them, ``moves`` as `moving.named`, ``all_waits``: also those that are not asked for.
    """
    if by not in KEYS:
        raise UsageError(f"waits are not summed by {by}", f"choose one of {', '.join(KEYS)}")
    keys = KEYS[by]
    numbers = [*SUMS, *MOVED] if by in OF_MOVES else [*SUMS]
    every = waits.assign(**dict.fromkeys(MOVED, np.int64(0)))
    if by in OF_MOVES and len(moves):
        every = pd.concat([every, *_moved(tables, moves, all_waits, keys)], ignore_index=True)
    groups = every.groupby(keys, observed=True, sort=False)
    table = groups[numbers].sum()
    table["longest"] = groups["longest"].max()
    if "blocks" not in keys:
        # A block can wait at several places, and for several objects at one.
        blocks = every[every["waiting"] > 0].drop_duplicates([*keys, *(key for key in BLOCKS if key not in keys)])
        waiting = blocks.groupby(keys, observed=True, sort=False)["waiting"].sum()
        table["blocks"] = waiting.reindex(table.index, fill_value=0)
    names = [name for name in ("kernel", "issuer", "owner", "awaited", "stored_by", "known_by") if name not in keys]
    for name in names:
        several = _least_known if name == "known_by" else listed if name in _LISTS else together
        table[name] = shared(every, keys, name, several).reindex(table.index, fill_value="").astype("str")
    table = table.reset_index()
    if by == "site":
        own = tables.sites.loc[table["site"].to_numpy()].reset_index(drop=True)
        table = table.assign(**{name: own[name] for name in ("file", "line", "sass")})
    first = [*keys, *(name for name in ("file", "line", "sass") if name in table and name not in keys), *names]
    rest = [*SUMS, "longest", *([] if "blocks" in keys else ["blocks"]), *numbers[len(SUMS) :]]
    most = ["waited", *numbers[len(SUMS) + 1 :]]
    order = [*most, *keys]
    return table[[*first, *rest]].sort_values(order, ascending=[name not in most for name in order], ignore_index=True)


def _moved(tables: Tables, moves: pd.DataFrame, waits: pd.DataFrame, keys: list[str]) -> list[pd.DataFrame]:
    """As rows of waits that are none: how long each block moved, and whose memory it accessed."""
    names = list(dict.fromkeys([*keys, "kernel", "issuer"]))
    none = dict.fromkeys([*SUMS, "longest", "waiting"], np.int64(0)) | dict.fromkeys(("awaited", "stored_by"), "")
    moved = moving.of_blocks(moves, waits, names).assign(owner="", known_by="", **none)
    check_sums("moves", tables.sources, [[moved["moving"].to_numpy()]])
    owners = moves.drop_duplicates([*names, "owner"]).assign(known_by="", **none, **dict.fromkeys(MOVED, np.int64(0)))
    return [moved, owners]


def named(tables: Tables, waits: pd.DataFrame, stores: Stores, label: Callable[[int], str]) -> pd.DataFrame:
    """Waits with the names of kernels, lines and places, and of who stores to what they poll: GPUs (``awaited``) and
    lines (``stored_by``). ``waiting``: how many blocks."""
    launches = tables.launch_places.of(waits["launch"].to_numpy())
    sites = tables.site_places.of(waits["site"].to_numpy())
    places = {int(place): label(int(place)) for name in ("issuer", "owner") for place in waits[name].unique()}
    every = waits.rename(columns={"block": "first_block"}).assign(
        kernel=tables.launches["kernel"].to_numpy(dtype=object)[launches],
        file=tables.sites["file"].to_numpy(dtype=object)[sites],
        line=tables.sites["line"].to_numpy()[sites],
        waiting=waits["blocks"].to_numpy(),
    )
    who = _who(tables, stores, label)
    every = every.merge(who, on=TARGET, how="left")
    for name in ("awaited", "stored_by", "known_by"):
        every[name] = every[name].astype("object").where(every[name].notna(), "")
    for name in ("issuer", "owner"):
        every[name] = [places[place] for place in every[name].tolist()]
    return every


def _who(tables: Tables, stores: Stores, label: Callable[[int], str]) -> pd.DataFrame:
    """TARGET awaited stored_by known_by: a row a target."""
    numbers = stores.sources["store"].unique()
    sites = tables.sites.loc[numbers]
    places = {
        number: line_of(file, line, kernel)
        for number, file, line, kernel in zip(
            numbers.tolist(), sites["file"], sites["line"].tolist(), sites["kernel"], strict=True
        )
    }
    gpus = {place: label(place) for place in stores.sources["issuer"].unique().tolist()}
    said = stores.sources.assign(
        awaited=stores.sources["issuer"].map(gpus), stored_by=stores.sources["store"].map(places)
    )
    table = stores.targets[[*TARGET, "known_by"]]
    for name in ("awaited", "stored_by"):
        names = shared(said, ["source"], name, together)
        table = table.assign(**{name: names.reindex(stores.targets["source"], fill_value="").to_numpy()})
    return table


def _least_known(levels: Iterable[str]) -> str:
    known = [KNOWN_BY.index(level) for level in levels if level]
    return KNOWN_BY[max(known)] if known else ""
