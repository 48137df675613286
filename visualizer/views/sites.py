"""Traffic by site: every static memory instruction that reached memory outside its GPU, and those not measured."""

from __future__ import annotations

import streamlit as st

from snoopie import Trace
from snoopie.analysis import losses
from snoopie.analysis.selection import UNMEASURED_BY
from visualizer.parts import remarks, tables
from visualizer.session import state

COLUMNS = [
    "kernel",
    "file",
    "line",
    "sass",
    "operation",
    "bytes",
    "accesses",
    "wire_efficiency",
    "width",
    "wire_unit",
    "offset",
]
NOT_MEASURED = ["kernel", "file", "line", "sass", "operation", "accesses", "lanes", "offset"]


def show() -> None:
    st.header("Sites")
    table = state.ask(Trace.by_site, merged=True)
    if table.empty:
        remarks.nothing("No instruction reached memory outside its GPU.")
    else:
        st.caption(
            "A site is one instruction of a kernel, the same in all processes; several belong to one source line."
        )
        remarks.estimated()
        tables.grid(table, COLUMNS, "sites_table", height=640)
    unmeasured = state.ask(Trace.not_measured)
    if len(unmeasured):
        st.subheader("Not measured")
        st.caption(
            "Instructions that can reach memory outside their GPU in ways that cannot be counted. Accesses and lanes "
            "show how often they ran; the bytes they moved are in no number of this app."
        )
        remarks.not_filtered("these instructions", UNMEASURED_BY)
        ran = losses.that_ran(unmeasured)
        if len(ran):
            tables.grid(ran, NOT_MEASURED, "sites_not_measured", height=420)
        if idle := losses.that_did_not_run(unmeasured):
            st.caption(idle)
