"""Traffic by kernel, and for a chosen kernel its matrix."""

from __future__ import annotations

import streamlit as st

from visualizer import parts, state, theme

COLUMNS = ["kernel", "launches", "bytes", "accesses", "lanes", "wire_bytes", "wire_efficiency"]


def show() -> None:
    st.header("Kernels")
    table = state.ask("by_kernel")
    if table.empty:
        parts.nothing("No kernel reached another GPU's memory.", "Nothing was recorded, or the filters exclude it all.")
        return
    chosen = parts.grid(table, COLUMNS, "kernels_table")
    names = list(table["kernel"])
    if chosen is None:
        st.caption("Choose a kernel to see who it let reach whom.")
        return
    kernel = str(chosen["kernel"])
    if kernel in names:
        st.subheader(theme.plain(kernel))
        value, reading = parts.value_and_reading("kernel")
        parts.heatmap(state.view().select(kernels=[kernel]).matrix(value, reading), value, "kernel_heatmap")
