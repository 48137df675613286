"""What ran when in a small picture, to be seen at a glance."""

from __future__ import annotations

import html
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from snoopie.analysis.time import activity
from snoopie.figures import colours
from snoopie.words import names, units
from snoopie.words.text import visible
from visualizer.controls.time_range import Time
from visualizer.look import theme
from visualizer.parts import places
from visualizer.parts.places import Place
from visualizer.pictures import picture, time_axis

TITLES = {
    activity.KERNEL: "kernels",
    activity.LAUNCH: "launches (calls)",
    activity.MOVE: "accesses",
    activity.WAIT: "waits",
    activity.COPY: "copies",
    activity.COPY_CALL: "copies (calls)",
    activity.COLLECTIVE: "NCCL (calls)",
    activity.RANGE: "ranges",
    activity.CALL: "driver calls",
}
# So many letters fit side by side into the narrowest picture; fewer than these say nothing.
_LETTERS, _FEWEST = 110, 3
# What takes no time is drawn as long as this share of the time, to be seen.
_SLIVER = 1 / 700


def strip(lanes: pd.DataFrame, blocks: pd.DataFrame, shown: Time, origin: int) -> go.Figure:
    """A row for each place: ``lanes`` and ``blocks`` of `Trace.activity_lanes` and `activity_blocks`, of the time that
    is shown. Times are ns after ``origin``."""
    layout = {
        "barmode": "overlay",
        "hovermode": "closest",
        "dragmode": False,
        "showlegend": False,
        "margin": {"l": 8, "r": 8, "t": 4, "b": 4},
        "height": 90 + 18 * len(lanes),
        "xaxis": time_axis.axis(*shown, origin) | {"showgrid": True},
        "yaxis": {
            "range": [len(lanes) - 0.4, -0.6],
            "fixedrange": True,
            "tickvals": list(range(len(lanes))),
            "ticktext": [html.escape(place) for place in lanes["place"]],
            "showgrid": False,
            "zeroline": False,
        },
    }
    return picture.figure([_bars(blocks, lanes, shown, origin)], layout)


def _bars(blocks: pd.DataFrame, lanes: pd.DataFrame, shown: Time, origin: int) -> dict[str, Any]:
    known = places.by_label()
    row = pd.Series(range(len(lanes)), lanes.index)
    least = (shown[1] - shown[0]) * _SLIVER
    length = (blocks["end"] - blocks["start"]).to_numpy()
    one = (blocks["count"] == 1).to_numpy()
    # What is of many is as strong as it is busy.
    share = (blocks["busy"] / (blocks["end"] - blocks["start"]).clip(lower=1)).to_numpy()
    colour = {lane: _colour(known[lanes.loc[lane, "place"]]) for lane in lanes.index}
    return {
        "type": "bar",
        "orientation": "h",
        "base": (blocks["start"] - origin).tolist(),
        "x": [max(int(one), least) for one in length],
        "y": row[blocks["lane"]].tolist(),
        "width": 0.82,
        "marker": {
            "color": [colour[lane] for lane in blocks["lane"]],
            "opacity": [1.0 if alone else 0.3 + 0.6 * part for alone, part in zip(one, share, strict=True)],
            # Neighbours stay apart, if there is room for it.
            "line": {
                "color": "black" if theme.is_dark() else "white",
                "width": [0.6 if size > 4 * least else 0 for size in length],
            },
        },
        "text": _names(blocks, lanes, shown),
        "textposition": "inside",
        "insidetextanchor": "start",
        "textangle": 0,
        "constraintext": "none",
        "textfont": {"size": 10, "color": [colours.ink_on(colour[lane]) for lane in blocks["lane"]]},
        "cliponaxis": True,
        "hovertemplate": "%{customdata}<extra></extra>",
        "customdata": _hovers(blocks, lanes, share, origin),
        "showlegend": False,
    }


def _names(blocks: pd.DataFrame, lanes: pd.DataFrame, shown: Time) -> list[str]:
    """What stands in a bar: the name of a single thing, as far as there is room for some of it."""
    kinds, whole = lanes["what"].to_dict(), shown[1] - shown[0]
    texts = []
    for lane, start, end, count, name in blocks[["lane", "start", "end", "count", "name"]].itertuples(index=False):
        part = min(end, shown[1]) - max(start, shown[0])
        room = int(part / whole * _LETTERS)
        texts.append(_cut(short(kinds[lane], name), room) if count == 1 and room >= _FEWEST else "")
    return texts


def _colour(place: Place) -> str:
    return place.colour if place.kind == "gpu" else colours.NEUTRAL


def _hovers(blocks: pd.DataFrame, lanes: pd.DataFrame, share: Any, origin: int) -> list[str]:
    where = (lanes["place"] + ", " + lanes["what"].map(TITLES)).to_dict()
    kinds = lanes["what"].to_dict()
    columns = (blocks[name].tolist() for name in ("lane", "start", "end", "count", "name"))
    texts = []
    for lane, start, end, count, name, busy in zip(*columns, share, strict=True):
        if count == 1:
            head, rest = short(kinds[lane], name) or where[lane], f"{where[lane]}<br>{units.duration(end - start)}"
        else:
            head = f"{count:,} in {units.duration(end - start)}, busy {units.percent(busy)}"
            rest = where[lane]
        texts.append(f"<b>{_cut(head)}</b><br>{rest}<br>at {units.duration(start - origin)}")
    return texts


def short(what: str, name: str) -> str:
    """The name of a kernel without its types; the names of all else have none."""
    return names.short_name(name) if what in (activity.KERNEL, activity.LAUNCH) else name


def _cut(text: str, most: int = 80) -> str:
    return html.escape(visible(text if len(text) <= most else text[: most - 1] + "…"), quote=False)
