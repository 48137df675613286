"""Traffic by object: which allocation was touched, where, by whom, and how often the same bytes.

Counts name the object where its pages are its own. What they do not tell apart is divided by the records: exactly where
every access was recorded, else as an estimate, in proportion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.analysis.objects.lookup import NOTHING, Addresses, Lookup, Lookups, ObjectLookups
from snoopie.analysis.selection import Selection
from snoopie.analysis.traffic import accesses
from snoopie.analysis.traffic import counts as _counts
from snoopie.joined.records import RecordBlock, lowest_lane
from snoopie.joined.tables import Tables
from snoopie.trace.container import Block
from snoopie.trace.tables import Ints

# What divides the counts, and what is summed of records.
_PLACE = ["launch", "site", "owner"]
_RECORDED = ["accesses", "lanes", "bytes"]


# --- records, block by block ---


def touched(
    tables: Tables, selected: Selection | None, process: int, block: Block, *, lookups: Lookups | None = None
) -> pd.DataFrame | None:
    """launch site owner object accesses lanes bytes of the recorded accesses in a block; object 0: memory of none.

    An access that reaches several objects is an access of each. ``lookups``: of what else than the trace's objects.
    """

    def touched_by(some: RecordBlock) -> pd.DataFrame:
        whole, parts = placed(tables, some, lookups)
        rows = [whole.assign(accesses=1), once_an_object(parts)]
        if some.shape == "bulk":
            # Counts have units of the width of these, which one thread issues.
            widths = [np.maximum(tables.widths(part["site"].to_numpy()), 1) for part in rows]
            rows = [part.assign(lanes=part["bytes"] // width) for part, width in zip(rows, widths, strict=True)]
        return merged(rows)

    return accesses.by_pieces(accesses.selected_block(tables, selected, process, block), touched_by, merged)


def merged(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The sums of what `touched` made of several blocks."""
    keys = [*_PLACE, "object"]
    none = pd.DataFrame({name: np.empty(0, np.int64) for name in [*keys, *_RECORDED]})
    every = pd.concat([none, *(table[none.columns] for table in tables)], ignore_index=True)
    return every.groupby(keys, sort=False)[_RECORDED].sum().reset_index()


def once_an_object(parts: pd.DataFrame) -> pd.DataFrame:
    """Lane accesses, of which the first of each record on each object has the column accesses 1, the others 0."""
    return parts.assign(accesses=(~parts.duplicated(["record", "object"])).astype(np.int64))


def placed(tables: Tables, block: RecordBlock, lookups: Lookups | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The accesses of a block with their object: those within one as they are, of the others each lane.

    Columns: record (the row) launch site issuer owner object first last (addresses) lanes bytes.
    """
    table = block.table
    launches = table["launch"].to_numpy().astype(np.int64)
    times = tables.launches["time"].to_numpy()[tables.launch_places.of(launches)]
    objects = of_block(tables, table, lookups)
    first, last = extent(tables, block)
    object_, within = objects.of_spans(first, last, times)
    whole = pd.DataFrame(
        {
            "record": np.arange(len(table)),
            "launch": launches,
            "site": table["site"].to_numpy().astype(np.int64),
            "issuer": table["issuer"].to_numpy().astype(np.int64),
            "owner": table["owner"].to_numpy().astype(np.int64),
            "object": object_,
            "first": first,
            "last": last,
            "lanes": table["lanes"].to_numpy().astype(np.int64),
            "bytes": table["bytes"].to_numpy(),
        }
    )
    return whole[within], lanes_of(tables, block, ~within, lookups)


def lanes_of(
    tables: Tables, block: RecordBlock, rows: NDArray[np.bool_], lookups: Lookups | None = None
) -> pd.DataFrame:
    """The lane accesses of some rows of a block, with the columns of `placed`; a bulk access stays one."""
    some = block.part(rows)
    lanes = accesses.expand(some, tables.widths(some.table["site"].to_numpy()))
    times = tables.launches["time"].to_numpy()[tables.launch_places.of(lanes["launch"].to_numpy().astype(np.int64))]
    objects = of_block(tables, block.table, lookups)
    counted = np.ones(len(some.table), np.int64) if some.shape == "bulk" else some.table["lanes"].to_numpy()
    first = lanes["address"].to_numpy()
    return pd.DataFrame(
        {
            "record": np.repeat(np.flatnonzero(rows), counted),
            **{name: lanes[name].to_numpy().astype(np.int64) for name in ("launch", "site", "issuer", "owner")},
            "object": objects.find(first, times),
            "first": first,
            "last": first + (np.maximum(lanes["width"].to_numpy(), 1) - 1).astype(np.uint64),
            "lanes": np.int64(1),
            "bytes": lanes["width"].to_numpy(),
        }
    )


def of_block(tables: Tables, table: pd.DataFrame, lookups: Lookups | None = None) -> Lookup:
    """The objects, or what ``lookups`` has instead, of the process that a block's table is of."""
    every = ObjectLookups(tables) if lookups is None else lookups
    return every.get(int(table["process"].iloc[0]), NOTHING)


def extent(tables: Tables, block: RecordBlock) -> tuple[Addresses, Addresses]:
    """The lowest and the highest address that each record touches."""
    table = block.table
    base, mask = table["base"].to_numpy(), table["mask"].to_numpy()
    if block.shape == "bulk":
        return base, base + (np.maximum(table["bytes"].to_numpy(), 1) - 1).astype(np.uint64)
    width = (np.maximum(tables.widths(table["site"].to_numpy()), 1) - 1).astype(np.uint64)
    if block.addresses is not None:
        active = (mask[:, None] >> np.arange(32, dtype=np.uint32)) & 1 > 0
        low = np.where(active, block.addresses, np.uint64(2**64 - 1)).min(axis=1)
        return low, np.where(active, block.addresses, np.uint64(0)).max(axis=1) + width
    stride = table["stride"].to_numpy()
    span = np.abs(stride) * (_highest_lane(mask) - lowest_lane(mask))
    low = np.where(stride < 0, base - span.astype(np.uint64), base)
    return low, low + span.astype(np.uint64) + width


def _highest_lane(mask: NDArray[np.uint32]) -> Ints:
    # Of an integer below 2^53 frexp gives the number of bits.
    return np.maximum(np.frexp(mask.astype(np.float64))[1].astype(np.int64) - 1, 0)


# --- where in an object ---


def offsets(
    tables: Tables,
    selected: Selection | None,
    process: int,
    block: Block,
    *,
    object: int,
    bins: int,
    limits: tuple[int, int],
) -> pd.DataFrame | None:
    """offset site issuer accesses lanes bytes of the recorded accesses of a range of one object's bytes, in a block."""
    objects = tables.objects
    own = np.flatnonzero(objects.index.to_numpy() == object)
    if not len(own) or objects["process"].to_numpy()[own[0]] != tables.number(process):
        return None
    start, stop = limits
    step = max(-(-(stop - start) // bins), 1)
    address = objects["address"].to_numpy()[own[0]]

    def offsets_of(some: RecordBlock) -> pd.DataFrame:
        return _offsets(tables, some, object, int(address), (start, stop, step))

    some = accesses.selected_block(tables, selected, process, block)
    return accesses.by_pieces(some, offsets_of, _one_after_another)


def _one_after_another(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat(parts, ignore_index=True)


def _offsets(tables: Tables, some: RecordBlock, object: int, address: int, cells: tuple[int, int, int]) -> pd.DataFrame:
    """The same of some records. ``cells``: from where, to where, and by how many bytes."""
    start, stop, step = cells
    number = -(-(stop - start) // step)

    def places(column: pd.Series[int]) -> Ints:
        offset = (column.to_numpy() - address).astype(np.int64)
        # The last part can be shorter than the others.
        return np.where(offset < stop, (offset - start) // step, number)

    whole, parts = placed(tables, some)
    whole, parts = whole[whole["object"] == object], parts[parts["object"] == object]
    first, last = places(whole["first"]), places(whole["last"])
    inside = first == last
    apart = np.zeros(len(some.table), np.bool_)
    apart[whole["record"].to_numpy()[~inside]] = True
    lanes = pd.concat([parts, lanes_of(tables, some, apart)], ignore_index=True)
    lanes = lanes.assign(place=places(lanes["first"]))
    lanes["accesses"] = (~lanes.duplicated(["record", "place"])).astype(np.int64)
    rows = pd.concat([whole[inside].assign(place=first[inside], accesses=1), lanes], ignore_index=True)
    rows = rows[rows["place"].between(0, number - 1)]
    rows = rows.assign(offset=start + step * rows["place"])
    table: pd.DataFrame = rows.groupby(["offset", "site", "issuer"], sort=False)[_RECORDED].sum().reset_index()
    return table


def merged_offsets(tables: Iterable[pd.DataFrame], sites: pd.DataFrame, label: Callable[[int], str]) -> pd.DataFrame:
    """offset issuer (label) operation accesses lanes bytes: the sums of what `offsets` made of several blocks."""
    none = pd.DataFrame({name: np.empty(0, np.int64) for name in ["offset", "site", "issuer", *_RECORDED]})
    every = pd.concat([none, *tables], ignore_index=True)
    every = every.assign(operation=sites["operation"].reindex(every["site"].to_numpy()).to_numpy())
    table = every.groupby(["offset", "issuer", "operation"])[_RECORDED].sum().reset_index()
    return table.assign(issuer=pd.Series([label(place) for place in table["issuer"]], dtype="str"))


# --- by object ---


def divided(counts: pd.DataFrame, recorded: pd.DataFrame) -> pd.DataFrame:
    """The counts (launch site owner object, _counts.VALUES and perhaps more) with the objects that the records tell.

    Adds ``exact``: False where accesses were shared out in proportion to the records of some. What the records do not
    tell keeps the object 0. Sums over objects stay those of the counts.
    """
    values = list(_counts.VALUES)
    attributed = counts["object"].to_numpy() > 0
    known = counts[attributed].assign(exact=True)
    rest = counts[~attributed]
    if rest.empty or recorded.empty:
        return pd.concat([known, rest.assign(exact=True)], ignore_index=True)
    # Records of objects that the counts name are not of the rest.
    named = pd.MultiIndex.from_frame(known[[*_PLACE, "object"]])
    recorded = recorded[~pd.MultiIndex.from_frame(recorded[[*_PLACE, "object"]]).isin(named)]
    rest = rest.assign(row=np.arange(len(rest)))
    shares = rest.drop(columns=["object", *_RECORDED]).merge(recorded, on=_PLACE)
    seen = shares.groupby("row")[_RECORDED].transform("sum")
    own = rest.set_index("row")[values].loc[shares["row"].to_numpy()].reset_index(drop=True)
    complete = (seen["accesses"].to_numpy() == own["accesses"].to_numpy()) & (
        seen["lanes"].to_numpy() == own["lanes"].to_numpy()
    )
    shares["exact"] = complete
    said = {value: shares[value].to_numpy() for value in _RECORDED}
    for value in values:
        basis = "bytes" if value in ("wire_units", "wire_bytes") else value
        part = said[basis] / np.maximum(seen[basis].to_numpy(), 1) * own[value].to_numpy()
        shares[value] = np.where(complete, said.get(value, part), part)
    # Rounded so that each row's sum stays the counts': what is left over goes to the largest share.
    shares[values] = _rounded(shares, own, values)
    left = rest[~np.isin(rest["row"].to_numpy(), shares["row"].to_numpy())].assign(exact=True)
    return pd.concat([known, shares.drop(columns="row"), left.drop(columns="row")], ignore_index=True)


def _rounded(shares: pd.DataFrame, own: pd.DataFrame, values: Sequence[str]) -> pd.DataFrame:
    whole = shares[values].round().astype(np.int64)
    for value in values:
        left = own[value].to_numpy() - whole.groupby(shares["row"])[value].transform("sum").to_numpy()
        largest = shares.groupby("row")[value].transform("idxmax").to_numpy() == shares.index.to_numpy()
        whole[value] += np.where(largest, left, 0)
    return whole


SUMS = [*_counts.VALUES, "wire_efficiency", "exact", "copied_in", "copied_out"]


def ranked(divided_counts: pd.DataFrame, copied: pd.DataFrame) -> pd.DataFrame:
    """object and SUMS of what `divided` and `copied` say: most bytes first, copies included."""
    table = _beside([_counts.settled(divided_counts, ["object"]).set_index("object"), copied.set_index("object")])
    inexact = divided_counts.loc[~divided_counts["exact"].to_numpy(bool), "object"].unique()
    table["exact"] = ~np.isin(table["object"].to_numpy(), inexact)
    table["wire_efficiency"] = _counts.efficiency(table)
    moved = table["bytes"] + table["copied_in"] + table["copied_out"]
    order = np.lexsort((table["object"].to_numpy(), -moved.to_numpy()))
    return table.iloc[order].reset_index(drop=True)[["object", *SUMS]]


_NUMBERS = {"size": "bytes", "stack": "stack", "allocated": "allocated", "freed": "freed"}


def by_object(
    divided_counts: pd.DataFrame, copied: pd.DataFrame, objects: pd.DataFrame, label: Callable[[int], str]
) -> pd.DataFrame:
    """object owner (label) kind size (bytes) call stack allocated freed, _counts.VALUES, wire_efficiency, exact,
    copied_in copied_out (bytes by copies of the host). Most bytes first; object 0 is all that no object is known of.
    """
    table = ranked(divided_counts, copied)
    own = objects.reindex(table["object"].to_numpy())
    known = own["kind"].notna().to_numpy()
    table = table.assign(
        owner=pd.Series(
            [label(int(place)) if there else "" for place, there in zip(own["owner"], known, strict=True)], dtype="str"
        ),
        kind=own["kind"].fillna("").astype("str").to_numpy(),
        call=own["call"].fillna("").astype("str").to_numpy(),
        **numbers(objects, table["object"], _NUMBERS),
    )
    return table[["object", "owner", "kind", "size", "call", "stack", "allocated", "freed", *SUMS]]


def numbers(known: pd.DataFrame, ids: pd.Series[int], columns: Mapping[str, str]) -> dict[str, Ints]:
    """What is known of each id, 0 of others: new name → column. Not by way of floats, in which times are not exact."""
    found = ids.to_numpy()
    return {name: known[column].reindex(found, fill_value=0).to_numpy(np.int64) for name, column in columns.items()}


def by_object_alone(divided_counts: pd.DataFrame, objects: pd.DataFrame, label: Callable[[int], str]) -> pd.DataFrame:
    """`by_object` without copies."""
    none = pd.DataFrame({name: np.empty(0, np.int64) for name in ("object", "copied_in", "copied_out")})
    return by_object(divided_counts, none, objects, label).drop(columns=["copied_in", "copied_out"])


def copied(tables: Tables, copies: pd.DataFrame, lookups: Lookups | None = None) -> pd.DataFrame:
    """object copied_in copied_out: bytes that copies of the host wrote to each object, and read from it."""
    lookups = ObjectLookups(tables) if lookups is None else lookups
    sums = []
    for name, end in (("copied_in", "destination_address"), ("copied_out", "source_address")):
        found = np.zeros(len(copies), np.int64)
        process = copies["process"].to_numpy()
        for number in np.unique(process):
            rows = np.flatnonzero(process == number)
            addresses, times = copies[end].to_numpy()[rows], copies["start"].to_numpy()[rows]
            if int(number) in lookups:
                found[rows] = lookups[int(number)].find(addresses, times)
        kept = found > 0
        sums.append(copies.loc[kept, "bytes"].groupby(found[kept]).sum().to_frame(name))
    return _beside(sums)


def _beside(sums: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """object, and the columns of tables by object, 0 where one has it not: never floats, which are not exact."""
    every = sums[0].index.union(sums[1].index)
    parts = [part.reindex(every, fill_value=0).astype(np.int64) for part in sums]
    return pd.concat(parts, axis=1).rename_axis("object").reset_index()
