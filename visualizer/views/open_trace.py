"""Without a trace: the samples to choose from, and a field for a path."""

from __future__ import annotations

import streamlit as st

from visualizer.look import theme
from visualizer.session import state


def show() -> None:
    st.title("Snoopie")
    st.write("Every byte that crosses between GPUs, and the line of code that sent it.")
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Open a trace")
        with st.form("open_path", border=False):
            path = st.text_input(
                "Trace file, or folder with the traces of a run", key="path", placeholder="snoopie-app.4711.zst"
            )
            if st.form_submit_button("Open", type="primary") and path.strip():
                state.open_paths([path.strip()])
                st.rerun()
    with right:
        st.subheader("Or look at a sample")
        samples = state.samples()
        for sample in samples:
            st.button(
                theme.plain(sample.stem),
                key=f"sample_{sample.stem}",
                icon=":material/play_circle:",
                on_click=state.open_paths,
                args=([str(sample)],),
                width="stretch",
            )
        if not samples:
            st.caption("The samples come with the repository, in the folder sample_traces.")
    st.divider()
    st.write("To record a trace of your own program:")
    st.code("snoopie run -- ./app", language="shell")
