"""Memory over time as a picture: what was allocated by kind, stacked, with what the driver and nvidia-smi report."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator
from numpy.typing import NDArray

from snoopie.analysis import units
from snoopie.errors import SnoopieError, UsageError

SUFFIXES = (".png", ".svg", ".pdf")
# Kinds keep their colours from picture to picture.
_KINDS = ("device", "pool", "physical", "managed", "host", "array", "graph", "mapping", "device static")
_OTHERS = "other kinds"
# More moments than this do not fit side by side.
_MOST = 4000
_WIDTH, _HEIGHT = 10.0, 3.4
_PANELS = 16

Times = NDArray[np.int64]


@dataclass(frozen=True)
class Line:
    """A measured amount over time: host ns and bytes, in the order of time."""

    name: str
    times: Times
    bytes: NDArray[np.int64]


@dataclass(frozen=True)
class Panel:
    """One chart: running totals (columns kind, time, bytes), lines beside them, and until when (host ns) they hold."""

    title: str
    usage: pd.DataFrame
    end: int
    lines: list[Line] = field(default_factory=list)


def draw(panels: Sequence[Panel], start: int, path: Path, *, force: bool = False) -> None:
    """Writes the charts, one below another, as PNG, SVG or PDF; times are seconds after ``start`` (host ns).

    UsageError for another suffix or too many panels, SnoopieError if the file exists (unless ``force``) or cannot be
    written.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"a picture is not written as {path.name}", f"end its name in {', '.join(SUFFIXES)}")
    if len(panels) > _PANELS:
        raise UsageError(
            f"{len(panels)} charts are too many for one picture", "choose with --device and --process, or use --total"
        )
    if path.exists() and not force:
        raise SnoopieError(f"{path} exists already", "name another file, or overwrite it with --force")
    figure = Figure(figsize=(_WIDTH, _HEIGHT * max(len(panels), 1)), layout="constrained")
    axes = figure.subplots(max(len(panels), 1), 1, squeeze=False, sharex=True)[:, 0]
    for panel, ax in zip(panels, axes, strict=False):
        _chart(panel, start, ax)
    axes[-1].set_xlabel("seconds since the program's start")
    _save(figure, path)


def _chart(panel: Panel, start: int, axes: Axes) -> None:
    moments, kinds, series = _series(panel)
    seconds = (moments - start) / 1e9
    palette = dict(zip((*_KINDS, _OTHERS), sns.color_palette("colorblind", len(_KINDS) + 1), strict=True))
    low = np.zeros(len(moments))
    for kind, amounts in zip(kinds, series, strict=True):
        high = low + amounts
        axes.fill_between(seconds, low, high, step="post", color=palette[kind], alpha=0.75, linewidth=0, label=kind)
        low = high
    for line, style in zip(panel.lines, ("-", "--", ":"), strict=False):
        own = (line.times - start) / 1e9
        axes.plot(own, line.bytes, style, drawstyle="steps-post", color="black", linewidth=1.2, label=line.name)
    tallest = max([float(low.max(initial=0)), *(float(line.bytes.max(initial=0)) for line in panel.lines)])
    axes.set_ylim(0, 1.08 * tallest if tallest > 0 else 1)
    axes.margins(x=0.01)
    axes.set_title(panel.title, loc="left", fontsize=11)
    axes.yaxis.set_major_locator(_binary_steps(tallest))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: units.bytes(value)))
    axes.grid(axis="y", color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if kinds or panel.lines:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9, reverse=True)


def _series(panel: Panel) -> tuple[Times, list[str], list[NDArray[np.int64]]]:
    """The moments of a chart, and for each kind, in the order of drawing, its bytes from each moment on."""
    usage = panel.usage
    moments = np.unique(np.append(usage["time"].to_numpy(np.int64), panel.end))
    shown = usage["kind"].where(usage["kind"].isin(_KINDS), _OTHERS)
    kinds = [kind for kind in (*_KINDS, _OTHERS) if kind in set(shown)]
    series = []
    for kind in kinds:
        amounts = np.zeros(len(moments), np.int64)
        for _, rows in usage[shown == kind].groupby("kind"):
            before = np.searchsorted(rows["time"].to_numpy(), moments, side="right")
            amounts += np.concatenate([[0], rows["bytes"].to_numpy(np.int64)])[before]
        series.append(amounts)
    if len(moments) <= _MOST:
        return moments, kinds, series
    # Of each of _MOST stretches, the moment with the most bytes: peaks stay.
    total = np.sum(series, axis=0)
    stretch = np.arange(len(moments)) * _MOST // len(moments)
    highest = np.lexsort((-total, stretch))
    kept = np.sort(highest[np.concatenate([[True], np.diff(stretch[highest]) > 0])])
    kept = np.union1d(kept, [0, len(moments) - 1])
    return moments[kept], kinds, [amounts[kept] for amounts in series]


def _binary_steps(tallest: float) -> MultipleLocator:
    """Ticks at whole KiB, MiB, GiB."""
    return MultipleLocator(2 ** max(int(np.ceil(np.log2(max(tallest, 1) / 6))), 0))


def _save(figure: Figure, path: Path) -> None:
    """Writes the whole file before it takes its name."""
    try:
        descriptor, unfinished = tempfile.mkstemp(prefix=".snoopie-", suffix=path.suffix.lower(), dir=path.parent)
        try:
            os.close(descriptor)
            figure.savefig(unfinished, dpi=150)
            os.chmod(unfinished, 0o644)
            os.replace(unfinished, path)
        except BaseException:
            os.unlink(unfinished)
            raise
    except OSError as error:
        raise SnoopieError(
            f"{path} cannot be written ({error.strerror or error})", "name another file, or free space"
        ) from None
