"""How the GPUs are linked: by NVLink, by other ways, or not at all."""

from __future__ import annotations

import streamlit as st
from streamlit_agraph import Config, Edge, Node, agraph

from snoopie.analysis.time import bandwidth
from snoopie.figures import colours
from snoopie.words import units
from visualizer.parts import places
from visualizer.parts.places import Place
from visualizer.pictures import network
from visualizer.session import state

NOTE = (
    "A thick line: the two reach each other's memory with atomics, as over NVLink. A thin one: without, as over PCIe. "
    "None: no process saw that they do. Click a GPU to choose what it issued."
)
# Pixels for a unit of the positions.
SCALE = 150


def show(labels: list[str], height: int) -> str | None:
    """Draws the GPUs among these labels; the label of one that was clicked since the last run."""
    gpus = [place for place in places.by_host(labels) if place.kind == "gpu"]
    config = Config(
        height=height,
        directed=False,
        physics=False,
        hierarchical=False,
        groups={place.label: {"title": place.tooltip} for place in gpus},
    )
    config.width = "100%"  # the constructor takes pixels only
    clicked = agraph(_nodes(gpus), _edges(gpus), config)
    st.caption(NOTE)
    # The picture tells of its last click in every run.
    before = st.session_state.get("topology_clicked")
    st.session_state["topology_clicked"] = clicked
    return clicked if clicked != before and any(clicked == place.label for place in gpus) else None


def _nodes(gpus: list[Place]) -> list[Node]:
    at = network.positions(gpus)
    table = state.trace().gpus
    links = dict(zip(table["label"], zip(table["nvlinks"], bandwidth.capacities(table), strict=True), strict=True))
    nodes = []
    for place in gpus:
        x, y = at[place.label]
        node = Node(
            id=place.label,
            label="\n".join([place.label, *_links(*links[place.label])]),
            x=SCALE * x,
            y=-SCALE * y,
            size=18,
            shape=place.shape,
            color=place.colour,
            group=place.label,
            font={"size": 13, "face": "sans-serif", "color": colours.NEUTRAL},
        )
        # streamlit-agraph reads a node's title as HTML and opens it as an address on a double click. So the node has
        # neither title nor anything to open; its group lends it the tooltip, which vis-network shows as plain text.
        node.title, node.div = None, {"innerHTML": ""}
        nodes.append(node)
    return nodes


def _links(number: int, capacity: float) -> list[str]:
    if number < 0:
        return ["NVLinks unknown"]
    known = [units.rate(capacity)] if capacity > 0 else []
    return [f"{number} NVLinks", *known] if number else ["no NVLinks"]


def _edges(gpus: list[Place]) -> list[Edge]:
    """One for both directions."""
    links = state.trace().links
    drawn = {place.label for place in gpus}
    ways: dict[tuple[str, str], bool] = {}
    for issuer, owner, atomics in links.loc[links["access"], ["issuer", "owner", "native_atomics"]].itertuples(
        index=False
    ):
        first, second = sorted((issuer, owner))
        pair = state.trace().label(first), state.trace().label(second)
        if first != second and drawn.issuperset(pair):
            ways[pair] = ways.get(pair, True) and bool(atomics)
    return [
        Edge(
            source=first,
            target=second,
            width=3 if nvlink else 1,
            dashes=not nvlink,
            color={"color": colours.NEUTRAL, "opacity": 0.6},
            smooth=False,
        )
        for (first, second), nvlink in ways.items()
    ]
