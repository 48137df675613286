"""The timeline's picture, and what is done in it: another part of time, a bar, a selection, a search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from snoopie import Trace
from snoopie.analysis.time.folding import Folding
from visualizer.components import timeline
from visualizer.components.timeline import Asked, Picture, Search
from visualizer.controls import time_range
from visualizer.controls.time_range import Time
from visualizer.parts import lane_sums
from visualizer.pictures import lane_bars, traffic_areas
from visualizer.session import address, state

# So many bars are as many as can be told apart, and a lane has at least some.
_BARS, _FEWEST, _MOST = 2048, 48, 300
# Of a thing that was searched for: the part of the picture that it takes at least and at most.
_SMALL, _LARGE = 1 / 40, 0.8

Span = tuple[int, int, int, int]


@dataclass(frozen=True)
class View:
    """What is looked at. ``lanes`` as `Trace.activity_lanes` has them; ``apart``: each of one stream or thread."""

    shown: Time
    whole: Time
    folds: tuple[Time, ...]
    lanes: pd.DataFrame
    apart: bool
    by_kernel: bool

    @property
    def numbers(self) -> tuple[int, ...]:
        """The lanes' numbers, in their order."""
        return tuple(self.lanes.index.tolist())


def show(view: View, traffic: pd.DataFrame) -> None:
    """``traffic`` as `Trace.traffic_over_time` or `lines_by_moment` has it, without the folds."""
    origin = state.trace().period[0]
    chosen = address.keep_text("event")
    selection = _kept_selection(view)
    search = _search(view)
    session = st.session_state
    sent = timeline.in_sight(session.get("timeline_top", 0), len(view.lanes))
    numbers = view.numbers[slice(*sent)]
    most = min(max(_BARS // (2 * max(len(numbers), 1)), _FEWEST), _MOST)
    asked = (*view.shown, most, view.apart, numbers)
    rows, what = pd.Series(range(len(view.lanes)), view.lanes.index), view.lanes["what"]
    names: dict[tuple[str, str], int] = {}
    bars = lane_bars.bars(state.ask(Trace.activity_blocks, *asked, folds=view.folds), rows, names, what)
    found = None
    if search.total:
        blocks = state.ask(Trace.activity_blocks, *asked, folds=view.folds, text=search.text)
        found = lane_bars.bars(blocks, rows, names, what)
    picture = Picture(
        of=f"{hash((state.selected(), view.apart, view.numbers, view.folds, view.by_kernel, search.text)):x}",
        whole=_after(view.whole, origin),
        shown=_after(view.shown, origin),
        folds=[_after(fold, origin) for fold in view.folds],
        lanes=lane_bars.lanes(view.lanes, view.apart),
        sent=sent,
        names=lane_bars.said(list(names)),
        colours=lane_bars.of_names(list(names), view.by_kernel),
        bars=bars,
        found=found,
        traffic=traffic_areas.traffic(traffic, view.shown, Folding(view.folds)),
        chosen=chosen,
        selection=selection,
        search=search,
        reveal=session.get("timeline_reveal"),
        asked=session.get("timeline_asked", 0),
    )

    def look(to: Asked) -> None:
        session["timeline_top"], session["timeline_asked"] = to.top, to.number
        time_range.look_at((to.first + origin, to.last + origin), view.whole)

    def choose(event: str) -> None:
        session["event"] = event

    def select(span: Span | None) -> None:
        session["selection"] = "-".join(map(str, span)) if span else ""

    timeline.show(
        "timeline_picture",
        picture,
        on_look=look,
        on_choose=choose,
        on_select=select,
        on_search=lambda text, by: _find(view, text, by),
    )
    if selection is not None:
        first, last, one, other = selection
        with st.container(border=True):
            lane_sums.show((first + origin, last + origin), view.lanes.iloc[one : other + 1], view.apart)


def _after(time: Time, origin: int) -> Time:
    return time[0] - origin, time[1] - origin


def _kept_selection(view: View) -> Span | None:
    """The selected part of time (ns after the start) and lanes, if there still is such."""
    words = address.keep_text("selection", valid=lambda value: not value or _span(value, view) is not None)
    return _span(words, view)


def _span(words: str, view: View) -> Span | None:
    parts = words.split("-")
    if len(parts) != 4 or not all(part.isascii() and part.isdigit() and len(part) < 19 for part in parts):
        return None
    first, last, one, other = map(int, parts)
    return (first, last, one, other) if first < last and one <= other < len(view.lanes) else None


# --- search ---


def _search(view: View) -> Search:
    """What is searched for, in the address, and which of how many it is."""
    text = address.keep_text("search")
    if not text:
        return Search()
    row = _nth(view, text, st.session_state.get("timeline_found", 0))
    return Search(text, *(int(row[name].iloc[0]) for name in ("number", "events"))) if len(row) else Search(text)


def _nth(view: View, text: str, number: int, after: int = 0) -> pd.DataFrame:
    """As `Trace.activity_search`."""
    return state.ask(Trace.activity_search, text, number, after, view.apart, view.numbers)


def _find(view: View, text: str, by: int) -> None:
    """Goes to the next thing that is called so (1) or to the one before (-1); of another text, to the next from where
    one is."""
    session = st.session_state
    before = session.get("search", ""), session.get("timeline_found", 0)
    session["search"], session["timeline_found"] = text, 0
    if not text:
        return
    if text != before[0] or not before[1]:
        row = _nth(view, text, 0, view.shown[0])
    else:
        total = int(_nth(view, text, 1)["events"].sum()) or 1
        row = _nth(view, text, (before[1] - 1 + by) % total + 1)
    if row.empty:
        return
    one = row.iloc[0]
    session["timeline_found"] = int(one["number"])
    session["event"] = f"{one['what']}:{one['id']}"
    session["timeline_reveal"] = f"{view.numbers.index(int(one['lane']))}:{one['number']}:{text}"
    _look_at(view, int(one["start"]), int(one["end"]))


def _look_at(view: View, start: int, end: int) -> None:
    """Has it in the middle, and as closely as now if it can be seen then."""
    folding = Folding(view.folds)
    if folding.hidden(np.array([start]), np.array([end]))[0]:
        # What is in a fold is seen without.
        st.session_state["idle"] = "whole"
        folding = Folding(())
    first, last, start, end = folding.folded(np.array([*view.shown, start, end])).tolist()
    length = max(end - start, 1)
    wide = int(min(max(last - first, length / _LARGE), length / _SMALL))
    begin = (start + end - wide) // 2
    folds = view.folds if folding else ()
    time_range.look_at(time_range.unfolded((begin, begin + wide), view.whole, folds), view.whole)
