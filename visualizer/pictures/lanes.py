"""What ran when in a small picture, to be seen at a glance."""

from __future__ import annotations

import html
from collections.abc import Callable

import numpy as np
import pandas as pd

from snoopie.analysis.time import activity
from snoopie.analysis.time.folding import Folding, Folds
from snoopie.figures import colours
from snoopie.words import names, units
from snoopie.words.text import visible
from visualizer.controls.time_range import Time
from visualizer.look import theme
from visualizer.parts import places
from visualizer.parts.places import Place
from visualizer.pictures import time_axis

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


def strip(lanes: pd.DataFrame, blocks: pd.DataFrame, shown: Time, origin: int, folds: Folds = ()) -> str:
    """A row for each place, as HTML, which a browser draws at once (look/page.css): ``lanes`` and ``blocks`` of
    `Trace.activity_lanes` and `activity_blocks`, of the time that is shown, without the folds. Times are ns after
    ``origin``."""
    folding = Folding(folds)
    axis = time_axis.axis(*shown, origin, folding)
    low, high = axis["range"]
    # All of it is a gap where a filter of time leaves nothing.
    length = max(high - low, 1)

    def place(moment: float) -> str:
        return f"left:{100 * (moment - low) / length:.2f}%"

    seams = folding.folded(np.array([start for start, _ in folds], np.int64)) - origin
    bars = _bars(blocks, lanes, folding, origin, length, place)
    rows = [
        f'<span style="grid-row:{row + 1}">{html.escape(visible(lanes.loc[lane, "place"]))}</span>'
        f'<div class="lane" style="grid-row:{row + 1}">{"".join(bars.get(lane, ()))}</div>'
        for row, lane in enumerate(lanes.index)
    ]
    lines = "".join(f'<b style="{place(seam)}"></b>' for seam in seams)
    marks = "".join(
        f'<span style="{place(value)}">{text}</span>'
        for value, text in zip(axis["tickvals"], axis["ticktext"], strict=True)
    )
    about = "When kernels ran, a row for each GPU"
    return (
        f'<div class="strip" role="img" aria-label="{about}" style="color:{theme.faint()}">'
        f'<div class="seams" style="grid-row:1 / span {len(lanes)}">{lines}</div>{"".join(rows)}'
        f'<div class="marks">{marks}</div><div>{axis["title"]["text"]}</div></div>'
    )


def _bars(
    blocks: pd.DataFrame, lanes: pd.DataFrame, folding: Folding, origin: int, whole: int, place: Callable[[float], str]
) -> dict[int, list[str]]:
    """By lane, what ran in it."""
    known = places.by_label()
    kinds = lanes["what"].to_dict()
    colour = {lane: _colour(known[lanes.loc[lane, "place"]]) for lane in lanes.index}
    where = (lanes["place"] + ", " + lanes["what"].map(TITLES)).to_dict()
    starts, ends = (folding.folded(blocks[name].to_numpy()) - origin for name in ("start", "end"))
    bars: dict[int, list[str]] = {}
    columns = (blocks[name].tolist() for name in ("lane", "start", "end", "count", "name", "busy"))
    for lane, first, last, count, name, busy, start, end in zip(*columns, starts.tolist(), ends.tolist(), strict=True):
        length = max(last - first, 1)
        if count == 1:
            head, rest = short(kinds[lane], name) or where[lane], f"{where[lane]}\n{units.duration(last - first)}"
        else:
            head, rest = f"{count:,} in {units.duration(length)}, busy {units.percent(busy / length)}", where[lane]
        hint = f"{_cut(head)}\n{rest}\nat {units.duration(first - origin)}"
        room = int((end - start) / whole * _LETTERS)
        text = _cut(short(kinds[lane], name), room) if count == 1 and room >= _FEWEST else ""
        # What is of many is as strong as it is busy.
        opacity = "" if count == 1 else f";opacity:{0.3 + 0.6 * busy / length:.2f}"
        bars.setdefault(lane, []).append(
            f'<i style="{place(start)};width:{100 * (end - start) / whole:.2f}%;background:{colour[lane]};'
            f'color:{colours.ink_on(colour[lane])}{opacity}" title="{html.escape(hint)}">{html.escape(text)}</i>'
        )
    return bars


def _colour(place: Place) -> str:
    return place.colour if place.kind == "gpu" else colours.NEUTRAL


def short(what: str, name: str) -> str:
    """The name of a kernel without its types; the names of all else have none."""
    return names.short_name(name) if what in (activity.KERNEL, activity.LAUNCH) else name


def _cut(text: str, most: int = 80) -> str:
    return visible(text if len(text) <= most else text[: most - 1] + "…")
