"""What ran when, in lanes, under the traffic of that time: a picture that is looked at with wheel, mouse and keys.

Sent is what is seen: bars of the lanes in sight, as much apart as the picture shows them. Times are ns after the start
of the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from visualizer.components import component, event

# Lanes that are in sight at once; those that are sent begin as many before and end as many after.
ROWS, BESIDE = 20, 4
# An hour of a year's trace is within this, as ns and as a float.
_LATEST = 1 << 53

_mount = component("timeline", "elements", "timeline_time", "timeline_drawing")


@dataclass(frozen=True)
class Lane:
    """A row: what is in it (of `activity.WHAT`), where, what is written before it, its colour, more about it; whether
    its bars are as strong as they are busy, as those of several are everywhere."""

    what: str
    place: str
    label: str
    colour: str
    about: str = ""
    faint: bool = False


@dataclass(frozen=True)
class Bars:
    """Columns of bars: lane, start, length, how many it is of, the id (0: of several), the place of its name in
    `Picture.names`, the share of its length in which something ran (percent; of a wait, at least), and more about it.
    """

    lane: list[int] = field(default_factory=list)
    start: list[int] = field(default_factory=list)
    length: list[int] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    id: list[int] = field(default_factory=list)
    name: list[int] = field(default_factory=list)
    busy: list[int] = field(default_factory=list)
    about: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Series:
    """What moved between two places, or by a line: the bins that have some, of folded time, and the bytes of each."""

    name: str
    colour: str
    bins: list[int]
    bytes: list[int]
    said: list[str]


@dataclass(frozen=True)
class Traffic:
    """``width`` is that of a bin (ns); ``top`` the highest rate; ``marks`` are rates and how they are written."""

    width: int
    top: float
    marks: list[tuple[float, str]]
    series: list[Series]


@dataclass(frozen=True)
class Search:
    """What is searched, and which of how many it is that is looked at."""

    text: str = ""
    number: int = 0
    total: int = 0


@dataclass(frozen=True)
class Picture:
    """``of`` says what it is a picture of, but for the time; what differs in it has nothing to do with one before.

    ``sent`` are the lanes of which there are bars, from and until before. ``colours`` are those of ``names``, "" for
    the lane's. ``asked`` is the number of the request that it answers.
    """

    of: str
    whole: tuple[int, int]
    shown: tuple[int, int]
    folds: Sequence[tuple[int, int]]
    lanes: Sequence[Lane]
    sent: tuple[int, int]
    names: Sequence[str]
    colours: Sequence[str]
    bars: Bars
    found: Bars | None
    traffic: Traffic | None
    chosen: str
    selection: tuple[int, int, int, int] | None
    search: Search
    reveal: str | None
    asked: int


@dataclass(frozen=True)
class Asked:
    """A part of time, the first lane in sight, the number of the request."""

    first: int
    last: int
    top: int
    number: int


def in_sight(top: int, lanes: int) -> tuple[int, int]:
    """The lanes of which bars are sent, where the first in sight is at ``top``."""
    first = min(max(top - BESIDE, 0), max(lanes - 1, 0))
    return first, min(max(top, 0) + ROWS + 1 + BESIDE, lanes)


def show(
    key: str,
    picture: Picture,
    *,
    on_look: Callable[[Asked], None],
    on_choose: Callable[[str], None],
    on_select: Callable[[tuple[int, int, int, int] | None], None],
    on_search: Callable[[str, int], None],
) -> None:
    """Draws it. ``on_choose`` is told of a bar ("kernel:51"), ``on_select`` a part of time and the first and last of
    its lanes, ``on_search`` a text, and 1 for the next that is called so or -1 for the one before."""

    def looked() -> None:
        value = event(key, "look")
        if not isinstance(value, dict):
            return
        shown = _numbers(value.get("shown"), 2)
        others = _numbers([value.get("top"), value.get("asked")], 2)
        if shown and others and shown[0] < shown[1]:
            on_look(Asked(shown[0], shown[1], *others))

    def chose() -> None:
        value = event(key, "choose")
        if isinstance(value, str):
            on_choose(value)

    def selected() -> None:
        value = event(key, "select")
        if value == []:
            on_select(None)
        elif span := _numbers(value, 4):
            on_select((span[0], span[1], span[2], span[3]))

    def searched() -> None:
        value = event(key, "search")
        if isinstance(value, dict) and isinstance(value.get("text"), str):
            on_search(value["text"][:200], -1 if value.get("by") == -1 else 1)

    _mount(
        key=key,
        data={
            **vars(picture),
            "rows": ROWS,
            "lanes": [vars(lane) for lane in picture.lanes],
            "bars": vars(picture.bars),
            "found": picture.found and vars(picture.found),
            "traffic": picture.traffic
            and {**vars(picture.traffic), "series": [vars(one) for one in picture.traffic.series]},
            "search": vars(picture.search),
        },
        on_look_change=looked,
        on_choose_change=chose,
        on_select_change=selected,
        on_search_change=searched,
    )


def _numbers(value: Any, count: int) -> list[int]:
    """So many whole numbers, none of them negative; [] for all else that a browser sends."""
    if not isinstance(value, list) or len(value) != count:
        return []
    whole = all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one < _LATEST for one in value)
    return value if whole else []
