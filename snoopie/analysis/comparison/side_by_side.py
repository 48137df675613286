"""Two traces side by side: how much an amount was in A and in B, matched by the names of what it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from snoopie.errors import UsageError
from snoopie.words import columns, units

SIDES = ("A", "B")
# How many parts of a path's end are looked at, counted from the file's name.
_LONGEST = 64

Number = int | float | None


def side_by_side(
    a: pd.DataFrame, b: pd.DataFrame, keys: Sequence[str], value: str, carried: Sequence[str] = ()
) -> pd.DataFrame:
    """keys, ``carried``, a, b (the sums of ``value``), change (b - a), ratio (b / a, NaN where a is 0), only ("A" or
    "B" where the other has no such key, else ""); largest change first, in either direction.

    ``carried`` columns depend on the keys; where both have one, it is A's. UsageError where there is no such value.
    """
    # Whole numbers alone are sums: a share of something is not.
    amounts = [str(name) for name in a.columns if name not in (*keys, *carried) and a[name].dtype.kind == "i"]
    if value not in amounts:
        raise UsageError(f"there is no value {value!r} to compare here", f"use {_either(amounts)}")
    rows = pd.concat(
        [_of_side(a, "a", keys, value, carried), _of_side(b, "b", keys, value, carried)], ignore_index=True
    )
    sums = {name: (name, "sum") for name in ("a", "b", "in_a", "in_b")}
    first = {name: (name, "first") for name in carried}
    table = rows.groupby(list(keys), sort=False).agg(**first, **sums).reset_index()
    in_a, in_b = table.pop("in_a") > 0, table.pop("in_b") > 0
    table["change"] = table["b"] - table["a"]
    table["ratio"] = table["b"] / table["a"].where(table["a"] != 0).astype("float64")
    table["only"] = pd.Series(np.where(in_a & in_b, "", np.where(in_a, *SIDES)), table.index, dtype="str")
    # Ties by the larger amount, then in the order of the keys: the same traces always give the same table.
    order = table.assign(by_change=table["change"].abs(), by_amount=table[["a", "b"]].max(axis=1))
    order = order.sort_values(["by_change", "by_amount", *keys], ascending=[False, False, *[True] * len(keys)])
    return table.loc[order.index].reset_index(drop=True)


def _of_side(table: pd.DataFrame, side: str, keys: Sequence[str], value: str, carried: Sequence[str]) -> pd.DataFrame:
    here = side == "a"
    # Zeros instead of a join, which would make floats of integers where one side lacks a key.
    amount, nothing = table[value].astype("int64"), pd.Series(np.int64(0), table.index)
    return table[[*keys, *carried]].assign(
        a=amount if here else nothing,
        b=nothing if here else amount,
        in_a=np.int64(here),
        in_b=np.int64(not here),
    )


def _either(names: Iterable[str]) -> str:
    *some, last = (repr(name) for name in names)
    return f"{', '.join(some)} or {last}" if some else last


def matrices(
    a: pd.DataFrame, b: pd.DataFrame, order: Callable[[str], tuple[int, int]]
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Two square matrices of int64 and their difference (B - A), each over all places of both, sorted by ``order``."""
    # Not a set: multicast objects of one number can be others in B, and come after those of A.
    labels = sorted(dict.fromkeys([*a.index, *b.index]), key=order)
    rows, columns = pd.Index(labels, name=a.index.name), pd.Index(labels, name=a.columns.name)
    first, second = (matrix.reindex(index=rows, columns=columns, fill_value=0) for matrix in (a, b))
    return first, second, second - first


def summary(a: Mapping[str, Number], b: Mapping[str, Number]) -> pd.DataFrame:
    """metric | a b change (b - a) ratio (b / a, NaN where a is 0): numbers as they are, None where one is not known."""
    rows = [(metric, one, b[metric], *_changed(one, b[metric])) for metric, one in a.items()]
    table = pd.DataFrame(rows, columns=["metric", "a", "b", "change", "ratio"], dtype=object)
    return table.astype({"metric": "str", "ratio": "float64"}).set_index("metric")


def _changed(a: Number, b: Number) -> tuple[Number, float]:
    if a is None or b is None:
        return None, float("nan")
    return b - a, b / a if a else float("nan")


def same_files(a: Iterable[str], b: Iterable[str]) -> dict[str, str]:
    """file of B → file of A, for those that are the same file: of the same path or, built elsewhere, with the longest
    common end of their paths, at least the file's name. Where several fit equally well, none is taken.
    """
    in_a, in_b = set(a), set(b)
    found = {file: file for file in in_b & in_a}
    left = {"a": _parts(in_a - in_b), "b": _parts(in_b - in_a)}
    for length in range(max((len(parts) for side in left.values() for parts in side.values()), default=0), 0, -1):
        by_end = {side: _by_end(files, length) for side, files in left.items()}
        for end, (file, *others) in by_end["b"].items():
            twins = by_end["a"].get(end, [])
            if not others and len(twins) == 1:
                found[file] = twins[0]
                del left["a"][twins[0]], left["b"][file]
    return found


def _parts(files: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Each file that has a name, with its path's last parts."""
    split = {file: tuple(part for part in file.split("/") if part not in ("", "."))[-_LONGEST:] for file in files}
    return {file: parts for file, parts in split.items() if parts}


def _by_end(files: Mapping[str, tuple[str, ...]], length: int) -> dict[tuple[str, ...], list[str]]:
    found: dict[tuple[str, ...], list[str]] = {}
    for file, parts in files.items():
        if len(parts) >= length:
            found.setdefault(parts[-length:], []).append(file)
    return found


def place_order(places: Iterable[pd.DataFrame]) -> Callable[[str], tuple[int, int]]:
    """A sorting key for labels of places of some traces: GPUs by number, host, unknown, multicast objects."""
    kinds = {"gpu": 0, "host": 1, "unknown": 2, "multicast": 3}
    known: dict[str, tuple[int, int]] = {}
    for table in places:
        for place, row in zip(table.index, table.itertuples(), strict=True):
            known.setdefault(str(row.label), (kinds[str(row.kind)], abs(int(place))))
    return known.__getitem__


# --- for people ---


def in_words(table: pd.DataFrame, names: Iterable[str], about: Sequence[str] = ("", "")) -> pd.DataFrame:
    """The columns a, b, change and ratio of a comparison as text; ``names`` says of what column each row's amounts are,
    ``about`` goes before those of A and of B.
    """
    rows = [
        (_amount(name, a, about[0]), _amount(name, b, about[1]), _change(name, change))
        for a, b, change, name in zip(table["a"], table["b"], table["change"], names, strict=True)
    ]
    only = table["only"] if "only" in table else [""] * len(table)
    ratios = [f"only in {one}" if one else units.times(value) for one, value in zip(only, table["ratio"], strict=True)]
    words = pd.DataFrame(rows, columns=["a", "b", "change"], index=table.index, dtype="str")
    return words.assign(ratio=pd.Series(ratios, table.index, dtype="str"))


def _amount(name: str, value: Number, about: str) -> str:
    return "not known" if value is None else about + columns.say(name, value)


def _change(name: str, value: Number) -> str:
    return units.NOTHING if value is None else columns.change(name, value)
