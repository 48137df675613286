"""The places as a picture: an arrow for each pair with traffic, as thick as its share.

Plotly's script, of 4.7 MB, is not needed for it: it draws the first picture that is seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from snoopie.figures import colours
from snoopie.words.text import briefly
from visualizer.components import graph
from visualizer.components.graph import Point
from visualizer.controls.choices import READINGS, VALUES, Shown
from visualizer.parts import places
from visualizer.parts.places import Place
from visualizer.pictures import heatmap

# Arrows, thickest first: more of them hide one another.
MOST = 64
# Amounts are written beside so few arrows only; the matrix has them all.
WRITTEN = 8
HEIGHT = 500
# Widths of lines in pixels, each for an equal part of the shares.
WIDTHS = (1.2, 2.5, 4.0, 6.0, 8.5)
# Distance of the circles of hosts, whose radius is 1, and of the places below them that are no GPUs.
APART, BELOW, ASIDE = 3.0, 0.85, 0.9
BEND = 0.16


@dataclass(frozen=True)
class Arrow:
    """What went from one place to another, and its share of the largest."""

    source: Place
    target: Place
    amount: float
    share: float
    marked: bool


def show(
    matrix: pd.DataFrame, shown: Shown, key: str, *, marked: pd.DataFrame, choose: Callable[..., None]
) -> tuple[int, int]:
    """Draws it: how many arrows there are, and how many of them are drawn.

    Arrows that are not ``marked`` are pale. A click calls ``choose`` with the label of a place, or with two.
    """
    drawn = places.by_host(matrix.index)
    at = positions(drawn)
    every = _arrows(matrix, marked)
    arrows = sorted(every, key=lambda arrow: (not arrow.marked, -arrow.amount))[:MOST]
    frames = list(_frames(drawn, at))
    curves = _drawn(arrows, at, shown)
    few = len(drawn) < heatmap.MANY
    graph.show(
        key,
        f"{READINGS[shown.reading]}: {len(arrows)} arrows between {len(drawn)} places",
        span([*at.values(), *(frame.other for frame in frames)], curves),
        curves,
        [_node(place, at, marked, few) for place in drawn],
        frames,
        height=max(HEIGHT, heatmap.height(len(drawn))),
        on_choose=choose,
    )
    return len(every), len(arrows)


def positions(drawn: Sequence[Place]) -> dict[str, tuple[float, float]]:
    """Where each place stands, by label: the GPUs of each host on a circle, clockwise from the top, and below all
    circles what is no GPU."""
    hosts: dict[str, list[Place]] = {}
    for place in drawn:
        if place.kind == "gpu":
            hosts.setdefault(place.host, []).append(place)
    wide = max(round(math.sqrt(len(hosts))), 1)
    at = {}
    lowest = 0.0
    for number, gpus in enumerate(hosts.values()):
        row, column = divmod(number, wide)
        x, y = APART * (column - (min(wide, len(hosts)) - 1) / 2), -APART * row
        # Two stand side by side.
        turn = math.pi if len(gpus) == 2 else math.pi / 2
        radius = 0.0 if len(gpus) == 1 else 1.0
        for step, gpu in enumerate(gpus):
            angle = turn - 2 * math.pi * step / len(gpus)
            at[gpu.label] = x + radius * math.cos(angle), y + radius * math.sin(angle)
        lowest = min(lowest, y - 1)
    others = [place for place in drawn if place.kind != "gpu"]
    for number, place in enumerate(others):
        at[place.label] = 1.1 * (number - (len(others) - 1) / 2), lowest - BELOW
    # Not straight below a GPU, which would hide arrows from those above it.
    if any(abs(at[one.label][0] - x) < 0.3 and abs(y - lowest) < 0.1 for one in others for x, y in at.values()):
        at |= {one.label: (at[one.label][0] + ASIDE, at[one.label][1]) for one in others}
    return at


def span(points: Iterable[Point], curves: Iterable[graph.Arrow]) -> tuple[Point, Point]:
    """The lower left and the upper right corner of what has these points and curves, with as much on either side."""
    # A curve is farthest out in its middle, about.
    middles = [tuple((a + 2 * b + c) / 4 for a, b, c in zip(*curve.way, strict=True)) for curve in curves]
    xs, ys = zip(*points, *middles, strict=True)
    wide = max(map(abs, xs))
    return (-wide, min(ys)), (wide, max(ys))


def _arrows(matrix: pd.DataFrame, marked: pd.DataFrame) -> list[Arrow]:
    known = places.by_label()
    cells = np.nan_to_num(matrix.to_numpy(np.float64))
    np.fill_diagonal(cells, 0)
    largest = max(float(cells.max(initial=0)), 1e-9)
    return [
        Arrow(
            known[matrix.index[row]],
            known[matrix.columns[column]],
            float(cells[row, column]),
            float(cells[row, column]) / largest,
            bool(marked.iloc[row, column]),
        )
        for row, column in np.argwhere(cells > 0)
    ]


def _drawn(arrows: Sequence[Arrow], at: Mapping[str, Point], shown: Shown) -> list[graph.Arrow]:
    marked = [arrow for arrow in arrows if arrow.marked]
    written = marked if len(marked) <= WRITTEN else []
    return [
        graph.Arrow(
            _way(at[arrow.source.label], at[arrow.target.label]),
            _width(arrow),
            arrow.source.colour,
            0.85 if arrow.marked else 0.12,
            shown.amount(arrow.amount) if arrow in written else "",
            [
                f"{briefly(arrow.source.name)} → {briefly(arrow.target.name)}",
                f"{shown.amount(arrow.amount)} {VALUES[shown.value].lower()}",
            ],
            [arrow.source.label, arrow.target.label],
        )
        for arrow in arrows
    ]


def _way(source: Point, target: Point) -> tuple[Point, Point, Point]:
    """From one place to the other, bent to the left."""
    (x0, y0), (x2, y2) = source, target
    bend = (x0 + x2) / 2 - BEND * (y2 - y0) * 2, (y0 + y2) / 2 + BEND * (x2 - x0) * 2
    return source, bend, target


def _node(place: Place, at: Mapping[str, Point], marked: pd.DataFrame, few: bool) -> graph.Node:
    involved = bool(marked.loc[place.label].any() or marked[place.label].any())
    return graph.Node(
        at[place.label],
        {"gpu": "circle", "host": "square", "unknown": "diamond", "multicast": "hexagon"}[place.kind],
        58 if few else 30,
        place.colour,
        1.0 if involved else 0.35,
        colours.ink_on(place.colour),
        _name(place, few),
        [briefly(line) for line in place.tooltip.split("\n")],
        [place.label],
    )


def _frames(drawn: Sequence[Place], at: Mapping[str, Point]) -> Iterator[graph.Frame]:
    """Around the GPUs of each host, where there are several."""
    hosts = list(dict.fromkeys(place.host for place in drawn if place.kind == "gpu"))
    if len(hosts) < 2:
        return
    for host in hosts:
        xs, ys = zip(*(at[place.label] for place in drawn if place.kind == "gpu" and place.host == host), strict=True)
        corner, other = (min(xs) - 0.35, min(ys) - 0.3), (max(xs) + 0.35, max(ys) + 0.3)
        yield graph.Frame(corner, other, briefly(host) or "host unknown")


def _width(arrow: Arrow) -> float:
    return WIDTHS[min(int(arrow.share * len(WIDTHS)), len(WIDTHS) - 1)]


def _name(place: Place, few: bool) -> list[str]:
    """What stands in it."""
    name = briefly(place.name)
    if few:
        return name.replace("multicast ", "multi-\ncast ").split("\n")
    return [name.removeprefix("GPU ")] if place.kind == "gpu" else []
