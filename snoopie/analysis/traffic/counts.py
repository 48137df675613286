"""Counts → who moved how much, by pair of places, kernel, line, site, operation or launch.

Every analysis is ``summarise(block, keys)`` → a small table, and ``merge(tables, keys)``, which is associative: one
core, many cores or many processes give the same sums. All sums are 64-bit integers, exact.

Where only some launches were measured, each stands for several: the column ``weight`` says for how many. It stays a key
of every sum, and `settled` scales and rounds at the very end, so that the order of adding does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from snoopie.analysis import sums
from snoopie.analysis.traffic.reading import Reading, ends
from snoopie.analysis.traffic.values import VALUES as VALUES
from snoopie.analysis.traffic.values import Value as Value
from snoopie.joined.gpus import label
from snoopie.joined.tables import Tables
from snoopie.trace.tables import Ints

# What a (site, kernel, issuer, owner) tells.
CODE = frozenset(["site", "kernel", "issuer", "owner", "operation", "file", "line"])
# What is said of an instruction, and is the same in all processes that have it: its column in the table of sites.
_OF_SITE = {"function": "kernel"} | {
    name: name for name in ("file", "line", "offset", "opcode", "operation", "width", "wire_unit", "sass")
}


def joined(tables: Tables) -> pd.DataFrame:
    """The counts with the names of their launches and sites: one row a (launch, site, owner, object).

    Adds the categorical columns kernel (the kernel launched), operation, file, and the integer line (0 unknown). With
    ``weight`` where launches were sampled.
    """
    counts = tables.counts
    kernels = _kernels(tables, counts["launch"].to_numpy())
    return _at_sites(tables, weighted(tables, counts).assign(kernel=kernels))


def by_code(tables: Tables, traffic: pd.DataFrame) -> pd.DataFrame:
    """The sums of `joined`, or of rows of it, by CODE: over launches and objects, of which there are many."""
    return _at_sites(tables, summarise(traffic, ["site", "kernel", "issuer", "owner"]))


def _at_sites(tables: Tables, table: pd.DataFrame) -> pd.DataFrame:
    """With the columns operation, file and line of each row's site."""
    rows = tables.site_places.of(table["site"].to_numpy())
    return table.assign(
        operation=_category(tables.sites["operation"], rows),
        file=_category(tables.sites["file"], rows),
        line=tables.sites["line"].to_numpy()[rows],
    )


def weighted(tables: Tables, counts: pd.DataFrame) -> pd.DataFrame:
    """Rows with a launch, with the column ``weight`` where launches were sampled."""
    if (weights := tables.launch_weights) is None:
        return counts
    return counts.assign(weight=weights[tables.launch_places.of(counts["launch"].to_numpy())])


def _kernels(tables: Tables, launches: Ints) -> pd.Series[Any]:
    # What other tools recorded has launches by the million, and no counts.
    if not len(launches):
        return pd.Series(pd.Categorical([], categories=pd.Index([], dtype="str")))
    return _category(tables.launches["kernel"], tables.launch_places.of(launches))


def _category(names: pd.Series[str], rows: Ints) -> pd.Series[Any]:
    """``names`` at ``rows`` as a categorical column: the codes are taken, no string is touched twice."""
    codes, present = pd.factorize(names)
    return pd.Series(pd.Categorical.from_codes(codes[rows], categories=pd.Index(present, dtype="str")))


def summarise(block: pd.DataFrame, keys: Sequence[str], values: Sequence[str] = VALUES) -> pd.DataFrame:
    """The sums of ``values`` for each combination of the keys, and of weight if there is one: keys first."""
    return sums.by(block, [*keys, *_weight(block)], values)


def settled(block: pd.DataFrame, keys: Sequence[str], values: Sequence[str] = VALUES) -> pd.DataFrame:
    """The sums of ``values`` for each combination of the keys, as integers: what was measured, scaled by its weight."""
    table = summarise(block, keys, values)
    if "weight" not in table:
        return table
    # The same order of adding, whatever the order of the rows.
    table = table.sort_values("weight", kind="stable", ignore_index=True)
    estimated = table["weight"] != 1
    for value in values:
        table[f"estimate of {value}"] = (table[value] * table["weight"]).where(estimated, 0.0)
        table[value] = table[value].where(~estimated, 0)
    columns = [*values, *(f"estimate of {value}" for value in values)]
    table = sums.by(table, keys, columns)
    for value in values:
        table[value] += table.pop(f"estimate of {value}").round().astype("int64")
    return table


def merge(tables: Iterable[pd.DataFrame], keys: Sequence[str]) -> pd.DataFrame:
    """Adds up what `summarise` made of several blocks; the order does not matter for the sums."""
    return summarise(pd.concat(list(tables), ignore_index=True), keys)


def ranked(table: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Keys, VALUES and wire_efficiency (bytes / wire_bytes, NaN where nothing went over a wire), most bytes first."""
    result = plain(table[[*keys, *(column for column in table.columns if column not in keys)]])
    result["wire_efficiency"] = efficiency(result)
    # Ties in the order of the keys: the same trace always gives the same table.
    return result.sort_values(["bytes", *keys], ascending=[False, *[True] * len(keys)], ignore_index=True)


def plain(table: pd.DataFrame) -> pd.DataFrame:
    """A copy with names as plain strings: a categorical carries every name of the trace along."""
    names = [name for name in table.columns if isinstance(table[name].dtype, pd.CategoricalDtype)]
    return table.assign(**{name: table[name].astype("str") for name in names})


def efficiency(table: pd.DataFrame) -> pd.Series[float]:
    """bytes / wire_bytes of each row, NaN where wire_bytes is 0."""
    wire = table["wire_bytes"].astype("float64")
    return table["bytes"] / wire.where(wire > 0)


def directed(traffic: pd.DataFrame, reading: Reading, *keys: str, values: Sequence[str] = VALUES) -> pd.DataFrame:
    """The sums of values for each pair of places: columns keys, issuer, owner ("issued") or from, to ("flow").

    Data flows issuer → owner on stores and reductions, owner → issuer on loads. An atomic returns a value: it counts
    once in each direction, so the sums of a flow can exceed those of the accesses.
    """
    first, second = ends(reading)
    if reading == "issued":
        return settled(traffic, [*keys, first, second], values)
    pairs = summarise(traffic, [*keys, "issuer", "owner", "operation"], values)
    out = pairs[pairs["operation"] != "load"].rename(columns={"issuer": first, "owner": second})
    back = pairs[pairs["operation"].isin(["load", "atomic"])].rename(columns={"owner": first, "issuer": second})
    return settled(pd.concat([out, back], ignore_index=True), [*keys, first, second], values)


def by_kernel(traffic: pd.DataFrame) -> pd.DataFrame:
    """kernel, launches (those with traffic), measured (of these), VALUES, wire_efficiency."""
    return _with_launches(traffic, ["kernel"])


def by_process(traffic: pd.DataFrame) -> pd.DataFrame:
    """process, launches (those with traffic), measured (of these), VALUES, wire_efficiency.

    ``traffic`` has the column process too.
    """
    return _with_launches(traffic, ["process"])


def by_stack(traffic: pd.DataFrame) -> pd.DataFrame:
    """stack (of the call that launched), kernel, launches (with traffic), measured (of these), VALUES, wire_efficiency.

    ``traffic`` has the column stack too.
    """
    return _with_launches(traffic, ["stack", "kernel"])


def _with_launches(traffic: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """`ranked`, with how many launches each row is of, and how many of these were measured, after the keys."""
    launches = traffic[[*keys, "launch", *_weight(traffic)]].drop_duplicates().assign(launches=1, measured=1)
    every = settled(launches, keys, ["launches"])
    measured = sums.by(launches, keys, ["measured"])
    table = settled(traffic, keys).merge(every, on=keys, how="left").merge(measured, on=keys, how="left")
    return ranked(table[[*keys, "launches", "measured", *VALUES]], keys)


def _weight(table: pd.DataFrame) -> list[str]:
    return ["weight"] if "weight" in table else []


def by_file(traffic: pd.DataFrame) -> pd.DataFrame:
    """file ("" where unknown), lines (those with traffic), VALUES, wire_efficiency."""
    lines = traffic[["file", "line"]].drop_duplicates().assign(lines=1)
    table = settled(traffic, ["file"]).merge(
        lines.groupby("file", observed=True)["lines"].sum().reset_index(), on="file"
    )
    return ranked(table[["file", "lines", *VALUES]], ["file"])


def by_line(traffic: pd.DataFrame) -> pd.DataFrame:
    """file, line ("" and 0 where unknown), kernel (names joined by ", "), VALUES, wire_efficiency."""
    return _with_kernels(settled(traffic, ["file", "line"]), traffic, ["file", "line"])


def by_site(traffic: pd.DataFrame, sites: pd.DataFrame, *, merged: bool = False) -> pd.DataFrame:
    """site, kernel (those launched), function (that holds it), file, line, offset, opcode, operation, width, wire_unit,
    sass, …; ``merged``: the same instruction of several processes is one row, which has the number of the first."""
    if merged:
        traffic = traffic.assign(site=_first_same(traffic["site"], sites))
    table = _with_kernels(settled(traffic, ["site"]), traffic, ["site"])
    own = sites.loc[table["site"].to_numpy()].reset_index(drop=True)
    for place, (name, column) in enumerate(_OF_SITE.items(), start=2):
        table.insert(place, name, own[column])
    return table


def _first_same(numbers: pd.Series[int], sites: pd.DataFrame) -> Ints:
    """The number of the first site that is the same instruction, for each of some sites with traffic."""
    own = sites.loc[numbers.unique(), list(_OF_SITE.values())].reset_index()
    first = own.groupby(list(_OF_SITE.values()), sort=False)["site"].transform("min").set_axis(own["site"])
    found: Ints = first.reindex(numbers).to_numpy()
    return found


def by_operation(traffic: pd.DataFrame) -> pd.DataFrame:
    """operation, VALUES, wire_efficiency."""
    return ranked(settled(traffic, ["operation"]), ["operation"])


def by_launch(traffic: pd.DataFrame, launches: pd.DataFrame) -> pd.DataFrame:
    """launch, kernel, issuer (label), process, time (ns), VALUES, wire_efficiency. Only launches with traffic.

    Each stands for itself alone: nothing is scaled.
    """
    table = ranked(settled(traffic.drop(columns=_weight(traffic)), ["launch"]), ["launch"])
    own = launches.loc[table["launch"].to_numpy()].reset_index(drop=True)
    issuer = pd.Series([label(place) for place in own["gpu"]], dtype="str")
    for place, (name, column) in enumerate(
        (("kernel", own["kernel"]), ("issuer", issuer), ("process", own["process"]), ("time", own["time"])), start=1
    ):
        table.insert(place, name, column)
    return table


def _with_kernels(table: pd.DataFrame, traffic: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """`ranked`, with the names of the kernels of each row after the keys."""
    pairs = traffic[[*keys, "kernel"]].drop_duplicates()
    pairs = pairs.assign(kernel=pairs["kernel"].astype("str")).sort_values("kernel")
    names = pairs.groupby(list(keys), observed=True, sort=False)["kernel"].agg(", ".join).reset_index()
    result = ranked(table.merge(names, on=list(keys), how="left"), keys)
    result.insert(len(keys), "kernel", result.pop("kernel"))
    return result


def totals(traffic: pd.DataFrame) -> dict[str, int]:
    """The sums of VALUES over all rows."""
    every = settled(traffic.assign(all=0), ["all"])
    return {value: int(every[value].sum()) for value in VALUES}
