"""Which part of the time a view looks at: in the address, and the controls that change it."""

from __future__ import annotations

import numpy as np
import streamlit as st

from snoopie.analysis.time.folding import Folding, Folds
from snoopie.words import units
from visualizer.controls import filters
from visualizer.pictures import time_axis
from visualizer.session import address, state

_NARROWEST = 10  # ns

# A part of time: from the first moment until before the second, host ns.
Time = tuple[int, int]


def whole() -> Time:
    """All the time there is to look at: of the filter of times, else of the trace. At least one nanosecond."""
    first, last = state.filters().between or state.trace().period
    return first, max(last, first + 1)


def keep(whole: Time) -> Time:
    """What is looked at: in the address as ns after the start of all; the whole where it says nothing."""
    origin = state.trace().period[0]
    first = _keep_moment("time_from", whole[0] - origin) + origin
    last = _keep_moment("time_to", whole[1] - origin) + origin
    return _inside((first, last), whole)


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
    st.session_state["time_from"] = -1 if first == whole[0] else first - origin
    st.session_state["time_to"] = -1 if last == whole[1] else last - origin


def moved(shown: Time, whole: Time, folds: Folds, before: float, after: float) -> Time:
    """The time that begins and ends so many of its lengths earlier and later, as if there were no folds."""
    first, last = Folding(folds).folded(np.array(shown)).tolist()
    length = last - first
    return unfolded((first - round(before * length), last + round(after * length)), whole, folds)


def unfolded(time: Time, whole: Time, folds: Folds) -> Time:
    """A part of folded time, as far as it lies within the whole, in host time."""
    folding = Folding(folds)
    begin, end = folding.folded(np.array(whole)).tolist()
    low, high = _inside(time, (begin, end))
    # A fold at the end belongs to the whole.
    return (
        whole[0] if low <= begin else int(folding.starts(np.array([low]))[0]),
        whole[1] if high >= end else int(folding.ends(np.array([high]))[0]),
    )


def controls(shown: Time, whole: Time, folds: Folds) -> None:
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
        # What a form holds counts when it is sent: whatever else is done, the browser tells the numbers that it shows,
        # and on a slow machine these are those of before.
        with (
            st.form("timeline_times", border=False, width="content"),
            st.container(horizontal=True, vertical_alignment="bottom", gap="small"),
        ):
            for key, title in (("timeline_from", "From"), ("timeline_to", "To")):
                st.number_input(
                    f"{title} ({name})",
                    (whole[0] - origin) / size,
                    (whole[1] - origin) / size,
                    key=key,
                    step=length / size / 10,
                    format=f"%.{digits}f",
                    width=135,
                )
            st.form_submit_button("Go", key="timeline_go", on_click=_typed, args=(shown, whole, size, digits))
        steps: tuple[tuple[str, str, Time], ...] = (
            ("Closer", ":material/zoom_in:", moved(shown, whole, folds, -0.25, -0.25)),
            ("Further", ":material/zoom_out:", moved(shown, whole, folds, 0.5, 0.5)),
            ("Earlier", ":material/chevron_left:", moved(shown, whole, folds, 0.5, -0.5)),
            ("Later", ":material/chevron_right:", moved(shown, whole, folds, -0.5, 0.5)),
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
    idle = sum(max(min(end, last) - max(start, first), 0) for start, end in folds)
    rest = f", {units.duration(length - idle)} without the idle gaps that are folded" if idle else ""
    st.caption(f"{units.duration(length)} of {units.duration(whole[1] - whole[0])}{rest}.")


def _typed(shown: Time, whole: Time, size: int, digits: int) -> None:
    """An end that was typed counts; where the beginning would come after it, the other one gives way."""
    origin = state.trace().period[0]
    first, last = shown
    ends = []
    for key, was in (("timeline_from", first), ("timeline_to", last)):
        value = st.session_state[key]
        same = round(value, digits) == round((was - origin) / size, digits)
        ends.append(was if same else origin + round(value * size))
    if ends[1] <= ends[0]:
        length = last - first
        ends = [ends[0], ends[0] + length] if ends[0] != first else [ends[1] - length, ends[1]]
    look_at((ends[0], ends[1]), whole)
