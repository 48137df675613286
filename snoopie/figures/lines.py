"""The source lines that moved most, as bars: what was asked for inside of what went over the wire."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from snoopie.analysis.traffic.values import VALUES
from snoopie.errors import UsageError
from snoopie.figures import colours
from snoopie.figures.matrix import BYTES, named
from snoopie.figures.picture import FAINT, INK, Picture, in_look, printable, say_nothing
from snoopie.words import units
from snoopie.words.columns import heading
from snoopie.words.widths import COLUMN

NO_LINE = "(no source line)"
# Inches: a line, a letter of its name, bars at least, the text beside a bar (without and with its efficiency).
_ROW, _LETTER, _BARS, _TEXT = 0.2, 0.062, 1.5, (0.55, 0.95)
_HATCH = "/////"


@in_look
def draw(
    lines: pd.DataFrame, value: str = "bytes", *, top: int = 15, width: float = COLUMN, title: str = ""
) -> Picture:
    """A figure of the ``top`` lines of `Trace.by_line` with the largest ``value``; ``width`` in inches.

    Beside each bar stands its amount and, of bytes, the wire efficiency, with the wire bytes as a hatched bar.
    UsageError for another value, or less than one line.
    """
    if value not in VALUES:
        raise UsageError(f"there is no value {value!r}", f"use one of {', '.join(VALUES)}")
    if top < 1:
        raise UsageError(f"a figure cannot show {top} lines", "ask for one or more")
    shown = lines.sort_values(value, ascending=False, kind="stable").head(top)
    hidden = len(lines) - len(shown)
    figure = Picture(width, 0.7 + _ROW * max(len(shown) + bool(hidden), 3) + (0.2 if title else 0))
    axes = figure.subplots()
    if title:
        axes.set_title(printable(title))
    if shown.empty:
        say_nothing(axes, "No line reached memory outside its GPU")
        return figure
    place = np.arange(len(shown))
    binary = value in BYTES
    scaled = units.bytes if binary else units.count
    with_wire = value == "bytes"
    longest = shown[[value, "wire_bytes"] if with_wire else [value]].max(axis=1).to_numpy(np.float64)
    size, unit = units.scale(float(longest.max()), binary=binary)
    longest /= size
    amounts = shown[value].to_numpy(np.float64) / size
    if with_wire:
        wire = shown["wire_bytes"].to_numpy(np.float64) / size
        axes.barh(
            place, wire, 0.72, facecolor="none", edgecolor=INK, linewidth=0.5, hatch=_HATCH, label=heading("wire_bytes")
        )
    axes.barh(place, amounts, 0.46 if with_wire else 0.72, color=colours.of_gpus(1)[0], label=heading(value))
    for row, (amount, efficiency) in enumerate(zip(shown[value], shown["wire_efficiency"], strict=True)):
        text = scaled(amount) + (f", {units.percent(efficiency)}" if with_wire else "")
        axes.annotate(text, (longest[row], row), (3, 0), textcoords="offset points", va="center", fontsize=6.5)
    labels = names(shown["file"], shown["line"], int((width - _BARS) / _LETTER))
    if hidden:
        labels.append(f"{hidden} more {'line' if hidden == 1 else 'lines'}")
        rest = scaled(float(lines[value].sum()) - float(shown[value].sum()))
        axes.annotate(rest, (0, len(shown)), (3, 0), textcoords="offset points", va="center", fontsize=6.5)
    axes.set_yticks(np.arange(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.45, -0.55)
    # Room for the texts beside the bars.
    room = max(width - 0.3 - _LETTER * max(map(len, labels)), _BARS - 0.3)
    axes.set_xlim(0, max(float(longest.max()), 1 / size) / (1 - min(_TEXT[with_wire] / room, 0.7)))
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter("{x:.4g}")
    axes.set_xlabel(named(value, unit))
    axes.grid(axis="x", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    if with_wire:
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderpad=0, borderaxespad=0.3)
    return figure


def names(files: Sequence[str] | pd.Series[str], lines: Sequence[int] | pd.Series[int], most: int = 60) -> list[str]:
    """Short names of lines, "a.cu:12"; with folders as far as two different files would else have the same.

    At most so many letters each.
    """
    short = _short_files(set(files))
    return [
        printable(f"{short[file]}:{line}" if line else NO_LINE, most) for file, line in zip(files, lines, strict=True)
    ]


def _short_files(files: set[str]) -> dict[str, str]:
    short = {file: PurePosixPath(file).name for file in files}
    for length in range(2, 6):
        taken = Counter(short.values())
        doubled = [file for file in files if taken[short[file]] > 1]
        short |= {file: "/".join(PurePosixPath(file).parts[-length:]) for file in doubled}
    return short
