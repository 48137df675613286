"""Calls of NCCL with the traffic of the kernels that carried them out, and behind each row its calls."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from snoopie import Trace
from snoopie.analysis.selection import COLLECTIVES_BY
from snoopie.words import units
from visualizer.look import theme
from visualizer.parts import remarks, streams, tables
from visualizer.session import state

LIMIT = 1000
SIGNATURE = ["operation", "reduction", "type", "communicator"]
COLUMNS = [*SIGNATURE, "calls", "call_bytes", "launches", "bytes", "accesses", "wire_efficiency"]
CALLS = ["began", "host_ns", *SIGNATURE[:3], "count", "bytes", "peer", "issuer", "rank", "stream", "process"]
SEQUENCE = ["number", "operation", "began", "skew", "last_rank", "took", "call_bytes", "bytes", "expected"]
SEQUENCE += ["algorithm", "protocol", "channels", "bus_bandwidth"]
UNNAMED = "(calls not in the trace)"


def show() -> None:
    st.header("Collectives")
    table = state.ask(Trace.by_collective)
    if table.empty:
        remarks.no_collectives()
        return
    _sequence()
    st.subheader("By operation")
    st.caption(
        "Bytes, accesses and wire efficiency are the counts of the kernels that carried out the calls. Calls that one"
        " kernel carried out together are one row, such as “Recv + Send”: their traffic cannot be divided."
    )
    remarks.estimated()
    remarks.not_filtered("the calls, only to their kernels' traffic", COLLECTIVES_BY)
    named = table.assign(operation=table["operation"].replace("", UNNAMED))
    chosen = tables.choice(named, COLUMNS, "collectives_table", height=360)
    if chosen is None:
        st.caption("Choose a row to see its calls.")
        return
    rows = table[(named[SIGNATURE] == chosen[SIGNATURE]).all(axis=1)]
    if len(rows):
        _calls(rows.iloc[0])


def _sequence() -> None:
    """Each collective once, over all ranks."""
    table = state.ask(Trace.collective_sequence)
    if table.empty:
        return
    st.subheader("One by one, over all ranks")
    late = table.iloc[int(table["skew"].to_numpy().argmax())]
    came = f": rank {late['last_rank']} came last" if late["last_rank"] >= 0 else ""
    sentence = f"The largest skew is {units.duration(late['skew'])}, of number {late['number']}{came}"
    instrumented = (state.trace().processes["imported_from"] == "").any()
    st.caption(
        f"{sentence}. A call is the same on all ranks by its number within "
        "its communicator."
        + (" Instrumentation slows kernels: bus bandwidths are lower than without it." if instrumented else "")
    )
    several = table["communicator"].nunique() > 1
    shown = table.head(LIMIT)
    if len(table) > LIMIT:
        st.caption(f"The first {LIMIT:,} of {len(table):,}; `trace.collective_sequence()` has them all.")
    tables.grid(shown, [*(["communicator"] if several else []), *SEQUENCE], "collectives_sequence", height=300)


def _calls(row: pd.Series[str]) -> None:
    if not row["operation"]:
        remarks.nothing(
            "These kernels carried out calls that this trace does not have.",
            "The process's calls may have failed, or their part of the trace was lost.",
        )
        return
    st.subheader(theme.plain(" ".join(filter(None, (row["operation"], row["reduction"], row["type"])))))
    operation, reduction, type, communicator = (str(row[name]) for name in SIGNATURE)
    calls = state.ask(Trace.calls_behind, operation, reduction, type, communicator, LIMIT)
    number = int(row["calls"])
    st.caption(
        (f"{len(calls):,} of {number:,} calls, the earliest first" if number > len(calls) else "The earliest first")
        + ". Bytes are those of the larger buffer. Host time is the time in the call, which returns before it is done."
    )
    # Of an unknown communicator no rank is known.
    ranks = [
        f"{rank} of {ranks}" if ranks else units.UNKNOWN
        for rank, ranks in zip(calls["rank"], calls["ranks"], strict=True)
    ]
    calls = calls.assign(rank=ranks, stream=streams.column(calls))
    several = len(state.trace().processes) > 1
    # One table for each row, so that a choice in one does not outlive it.
    tables.grid(calls, CALLS if several else CALLS[:-1], f"collective_calls_{'_'.join(row[SIGNATURE])}", height=480)
