"""Without a trace: the samples to choose from, and a field for a path."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from visualizer.look import theme
from visualizer.session import opened, state, uploads

_TERMS = Path(__file__).resolve().parents[1] / "look" / "terms.svg"
_MOST = 5


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
            if st.form_submit_button("Open") and path.strip():
                state.open_paths([path.strip()])
                st.rerun()
        with st.form("open_upload", border=False):
            files = st.file_uploader(
                "Or traces of this machine, all of one run", type="zst", accept_multiple_files=True, key="upload"
            )
            if st.form_submit_button("Open these") and files:
                state.open_paths(uploads.keep(files))
                st.rerun()
        _recent()
    with right:
        samples = state.samples()
        st.subheader("Or look at a sample")
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
    st.image(str(_TERMS), width=640)
    st.caption(
        "The issuer executes the instruction; the owner has the memory. A store sends bytes, a load fetches them."
    )
    st.write("To record a trace of your own program:")
    st.code("snoopie run -- ./app", language="shell")


def _recent() -> None:
    """What was opened here before, the latest first."""
    recent = opened.latest()[:_MOST]
    if recent:
        st.subheader("Opened before")
    for paths in recent:
        label = Path(paths[0]).name + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
        st.button(
            theme.plain(label),
            key=f"recent_{paths}",
            icon=":material/history:",
            on_click=state.open_paths,
            args=(list(paths),),
            width="stretch",
            help=theme.plain(paths[0]),
        )
