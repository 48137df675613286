"""Which part of the time a view looks at: in the address, and the controls that change it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from snoopie.analysis.time import activity
from snoopie.words import units
from visualizer.controls import filters
from visualizer.pictures import time_axis
from visualizer.session import address, state

_NARROWEST = 10  # ns
# Of the whole time: what is as long a gap, and what is as good as all.
_GAP, _MUCH = 0.05, 0.5
_OPENING = "time_opening"

# A part of time: from the first moment until before the second, host ns.
Time = tuple[int, int]


def whole() -> Time:
    """All the time there is to look at: of the filter of times, else of the trace. At least one nanosecond."""
    first, last = state.filters().between or state.trace().period
    return first, max(last, first + 1)


def keep(whole: Time, opening: Time) -> Time:
    """What is looked at: in the address as ns after the start of all; ``opening`` where it says nothing."""
    origin = state.trace().period[0]
    st.session_state[_OPENING] = opening
    first = _keep_moment("time_from", opening[0] - origin) + origin
    last = _keep_moment("time_to", opening[1] - origin) + origin
    return _inside((first, last), whole)


def opening(lanes: pd.DataFrame, blocks: pd.DataFrame, whole: Time) -> Time:
    """The time in which most happened: kernels, else whatever there is, between two gaps that are most of the whole.

    ``lanes`` and ``blocks`` of `Trace.activity_lanes` and `activity_blocks`, of all the time.
    """
    kinds = blocks["lane"].map(lanes["what"])
    kernels = kinds.isin([activity.KERNEL, activity.LAUNCH])
    ran = (blocks[kernels] if kernels.any() else blocks).sort_values("start", kind="stable")
    if ran.empty:
        return whole
    length = whole[1] - whole[0]
    ended = ran["end"].cummax().shift(fill_value=int(ran["start"].iloc[0]))
    part = (ran["start"] - ended > _GAP * length).cumsum()
    parts = ran.groupby(part).agg(start=("start", "min"), end=("end", "max"), count=("count", "sum"))
    most = parts.iloc[int(parts["count"].to_numpy().argmax())]
    margin = max(int(most["end"] - most["start"]) // 50, _NARROWEST)
    found = int(most["start"]) - margin, int(most["end"]) + margin
    # All else is not worth a step.
    return whole if found[1] - found[0] > _MUCH * length else _inside(found, whole)


def _keep_moment(key: str, default: int) -> int:
    # -1 is the end of all, wherever that is: a filter may move it.
    kept = address.keep(key, -1, address.number, lambda value: [str(value)])
    return default if kept < 0 else kept


def _inside(time: Time, whole: Time) -> Time:
    """The time, moved and cut so that it lies within the whole."""
    length = min(max(time[1] - time[0], _NARROWEST), whole[1] - whole[0])
    first = min(max(time[0], whole[0]), whole[1] - length)
    return first, first + length


def look_at(time: Time, whole: Time) -> None:
    """As of the next run."""
    first, last = _inside(time, whole)
    origin = state.trace().period[0]
    begin, end = st.session_state.get(_OPENING, whole)
    opened = (first, last) == (begin, end)
    st.session_state["time_from"] = -1 if opened else first - origin
    st.session_state["time_to"] = -1 if opened else last - origin


def controls(shown: Time, whole: Time) -> None:
    """From, to, and buttons that look closer, further and beside."""
    first, last = shown
    length = last - first
    origin = state.trace().period[0]
    name, size = time_axis.unit(whole[1] - whole[0])
    st.session_state["timeline_from"], st.session_state["timeline_to"] = (
        (first - origin) / size, (last - origin) / size,
    )  # fmt: skip
    digits = next(digits for digits in range(10) if length * 10**digits >= 1000 * size or 10**digits >= size)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        for key, title in (("timeline_from", "From"), ("timeline_to", "To")):
            st.number_input(
                f"{title} ({name})",
                (whole[0] - origin) / size,
                (whole[1] - origin) / size,
                key=key,
                step=length / size / 10,
                format=f"%.{digits}f",
                on_change=_typed,
                args=(key, shown, whole, size),
                width=135,
            )
        closer = (first + length // 4, last - length // 4)
        further = (first - length // 2, last + length // 2)
        steps: tuple[tuple[str, str, Time], ...] = (
            ("Closer", ":material/zoom_in:", closer),
            ("Further", ":material/zoom_out:", further),
            ("Earlier", ":material/chevron_left:", (first - length // 2, last - length // 2)),
            ("Later", ":material/chevron_right:", (first + length // 2, last + length // 2)),
            ("All", ":material/fit_width:", whole),
        )
        for title, icon, to in steps:
            st.button(
                title,
                key=f"timeline_{title.lower()}",
                icon=icon,
                on_click=look_at,
                args=(to, whole),
                disabled=_inside(to, whole) == shown,
            )
        st.button(
            "Filter to this time",
            key="timeline_filter",
            icon=":material/filter_alt:",
            help="Applies to all views: they then show only what was active in this time.",
            on_click=filters.choose,
            kwargs={"between": shown},
            disabled=shown == whole,
        )
    st.caption(f"{units.duration(length)} of {units.duration(whole[1] - whole[0])}.")


def _typed(key: str, shown: Time, whole: Time, size: int) -> None:
    """The end that was typed counts; the other one gives way."""
    moment = state.trace().period[0] + round(st.session_state[key] * size)
    first, last = (moment, shown[1]) if key == "timeline_from" else (shown[0], moment)
    if last <= first:
        length = shown[1] - shown[0]
        first, last = (moment, moment + length) if key == "timeline_from" else (moment - length, moment)
    look_at((first, last), whole)
