"""The places as a picture: an arrow for each pair with traffic, as thick as its share."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from plotly.colors import hex_to_rgb

from snoopie.figures import colours
from visualizer.controls.choices import VALUES, Shown
from visualizer.parts import places
from visualizer.parts.places import Place
from visualizer.pictures import heatmap, picture

# Arrows, thickest first: more of them hide one another.
MOST = 64
# Amounts are written beside so few arrows only; the matrix has them all.
WRITTEN = 8
HEIGHT = 500
# Widths of lines in pixels, each for an equal part of the shares.
WIDTHS = (1.2, 2.5, 4.0, 6.0, 8.5)
# Distance of the circles of hosts, whose radius is 1, and of the places below them that are no GPUs.
APART, BELOW = 3.0, 0.85
BEND = 0.16
STEPS = 14


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
    data = [
        *_lines(arrows, at),
        _heads(arrows, at, shown, len(drawn) < heatmap.MANY),
        _nodes(drawn, at, marked),
    ]
    hosts = list(_hosts(drawn, at))
    high = max(y for _, y in at.values()) + (0.55 if hosts else 0.35)
    low = min(y for _, y in at.values()) - 0.5
    wide = max(abs(x) for x, _ in at.values()) + 0.5
    # Where the room changes, as it does when a window is made narrow, the picture keeps to what it shows.
    hidden = {"visible": False, "fixedrange": True, "constrain": "domain"}
    layout = {
        "xaxis": {**hidden, "range": [-wide, wide]},
        "yaxis": {**hidden, "range": [low, high], "scaleanchor": "x"},
        "shapes": [shape for shape, _ in hosts],
        "annotations": [name for _, name in hosts],
        "margin": {"l": 0, "r": 0, "t": 8, "b": 8},
        "height": max(HEIGHT, heatmap.height(len(drawn))),
        "showlegend": False,
        **picture.BY_CLICK,
    }
    picture.show(data, layout, key, choose)
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
    return at


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


def _lines(arrows: Sequence[Arrow], at: dict[str, tuple[float, float]]) -> Iterator[dict[str, Any]]:
    """The curves, those of one colour and width as one."""
    alike: dict[tuple[str, float], list[Arrow]] = {}
    # Pale ones first, and thick ones: nothing hides what is thin.
    for arrow in sorted(arrows, key=lambda arrow: (arrow.marked, -arrow.share)):
        alike.setdefault((_colour(arrow), _width(arrow)), []).append(arrow)
    for (colour, width), some in alike.items():
        points: list[tuple[float | None, float | None]] = []
        for arrow in some:
            points += [_point(arrow, at, step / STEPS) for step in range(STEPS + 1)]
            points.append((None, None))
        yield {
            "type": "scatter",
            "mode": "lines",
            "x": [x for x, _ in points],
            "y": [y for _, y in points],
            "line": {"color": colour, "width": width},
            "hoverinfo": "skip",
        }


def _heads(arrows: Sequence[Arrow], at: dict[str, tuple[float, float]], shown: Shown, few: bool) -> dict[str, Any]:
    """A head on each curve, which says how much it is, and can be clicked."""
    middles = [_point(arrow, at, 0.62) for arrow in arrows]
    turns = []
    for arrow, (x, y) in zip(arrows, middles, strict=True):
        after_x, after_y = _point(arrow, at, 0.64)
        turns.append(round(math.degrees(math.atan2(after_x - x, after_y - y)), 1))
    marked = [arrow for arrow in arrows if arrow.marked]
    written = marked if len(marked) <= WRITTEN else []
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [x for x, _ in middles],
        "y": [y for _, y in middles],
        "text": [shown.amount(arrow.amount) if arrow in written else "" for arrow in arrows],
        "textposition": [_beside(turn) for turn in turns],
        "marker": {
            "symbol": "triangle-up",
            "size": [(9 if few else 6) + (1.2 if few else 0.9) * _width(arrow) for arrow in arrows],
            "angle": turns,
            "color": [_colour(arrow) for arrow in arrows],
            "opacity": 1,
            "line": {"width": 0},
        },
        "customdata": [[arrow.source.label, arrow.target.label] for arrow in arrows],
        "hovertext": [
            f"<b>{_text(arrow.source)} → {_text(arrow.target)}</b><br>{shown.amount(arrow.amount)} "
            f"{VALUES[shown.value].lower()}"
            for arrow in arrows
        ],
        "hoverinfo": "text",
        **picture.NEVER_PALE,
    }


def _nodes(drawn: Sequence[Place], at: dict[str, tuple[float, float]], marked: pd.DataFrame) -> dict[str, Any]:
    few = len(drawn) < heatmap.MANY
    involved = marked.any(axis=1) | marked.T.any(axis=1)
    symbols = {"gpu": "circle", "host": "square", "unknown": "diamond", "multicast": "hexagon"}
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [at[place.label][0] for place in drawn],
        "y": [at[place.label][1] for place in drawn],
        "text": [_name(place, few) for place in drawn],
        "textfont": {"color": [colours.ink_on(place.colour) for place in drawn], "size": 12 if few else 11},
        "marker": {
            "symbol": [symbols[place.kind] for place in drawn],
            "size": 58 if few else 30,
            "color": [place.colour for place in drawn],
            "opacity": [1.0 if involved[place.label] else 0.35 for place in drawn],
            "line": {"width": 0},
        },
        "customdata": [[place.label] for place in drawn],
        "hovertext": [place.hover for place in drawn],
        "hoverinfo": "text",
        **picture.NEVER_PALE,
    }


def _hosts(
    drawn: Sequence[Place], at: dict[str, tuple[float, float]]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """A frame around the GPUs of each host, and its name, where there are several."""
    hosts = list(dict.fromkeys(place.host for place in drawn if place.kind == "gpu"))
    if len(hosts) < 2:
        return
    for host in hosts:
        xs, ys = zip(*(at[place.label] for place in drawn if place.kind == "gpu" and place.host == host), strict=True)
        low, high = min(ys) - 0.3, max(ys) + 0.3
        frame = {
            "type": "rect",
            "x0": min(xs) - 0.35,
            "x1": max(xs) + 0.35,
            "y0": low,
            "y1": high,
            "line": {"color": colours.NEUTRAL, "width": 1, "dash": "dot"},
            "layer": "below",
        }
        name = {
            "x": min(xs) - 0.35,
            "y": high,
            "xanchor": "left",
            "yanchor": "bottom",
            "showarrow": False,
            "text": html.escape(host) or "host unknown",
            "font": {"color": colours.NEUTRAL, "size": 12},
        }
        yield frame, name


def _point(arrow: Arrow, at: dict[str, tuple[float, float]], part: float) -> tuple[float, float]:
    """After that part of an arrow, which bends to its left."""
    (x0, y0), (x2, y2) = at[arrow.source.label], at[arrow.target.label]
    x1, y1 = (x0 + x2) / 2 - BEND * (y2 - y0) * 2, (y0 + y2) / 2 + BEND * (x2 - x0) * 2
    first, second, third = (1 - part) ** 2, 2 * part * (1 - part), part**2
    return round(first * x0 + second * x1 + third * x2, 3), round(first * y0 + second * y1 + third * y2, 3)


def _beside(turn: float) -> str:
    """Where an amount stands beside a head that points in a direction (degrees clockwise from up): on its left."""
    side = (turn - 90) % 360
    return ("top center", "middle right", "bottom center", "middle left")[round(side / 90) % 4]


def _width(arrow: Arrow) -> float:
    return WIDTHS[min(int(arrow.share * len(WIDTHS)), len(WIDTHS) - 1)]


def _colour(arrow: Arrow) -> str:
    red, green, blue = hex_to_rgb(arrow.source.colour)
    return f"rgba({red}, {green}, {blue}, {0.85 if arrow.marked else 0.12})"


def _name(place: Place, few: bool) -> str:
    if few:
        return _text(place).replace("multicast ", "multi-<br>cast ")
    return _text(place).removeprefix("GPU ") if place.kind == "gpu" else ""


def _text(place: Place) -> str:
    return html.escape(place.name)
