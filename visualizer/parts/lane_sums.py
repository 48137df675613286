"""What was selected in the timeline, added up: what ran there, how long, and what it moved."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from snoopie import Trace
from snoopie.analysis.time import activity
from snoopie.words import columns, units
from visualizer.controls.time_range import Time
from visualizer.look import theme
from visualizer.parts import tables
from visualizer.pictures.lanes import TITLES, short
from visualizer.session import state

_ROWS = 200
_NAMES = {
    activity.KERNEL: "Kernels",
    activity.LAUNCH: "Launches",
    activity.MOVE: "Moving launches",
    activity.WAIT: "Waiting launches",
    activity.COPY: "Copies",
    activity.COPY_CALL: "Copies",
    activity.COLLECTIVE: "NCCL calls",
    activity.RANGE: "Ranges",
    activity.CALL: "Driver calls",
}


def show(time: Time, lanes: pd.DataFrame, streams: bool) -> None:
    """Sums of ``lanes``, of which there is at least one, in a part of the time."""
    asked = (*time, streams, tuple(lanes.index.tolist()))
    sums = state.ask(Trace.activity_sums, *asked)
    origin = state.trace().period[0]
    where = ", ".join(lanes["place"].unique()[:4]) + (", …" if lanes["place"].nunique() > 4 else "")
    st.markdown(
        f"**Selected**: {units.duration(time[1] - time[0])} from {columns.say('began', time[0] - origin)} on, "
        f"{theme.plain(where)}"
    )
    if sums.empty:
        st.caption("Nothing ran there.")
        return
    with st.container(horizontal=True):
        for what, own in sums.groupby("what", sort=False):
            st.metric(_NAMES[str(what)], units.count(int(own["count"].sum())), width="content")
        for title, kinds in (
            ("Bytes of kernels", (activity.KERNEL, activity.LAUNCH)),
            ("Bytes copied", (activity.COPY, activity.COPY_CALL)),
        ):
            sizes = sums["bytes"][sums["what"].isin(kinds)]
            if len(sizes):
                known = bool((sizes >= 0).all())
                st.metric(title, units.bytes(int(sizes.sum())) if known else "not known", width="content")
        _busy(time, lanes, asked)
    shown = sums.head(_ROWS).assign(
        thing=[TITLES[what] for what in sums["what"].head(_ROWS)],
        name=[short(what, name) for what, name in zip(sums["what"].head(_ROWS), sums["name"], strict=False)],
        calls=sums["count"],
        bytes=sums["bytes"].where(sums["bytes"] >= 0),
    )
    tables.facts(shown[["thing", "name", "calls", "total", "bytes"]], "timeline_selected")
    st.caption("Bytes are those of all that touches the selection, each whole; times are only of what lies within it.")


def _busy(time: Time, lanes: pd.DataFrame, asked: Sequence[object]) -> None:
    """How long a GPU ran something of it: of several, on average."""
    on_gpus = lanes[lanes["what"].isin((activity.KERNEL, activity.COPY))]
    if on_gpus.empty:
        return
    table = state.ask(Trace.activity_busy, *time, bool(asked[2]), tuple(on_gpus.index.tolist()))
    places = on_gpus["place"].nunique()
    busy = int(table["busy"].sum()) // places
    share = units.percent(busy / (time[1] - time[0]))
    st.metric("Busy" if places == 1 else "Busy, on average", f"{units.duration(busy)} ({share})", width="content")
