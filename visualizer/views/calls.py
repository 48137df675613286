"""What the program asked of the CUDA driver: how often, how long it took, what failed; and single calls."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from snoopie import Trace
from snoopie.analysis.host.calls import shown
from snoopie.analysis.host.copies import Order
from snoopie.analysis.selection import CALLS_BY, SINGLE_CALLS_BY
from snoopie.words import units
from visualizer import pages
from visualizer.parts import events, remarks, tables
from visualizer.session import address, state

LIMIT = 1000
ORDERS: dict[Order, str] = {"host_ns": "Longest", "start": "Earliest", "bytes": "Most bytes"}
TIMES = ["host_ns", "mean_ns", "p50_ns", "p99_ns", "max_ns"]
CALLS = ["call", "calls", "errors", *TIMES, "bytes", "unsized"]
THREADS = ["process", "thread", "calls", "errors", *TIMES]
LAUNCHES = ["kernel", "launches", "errors", "host_ns", "mean_ns", "min_ns", "max_ns"]
COPIES = ["direction", "call", "bytes", "calls", "errors", "host_ns", "bandwidth"]
ERRORS = ["call", "name", "returned", "calls"]
SINGLE = ["began", "host_ns", "kernel", "direction", "bytes", "returned", "gpu", "thread", "process"]


def show() -> None:
    st.header("Calls")
    calls = state.ask(Trace.by_call)
    if calls.empty:
        remarks.no_calls()
        return
    st.caption(
        "Times are host time in the calls: an asynchronous call returns before its work is done. Percentiles are "
        "upper bounds, less than twice too high."
    )
    remarks.not_filtered("driver calls", CALLS_BY)
    with st.container(horizontal=True):
        for label, value in (
            ("Calls", units.count(int(calls["calls"].sum()))),
            ("Failed", "unknown" if calls["errors"].isna().any() else units.count(int(calls["errors"].sum()))),
            ("Host time", units.duration(int(calls["host_ns"].sum()))),
        ):
            st.metric(label, value, border=True, width="content")
    _errors(state.ask(Trace.by_error))
    st.subheader("By call")
    recorded = state.view().calls["call"].value_counts()
    columns = shown(calls, CALLS)
    if len(recorded):
        # That in which the host spent most time.
        first = next((call for call in calls["call"] if call in recorded.index), None)
        address.keep_one("call", list(recorded.index), first)
        tables.chooser(_first(calls), columns, "calls_by_call", of="call", height=340)
    else:
        tables.grid(_first(calls), columns, "calls_by_call", height=340)
    _single(recorded)
    _others()


def _first(table: pd.DataFrame) -> pd.DataFrame:
    if len(table) > LIMIT:
        st.caption(f"The first {LIMIT:,} of {len(table):,} rows; `snoopie calls --json` has all.")
    return table.head(LIMIT)


def _errors(errors: pd.DataFrame) -> None:
    if errors.empty:
        return
    st.subheader("Failed")
    tables.grid(_first(errors), ERRORS, "calls_errors", height=220)


def _single(recorded: pd.Series[int]) -> None:
    """The calls of one name, one by one."""
    st.subheader("Single calls")
    names = list(recorded.index)
    if not names:
        st.caption(
            "This trace has only sums. Record it with snoopie run --calls all (CALLS=all) to see each call, here and "
            "in the timeline."
        )
        return
    address.keep_one("calls_order", list(ORDERS))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="large"):
        call = st.selectbox("Call", names, key="call", width=340, help="Or choose a row above.")
        order: Order = (
            st.segmented_control(
                "Show first", list(ORDERS), format_func=ORDERS.__getitem__, key="calls_order", required=True
            )
            or "host_ns"
        )
    table = state.ask(Trace.single_calls, call, order, LIMIT)
    remarks.not_filtered("single driver calls", SINGLE_CALLS_BY)
    number = int(recorded[call])
    if number > len(table):
        st.caption(f"{len(table):,} of {number:,}; `trace.calls` has them all.")
    columns = SINGLE if len(state.trace().processes) > 1 else SINGLE[:-1]
    unused = [name for name in ("kernel", "direction") if not (table[name] != "").any()]
    columns = [*(name for name in columns if name not in unused), "event"]
    row = events.choice(table, columns, "calls", of=f"{call}_{order}")
    if row is not None:
        pages.link("timeline", "This call in the timeline", event=f"call:{row['event']}")


def _others() -> None:
    launched = state.ask(Trace.by_launched_kernel)
    if len(launched):
        st.subheader("Launches by kernel")
        st.caption("Every kernel that the host launched directly, measured or not.")
        tables.grid(_first(launched), LAUNCHES, "calls_kernels", height=340)
    copied = state.ask(Trace.by_direction)
    if len(copied):
        st.subheader("Copies by direction")
        st.caption(
            "All copy calls, also within one memory. A bandwidth is known only where the call waits for the transfer."
        )
        tables.grid(_first(copied), COPIES, "calls_directions", height=300)
        pages.link("copies", "Copies between memories, one by one")
    st.subheader("By thread")
    columns = THREADS if len(state.trace().processes) > 1 else THREADS[1:]
    tables.grid(_first(state.ask(Trace.by_thread)), columns, "calls_threads", height=300)
