"""Where an object was touched: bytes moved in each part of it, along its bytes or as rows of a matrix.

What lane accesses moved is spread over exactly the bytes that they touched, so that the sums of parts are those of the
whole, however it is cut. Pieces (`analysis.coverage`) are here relative to the object's beginning.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from snoopie.analysis.objects import coverage, reuse
from snoopie.analysis.objects.coverage import Pieces
from snoopie.analysis.objects.reuse import Touched
from snoopie.errors import UsageError
from snoopie.trace.tables import Ints


@dataclass(frozen=True)
class Cells:
    """A grid over some lines of equal length: so many lines and bytes a cell, from the first of each on."""

    lines: tuple[int, int]
    bytes: tuple[int, int]
    step: tuple[int, int]

    @property
    def shape(self) -> tuple[int, int]:
        """Cells down and across."""
        return _parts(self.lines, self.step[0]), _parts(self.bytes, self.step[1])

    @property
    def first(self) -> tuple[Ints, Ints]:
        """The first line, and the first byte in its line, of each cell down and across."""
        return np.arange(*self.lines, self.step[0]), np.arange(*self.bytes, self.step[1])


def cells(lines: tuple[int, int], bytes: tuple[int, int], most: tuple[int, int], width: int = 1) -> Cells:
    """At most so many cells down and across, each of whole elements of ``width`` bytes."""
    down = max(-(-(lines[1] - lines[0]) // most[0]), 1)
    elements = -(-(bytes[1] - bytes[0]) // width)
    return Cells(lines, bytes, (down, width * max(-(-elements // most[1]), 1)))


def of_objects(touched: Touched, addresses: Mapping[int, int]) -> Touched:
    """What was touched of some objects, by the offset in each. ``addresses``: where each begins."""
    parts = [_of_object(touched, object, address) for object, address in addresses.items()]
    if len(parts) == 1:
        return parts[0]
    groups = pd.concat([part.groups for part in parts], ignore_index=True)
    before = np.cumsum([0, *(len(part.groups) for part in parts)])
    pieces = [
        part.pieces._replace(groups=part.pieces.groups + first) for part, first in zip(parts, before[:-1], strict=True)
    ]
    return Touched(groups, coverage.joined(pieces))


def _of_object(touched: Touched, object: int, address: int) -> Touched:
    first, last = np.searchsorted(touched.groups["object"].to_numpy(), [object, object + 1])
    some = slice(*np.searchsorted(touched.pieces.groups, [first, last]))
    own, starts, ends, times = (column[some] for column in touched.pieces)
    # Addresses are modulo 2^64 here as everywhere.
    base = np.array([address], np.uint64).view(np.int64)[0]
    groups = touched.groups.iloc[first:last].reset_index(drop=True)
    return Touched(groups, Pieces(own - first, starts - base, ends - base, times))


def chosen(
    touched: Touched, operations: pd.Series[str], issuer: int | None = None, operation: Collection[str] = ()
) -> Touched:
    """The part of one issuer and of some operations; None and () are all. ``operations``: of each site."""
    groups = touched.groups
    kept = np.ones(len(groups), np.bool_)
    if issuer is not None:
        kept &= (groups["issuer"] == issuer).to_numpy()
    if operation:
        kept &= operations.reindex(groups["site"].to_numpy()).isin(operation).to_numpy()
    if kept.all():
        return touched
    number = np.cumsum(kept) - 1
    rows = kept[touched.pieces.groups]
    own, starts, ends, times = (column[rows] for column in touched.pieces)
    return Touched(groups[kept].reset_index(drop=True), Pieces(number[own], starts, ends, times))


def along(touched: Touched, part: Cells) -> pd.DataFrame:
    """issuer × offset: bytes that each issuer moved in each cell of ``part`` (its lines do not count)."""
    issuers, line = np.unique(touched.groups["issuer"].to_numpy(), return_inverse=True)
    own, starts, ends, times = touched.pieces
    shape = (len(issuers), part.shape[1])
    table = _spread(line[own], starts, ends, times, part.bytes, part.step[1], shape)
    return pd.DataFrame(table, pd.Index(issuers, name="issuer"), pd.Index(part.first[1], name="offset"))


def in_rows(touched: Touched, start: int, stop: int, length: int, part: Cells) -> pd.DataFrame:
    """row × offset in it: bytes moved in each cell of ``part``, where rows of ``length`` bytes begin at ``start``."""
    _, starts, ends, times = touched.pieces
    starts, ends = np.clip(starts, start, stop) - start, np.clip(ends, start, stop) - start
    kept = ends > starts
    starts, ends, times = starts[kept], ends[kept], times[kept]
    row, last = starts // length, (ends - 1) // length
    begin, end = starts - row * length, ends - last * length
    one = row == last
    several = ~one
    # The beginning and the end of each piece, in their rows, and all rows in between.
    rows = np.concatenate([row, last[several]])
    x0 = np.concatenate([begin, np.zeros(several.sum(), np.int64)])
    x1 = np.concatenate([np.where(one, end, length), end[several]])
    often = np.concatenate([times, times[several]])
    (top, bottom), (down, across) = part.lines, part.step
    seen = (rows >= top) & (rows < bottom)
    table = _spread((rows[seen] - top) // down, x0[seen], x1[seen], often[seen], part.bytes, across, part.shape)
    full = _spread(
        np.zeros(several.sum(), np.int64),
        row[several] + 1,
        last[several],
        times[several],
        part.lines,
        down,
        (1, part.shape[0]),
    )
    left = part.first[1]
    table += full[0][:, None] * (np.minimum(left + across, part.bytes[1]) - left)
    return pd.DataFrame(table, pd.Index(part.first[0], name="row"), pd.Index(left, name="offset"))


def _spread(
    line: Ints, starts: Ints, ends: Ints, times: Ints, limits: tuple[int, int], step: int, shape: tuple[int, int]
) -> Ints:
    """The sum over intervals of what each covers, times how often, of each cell: ``step`` wide, from limits[0] on."""
    low, high = limits
    begin, end = np.clip(starts, low, high) - low, np.clip(ends, low, high) - low
    kept = end > begin
    line, begin, end, times = line[kept], begin[kept], end[kept], times[kept]
    lines, across = shape[0], shape[1] + 1  # one more, for what ends at the limit
    at, change = np.concatenate([begin, end]), np.concatenate([times, -times])
    cell = at // step
    place = np.concatenate([line, line]) * across + cell
    # From where the count changes it holds to the end of that cell, and then in all after it. Below 2^53, so exact.
    inside = np.bincount(place, change * ((cell + 1) * step - at).astype(np.float64), lines * across)
    after = np.bincount(place, change.astype(np.float64), lines * across).reshape(lines, across)
    table = inside.reshape(lines, across)
    table[:, 1:] += step * np.cumsum(after, axis=1)[:, :-1]
    return table[:, :-1].astype(np.int64)


def how_often(touched: Touched) -> pd.DataFrame:
    """at_least at_most (times) bytes: how many bytes were touched so often by the same issuer, by powers of two."""
    _, pieces = reuse.grouped(touched, ["issuer"])
    power = np.ceil(np.log2(np.maximum(pieces.times, 1))).astype(np.int64)
    size = np.bincount(power, pieces.ends - pieces.starts).astype(np.int64)
    powers = np.flatnonzero(size)
    least = np.where(powers > 0, (1 << np.maximum(powers - 1, 0)) + 1, 1)
    return pd.DataFrame({"at_least": least, "at_most": 1 << powers, "bytes": size[powers]})


def checked_range(size: int, start: int, stop: int | None) -> tuple[int, int]:
    """A range of an object's bytes. UsageError for one that it does not have."""
    stop = size if stop is None else stop
    if not 0 <= start < stop <= size:
        raise UsageError(f"there are no bytes from {start} to {stop}", f"the object has those from 0 to {size}")
    return start, stop


def _parts(limits: tuple[int, int], step: int) -> int:
    return -(-(limits[1] - limits[0]) // step)
