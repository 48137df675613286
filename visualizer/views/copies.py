"""Copies that the host started: by the places that they connect, by call, and one by one."""

from __future__ import annotations

import streamlit as st

from snoopie import Trace
from snoopie.analysis.host.copies import Order
from snoopie.analysis.time import activity
from snoopie.words import units
from visualizer import pages
from visualizer.parts import events, remarks, streams, tables
from visualizer.session import state

LIMIT = 1000
ORDERS: dict[Order, str] = {"bytes": "Most bytes", "host_ns": "Longest calls", "start": "Earliest"}
COLUMNS = ["began", "host_ns", "bytes", "from", "to", "call", "kind", "issuer", "stream", "process"]


def show() -> None:
    st.header("Copies")
    calls = state.ask(Trace.by_copy)
    if calls.empty:
        remarks.no_copies()
        return
    st.caption(
        "Transfers that the host started between GPUs, or between host and GPU: copies, graph nodes, prefetches. No "
        "kernel instruction moves these bytes. Host time is the time in the calls: an asynchronous copy may continue "
        "after its call returned."
    )
    number = int(calls["copies"].sum())
    with st.container(horizontal=True):
        st.metric("Copies", units.count(number), border=True, width="content")
        st.metric("Bytes copied", units.bytes(int(calls["bytes"].sum())), border=True, width="content")
        st.metric("Host time", units.duration(int(calls["host_ns"].sum())), border=True, width="content")
    st.subheader("By pair")
    pairs = state.ask(Trace.by_pair, "flow", "host")
    tables.grid(pairs, ["from", "to", "bytes", "copies", "host_ns"], "copies_pairs", height=300)
    st.subheader("By call")
    columns = ["call", "kind", "from", "to", "bytes", "copies", "host_ns"]
    tables.grid(calls, columns, "copies_calls", height=300)
    _single(number)


def _single(number: int) -> None:
    st.subheader("Single copies")
    order: Order = (
        st.segmented_control(
            "Show first",
            list(ORDERS),
            format_func=ORDERS.__getitem__,
            default="bytes",
            key="copies_order",
            label_visibility="collapsed",
        )
        or "bytes"
    )
    table = state.ask(Trace.single_copies, order, LIMIT)
    if number > len(table):
        st.caption(f"{len(table):,} of {number:,}; `trace.copies` has them all.")
    shown = table.assign(stream=streams.column(table))
    several = len(state.trace().processes) > 1
    row = events.choice(shown, COLUMNS if several else COLUMNS[:-1], "copies", of=order, height=520)
    if row is not None:
        # Those whose times on the GPU are not known stand where they were called.
        timed = len(state.ask(Trace.activity_of, activity.COPY, int(row["copy"])))
        what = activity.COPY if timed else activity.COPY_CALL
        pages.link("timeline", "This copy in the timeline", event=f"{what}:{row['copy']}")
