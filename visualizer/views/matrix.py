"""Issuer × owner, or from × to, as a heatmap."""

from __future__ import annotations

import streamlit as st

from visualizer import parts, state


def show() -> None:
    st.header("Matrix")
    value, reading = parts.value_and_reading("matrix")
    matrix = state.ask("matrix", value, reading)
    if not matrix.to_numpy().any():
        parts.nothing("There is no traffic to show.", "Nothing was recorded, or the filters exclude it all.")
    parts.heatmap(matrix, value, "matrix_heatmap")
    with st.expander("As a table, exact"):
        st.dataframe(matrix, key="matrix_table")
