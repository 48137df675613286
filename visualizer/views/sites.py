"""Traffic by site: every static memory instruction that reached another GPU."""

from __future__ import annotations

import streamlit as st

from visualizer import parts, state

COLUMNS = ["kernel", "file", "line", "sass", "operation", "bytes", "accesses", "wire_efficiency", "width", "offset"]


def show() -> None:
    st.header("Sites")
    table = state.ask("by_site")
    if table.empty:
        parts.nothing(
            "No instruction reached another GPU's memory.", "Nothing was recorded, or the filters exclude it all."
        )
        return
    st.caption("A site is one instruction in a kernel's code; several belong to one source line.")
    parts.grid(table, COLUMNS, "sites_table", height=640)
