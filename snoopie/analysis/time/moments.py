"""When bytes moved within launches, from the times of single accesses; and what else ran on the GPU meanwhile.

Sums alone are exact, but say nothing of when. Where not every access was recorded, each record stands for its share of
what its launch, instruction and owner moved; where none was, all that is known is the launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.analysis.selection import Selection
from snoopie.analysis.traffic import accesses, counts
from snoopie.analysis.traffic.reading import Reading, ends
from snoopie.joined.tables import Tables
from snoopie.trace.container import Block
from snoopie.trace.tables import Ints

# ns. Accesses of one launch, instruction and owner within it are one: what happens in it cannot be told apart.
STEP = 1000
_GROUP = ["launch", "site", "owner"]
_AMOUNTS = ["bytes", "wire_bytes"]


def read(tables: Tables, selected: Selection | None, process: int, block: Block) -> pd.DataFrame | None:
    """launch site owner step (of the GPU's clock), bytes, first last (ns by that clock): the recorded accesses of a
    block."""
    some = accesses.selected_block(tables, selected, process, block)
    if some is None:
        return None
    table = some.table
    time = table["time"].to_numpy().astype(np.int64)
    rows = table[["launch", "site", "owner", "bytes"]].assign(step=time // STEP, first=time, last=time)
    return _added([rows])


def merged(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """What `read` made of several blocks."""
    names = [*_GROUP, "step", "bytes", "first", "last"]
    return _added([pd.DataFrame({name: np.empty(0, np.int64) for name in names}), *parts])


def _added(parts: list[pd.DataFrame]) -> pd.DataFrame:
    groups = pd.concat(parts, ignore_index=True).groupby([*_GROUP, "step"], sort=True)
    return groups.agg(bytes=("bytes", "sum"), first=("first", "min"), last=("last", "max")).reset_index()


def extents(recorded: pd.DataFrame) -> pd.DataFrame:
    """launch | first last (ns by the GPU's clock), of `merged`."""
    return recorded.groupby("launch").agg(first=("first", "min"), last=("last", "max"))


def placed(recorded: pd.DataFrame, traffic: pd.DataFrame, clock: pd.DataFrame, when: pd.DataFrame) -> pd.DataFrame:
    """launch site issuer owner operation step start end (host ns) bytes wire_bytes recorded (bytes, unscaled) error.

    ``traffic`` has the exact sums, never scaled by launches; ``clock`` is `clocks.of_launches`. ``when`` is the
    `timeline`: nothing lies beyond a launch whose time is known. The bytes of each sum are divided among the times of
    its records, in whole numbers that add up to it.
    """
    exact = counts.summarise(
        traffic.drop(columns="weight", errors="ignore"), [*_GROUP, "issuer", "operation"], _AMOUNTS
    )
    # A bulk access of no bytes moved nothing, and has no share of what others moved.
    known = recorded["launch"].isin(clock.index) & (recorded["bytes"] > 0)
    rows = recorded[known].rename(columns={"bytes": "recorded"})
    rows = rows.merge(exact, on=_GROUP, how="inner", suffixes=("", " in all"))
    clock = clock.loc[rows["launch"]]
    groups = rows.groupby(_GROUP, sort=False)
    until, whole = groups["recorded"].cumsum().to_numpy(), groups["recorded"].transform("sum").to_numpy()
    before = until - rows["recorded"].to_numpy()
    shares = {name: _share(rows[name].to_numpy(), before, until, whole) for name in _AMOUNTS}
    ahead = clock["ahead"].to_numpy()
    start, end = rows["first"].to_numpy() - ahead, rows["last"].to_numpy() + 1 - ahead
    own = when.loc[rows["launch"]]
    began, ended, spanned = (own[name].to_numpy() for name in ("start", "end", "spanned"))
    start = np.where(spanned, np.clip(start, began, np.maximum(ended - 1, began)), start)
    end = np.where(spanned, np.clip(end, start, np.maximum(ended, start)), end)
    table = rows[[*_GROUP, "issuer", "operation", "step", "recorded"]].assign(start=start, end=end, **shares)
    return table.assign(error=clock["error"].to_numpy())


def _share(amounts: Ints, before: Ints, until: Ints, whole: Ints) -> Ints:
    """What lies between two parts of a whole, of amounts that are spread over it: neighbours add up exactly."""
    if not len(amounts):
        return amounts.astype(np.int64)
    size = np.maximum(whole, 1).astype(np.float64)
    low, high = (np.rint(amounts * (part / size)).astype(np.int64) for part in (before, until))
    share: Ints = np.where(until == whole, amounts, high) - low
    return share


def unplaced(traffic: pd.DataFrame, placed: pd.DataFrame) -> pd.DataFrame:
    """The rows of ``traffic`` of which no record has a time: of these only the sums are known."""
    known = pd.MultiIndex.from_frame(placed[_GROUP].drop_duplicates())
    return traffic[~pd.MultiIndex.from_frame(traffic[_GROUP]).isin(known)]


def moves(placed: pd.DataFrame, reading: Reading) -> pd.DataFrame:
    """issuer owner (or from, to) start end bytes, as `timeline.moves`."""
    table = counts.directed(placed, reading, "start", "end", values=["bytes"])
    return table[[*ends(reading), "start", "end", "bytes"]]


def by_line(moves: pd.DataFrame, sites: pd.DataFrame, column: str = "site") -> tuple[pd.DataFrame, pd.Index[str]]:
    """The moves of sites as those of the lines that they are on, numbered by their place in what they are called: a
    file's name and a line, or the kernel of what has none."""
    own = sites.loc[moves[column]]
    names = own["file"].astype("str").str.rsplit("/", n=1).str[-1] + ":" + own["line"].astype("str")
    names = names.where(own["line"] > 0, own["kernel"].astype("str"))
    codes, known = pd.factorize(names.to_numpy())
    table = pd.DataFrame({"line": codes.astype(np.int64), "none": np.int64(0)})
    return table.assign(**{name: moves[name].to_numpy() for name in ("start", "end", "bytes")}), pd.Index(known)


def overlap(
    placed: pd.DataFrame, when: pd.DataFrame, capacity: Callable[[pd.DataFrame], NDArray[np.float64]]
) -> pd.DataFrame:
    """launch kernel issuer owner bytes moving (ns) began ended (ns after the launch's start) ran (ns) spread densest
    (wire bytes a second) capacity capacity_share under under_least under_most (bytes) error (ns): a row a launch and
    pair, most bytes first.

    ``moving``: the steps of a µs in which it moved something; ``spread``: their share of the launch. ``under``: what
    moved while another launch ran on the same GPU, at least and at most by how well the clocks are known.
    """
    keys = ["launch", "issuer", "owner"]
    table = placed.assign(**_beneath(placed, when))
    steps = table.groupby([*keys, "step"])["wire_bytes"].sum()
    by_step = steps.groupby(keys).agg(steps="size", most_in_step="max")
    sums = table.groupby(keys).agg(
        bytes=("bytes", "sum"), start=("start", "min"), end=("end", "max"), error=("error", "max"),
        under=("under", "sum"), under_least=("under_least", "sum"), under_most=("under_most", "sum"),
    )  # fmt: skip
    result = sums.join(by_step).reset_index()
    own = when.loc[result["launch"]]
    began, ran = own["start"].to_numpy(), (own["end"] - own["start"]).to_numpy()
    moving = np.minimum(result["steps"] * STEP, np.maximum(ran, 1))
    result = result.assign(
        kernel=own["kernel"].astype("str").to_numpy(), moving=moving, began=result["start"] - began,
        ended=result["end"] - began, ran=ran, spread=moving / np.maximum(ran, 1),
        densest=result["most_in_step"] * (1e9 / STEP), capacity=capacity(result[["issuer", "owner"]]),
    )  # fmt: skip
    result["capacity_share"] = result["densest"] / result["capacity"]
    order = ["launch", "kernel", "issuer", "owner", "bytes", "moving", "began", "ended", "ran", "spread", "densest"]
    order += ["capacity", "capacity_share", "under", "under_least", "under_most", "error"]
    return result.sort_values(["bytes", *keys], ascending=[False, True, True, True], ignore_index=True)[order]


def by_kernel(rows: pd.DataFrame) -> pd.DataFrame:
    """kernel issuer owner launches bytes moving ran spread densest capacity capacity_share under under_least under_most
    error: the rows of `overlap` added up, most bytes first."""
    keys = ["kernel", "issuer", "owner"]
    table = rows.groupby(keys).agg(
        launches=("launch", "nunique"), bytes=("bytes", "sum"), moving=("moving", "sum"), ran=("ran", "sum"),
        densest=("densest", "max"), capacity=("capacity", "first"), under=("under", "sum"),
        under_least=("under_least", "sum"), under_most=("under_most", "sum"), error=("error", "max"),
    ).reset_index()  # fmt: skip
    table.insert(7, "spread", table["moving"] / table["ran"].clip(lower=1))
    table.insert(10, "capacity_share", table["densest"] / table["capacity"])
    return table.sort_values(["bytes", *keys], ascending=[False, True, True, True], ignore_index=True)


def _beneath(placed: pd.DataFrame, when: pd.DataFrame) -> dict[str, Ints]:
    """The bytes of each row that moved while another launch ran on its GPU: as the clocks say, and at least and at most
    as far as they can be wrong."""
    amounts = placed["bytes"].to_numpy()
    result = {name: np.zeros(len(placed), np.int64) for name in ("under", "under_least", "under_most")}
    own = when.loc[placed["launch"]]
    gpus = own["gpu"].to_numpy()
    ran = when[when["spanned"]]
    for gpu, launches in ran.groupby("gpu"):
        rows = np.flatnonzero(gpus == gpu)
        if not len(rows):
            continue
        middle = (placed["start"].to_numpy()[rows] + placed["end"].to_numpy()[rows]) // 2
        error = placed["error"].to_numpy()[rows]
        begin, end = np.sort(launches["start"].to_numpy()), np.sort(launches["end"].to_numpy())
        mine = own["start"].to_numpy()[rows], own["end"].to_numpy()[rows]
        # A launch whose time is not known is not among those that ran.
        spanned = own["spanned"].to_numpy()[rows]
        for name, wider in (("under", 0), ("under_least", -1), ("under_most", 1)):
            itself = _inside(*mine, middle, wider * error) * spanned
            beside = _covering(begin, end, middle, wider * error) - itself
            result[name][rows] = np.where(beside > 0, amounts[rows], 0)
    return result


def _covering(begin: Ints, end: Ints, times: Ints, wider: Ints) -> NDArray[np.int64]:
    """How many of some intervals hold each time, if they were so much longer at each end."""
    begun = np.searchsorted(begin, times + wider, "right")
    ended = np.searchsorted(end, times - wider, "right")
    # Of narrower ones, those that end before they begin hold nothing: they count below nought together with others.
    held: NDArray[np.int64] = np.maximum(begun - ended, 0)
    return held


def _inside(begin: Ints, end: Ints, times: Ints, wider: Ints) -> NDArray[np.int64]:
    """Whether each time lies in its own interval, likewise: 1 or 0."""
    return ((begin <= times + wider) & (end > times - wider)).astype(np.int64)
