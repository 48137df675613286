"""A matrix as a heatmap with its numbers."""

from __future__ import annotations

import html
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from visualizer import places, theme
from visualizer.choices import VALUES, Shown
from visualizer.places import Place


def show(matrix: pd.DataFrame, shown: Shown, key: str) -> None:
    """Draws it; cells without traffic stay empty."""
    cells = matrix.to_numpy()
    known = places.by_label()
    rows, columns = ([known[label] for label in labels] for labels in (matrix.index, matrix.columns))
    first, second = str(matrix.index.name).capitalize(), str(matrix.columns.name).capitalize()
    name = VALUES[shown.value].lower()
    hover = [
        [
            f"<b>{first}</b> {_hover(row)}<br><b>{second}</b> {_hover(column)}<br><b>{cell:,}</b> {name}"
            for column, cell in zip(columns, line, strict=True)
        ]
        for row, line in zip(rows, cells, strict=True)
    ]
    largest = float(cells.max(initial=0))
    figure = go.Figure(
        go.Heatmap(
            z=[[float(cell) if cell else None for cell in line] for line in cells],
            text=[[shown.amount(cell) if cell else "" for cell in line] for line in cells],
            texttemplate="%{text}",
            customdata=hover,
            hovertemplate="%{customdata}<extra></extra>",
            hoverongaps=False,
            colorscale=theme.heat_scale(),
            zmin=0,
            zmax=max(largest, 1.0),
            xgap=2,
            ygap=2,
            colorbar=_colorbar(shown, largest),
        )
    )
    plain = {"showgrid": False, "zeroline": False}
    figure.update_yaxes(autorange="reversed", title=first, **plain, **_ticks(rows))
    figure.update_xaxes(side="top", title=second, **plain, **_ticks(columns))
    gpus = sum(place.kind == "gpu" for place in rows)
    if 0 < gpus < len(rows):
        # What is no GPU stands apart.
        figure.add_hline(gpus - 0.5, line={"color": theme.NEUTRAL, "width": 1, "dash": "dot"})
        figure.add_vline(gpus - 0.5, line={"color": theme.NEUTRAL, "width": 1, "dash": "dot"})
    figure.update_layout(margin={"l": 8, "r": 8, "t": 8, "b": 8}, height=max(260, 90 + 64 * len(matrix)))
    st.plotly_chart(figure, key=key, width="stretch", config={"displaylogo": False})


def _ticks(line: list[Place]) -> dict[str, Any]:
    return {"tickvals": list(range(len(line))), "ticktext": [_tick(place) for place in line]}


def _tick(place: Place) -> str:
    """Its name in two lines; plotly reads some HTML."""
    name, below = html.escape(place.symbol + place.name), html.escape(" · ".join(place.below))
    return f"{name}<br><span style='font-size:0.8em'>{below}</span>" if below else name


def _hover(place: Place) -> str:
    return html.escape(place.tooltip, quote=False).replace("\n", "<br>  ")


def _colorbar(shown: Shown, largest: float) -> dict[str, Any]:
    ticks = [largest * part / 4 for part in range(5)] if largest else [0.0]
    return {
        "title": VALUES[shown.value],
        "tickvals": ticks,
        "ticktext": [shown.amount(tick) for tick in ticks],
        "thickness": 14,
    }
