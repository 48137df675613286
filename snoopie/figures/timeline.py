"""What moved when: bytes over time, a row for each pair of places; launches and copies, a lane for each GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import NDArray

from snoopie.figures import colours
from snoopie.figures.picture import FAINT, INK, Picture, in_look, printable, say_nothing
from snoopie.words import units
from snoopie.words.widths import PAGE

BINS = 400
# Pairs and lanes that fit; the others are one row.
_PAIRS, _LANES = 12, 16
# Inches of a pair's row, of a lane.
_ROW, _LANE = 0.26, 0.2
_FULL = 0.86  # of its row, for the largest amount of all
# Parts of the whole time: what is nearer is one bar, and no bar is shorter.
_NEAR = 1 / 1500
_HATCH = "//////"
_TIMES = ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns"))

Amounts = NDArray[np.float64]


@dataclass(frozen=True)
class _Axis:
    """Time from the first of all to the last, in a unit for people."""

    first: int
    last: int

    @property
    def unit(self) -> tuple[int, str]:
        return next(((size, unit) for size, unit in _TIMES if self.last - self.first >= size), _TIMES[-1])

    def __call__(self, times: pd.Series[int] | NDArray[np.int64]) -> Amounts:
        return (np.asarray(times) - self.first) / self.unit[0]


@in_look
def draw(
    moved: pd.DataFrame,
    launches: pd.DataFrame,
    copies: pd.DataFrame,
    labels: Mapping[int, str],
    *,
    gpus: int,
    width: float = PAGE,
    title: str = "",
) -> Picture:
    """A figure of `Trace.traffic_over_time`, above it of when launches (`Trace.timeline`) and copies of ``gpus`` GPUs
    ran, in the colours of the issuers; ``width`` in inches. ``labels``: place → its name.
    """
    axis = _axis(moved, launches, copies)
    if axis is None:
        figure = Picture(width, 1.0)
        say_nothing(figure.subplots(), "Nothing in this trace has a time")
        return figure
    rows = _pairs(moved)
    lanes = _lanes(launches, copies)
    below, above = max(len(rows), 1) * _ROW, max(len(lanes), 1) * _LANE
    figure = Picture(width, below + above + 0.95 + (0.2 if title else 0))
    ran, amounts = figure.subplots(2, 1, sharex=True, height_ratios=[above, below])
    if title:
        figure.suptitle(printable(title), x=0.01, ha="left", fontsize=9)
    colour = dict(enumerate(colours.of_gpus(max(gpus, 1))))
    _draw_lanes(ran, lanes, axis, colour, labels, spanned=bool(len(launches) and launches["spanned"].all()))
    _draw_pairs(amounts, moved, rows, axis, {labels[place]: shade for place, shade in colour.items()})
    amounts.set_xlabel(f"Time ({axis.unit[1]})")
    amounts.set_xlim(0, float(axis(np.array([axis.last]))[0]))
    return figure


def _axis(moved: pd.DataFrame, launches: pd.DataFrame, copies: pd.DataFrame) -> _Axis | None:
    times = [table for table in (moved, launches, copies) if len(table)]
    if not times:
        return None
    first = min(int(table["start"].min()) for table in times)
    return _Axis(first, max(first + 1, *(int(table["end"].max()) for table in times)))


# Traffic


def _pairs(moved: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The rows of the pairs with most bytes by their names; the others together are the last."""
    ends = list(moved.columns[:2])
    totals = moved.groupby(ends, sort=True)["bytes"].sum().sort_values(ascending=False, kind="stable")
    names = pd.MultiIndex.from_frame(moved[ends])
    kept = totals.index if len(totals) <= _PAIRS else totals.index[: _PAIRS - 1]
    rows = [(f"{_short(first)} → {_short(second)}", moved[names == (first, second)]) for first, second in sorted(kept)]
    if len(kept) < len(totals):
        rows.append((f"{len(totals) - len(kept)} other pairs", moved[~names.isin(kept)]))
    return rows


def _short(label: str) -> str:
    return printable(label.partition(" (")[0], 20)


def _draw_pairs(
    axes: Axes, moved: pd.DataFrame, rows: Sequence[tuple[str, pd.DataFrame]], axis: _Axis, colour: Mapping[str, str]
) -> None:
    if not rows:
        say_nothing(axes, "Nothing moved between GPUs")
        return
    bin_width = int((moved["end"] - moved["start"]).iloc[0])
    first = int(moved["start"].min())
    bins = int((moved["end"].max() - first) // bin_width)
    edges = axis(first + bin_width * np.arange(bins + 1))
    heights = []
    for _, pair in rows:
        amounts = np.zeros(bins + 1)
        np.add.at(amounts, ((pair["start"] - first) // bin_width).to_numpy(), pair["bytes"].to_numpy(np.float64))
        heights.append(amounts)
    largest = max(float(amounts.max()) for amounts in heights)
    for row, ((_, pair), amounts) in enumerate(zip(rows, heights, strict=True)):
        base = row + 0.5 + _FULL / 2
        shade = colour.get(str(pair.iloc[0, 0]), colours.NEUTRAL) if pair.iloc[:, 0].nunique() == 1 else colours.NEUTRAL
        top = base - _FULL * amounts / largest
        axes.fill_between(edges, base, top, step="post", color=shade, linewidth=0.4)
        axes.axhline(base, color=FAINT, linewidth=0.5, zorder=0)
        total = units.bytes(float(pair["bytes"].sum()))
        axes.annotate(total, (1, row + 0.5), (4, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
                      va="center", fontsize=6.5)  # fmt: skip
    axes.set_ylim(len(rows), 0)
    axes.set_yticks(np.arange(len(rows)) + 0.5, [name for name, _ in rows])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    what = " → ".join(moved.columns[:2])
    axes.set_title(
        f"Bytes by {what}; a full row is {units.bytes(largest)} in {units.duration(bin_width)}", fontsize=7.5
    )


# Launches and copies


@dataclass(frozen=True)
class _Lane:
    place: int | None  # None: of several GPUs
    launches: pd.DataFrame
    copies: pd.DataFrame


def _lanes(launches: pd.DataFrame, copies: pd.DataFrame) -> list[_Lane]:
    places = sorted({*launches["gpu"].tolist(), *copies["issuer"].tolist()})
    kept = places if len(places) <= _LANES else places[: _LANES - 1]
    lanes: list[_Lane] = [
        _Lane(place, launches[launches["gpu"] == place], copies[copies["issuer"] == place]) for place in kept
    ]
    if len(kept) < len(places):
        lanes.append(_Lane(None, launches[~launches["gpu"].isin(kept)], copies[~copies["issuer"].isin(kept)]))
    return lanes


def _draw_lanes(
    axes: Axes, lanes: Sequence[_Lane], axis: _Axis, colour: Mapping[int, str], labels: Mapping[int, str], spanned: bool
) -> None:
    if not lanes:
        say_nothing(axes, "No launch was measured, and no copy recorded")
        return
    for row, lane in enumerate(lanes):
        shade = colours.NEUTRAL if lane.place is None else colour.get(lane.place, colours.NEUTRAL)
        axes.broken_barh(_bars(lane.launches, axis), (row + 0.08, 0.52), facecolor=shade, linewidth=0)
        axes.broken_barh(
            _bars(lane.copies, axis), (row + 0.66, 0.26), facecolor="none", edgecolor=INK, linewidth=0.3, hatch=_HATCH
        )
    axes.set_ylim(len(lanes), 0)
    named = ["other GPUs" if lane.place is None else _short(labels[lane.place]) for lane in lanes]
    axes.set_yticks(np.arange(len(lanes)) + 0.5, named)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_title("Launches" if spanned else "Launches, at the time of their calls", fontsize=7.5)
    kinds = [Patch(facecolor=colours.NEUTRAL, label="Launches")] if any(len(lane.launches) for lane in lanes) else []
    if any(len(lane.copies) for lane in lanes):
        kinds.append(Patch(facecolor="none", edgecolor=INK, linewidth=0.3, hatch=_HATCH, label="Copies by the host"))
    axes.legend(handles=kinds, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderpad=0, borderaxespad=0.2)


def _bars(table: pd.DataFrame, axis: _Axis) -> list[tuple[float, float]]:
    """(begin, length) of the stretches in which one of some intervals ran."""
    if table.empty:
        return []
    near = (axis.last - axis.first) * _NEAR
    order = np.argsort(table["start"].to_numpy(), kind="stable")
    start = table["start"].to_numpy()[order].astype(np.float64) - axis.first
    end = np.maximum(np.maximum.accumulate(table["end"].to_numpy()[order] - axis.first), start + near)
    opens = np.concatenate([[True], start[1:] > end[:-1] + near])
    closes = np.concatenate([opens[1:], [True]])
    size = axis.unit[0]
    return [(begin / size, (until - begin) / size) for begin, until in zip(start[opens], end[closes], strict=True)]
