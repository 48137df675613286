"""The GPUs as a graph: an arrow for each pair with traffic, as thick as its share."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st
from streamlit_agraph import Config, Edge, Node, agraph

from visualizer import parts, state, theme

RADIUS = 165
THINNEST, THICKEST = 1.5, 12.0


def show() -> None:
    st.header("Graph")
    value, reading = parts.value_and_reading("graph", parts.IN_GRAPH)
    pairs: pd.DataFrame = state.ask("by_pair", reading)
    matrix: pd.DataFrame = state.ask("matrix", value, reading)
    first, second = pairs.columns[:2]
    if pairs.empty:
        parts.nothing("There is no traffic to draw.", "Nothing was recorded, or the filters exclude it all.")
    picture, details = st.columns([3, 2], gap="large")
    with picture:
        clicked = agraph(_nodes(list(matrix.index)), _edges(pairs, value), _config())
    with details:
        labels = list(matrix.index)
        # The picture tells of clicks on GPUs only; the chooser is for the keyboard, and shows what is chosen.
        if clicked in labels and clicked != st.session_state.get("graph_clicked"):
            st.session_state["graph_gpu"] = clicked
        st.session_state["graph_clicked"] = clicked
        chosen = st.selectbox("GPU", ["all", *labels], key="graph_gpu", help="Or click a GPU in the picture.")
        shown = pairs if chosen == "all" else pairs[(pairs[first] == chosen) | (pairs[second] == chosen)]
        if len(shown):
            parts.grid(shown, [first, second, value, "wire_efficiency"], f"graph_pairs_{reading}_{value}_{chosen}")
        elif len(pairs):
            st.caption(f"{chosen} has no traffic with others.")


def _nodes(labels: list[str]) -> list[Node]:
    """On a circle, clockwise from the top, each always at its place."""
    colours = theme.gpu_colours(len(labels))
    nodes = []
    for place, label in enumerate(labels):
        angle = 2 * math.pi * place / len(labels) - math.pi / 2
        nodes.append(
            Node(
                id=label,
                label=label,
                x=RADIUS * 1.25 * math.cos(angle),
                y=RADIUS * math.sin(angle),
                size=26,
                color=colours[place] if label.startswith("GPU ") else theme.NEUTRAL,
                font={"size": 16, "face": "sans-serif", "color": "#31333f", "strokeWidth": 4, "strokeColor": "#ffffff"},
            )
        )
    return nodes


def _edges(pairs: pd.DataFrame, value: str) -> list[Edge]:
    first, second = pairs.columns[:2]
    largest = max(int(pairs[value].max()), 1) if len(pairs) else 1
    return [
        Edge(
            source=source,
            target=target,
            label=parts.amount(value, number),
            width=THINNEST + (THICKEST - THINNEST) * number / largest,
            color={"color": "#7d8da1", "highlight": "#0173b2"},
            font={"size": 13, "face": "sans-serif", "align": "horizontal", "background": "#ffffff", "strokeWidth": 0},
            smooth={"enabled": True, "type": "curvedCW", "roundness": 0.18},
        )
        for source, target, number in zip(pairs[first], pairs[second], pairs[value], strict=True)
        if number and source != target
    ]


def _config() -> Config:
    config = Config(height=500, directed=True, physics=False, hierarchical=False)
    config.width = "100%"  # the constructor takes pixels only
    return config
