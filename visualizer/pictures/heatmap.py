"""A matrix as a heatmap with its numbers."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.figures import colours
from snoopie.words import columns as words
from visualizer.controls.choices import VALUES, Shown
from visualizer.look import theme
from visualizer.parts import places
from visualizer.parts.places import Place
from visualizer.pictures import picture

# So many places leave no room for names and numbers of full length.
MANY = 9
# Above more columns, the symbol of what is no GPU stands for its name: a caption explains it.
ROOMY = 4


def show(
    matrix: pd.DataFrame,
    shown: Shown,
    key: str,
    *,
    marked: pd.DataFrame | None = None,
    choose: Callable[[str, str], None] | None = None,
) -> None:
    """Draws it; cells without traffic stay empty. Those that are not ``marked`` are pale; a click calls ``choose``."""
    known = places.by_label()
    rows, columns = ([known[label] for label in labels] for labels in (matrix.index, matrix.columns))
    first, second = str(matrix.index.name).capitalize(), str(matrix.columns.name).capitalize()
    cells = matrix.to_numpy(np.float64)
    there = np.nan_to_num(cells) > 0
    largest = float(cells[there].max(initial=0))
    within = there if marked is None else there & marked.to_numpy(bool)
    # Cells cannot be chosen in a heatmap of Plotly: what stands in them, and is chosen, are points above it.
    data = [
        _cells(cells, within, shown, largest, 1.0),
        _cells(cells, there & ~within, shown, largest, 0.25),
        _points(cells, there, within, rows, columns, (first, second), shown),
    ]
    gpus = sum(place.kind == "gpu" for place in rows)
    layout = {
        "xaxis": {"side": "top", **_axis(second, columns, narrow=len(columns) > ROOMY)},
        "yaxis": {"autorange": "reversed", **_axis(first, rows, narrow=False)},
        # What is no GPU stands apart, and so does each host.
        "shapes": [
            line
            for at in range(1, len(rows))
            if at == gpus or rows[at - 1].host != rows[at].host
            for line in _cross(at - 0.5)
        ],
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "height": height(len(matrix)),
        "showlegend": False,
        **picture.BY_CLICK,
    }
    picture.show(data, layout, key, choose)


def height(places: int) -> int:
    """Of a heatmap of so many rows, in pixels."""
    # Below many small cells lies the scale.
    return 150 + 26 * places if places >= MANY else max(260, 90 + 64 * places)


def _cells(
    cells: NDArray[np.float64], which: NDArray[np.bool_], shown: Shown, largest: float, opacity: float
) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "z": [
            [cell if drawn else None for cell, drawn in zip(*line, strict=True)]
            for line in zip(cells, which, strict=True)
        ],
        "hoverinfo": "skip",
        "opacity": opacity,
        "colorscale": theme.heat_scale(),
        "zmin": 0,
        "zmax": 1 if shown.value == "wire_efficiency" else max(largest, 1.0),
        "xgap": 2,
        "ygap": 2,
        # Where there is room for the numbers themselves, a scale says nothing more.
        "showscale": opacity == 1 and len(cells) >= MANY,
        "colorbar": _colorbar(shown, largest),
    }


def _points(
    cells: NDArray[np.float64],
    there: NDArray[np.bool_],
    within: NDArray[np.bool_],
    rows: list[Place],
    columns: list[Place],
    names: tuple[str, str],
    shown: Shown,
) -> dict[str, Any]:
    """One in the middle of each cell with traffic, with its number and its ends."""
    at = [(int(row), int(column)) for row, column in np.argwhere(there)]
    few = len(rows) < MANY
    shares = cells[there] / (1.0 if shown.value == "wire_efficiency" else max(float(cells[there].max(initial=0)), 1.0))
    return {
        "type": "scatter",
        "x": [column for _, column in at],
        "y": [row for row, _ in at],
        "mode": "markers+text" if few else "markers",
        "text": [shown.amount(cells[place]) for place in at] if few else None,
        "textfont": {
            "color": [
                theme.on_heat(share) if drawn else colours.NEUTRAL
                for share, drawn in zip(shares, within[there], strict=True)
            ]
        },
        "marker": {"symbol": "square", "size": 40 if few else 20, "opacity": 0},
        "customdata": [[rows[row].label, columns[column].label] for row, column in at],
        "hovertext": [
            f"<b>{names[0]}</b> {rows[row].hover}<br><b>{names[1]}</b> {columns[column].hover}<br>"
            f"<b>{_exact(cells[row, column], shown)}</b> {VALUES[shown.value].lower()}"
            for row, column in at
        ],
        "hoverinfo": "text",
        **picture.NEVER_PALE,
    }


def _exact(cell: float, shown: Shown) -> str:
    return words.say(shown.value, cell) if shown.value == "wire_efficiency" else f"{int(cell):,}"


def _axis(title: str, line: list[Place], *, narrow: bool) -> dict[str, Any]:
    many = " (GPU)" if len(line) >= MANY else ""
    return {
        "title": {"text": title + many},
        "fixedrange": True,
        "showgrid": False,
        "zeroline": False,
        **_ticks(line, narrow=narrow),
    }


def _cross(at: float) -> list[dict[str, Any]]:
    """Two lines over the whole picture that cross at a place of the diagonal."""
    line = {"type": "line", "line": {"color": colours.NEUTRAL, "width": 1, "dash": "dot"}}
    return [
        {**line, "xref": "x domain", "x0": 0, "x1": 1, "yref": "y", "y0": at, "y1": at},
        {**line, "yref": "y domain", "y0": 0, "y1": 1, "xref": "x", "x0": at, "x1": at},
    ]


def _ticks(line: list[Place], *, narrow: bool) -> dict[str, Any]:
    many = len(line) >= MANY
    texts = [_short_tick(place) if many else _tick(place, narrow=narrow) for place in line]
    font = {"tickfont": {"size": 9}} if many else {}
    return {"tickvals": list(range(len(line))), "ticktext": texts, "tickangle": 0, **font}


def _short_tick(place: Place) -> str:
    """What distinguishes it from others."""
    return html.escape(place.symbol.strip() or place.name.removeprefix("GPU "))


def _tick(place: Place, *, narrow: bool) -> str:
    """Its name in lines; plotly reads some HTML. Where it is ``narrow``, the tooltip has the rest."""
    name, below = html.escape(place.symbol + place.name), html.escape(" · ".join(place.below))
    if narrow and place.kind != "gpu":
        name, below = place.symbol, html.escape(place.name.partition(" ")[2] or place.name)
    return f"{name}<br><span style='font-size:0.8em'>{below}</span>" if below else name


def _colorbar(shown: Shown, largest: float) -> dict[str, Any]:
    largest = 1.0 if shown.value == "wire_efficiency" else largest
    ticks = [largest * part / 4 for part in range(5)] if largest else [0.0]
    return {
        "orientation": "h",
        "y": 0,
        "yanchor": "top",
        "title": {"text": VALUES[shown.value], "side": "bottom"},
        "tickvals": ticks,
        "ticktext": [shown.amount(tick) for tick in ticks],
        "thickness": 12,
    }
