"""Memory over time: what was allocated by kind, stacked, with what the driver and nvidia-smi report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MultipleLocator
from numpy.typing import NDArray

from snoopie.analysis.memory import curve as _curve
from snoopie.errors import UsageError
from snoopie.figures import colours
from snoopie.figures.picture import FAINT, INK, Picture, in_look, printable, say_nothing
from snoopie.words import units
from snoopie.words.widths import PAGE

# More moments than this do not fit side by side.
MOST = 4000
_HEIGHT = 1.7
PANELS = 16

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


def panels(
    usage: pd.DataFrame, agreement: pd.DataFrame, processes: pd.DataFrame, logged: pd.DataFrame | None = None
) -> list[Panel]:
    """A chart of each process and device of which there is something to see.

    From `Trace.memory_usage`, `memory_agreement`, ``processes`` and, where there is a log, `nvidia_smi`.
    """
    usage = usage[usage["counted"]]
    start = int(processes["start_ns"].min())
    known = agreement[agreement["used"] >= 0]
    pairs = {*zip(usage["process"], usage["device"], strict=True), *zip(known["process"], known["device"], strict=True)}
    made = []
    for process, device in sorted(pairs):
        own = usage[(usage["process"] == process) & (usage["device"] == device)]
        sampled = agreement[(agreement["process"] == process) & (agreement["device"] == device)]
        end = int(max([start, processes["end_ns"][process], *own["time"], *sampled["time"]]))
        title = f"{device}, process {process}" if len(processes) > 1 else str(device)
        made.append(Panel(title, own, end, _lines(sampled, logged, device)))
    return made


def total(usage: pd.DataFrame, processes: pd.DataFrame) -> list[Panel]:
    """One chart of all processes and devices together."""
    usage = usage[usage["counted"]]
    end = int(max([processes["start_ns"].min(), *usage["time"], *processes["end_ns"]]))
    return [Panel("All processes and devices", _summed(usage), end)]


@in_look
def draw(panels: Sequence[Panel], start: int, *, width: float = PAGE, title: str = "", most: int = MOST) -> Picture:
    """The charts, one below another; times are seconds after ``start`` (host ns). UsageError for too many."""
    if len(panels) > PANELS:
        raise UsageError(
            f"{len(panels)} charts are too many for one picture",
            "take one device or process (--owner, --process), or all of them together (snoopie memory --total)",
        )
    rows = max(len(panels), 1)
    figure = Picture(width, _HEIGHT * rows + 0.3)
    if title:
        figure.suptitle(printable(title), x=0.01, ha="left", fontsize=9)
    axes = figure.subplots(rows, 1, squeeze=False, sharex=True)[:, 0]
    for panel, ax in zip(panels, axes, strict=False):
        _chart(panel, start, ax, most)
    if panels:
        axes[-1].set_xlabel("Time since the program's start (s)")
    else:
        say_nothing(axes[0], "No memory in this trace")
    return figure


def _summed(usage: pd.DataFrame) -> pd.DataFrame:
    """The running totals of all processes and devices together, by kind."""
    parts = [
        series.assign(bytes=np.diff(series["bytes"].to_numpy(), prepend=0))
        for _, series in usage.groupby(["process", "device", "kind"])
    ]
    if not parts:
        return usage
    table = pd.concat(parts).groupby(["kind", "time"])["bytes"].sum().reset_index()
    table["bytes"] = table.groupby("kind")["bytes"].cumsum()
    return table


def _lines(sampled: pd.DataFrame, logged: pd.DataFrame | None, device: str) -> list[Line]:
    lines = []
    known = sampled[sampled["used"] >= 0]
    first: int | None = None
    if len(known):
        first = int(known["used"].iloc[0])
        lines.append(_line("driver: change since\nthe first sample", known["time"], known["used"] - first))
    if logged is not None:
        own = logged[logged["device"] == device]
        if len(own):
            first = int(own["used"].iloc[0]) if first is None else first
            lines.append(_line("nvidia-smi: likewise", own["time"], own["used"] - first))
    return lines


def _line(name: str, times: pd.Series[int], amounts: pd.Series[int]) -> Line:
    return Line(name, times.to_numpy().astype(np.int64), amounts.to_numpy().astype(np.int64))


def _chart(panel: Panel, start: int, axes: Axes, most: int) -> None:
    curve = _curve.curve(panel.usage, panel.end, most)
    kinds = list(curve.columns[1:])
    seconds = (curve["time"].to_numpy() - start) / 1e9
    palette = colours.of_kinds()
    low = np.zeros(len(curve))
    for kind in kinds:
        high = low + curve[kind].to_numpy()
        axes.fill_between(seconds, low, high, step="post", color=palette[kind], alpha=0.75, linewidth=0, label=kind)
        low = high
    for line, style in zip(panel.lines, ("-", "--", ":"), strict=False):
        own = (line.times - start) / 1e9
        axes.plot(own, line.bytes, style, drawstyle="steps-post", color=INK, linewidth=1.0, label=line.name)
    tallest = max([float(low.max(initial=0)), *(float(line.bytes.max(initial=0)) for line in panel.lines)])
    axes.set_ylim(0, 1.08 * tallest if tallest > 0 else 1)
    axes.margins(x=0.01)
    axes.set_title(printable(panel.title), fontsize=8)
    axes.yaxis.set_major_locator(_binary_steps(tallest))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: units.bytes(value)))
    axes.grid(axis="y", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    if kinds or panel.lines:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), reverse=True)


def _binary_steps(tallest: float) -> MultipleLocator:
    """Ticks at whole KiB, MiB, GiB."""
    return MultipleLocator(2 ** max(int(np.ceil(np.log2(max(tallest, 1) / 6))), 0))
