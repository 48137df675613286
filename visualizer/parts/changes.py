"""Two traces side by side: matrices with their difference, and tables of what changed."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from numpy.typing import NDArray

from snoopie.analysis.comparison import side_by_side
from snoopie.figures import colours
from snoopie.words import units
from visualizer.controls.choices import VALUES, Shown
from visualizer.look import theme
from visualizer.parts import tables
from visualizer.pictures import picture

# The browser gets no more rows than these.
ROWS = 1000
# Three of these stand side by side in a window of 1400 pixels. Beyond so many places numbers do not fit into the cells.
_WIDTH = 330
_NUMBERS = 7
_COMPARED = ("a", "b", "change", "ratio")


@dataclass(frozen=True)
class _Scale:
    """From the lowest to the highest number of a picture: its colours, and how numbers are written."""

    low: float
    high: float
    colours: Sequence[str]
    words: Callable[[float], str]

    def colour(self, number: float) -> str:
        return colours.at(self.colours, (number - self.low) / (self.high - self.low))


def matrices(a: pd.DataFrame, b: pd.DataFrame, change: pd.DataFrame, shown: Shown) -> None:
    """Three heatmaps over the same places: A and B in one scale of colours, and what changed."""
    before, now, differences = (matrix.to_numpy() for matrix in (a, b, change))
    most = max(float(before.max(initial=0)), float(now.max(initial=0)), 1.0)
    largest = max(float(np.abs(differences).max(initial=0)), 1.0)
    amounts = _Scale(0.0, most, theme.heat(), shown.amount)
    changed = _Scale(-largest, largest, colours.of_changes(), lambda cell: units.signed(cell, shown.amount))
    moved = (before != 0) | (now != 0)
    hover = _hover(a, b, change, shown)
    with st.container(horizontal=True):
        for name, title, matrix, seen, scale in (
            ("a", "A", a, before != 0, amounts),
            ("b", "B", b, now != 0, amounts),
            ("change", "Change: B − A", change, moved, changed),
        ):
            with st.container(width=_WIDTH, gap=None):
                st.markdown(f"**{title}**")
                figure = _figure(matrix, seen, scale, hover)
                st.plotly_chart(figure, key=f"compare_{name}", width="stretch", config={"displayModeBar": False})


def _figure(matrix: pd.DataFrame, seen: NDArray[np.bool_], scale: _Scale, hover: list[list[str]]) -> go.Figure:
    """A heatmap whose cells stay empty where they are not ``seen``."""
    drawn = [list(zip(*line, strict=True)) for line in zip(matrix.to_numpy(), seen, strict=True)]
    ticks = [scale.low, (scale.low + scale.high) / 2, scale.high]
    heatmap = {
        "type": "heatmap",
        "z": [[float(cell) if there else None for cell, there in line] for line in drawn],
        "customdata": hover,
        "hovertemplate": "%{customdata}<extra></extra>",
        "hoverongaps": False,
        "colorscale": [(place / (len(scale.colours) - 1), colour) for place, colour in enumerate(scale.colours)],
        "zmin": scale.low,
        "zmax": scale.high,
        "xgap": 2,
        "ygap": 2,
        "colorbar": {
            "orientation": "h", "thickness": 10, "len": 0.8, "y": 0, "yanchor": "top", "tickvals": ticks,
            "ticktext": [scale.words(tick) for tick in ticks],
        },
    }  # fmt: skip
    few = len(matrix) <= _NUMBERS
    ticks_of_places = {"tickvals": list(range(len(matrix))), "ticktext": [_tick(str(label)) for label in matrix.index]}
    ends = [-0.5, len(matrix) - 0.5]
    axis = {"showgrid": False, "zeroline": False, **ticks_of_places}
    layout = {
        "xaxis": {"side": "top", "tickangle": 0 if few else -90, "range": ends, **axis},
        "yaxis": {"range": ends[::-1], **axis},
        "showlegend": False,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "height": 130 + max(160, len(matrix) * (38 if few else 20)),
    }
    return picture.figure([heatmap, *([_numbers(matrix, seen, scale)] if few else [])], layout)


def _numbers(matrix: pd.DataFrame, seen: NDArray[np.bool_], scale: _Scale) -> dict[str, Any]:
    """What stands in the cells: a heatmap has one colour for all of its text."""
    at = [(int(row), int(column)) for row, column in np.argwhere(seen)]
    cells = [int(cell) for cell in matrix.to_numpy()[seen]]
    return {
        "type": "scatter",
        "x": [column for _, column in at],
        "y": [row for row, _ in at],
        "mode": "text",
        "text": [_in_cell(cell, scale) for cell in cells],
        "textfont": {"size": 11, "color": [colours.ink_on(scale.colour(cell)) for cell in cells]},
        "hoverinfo": "skip",
    }


def _in_cell(cell: int, scale: _Scale) -> str:
    """The number in two lines: a cell is narrow."""
    return scale.words(cell).replace(" ", "<br>") if cell else "="


def _tick(label: str) -> str:
    return html.escape(label.partition(" (")[0])


def _hover(a: pd.DataFrame, b: pd.DataFrame, change: pd.DataFrame, shown: Shown) -> list[list[str]]:
    name = VALUES[shown.value].lower()
    return [
        [
            f"<b>{html.escape(str(row))} → {html.escape(str(column))}</b><br>A {before:,}<br>B {now:,}<br>"
            f"<b>{difference:+,}</b> {name}"
            for column, before, now, difference in zip(a.columns, *line, strict=True)
        ]
        for row, *line in zip(a.index, a.to_numpy(), b.to_numpy(), change.to_numpy(), strict=True)
    ]


def grid(table: pd.DataFrame, keys: list[str], value: str, key: str) -> None:
    """A table of `snoopie.Comparison`, largest changes first."""
    shown = table.head(ROWS)
    if len(table) > ROWS:
        st.caption(f"{ROWS:,} of {len(table):,} rows, those with the largest changes.")
    words = side_by_side.in_words(shown, [value] * len(shown))
    tables.grid(
        shown,
        [*keys, *_COMPARED],
        key,
        said={name: words[name].tolist() for name in _COMPARED},
        changes={"change": (f"{colours.LESS}55", f"{colours.MORE}55")},
    )
