"""The picture of a time: what ran in lanes, and the traffic between places below it."""

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
from visualizer.session import state

TITLES = {
    activity.KERNEL: "kernels",
    activity.LAUNCH: "launches (calls)",
    activity.COPY: "copies",
    activity.COPY_CALL: "copies (calls)",
    activity.COLLECTIVE: "NCCL (calls)",
    activity.RANGE: "ranges",
    activity.CALL: "driver calls",
}
_PAIRS = 12
_LANE_HEIGHT, _TRAFFIC_HEIGHT = 24, 200
# So many letters fit side by side into the narrowest picture; fewer than these say nothing.
_LETTERS, _FEWEST = 110, 3
# What takes no time is drawn as long as this share of the time, to be seen.
_SLIVER = 1 / 700
_STREAMS = {0: "default stream", 1: "default stream", 2: "default streams of threads"}


def figure(
    lanes: pd.DataFrame,
    blocks: pd.DataFrame,
    traffic: pd.DataFrame,
    shown: Time,
    origin: int,
    *,
    streams: bool,
    by_drag: bool,
) -> go.Figure:
    """``lanes`` and ``blocks`` of `Trace.activity_lanes` and `activity_blocks`, ``traffic`` of `traffic_over_time`, of
    the time that is shown. The mouse marks a time, ``by_drag``, else it clicks blocks, the points of the first curve.
    Times are ns after ``origin``."""
    height = 30 + _LANE_HEIGHT * len(lanes)
    total = height + _TRAFFIC_HEIGHT + 130
    split = (_TRAFFIC_HEIGHT + 16) / (total - 90)
    data = [_bars(blocks, lanes, shown, origin), *_traffic(traffic, shown, origin)]
    layout = {
        "barmode": "overlay",
        # Streamlit takes no clicks where a drag selects.
        **(picture.BY_BOX if by_drag else picture.BY_CLICK),
        "selectdirection": "h",
        "hoverlabel": {"align": "left"},
        "showlegend": True,
        "legend": {"orientation": "h", "x": 0, "y": -75 / total, "yanchor": "top"},
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "height": total,
        "xaxis": time_axis.axis(*shown, origin) | {"anchor": "y2", "showgrid": True},
        "yaxis": {
            "domain": [split, 1],
            "range": [len(lanes) - 0.4, -0.6],
            "fixedrange": True,
            "tickvals": list(range(len(lanes))),
            "ticktext": _lane_names(lanes, streams),
            "showgrid": False,
            "zeroline": False,
        },
        "yaxis2": {"domain": [0, split - 16 / total], "fixedrange": True, **_rates(data[1:])},
    }
    return picture.figure(data, layout)


def strip(lanes: pd.DataFrame, blocks: pd.DataFrame, shown: Time, origin: int) -> go.Figure:
    """The lanes alone, a row for each place, to be seen at a glance."""
    layout = {
        "barmode": "overlay",
        "hovermode": "closest",
        "dragmode": False,
        "showlegend": False,
        "margin": {"l": 8, "r": 8, "t": 4, "b": 4},
        "height": 60 + 18 * len(lanes),
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
        "textfont": {"size": 10, "color": "#ffffff"},
        "cliponaxis": True,
        "hovertemplate": "%{customdata}<extra></extra>",
        "customdata": _hovers(blocks, lanes, share, origin),
        "showlegend": False,
        "selected": {"marker": {"opacity": 1}},
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
            rest = f"{where[lane]}<br>click to look closer"
        texts.append(f"<b>{_cut(head)}</b><br>{rest}<br>at {units.duration(start - origin)}")
    return texts


def short(what: str, name: str) -> str:
    """The name of a kernel without its types; the names of all else have none."""
    return names.short_name(name) if what in (activity.KERNEL, activity.LAUNCH) else name


def _cut(text: str, most: int = 80) -> str:
    return html.escape(visible(text if len(text) <= most else text[: most - 1] + "…"), quote=False)


def _lane_names(lanes: pd.DataFrame, streams: bool) -> list[str]:
    """The place, in the first of its lanes, what it is, and the stream or thread."""
    processes = state.trace().processes
    ranks = processes["rank"].to_dict()
    texts, before = [], None
    for what, place, process, line in zip(
        *(lanes[name].tolist() for name in ("what", "place", "process", "line")), strict=True
    ):
        parts = [TITLES[what]]
        if len(processes) > 1 and process >= 0:
            parts.append(f"rank {ranks[process]}" if ranks[process] >= 0 else f"process {process}")
        if streams:
            parts.append(f"thread {line}" if what in activity.OF_THREADS else stream_name(line))
        name = "" if place == before else f"<b>{html.escape(place)}</b>  "
        before = place
        texts.append(f"{name}{html.escape(' · '.join(parts))} ")
    return texts


def stream_name(handle: int) -> str:
    """A stream's handle, of whichever sign, as a name."""
    return _STREAMS.get(handle, f"stream {handle % (1 << 64):#x}")


def _traffic(table: pd.DataFrame, shown: Time, origin: int) -> list[dict[str, Any]]:
    """The rate of each pair, stacked, in the colour of its first end; few pairs by themselves, the others together. Of
    lines likewise, each in a colour of its own."""
    if table.empty:
        return []
    if "line" in table:
        return _lines(table, shown, origin)
    first, second = table.columns[:2]
    width = int(table["end"].iloc[0] - table["start"].iloc[0])
    table = table.assign(bin=(table["start"] - shown[0]) // width)
    sums = table.groupby([first, second], sort=False)["bytes"].sum().sort_values(ascending=False, kind="stable")
    apart = sums.index[:_PAIRS].sort_values()
    rest = table[~pd.MultiIndex.from_frame(table[[first, second]]).isin(apart)]
    known = places.by_label()
    parts = [
        (f"{one} → {other}", _colour(known[one]), table[(table[first] == one) & (table[second] == other)])
        for one, other in apart
    ]
    if len(rest):
        parts.append((f"{len(sums) - _PAIRS} other pairs", colours.OTHERS["unknown"], rest))
    edges = range(shown[0], shown[1] + width, width)
    return [_area(*part, edges, origin) for part in parts]


def _lines(table: pd.DataFrame, shown: Time, origin: int) -> list[dict[str, Any]]:
    width = int(table["end"].iloc[0] - table["start"].iloc[0])
    table = table.assign(bin=(table["start"] - shown[0]) // width)
    sums = table.groupby("line")["bytes"].sum().sort_values(ascending=False, kind="stable")
    apart = sums.index[:_PAIRS]
    palette = colours.of_gpus(len(apart))
    parts = [(str(line), colour, table[table["line"] == line]) for line, colour in zip(apart, palette, strict=False)]
    if len(sums) > len(apart):
        rest = table[~table["line"].isin(apart)]
        parts.append((f"{len(sums) - len(apart)} other lines", colours.OTHERS["unknown"], rest))
    edges = range(shown[0], shown[1] + width, width)
    return [_area(*part, edges, origin) for part in parts]


def _area(name: str, colour: str, rows: pd.DataFrame, edges: range, origin: int) -> dict[str, Any]:
    sizes = rows.groupby("bin")["bytes"].sum().reindex(range(len(edges)), fill_value=0)
    rates = sizes * 1e9 / edges.step
    name = html.escape(visible(name), quote=False)
    return {
        "type": "scatter",
        "mode": "lines",
        "yaxis": "y2",
        "stackgroup": "traffic",
        "name": name,
        "line": {"color": colour, "width": 0.7, "shape": "hv"},
        "x": [edge - origin for edge in edges],
        "y": rates.tolist(),
        "customdata": [f"{units.rate(rate)}, {units.bytes(size)}" for rate, size in zip(rates, sizes, strict=True)],
        "hovertemplate": f"{name}: %{{customdata}}<extra></extra>",
    }


def _rates(areas: list[dict[str, Any]]) -> dict[str, Any]:
    """Marks at whole 1, 2 or 5 times powers of ten, in which rates are written."""
    highest = max((sum(column) for column in zip(*(area["y"] for area in areas), strict=True)), default=0.0)
    step = next(
        step for power in range(20) for step in (10.0**power, 2 * 10.0**power, 5 * 10.0**power) if highest <= 5 * step
    )
    marks = [step * number for number in range(6) if step * number <= highest * 1.05]
    return {"range": [0, highest * 1.05 or 1], "tickvals": marks, "ticktext": [units.rate(one) for one in marks]}
