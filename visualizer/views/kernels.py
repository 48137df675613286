"""Traffic by kernel, and for a chosen kernel its matrix."""

from __future__ import annotations

import streamlit as st

from visualizer import choices, heatmap, remarks, state, tables, theme

COLUMNS = ["kernel", "launches", "measured", "bytes", "accesses", "lanes", "wire_bytes", "wire_efficiency"]


def show() -> None:
    st.header("Kernels")
    table = state.ask("by_kernel")
    if table.empty:
        remarks.nothing("No kernel reached memory outside its GPU.")
        return
    remarks.estimated()
    columns = COLUMNS if state.view().estimated else [name for name in COLUMNS if name != "measured"]
    chosen = tables.grid(table, columns, "kernels_table")
    names = list(table["kernel"])
    if chosen is None:
        st.caption("Choose a kernel to see who it let reach whom.")
        return
    kernel = str(chosen["kernel"])
    if kernel in names:
        st.subheader(theme.plain(kernel))
        shown = choices.of_kernels()
        matrix = state.view().select(kernels=[kernel]).matrix(shown.value, shown.reading)
        heatmap.show(matrix, shown, "kernel_heatmap")
