"""What moved when, as the timeline draws it above the lanes: the rate of each pair of places or line, stacked."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter

import numpy as np
import pandas as pd

from snoopie.analysis.time.folding import Folding
from snoopie.figures import colours
from snoopie.words import units
from snoopie.words.text import visible
from visualizer.components.timeline import Series, Traffic
from visualizer.controls.time_range import Time
from visualizer.parts import places

# So many pairs or lines by themselves, the others together.
_APART = 12


def traffic(table: pd.DataFrame, shown: Time, folding: Folding) -> Traffic | None:
    """``table`` of `Trace.traffic_over_time` or of `lines_by_moment`, of the time that is shown without the folds."""
    if table.empty:
        return None
    starts, ends = (folding.folded(table[name].to_numpy(np.int64)) for name in ("start", "end"))
    width = int((ends - starts).max())
    first = folding.folded(np.array(shown, np.int64))[0]
    parts = _lines(table) if "line" in table else _pairs(table)
    table = table.assign(bin=(starts - first) // width)
    series = [_series(name, colour, table[rows], width) for name, colour, rows in parts]
    totals: dict[int, int] = {}
    for one in series:
        for place, size in zip(one.bins, one.bytes, strict=True):
            totals[place] = totals.get(place, 0) + size
    top, marks = _rates(max(totals.values()) * 1e9 / width)
    return Traffic(width, top, marks, series)


def _pairs(table: pd.DataFrame) -> list[tuple[str, str, pd.Series[bool]]]:
    """Name, colour (a shade of the first end's) and rows of each pair, in the order of places."""
    first, second = table.columns[:2]
    sums = table.groupby([first, second], sort=False)["bytes"].sum().sort_values(ascending=False, kind="stable")
    apart, known = sums.index[:_APART], places.by_label()
    at = {label: place for place, label in enumerate(known)}
    parts = []
    for one, pairs in groupby(sorted(apart, key=lambda pair: (at[pair[0]], at[pair[1]])), key=itemgetter(0)):
        others = [other for _, other in pairs]
        colour = known[one].colour if known[one].kind == "gpu" else colours.NEUTRAL
        for other, shade in zip(others, colours.shades(colour, len(others)), strict=True):
            parts.append((f"{one} → {other}", shade, (table[first] == one) & (table[second] == other)))
    rest = ~pd.MultiIndex.from_frame(table[[first, second]]).isin(apart)
    if rest.any():
        parts.append((f"{len(sums) - _APART} other pairs", colours.OTHERS["unknown"], pd.Series(rest, table.index)))
    return parts


def _lines(table: pd.DataFrame) -> list[tuple[str, str, pd.Series[bool]]]:
    """The same of lines, each in a colour of its own, most bytes first."""
    sums = table.groupby("line")["bytes"].sum().sort_values(ascending=False, kind="stable")
    apart = sums.index[:_APART]
    palette = colours.of_gpus(len(apart))
    parts = [(str(line), colour, table["line"] == line) for line, colour in zip(apart, palette, strict=False)]
    if len(sums) > len(apart):
        rest = ~table["line"].isin(apart)
        parts.append((f"{len(sums) - len(apart)} other lines", colours.OTHERS["unknown"], rest))
    return parts


def _series(name: str, colour: str, rows: pd.DataFrame, width: int) -> Series:
    sums = rows.groupby("bin")["bytes"].sum()
    said = [f"{units.rate(size * 1e9 / width)}, {units.bytes(size)}" for size in sums.tolist()]
    return Series(visible(name), colour, sums.index.tolist(), sums.tolist(), said)


def _rates(highest: float) -> tuple[float, list[tuple[float, str]]]:
    """The end of the axis, and marks at whole 1, 2 or 5 times powers of ten, as rates are written."""
    step = next(
        step for power in range(20) for step in (10.0**power, 2 * 10.0**power, 5 * 10.0**power) if highest <= 3 * step
    )
    top = highest * 1.05 or 1.0
    return top, [(step * number, units.rate(step * number)) for number in range(1, 4) if step * number <= top]
