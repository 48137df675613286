"""The places as a graph: an arrow for each pair with traffic, as thick as its share."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st
from streamlit_agraph import Config, Edge, Node, agraph

from visualizer import choices, places, remarks, state, tables
from visualizer.choices import Shown
from visualizer.places import Place

# Of the circle; many places need a wider one.
RADIUS, RADIUS_PER_PLACE = 165, 28
THINNEST, THICKEST = 1.5, 12.0
# Beside the two ends.
COLUMNS = {"host": ["bytes", "copies", "host_ns"], "both": ["bytes", "device_bytes", "host_bytes"]}


def show() -> None:
    st.header("Graph")
    shown = choices.of_all(choices.IN_GRAPH)
    pairs: pd.DataFrame = state.ask("by_pair", shown.reading, shown.initiated)
    labels = list(state.ask("matrix", shown.value, shown.reading, shown.initiated).index)
    if pairs.empty:
        remarks.no_traffic(shown)
    if shown.initiated != "host":
        remarks.estimated()
    known = places.by_label()
    picture, details = st.columns([5, 4])
    with picture:
        drawn = [known[label] for label in labels]
        clicked = agraph(_nodes(drawn), _edges(pairs, shown), _config(drawn))
        for sentence in places.explain(labels):
            st.caption(sentence)
    with details:
        # The picture tells of clicks on places only; the chooser is for the keyboard, and shows what is chosen.
        if clicked in labels and clicked != st.session_state.get("graph_clicked"):
            st.session_state["graph_place"] = clicked
        st.session_state["graph_clicked"] = clicked
        if st.session_state.get("graph_place") not in labels:
            st.session_state["graph_place"] = "all"
        chosen = st.selectbox("Place", ["all", *labels], key="graph_place", help="Or click one in the picture.")
        _details(pairs, shown, chosen)


def _details(pairs: pd.DataFrame, shown: Shown, chosen: str) -> None:
    first, second = pairs.columns[:2]
    some = pairs if chosen == "all" else pairs[(pairs[first] == chosen) | (pairs[second] == chosen)]
    if len(some):
        columns = COLUMNS.get(shown.initiated, [shown.value, "wire_efficiency"])
        tables.grid(some, [first, second, *columns], f"graph_pairs_{shown.key}_{chosen}")
    elif len(pairs):
        st.caption(f"{chosen} has no traffic with others.")


def _nodes(drawn: list[Place]) -> list[Node]:
    """On a circle, clockwise from the top, each always at its place."""
    nodes = []
    radius = max(RADIUS, RADIUS_PER_PLACE * len(drawn))
    for number, place in enumerate(drawn):
        angle = 2 * math.pi * number / len(drawn) - math.pi / 2
        node = Node(
            id=place.label,
            label=_text(place),
            widthConstraint={"maximum": 150},
            x=radius * 1.25 * math.cos(angle),
            y=radius * math.sin(angle),
            size=26 if place.kind == "gpu" else 22,
            shape=place.shape,
            color=place.colour,
            group=place.label,
            font={"size": 16, "face": "sans-serif", "color": "#31333f", "strokeWidth": 4, "strokeColor": "#ffffff"},
        )
        # streamlit-agraph reads a node's title as HTML and opens it as an address on a double click. So the node has
        # neither title nor anything to open; its group lends it the tooltip, which vis-network shows as plain text.
        node.title, node.div = None, {"innerHTML": ""}
        nodes.append(node)
    return nodes


def _text(place: Place) -> str:
    """Its name in lines, which never end between "GPU" and its number."""
    return "\n".join([place.name, *place.below]).replace("GPU ", "GPU\N{NO-BREAK SPACE}")


def _edges(pairs: pd.DataFrame, shown: Shown) -> list[Edge]:
    first, second = pairs.columns[:2]
    largest = max(int(pairs[shown.value].max()), 1) if len(pairs) else 1
    return [
        Edge(
            source=source,
            target=target,
            label=shown.amount(number),
            width=THINNEST + (THICKEST - THINNEST) * number / largest,
            color={"color": "#7d8da1", "highlight": "#0173b2"},
            font={"size": 13, "face": "sans-serif", "align": "horizontal", "background": "#ffffff", "strokeWidth": 0},
            smooth={"enabled": True, "type": "curvedCW", "roundness": 0.18},
        )
        for source, target, number in zip(pairs[first], pairs[second], pairs[shown.value], strict=True)
        if number and source != target
    ]


def _config(drawn: list[Place]) -> Config:
    tooltips = {place.label: {"title": place.tooltip} for place in drawn}
    config = Config(height=500, directed=True, physics=False, hierarchical=False, groups=tooltips)
    config.width = "100%"  # the constructor takes pixels only
    return config
