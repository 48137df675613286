"""Who reached whom, as a heatmap with its numbers: issuer × owner, or from × to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, Normalize, to_hex
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from snoopie.figures import colours
from snoopie.figures.picture import INK, Picture, in_look, printable, say_nothing
from snoopie.words import units
from snoopie.words.columns import heading
from snoopie.words.widths import COLUMN

# The host and others stand apart from the GPUs, by this part of a cell.
_APART = 0.35
_GAP = 0.06
# Inches: a letter of a name, a line of names, and the scale beside the cells.
_LETTER, _LINE, _SCALE = 0.062, 0.1, 0.7
# Points. Smaller numbers cannot be read; width of a digit in parts of its height.
_SMALLEST, _LARGEST, _DIGIT = 3.8, 8.0, 0.66
# More rows than this are drawn as one image.
_CELLS = 40

BYTES = ("bytes", "wire_bytes")


@in_look
def draw(
    matrix: pd.DataFrame, value: str, *, gpus: int, left: int = 0, width: float = COLUMN, title: str = ""
) -> Picture:  # fmt: skip
    """A figure of `Trace.matrix`, of which the first ``gpus`` rows are GPUs; ``width`` in inches. Of ``left`` places
    more it says that they were left out.

    All cells have one unit, which the scale names; cells without traffic stay empty, "<0.1" is less than a tenth.
    """
    rows, columns = (_Side.of(matrix.index, totals, gpus) for totals in (matrix.sum(axis=1), matrix.sum(axis=0)))
    cells = matrix.to_numpy()[np.ix_(rows.kept, columns.kept)]
    beginning = 0.26 + _LETTER * rows.longest
    wide = max(width - beginning - _SCALE, 1.0)
    cell = wide / columns.size
    turned = _LETTER * columns.longest > 0.95 * cell
    above = 0.32 + (_LETTER * columns.longest if turned else 0.1) + (0.2 if title else 0)
    high = cell * rows.size
    below = 0.25 if left else 0.1
    height = high + above + below
    # Set by hand: the cells are square, and the figure is as wide as was asked for.
    figure = Picture(width, height, layout="none")
    axes = figure.add_axes((beginning / width, below / height, wide / width, high / height))
    if title:
        figure.text(0.06 / width, 1 - 0.05 / height, printable(title), va="top", fontsize=9)
    if left:
        said = f"Of {len(matrix) + left:,} places the {len(matrix)} with most traffic"
        figure.text(0.06 / width, 0.05 / height, said, fontsize=6)
    if not cells.any():
        say_nothing(axes, "No traffic to show")
        return figure
    size, unit = units.scale(float(cells.max()), binary=value in BYTES)
    amounts = cells / size
    scale = Normalize(0, float(amounts.max()))
    heat = LinearSegmentedColormap.from_list("amounts", colours.of_amounts())
    _frame(axes, rows, columns, turned, cell)
    axes.set_ylabel(heading(str(matrix.index.name)))
    axes.set_xlabel(heading(str(matrix.columns.name)))
    if len(cells) > _CELLS:
        edges = (np.append(one.at, one.size) for one in (columns, rows))
        axes.pcolormesh(*edges, np.where(amounts > 0, amounts, np.nan), cmap=heat, norm=scale, rasterized=True)
    else:
        _cells(axes, amounts, rows, columns, heat, _points(amounts, cell))
    beside = figure.add_axes(((beginning + wide + 0.1) / width, below / height, 0.09 / width, high / height))
    bar = figure.colorbar(ScalarMappable(scale, heat), cax=beside)
    bar.set_label(named(value, unit))
    bar.outline.set_visible(False)
    beside.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    beside.yaxis.set_major_formatter("{x:.4g}")
    return figure


@dataclass(frozen=True)
class _Side:
    """The rows, or the columns: which places, their names, and where each begins (in cells)."""

    kept: list[int]
    labels: list[str]
    at: list[float]

    @classmethod
    def of(cls, labels: pd.Index, totals: pd.Series[int], gpus: int) -> _Side:
        """Of the GPUs, and of other places with traffic."""
        kept = [place for place in range(len(labels)) if place < gpus or totals.iloc[place]]
        names = [printable(str(labels[place]).partition(" (")[0], 24) for place in kept]
        return cls(kept, names, [row + _APART * (0 < gpus <= place) for row, place in enumerate(kept)])

    @property
    def size(self) -> float:
        return self.at[-1] + 1 if self.at else 1.0

    @property
    def longest(self) -> int:
        return max(map(len, self.labels), default=0)


def named(value: str, unit: str) -> str:
    """The title of an axis."""
    return f"{heading(value)}{f' ({unit})' if unit else ''}"


def _frame(axes: Axes, rows: _Side, columns: _Side, turned: bool, cell: float) -> None:
    axes.set_xlim(0, columns.size)
    axes.set_ylim(rows.size, 0)
    # Of very many, as many names as there is room for.
    every = int(np.ceil(_LINE / cell))
    axes.set_xticks(np.array(columns.at[::every]) + 0.5, columns.labels[::every], rotation=90 if turned else 0)
    axes.set_yticks(np.array(rows.at[::every]) + 0.5, rows.labels[::every])
    axes.xaxis.set_ticks_position("top")
    axes.xaxis.set_label_position("top")
    axes.tick_params(length=0, pad=2)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _cells(
    axes: Axes,
    amounts: NDArray[np.float64],
    rows: _Side,
    columns: _Side,
    heat: LinearSegmentedColormap,
    points: float,
) -> None:
    largest = float(amounts.max())
    side = 1 - _GAP
    for top, line in zip(rows.at, amounts.tolist(), strict=True):
        for left, amount in zip(columns.at, line, strict=True):
            corner = (left + _GAP / 2, top + _GAP / 2)
            if not amount:
                axes.add_patch(Rectangle(corner, side, side, fill=False, edgecolor=INK, linewidth=0.3, alpha=0.25))
                continue
            colour = heat(amount / largest)
            axes.add_patch(Rectangle(corner, side, side, facecolor=colour, linewidth=0))
            if points:
                ink = colours.ink_on(to_hex(colour))
                axes.text(left + 0.5, top + 0.52, number(amount), ha="center", va="center", color=ink, fontsize=points)


def number(amount: float) -> str:
    """An amount in a cell: one digit after the point, none where it is 0."""
    if 0 < amount < 0.05:
        return "<0.1"
    return f"{amount:.1f}".removesuffix(".0")


def _points(amounts: NDArray[np.float64], cell: float) -> float:
    """The size of numbers that fit into cells of so many inches; 0 where they would be too small to read."""
    longest = max(len(number(float(amount))) for amount in amounts[amounts > 0])
    points = min(_LARGEST, 72 * cell * (1 - 2 * _GAP) / (_DIGIT * longest))
    return points if points >= _SMALLEST else 0.0
