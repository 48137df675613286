"""What ran when, on which GPU and thread, and the traffic then; a part of the time can be looked at more closely."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

import pandas as pd
import streamlit as st

from snoopie import Trace
from snoopie.analysis.time import activity, resources
from snoopie.words import names, units
from visualizer import pages
from visualizer.controls import choices, filters, time_range
from visualizer.controls.time_range import Time
from visualizer.look import theme
from visualizer.parts import lane_view, remarks, stacks, streams, tables
from visualizer.pictures.lanes import TITLES, short
from visualizer.session import address, background, state

_Answer = TypeVar("_Answer")

LIMIT = 200
LANES = {"streams": "Streams", "together": "GPUs"}
OF = {"pair": "Pairs", "line": "Lines"}
COLOURS = {"kernel": "Kernel", "gpu": "GPU"}
IDLE = {"folded": "Folded", "whole": "Whole"}
ONE = {
    activity.KERNEL: "Kernel",
    activity.LAUNCH: "Launch",
    activity.MOVE: "Accesses of launch",
    activity.WAIT: "Waits of launch",
    activity.COPY: "Copy",
    activity.COPY_CALL: "Copy",
    activity.COLLECTIVE: "NCCL call",
    activity.RANGE: "Range",
    activity.CALL: "Driver call",
}
WITHIN = ["began", "duration", "thing", "name", "place", "stream", "bytes"]
OVERLAP = ["kernel", "issuer", "owner", "launches", "bytes", "moving", "ran", "spread", "densest", "under"]
BUSY = ["resource", "records", "busy", "busy_share", "gaps", "gap"]
IDLE_FOR = dict(
    zip(
        resources.GAPS,
        (
            f"less than {units.duration(resources.LIMITS[0] * 1000)}",
            *(
                f"{units.duration(low * 1000)} to {units.duration(high * 1000)}"
                for low, high in pairwise(resources.LIMITS)
            ),
            f"{units.duration(resources.LIMITS[-1] * 1000)} and longer",
        ),
        strict=True,
    )
)
BY_RESOURCE = ["resource", "kind", "name", "calls", "total", "share", "average", "least", "most"]

# More streams than this are one lane a GPU at first.
_MANY_LANES = 24
_BINS = 200
_GOING = "Going through the recorded accesses, to draw bytes when they moved …"
_ROWS = 1000


def show() -> None:
    st.header("Timeline")
    every = _lanes()
    if every.empty:
        _why_empty()
        return
    whole = time_range.whole()
    folds = _folds(whole)
    shown = time_range.keep(whole)
    apart = _apart(every)
    lanes = every if apart else state.ask(Trace.activity_lanes, False)
    time_range.controls(shown, whole, folds)
    with st.container(horizontal=True, gap="medium"):
        lanes = _lane_controls(lanes, every)
    address.keep_one("traffic_of", list(OF))
    drawn = lane_view.View(shown, whole, folds, lanes, apart, st.session_state["colour"] == "kernel")
    lane_view.show(drawn, _traffic(shown, folds))
    _chosen(whole)
    with st.container(horizontal=True, gap="medium"):
        _traffic_controls()
    _about_traffic()
    _notes(lanes)
    _table(lanes, shown, apart)
    _overlap()
    _busy(shown)


def _folds(whole: Time) -> tuple[Time, ...]:
    """The idle gaps that the picture leaves out."""
    folded = address.keep_one("idle", list(IDLE)) == "folded"
    return tuple(state.ask(Trace.activity_gaps, *whole)) if folded else ()


def _lanes() -> pd.DataFrame:
    lanes: pd.DataFrame = state.ask(Trace.activity_lanes, True)
    return lanes


def _why_empty() -> None:
    if state.filters().active:
        remarks.nothing("Nothing that the filters select has a timestamp.", "Clear some filters.")
    else:
        remarks.nothing("This trace has no timestamps.")


def _notes(lanes: pd.DataFrame) -> None:
    """What the times mean."""
    what = set(lanes["what"])
    sentences = []
    if activity.KERNEL in what and (state.trace().processes["imported_from"] == "").any():
        sentences.append("Instrumentation slows kernels: these times are longer than without it.")
    if activity.LAUNCH in what:
        sentences.append("Launches without GPU timestamps are shown as marks at the time of their host call.")
    if activity.COPY_CALL in what:
        sentences.append(
            "Copies are shown at the time of their calls: an asynchronous one may continue after its call returned."
        )
    sentences += _about_waits(bool({activity.MOVE, activity.WAIT} & what))
    if activity.CALL not in what and activity.KERNEL in what | {activity.LAUNCH}:
        sentences.append("To see single driver calls, record with CALLS=all.")
    st.caption(" ".join(sentences))


def _about_waits(drawn: bool) -> list[str]:
    # Lanes of them may also be not wanted.
    there = state.ask(Trace.activity_lanes, False)["what"]
    wanted = drawn or not there.isin([activity.MOVE, activity.WAIT]).any()
    return state.ask(Trace.about_waits) if wanted else []


# --- which lanes ---


def _apart(lanes: pd.DataFrame) -> bool:
    """Whether each stream has its lane."""
    default = "streams" if len(lanes) <= _MANY_LANES else "together"
    return address.keep_one("lanes", list(LANES), default) == "streams"


def _lane_controls(lanes: pd.DataFrame, every: pd.DataFrame) -> pd.DataFrame:
    """The lanes that are wanted, and how they are drawn."""
    st.segmented_control(
        "Lanes", list(LANES), format_func=LANES.__getitem__, key="lanes", required=True,
        help="One for each stream of a GPU and thread of a process, or one for each GPU and process.",
    )  # fmt: skip
    address.keep_one("colour", list(COLOURS))
    st.segmented_control("Colour by", list(COLOURS), format_func=COLOURS.__getitem__, key="colour", required=True)
    st.segmented_control(
        "Idle gaps", list(IDLE), format_func=IDLE.__getitem__, key="idle", required=True,
        help="Long times in which no GPU did anything can be left out. A torn edge shows where.",
    )  # fmt: skip
    present = [what for what in activity.WHAT if what in set(every["what"])]
    wanted = address.keep_some("only", present)
    if len(present) > 1:
        st.pills(
            "Only", present, selection_mode="multi", format_func=TITLES.__getitem__, key="only",
            help="Choose none to see all.",
        )  # fmt: skip
    return lanes[lanes["what"].isin(wanted)] if wanted else lanes


def _traffic_controls() -> None:
    """Pairs or lines, and the same choices as those of the matrix."""
    st.segmented_control("Traffic of", list(OF), format_func=OF.__getitem__, key="traffic_of", required=True)
    for key, words in (("initiated", choices.INITIATED), ("reading", choices.READINGS)):
        st.segmented_control(
            {"initiated": "Traffic by", "reading": "Reading"}[key],
            list(words),
            format_func=words.__getitem__,
            key=key,
            required=True,
        )


# --- the picture ---


def _traffic(shown: Time, folds: tuple[Time, ...]) -> pd.DataFrame:
    """What moved when: where single accesses say so. Until the records were gone through, evenly over each launch."""
    part = state.selected()
    asked = st.session_state["reading"], st.session_state["initiated"]
    by_line = st.session_state["traffic_of"] == "line"
    if state.arguments().scheduler is None and state.ask_whole(Trace.summary)["records"]:
        # Also to zoom by: once the records were gone through, other parts of the time take no time.
        found = background.answer(
            part.question(Trace.lines_by_moment, _BINS, *shown, folds=folds)
            if by_line
            else part.question(Trace.traffic_by_moment, _BINS, *asked, *shown, folds=folds),
            wait=_GOING,
        )
        if found is not None:
            return found
    return state.ask(Trace.traffic_over_time, _BINS, *asked, *shown, folds=folds)


# --- one of them ---


def _chosen(whole: Time) -> None:
    """What was chosen in the picture or the table."""
    chosen = address.keep_text("event", valid=lambda value: not value or ":" in value)
    what, _, number = chosen.partition(":")
    if what not in TITLES or not (number.isascii() and number.isdigit() and len(number) < 19):
        return
    found = state.ask(Trace.activity_of, what, int(number))
    if found.empty:
        return
    row = found.iloc[0]
    origin = state.trace().period[0]
    with st.container(border=True):
        st.markdown(f"**{ONE[what]}** {number}: {theme.plain(row['name'])}")
        took = "First to last" if what in (activity.MOVE, activity.WAIT) else "Took"
        facts = [
            ("On", row["place"]),
            ("Started", f"{units.duration(row['start'] - origin)} after the start"),
            (took, units.duration(row["duration"]) if what != activity.LAUNCH else "not known"),
        ]
        facts += _sums_of_waits(int(number)) if what == activity.WAIT else [("Bytes", _bytes(row["bytes"]))]
        facts += _sums_of_moves(int(number)) if what == activity.MOVE else []
        if what in activity.OF_THREADS:
            facts.append(("Thread", str(row["thread"])))
        else:
            facts.append(("Stream", streams.column(found)[0]))
        if len(state.trace().processes) > 1:
            facts.append(("Process", str(row["process"])))
        with st.container(horizontal=True):
            for label, value in facts:
                st.metric(label, theme.plain(value), width="content")
        with st.container(horizontal=True):
            margin = int(row["duration"]) or (whole[1] - whole[0]) // 1000
            st.button(
                "Look closer",
                key="timeline_event_closer",
                icon=":material/center_focus_strong:",
                on_click=time_range.look_at,
                args=((int(row["start"]) - margin, int(row["end"]) + margin), whole),
            )
            if what in (activity.MOVE, activity.WAIT):
                by_launch = Trace.moves_by_launch if what == activity.MOVE else Trace.waits_by_launch
                where = state.ask(by_launch).loc[int(number)]
                if where["line"]:
                    stacks.source_line(str(where["file"]), int(where["line"]))
                pages.link("launches", "This launch", launch=number)
            if what in (activity.KERNEL, activity.LAUNCH):
                pages.link("launches", "This launch", launch=number)
                pages.link("kernels", "Its kernel", kernel=row["name"])
            elif what in (activity.COPY, activity.COPY_CALL):
                pages.link("copies", "All copies")
            elif what == activity.COLLECTIVE:
                pages.link("collectives", "All calls of NCCL")
            elif what == activity.RANGE:
                st.button(
                    "Only this range",
                    key="timeline_event_range",
                    icon=":material/filter_alt:",
                    on_click=filters.choose,
                    kwargs={"ranges": [row["name"]]},
                )


def _bytes(moved: int) -> str:
    return units.bytes(moved) if moved >= 0 else "not known"


def _sums_of_moves(launch: int) -> list[tuple[str, str]]:
    own = state.ask(Trace.moves_by_launch).loc[[launch]]
    accesses, moving = (int(own[name].iloc[0]) for name in ("accesses", "moving"))
    return [("Accesses", f"{accesses:,}"), ("Blocks moving", units.duration(moving))]


def _sums_of_waits(launch: int) -> list[tuple[str, str]]:
    own = state.ask(Trace.waits_by_launch).loc[[launch]]
    waits, waited, longest = (int(own[name].iloc[0]) for name in ("waits", "waited", "longest"))
    sums = (("All warps waited", waited), ("The longest wait", longest))
    return [("Waits", f"{waits:,}"), *((label, units.duration(time)) for label, time in sums)]


def _table(lanes: pd.DataFrame, shown: Time, apart: bool) -> None:
    """What is in the time that is looked at, to choose from by keyboard."""
    st.subheader("In this time")
    table = state.ask(Trace.activity_within, *shown, LIMIT, apart, tuple(lanes.index.tolist()))
    if table.empty:
        st.caption("Nothing.")
        return
    if len(table) == LIMIT:
        st.caption(f"The {LIMIT} that take up most of it.")
    origin = state.trace().period[0]
    listed = table.assign(
        began=table["start"] - origin,
        thing=table["what"].map(ONE),
        name=[short(what, name) for what, name in zip(table["what"], table["name"], strict=True)],
        stream=streams.column(table),
    )
    events = [f"{what}:{number}" for what, number in zip(table["what"], table["id"], strict=True)]
    tables.chooser(listed.assign(event=events), WITHIN, f"timeline_within_{apart}", of="event", height=300)


def _about_traffic() -> None:
    """How exactly the moments are known that the picture shows."""
    if st.session_state["initiated"] != "host":
        sentences = _of_moments(Trace.about_moments)
        st.caption(theme.plain(" ".join(sentences)) if sentences else "")


def _of_moments(method: Callable[[Trace], _Answer]) -> _Answer | None:
    """The answer of a method that goes through all records, where there are any."""
    if state.arguments().scheduler is not None or not state.ask_whole(Trace.summary)["records"]:
        return None
    return background.answer(state.selected().question(method), wait=_GOING)


def _by_kernel(trace: Trace) -> pd.DataFrame:
    return trace.overlap("kernel")


def _overlap() -> None:
    """When within their launches kernels moved what they did, and what lay under other kernels."""
    table = _of_moments(_by_kernel)
    if table is None or table.empty:
        return
    st.subheader("Communication within kernels")
    moved = int(table["bytes"].sum())
    under, least, most = (units.percent(table[name].sum() / moved) for name in ("under", "under_least", "under_most"))
    known = f" (as far as the clocks are known, {least} to {most})" if least != most else ""
    st.markdown(
        f"**{under}** of the bytes moved while another kernel ran on the same GPU{known}. The rest moved while its own "
        "kernel was the only one there."
    )
    named = table.assign(kernel=[names.short_name(name) for name in table["kernel"]])
    tables.grid(named.head(_ROWS), OVERLAP, "timeline_overlap", height=320)


def _busy(shown: Time) -> None:
    """How busy each GPU and the copies were in this time, with what, and idle gaps by length."""
    st.subheader("Busy and idle")
    busy = state.ask(Trace.resources, between=shown)
    if busy.empty:
        timed = len(state.ask(Trace.resources))
        st.caption("Nothing in this time." if timed else "This trace has no GPU timestamps.")
    else:
        tables.grid(busy, BUSY, "timeline_resources", height=300)
        st.caption("Busy and idle time by activity. Shares are of the time that is shown.")
        rows = state.ask(Trace.by_resource, between=shown).replace({"name": IDLE_FOR, "kind": {"gap": "idle"}})
        if len(rows) > _ROWS:
            st.caption(f"The first {_ROWS:,} of {len(rows):,} rows; `snoopie summary --top 0` has all.")
        tables.grid(rows.head(_ROWS), BY_RESOURCE, "timeline_by_resource", height=420)
    for sentence in state.ask(Trace.without_device_times):
        st.caption(theme.plain(sentence))
