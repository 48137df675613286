"""Issuer × owner, or from × to, as a heatmap."""

from __future__ import annotations

import streamlit as st

from visualizer import choices, heatmap, places, remarks, state


def show() -> None:
    st.header("Matrix")
    shown = choices.of_all()
    matrix = state.ask("matrix", shown.value, shown.reading, shown.initiated)
    if not matrix.to_numpy().any():
        remarks.no_traffic(shown)
    if shown.initiated != "host":
        remarks.estimated()
    heatmap.show(matrix, shown, "matrix_heatmap")
    for sentence in places.explain(matrix.index):
        st.caption(sentence)
    with st.expander("As a table, exact"):
        st.dataframe(matrix, key="matrix_table")
