"""The filters: what is chosen in the sidebar, or by a view, holds on every page and stands in the URL.

`session.filters` says what they mean; here are their names, their widgets, and `choose` for views.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import pandas as pd
import streamlit as st

from snoopie import Trace
from snoopie.words import names, units
from visualizer.controls import choices
from visualizer.look import theme
from visualizer.pictures import time_axis
from visualizer.session import address, runs, state
from visualizer.session.filters import FILTERS
from visualizer.session.question import KEYS, Identity

Option = TypeVar("Option", bound=Hashable)

# How people call them. `Process` is shown only where there are several, and so on.
TITLES = {
    "processes": "Process",
    "issuers": "Issuer",
    "owners": "Owner",
    "kernels": "Kernels",
    "operations": "Operations",
    "between": "Time",
    "launches": "Launches",
    "ranges": "Ranges",
}
_HELP = {
    "processes": "Only what these processes launched, copied, called and allocated.",
    "issuers": "The GPU that executed the instructions, or carried out the copies.",
    "owners": "Whose memory was touched. A multicast object is an owner of its own. Of a copy, either of its ends.",
    "kernels": "Copies belong to no kernel: this filter excludes them all.",
    "operations": "Copies are not instructions: this filter excludes them all.",
    "between": "Launches, copies and calls active at any moment of this time, each as a whole.",
    "launches": "Launch numbers, as in the table of launches, inclusive. This filter excludes all copies.",
    "ranges": "What was called within NVTX ranges or regions of these names.",
}
# What `choose` was given, until the next run of the page.
_CHOSEN = "filters_chosen"
_STEPS = 1000
# Of ranges, the most frequent ones: a program can name each of its steps.
_MOST_RANGES = 500


def choose(**filters: Sequence[Any] | None) -> None:
    """Sets filters from code, as a click in a picture does; those not named stay as they are.

    Names and values are those of `Filters`: ``choose(issuers=["GPU 0"], owners=["GPU 1"])`` for a pair,
    ``between=(start, end)`` in host ns, ``launches=(first, last)``; None or an empty sequence takes a filter away.
    What the trace does not have is left out.

    As a callback (``on_click=filters.choose, kwargs=…``) that is all. In the middle of a page, or in the callback of a
    fragment, call ``st.rerun()`` after it: the choice takes effect in the next run of the whole page.
    """
    if unknown := set(filters) - set(FILTERS):
        raise TypeError(f"no such filter: {', '.join(sorted(unknown))}")
    st.session_state.setdefault(_CHOSEN, {}).update(filters)


def clear() -> None:
    """Takes all filters away; to be called as `choose`."""
    choose(**dict.fromkeys(FILTERS))


def sidebar() -> None:
    """The filters with their widgets, and the way to another trace."""
    _keep()
    with st.sidebar:
        _widgets()
        if remarks := len(state.ask_whole(Trace.losses)):
            st.warning(f"{remarks} remark{'s' if remarks > 1 else ''} on what this trace lacks: see Overview.")
        st.caption(theme.plain(state.names()))
        if len(state.trace().runs) > 1:
            st.warning(f"{len(state.trace().runs)} runs are added up.")
        if state.has_several_runs():
            st.button("Choose another run", key="choose_run", on_click=state.choose_run, args=(runs.ASK,))
        st.button("Open another trace", key="open_another", on_click=state.open_paths, args=((),))
    choices.keep()


# --- what can be chosen, and what is ---


@dataclass(frozen=True)
class _Options:
    """What the whole trace has to choose from: of each name some values, or the limits of a range."""

    some: dict[str, list[Any]]
    processes: dict[int, str]  # what each is called
    period: tuple[int, int]
    launches: tuple[int, int]


def _options() -> _Options:
    identity, allow = st.session_state["identity"], st.session_state["allow"]
    return _options_of(identity, allow)


@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs=KEYS)
def _options_of(identity: Identity, allow_truncated: bool) -> _Options:
    trace = state.trace()
    pairs = trace.by_pair(initiated="both")
    issuing = {*pairs["issuer"], *map(trace.label, trace.launches["gpu"].unique())}
    owning = {*pairs["owner"]}
    labels = list(trace.places["label"])
    numbers = trace.launches.index
    return _Options(
        {
            "processes": list(trace.processes.index),
            "issuers": [label for label in labels if label in issuing],
            "owners": [label for label in labels if label in owning],
            "kernels": list(trace.by_kernel()["kernel"]),
            "operations": list(trace.by_operation()["operation"]),
            "ranges": list(trace.ranges["name"].value_counts().index[:_MOST_RANGES]),
        },
        {number: _process(number, trace.processes.loc[number]) for number in trace.processes.index.tolist()},
        trace.period,
        (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0),
    )


def _process(number: int, process: pd.Series[Any]) -> str:
    who = f"rank {process['rank']}" if process["rank"] >= 0 else f"process {number}"
    return f"{who}: {process['program']} {process['pid']}"


def _keep() -> None:
    """The filters as the address, a view or a widget set them, in the session's state and in the address."""
    options = _options()
    for name, value in st.session_state.pop(_CHOSEN, {}).items():
        chosen = [] if value is None else list(value)
        known = options.some.get(name)
        st.session_state[name] = chosen if known is None else [one for one in chosen if one in known]
    for name, known in options.some.items():
        _keep_some(name, known)
    _keep_range("between", options.period[0], options.period)
    _keep_range("launches", 0, options.launches)


def _keep_some(name: str, options: list[Option]) -> None:
    by_word = {str(option): option for option in options}
    none: list[Option] = []
    address.keep(
        name,
        none,
        lambda words: [by_word[word] for word in dict.fromkeys(words) if word in by_word],
        lambda chosen: [str(one) for one in chosen],
        lambda chosen: all(one in options for one in chosen),
    )


def _keep_range(name: str, origin: int, limits: tuple[int, int]) -> None:
    """Two numbers in order, in the address as "first-last" after ``origin``; all that there can be is none."""
    none: list[int] = []

    def read(words: list[str]) -> list[int] | None:
        ends = words[-1].split("-")
        if len(ends) != 2 or not all(end.isascii() and end.isdigit() and len(end) < 20 for end in ends):
            return None
        first, last = (max(limits[0], min(int(end) + origin, limits[1])) for end in ends)
        return [] if (first, last) == limits else [first, last]

    address.keep(
        name,
        none,
        read,
        lambda ends: ["-".join(str(end - origin) for end in ends)],
        lambda ends: not ends or (len(ends) == 2 and limits[0] <= ends[0] <= ends[1] <= limits[1]),
    )


# --- widgets ---


def _widgets() -> None:
    options = _options()
    _header()
    words: dict[str, Callable[[Any], str]] = {"processes": options.processes.__getitem__, "kernels": names.short_name}
    for name, some in options.some.items():
        # A range may hold only a part.
        if len(some) > 1 or st.session_state[name] or (some and name == "ranges"):
            st.multiselect(
                TITLES[name], some, key=name, placeholder="all", format_func=words.get(name, str), help=_HELP[name]
            )
    _time(options.period)
    _launches(options.launches)


def _header() -> None:
    """How much the filters let through; what they leave open has its place there too, so that nothing below moves."""
    with st.container(horizontal=True, vertical_alignment="center", height=40, border=False, gap="small"):
        st.markdown("**Filters**", width="stretch")
        if state.filters().active:
            st.button(
                "Clear filters", key="clear_filters", icon=":material/filter_alt_off:", type="tertiary", on_click=clear
            )
    st.caption(_selected())


def _time(period: tuple[int, int]) -> None:
    """A slider in the unit that suits the length of the trace, from its first moment on."""
    first, after = period
    length = after - first
    if length <= 1:
        return
    unit, size = time_axis.unit(length)
    end = length / size
    digits = 0 if end >= 1000 else 1 if end >= 100 else 2
    chosen = st.session_state["between"] or list(period)
    st.session_state["between_shown"] = tuple(min(max((moment - first) / size, 0.0), end) for moment in chosen)
    st.slider(
        f"{TITLES['between']} ({unit})",
        0.0,
        end,
        key="between_shown",
        step=end / _STEPS,
        format=f"%.{digits}f",
        help=_HELP["between"],
        on_change=_slid,
        args=(period, size),
    )


def _slid(period: tuple[int, int], size: int) -> None:
    low, high = (period[0] + round(moment * size) for moment in st.session_state["between_shown"])
    # The ends of the slider are those of the trace, however its steps add up.
    near = (period[1] - period[0]) // (2 * _STEPS)
    low = period[0] if low <= period[0] + near else low
    high = period[1] if high >= period[1] - near else max(high, low + 1)
    choose(between=None if (low, high) == period else (low, high))


def _launches(limits: tuple[int, int]) -> None:
    """Two fields for numbers."""
    first, last = limits
    if first == last:
        return
    chosen = st.session_state["launches"] or [None, None]
    st.session_state["launches_first"], st.session_state["launches_last"] = chosen
    for column, name, title, example in zip(
        st.columns(2), ("launches_first", "launches_last"), ("First launch", "Last launch"), limits, strict=True
    ):
        column.number_input(
            title,
            first,
            last,
            key=name,
            value=None,
            placeholder=str(example),
            help=_HELP["launches"],
            on_change=_numbered,
            args=(limits, name),
        )


def _numbered(limits: tuple[int, int], changed: str) -> None:
    low, high = st.session_state["launches_first"], st.session_state["launches_last"]
    low, high = limits[0] if low is None else low, limits[1] if high is None else high
    if low > high:
        # The end that was set last counts; the other one gives way.
        low, high = (low, low) if changed == "launches_first" else (high, high)
    choose(launches=None if (low, high) == limits else (low, high))


def _selected() -> str:
    """How much of the trace the filters let through, in a line for each kind of thing."""
    tables = state.ask(Trace.by_operation), state.ask_whole(Trace.by_operation)
    part, whole = (int(table["bytes"].sum()) for table in tables)
    view, trace = state.view(), state.trace()
    lines = [f"{_of(part, whole, units.bytes)} by kernels"]
    for name, some, every in (("launches", view.launches, trace.launches), ("copies", view.copies, trace.copies)):
        if len(every):
            lines.append(f"{_of(len(some), len(every), '{:,}'.format)} {name}")
    return "Selected: " + ",  \n".join(lines)


def _of(part: int, whole: int, amount: Callable[[int], str]) -> str:
    return f"all {amount(whole)}" if part == whole else f"{amount(part)} of {amount(whole)}"
