"""A matrix as a heatmap with its numbers."""

from __future__ import annotations

import html
import time
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from visualizer import places, state, theme
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
    heatmap = {
        "type": "heatmap",
        "z": [[float(cell) if cell else None for cell in line] for line in cells],
        "text": [[shown.amount(cell) if cell else "" for cell in line] for line in cells],
        "texttemplate": "%{text}",
        "customdata": hover,
        "hovertemplate": "%{customdata}<extra></extra>",
        "hoverongaps": False,
        "colorscale": theme.heat_scale(),
        "zmin": 0,
        "zmax": max(largest, 1.0),
        "xgap": 2,
        "ygap": 2,
        "colorbar": _colorbar(shown, largest),
    }
    gpus = sum(place.kind == "gpu" for place in rows)
    layout = {
        "xaxis": {"side": "top", **_axis(second, columns)},
        "yaxis": {"autorange": "reversed", **_axis(first, rows)},
        # What is no GPU stands apart.
        "shapes": _cross(gpus - 0.5) if 0 < gpus < len(rows) else [],
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "height": max(260, 90 + 64 * len(matrix)),
    }
    # Made at once: each later change of a figure takes Plotly as long as making it.
    figure = go.Figure({"data": [heatmap], "layout": layout})
    st.plotly_chart(figure, key=key, width="stretch", config={"displaylogo": False})
    # This picture loads Plotly: nothing else has to.
    st.session_state["plotly_loads"] = True


def load_plotly() -> None:
    """Has the browser load Plotly's script, once a session and a little later than the first page, so that no picture
    has to wait for it."""
    if "plotly_loads" not in st.session_state:
        _load_plotly()


@st.fragment(run_every=state.AHEAD)
def _load_plotly() -> None:
    """An empty chart below the page, from the second run on; the third one removes it."""
    if "plotly_loads" in st.session_state:
        st.rerun()
    if time.monotonic() - st.session_state.setdefault("opened", time.monotonic()) < state.AHEAD / 2:
        return
    st.session_state["plotly_loads"] = True
    hidden = {"visible": False}
    layout = {"height": 10, "margin": {"l": 0, "r": 0, "t": 0, "b": 0}, "xaxis": hidden, "yaxis": hidden}
    empty = go.Figure({"data": [{"type": "scatter"}], "layout": layout})
    st.plotly_chart(empty, key="plotly_loads_here", config={"staticPlot": True})


def _axis(title: str, line: list[Place]) -> dict[str, Any]:
    return {"title": {"text": title}, "showgrid": False, "zeroline": False, **_ticks(line)}


def _cross(at: float) -> list[dict[str, Any]]:
    """Two lines over the whole picture that cross at a place of the diagonal."""
    line = {"type": "line", "line": {"color": theme.NEUTRAL, "width": 1, "dash": "dot"}}
    return [
        {**line, "xref": "x domain", "x0": 0, "x1": 1, "yref": "y", "y0": at, "y1": at},
        {**line, "yref": "y domain", "y0": 0, "y1": 1, "xref": "x", "x0": at, "x1": at},
    ]


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
