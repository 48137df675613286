"""Plotly's charts: how they are made, and those in which things can be chosen by a click."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from visualizer.look import theme

# Of a trace: Plotly makes what is not chosen pale, until the page has drawn what the choice means.
NEVER_PALE: dict[str, Any] = {"selected": {}, "unselected": {"marker": {"opacity": None}}}

# What the mouse does, in a layout. Where these words are missing or others, Streamlit sets them after Plotly has drawn
# the picture, and Plotly draws it again for each.
BY_CLICK = {"clickmode": "event+select", "dragmode": "pan", "hovermode": "closest"}
BY_BOX = {"clickmode": "event", "dragmode": "select", "hovermode": "closest"}


def figure(data: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]) -> go.Figure:
    """What to draw. Made at once: each later change of a figure takes Plotly as long as making it."""
    axes = {name: _readable(axis) for name, axis in layout.items() if name.startswith(("xaxis", "yaxis"))}
    scales = [{**one, "colorbar": _readable(one["colorbar"])} if "colorbar" in one else one for one in data]
    whole = {"font": {"color": theme.faint()}, **layout, **axes}
    # To look at every value takes Plotly longer than all else that makes a picture.
    return go.Figure({"data": scales, "layout": whole}, _validate=False)


def _readable(axis: Mapping[str, Any]) -> dict[str, Any]:
    """An axis, or a scale of colours, whose words can be read: Streamlit makes them too pale."""
    ink = {"color": theme.faint()}
    title = {"title": {**axis["title"], "font": ink}} if "title" in axis else {}
    return {**axis, **title, "tickfont": {**axis.get("tickfont", {}), **ink}}


def show(
    data: Sequence[Mapping[str, Any]],
    layout: Mapping[str, Any],
    key: str,
    choose: Callable[..., None] | None = None,
) -> None:
    """Draws it. A click on a point calls ``choose`` with the point's customdata, before the page runs again."""
    chart = figure(data, layout)
    config = {"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"]}
    if choose is None:
        st.plotly_chart(chart, key=key, width="stretch", config=config)
        return
    # What was chosen is seen in the picture itself: each click begins with nothing selected, so that the same point can
    # be chosen again.
    clicks = st.session_state.setdefault(f"{key}_clicks", 0)
    own = f"{key}_{clicks}"

    def clicked() -> None:
        points = st.session_state[own].selection.points
        if points and "customdata" in points[0]:
            st.session_state[f"{key}_clicks"] = clicks + 1
            choose(*points[0]["customdata"])

    st.plotly_chart(chart, key=own, width="stretch", config=config, on_select=clicked, selection_mode="points")
