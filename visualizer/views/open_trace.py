"""Without a trace: what can be opened, by its path, from a folder, from the browser, again, or as a sample."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from visualizer.look import theme
from visualizer.parts import glossary
from visualizer.session import folders, opened, recents, state, uploads

# What each sample is, for who does not know it.
_SAMPLES = {
    "allreduce-4gpu": "PyTorch with NCCL on four GPUs",
    "findings-2gpu": "one of each finding, on two GPUs",
    "halo-4gpu": "a stencil with NVSHMEM on four GPUs",
    "jacobi-2gpu": "a solver on two GPUs, all recorded",
    "jacobi-4gpu": "the same solver on four GPUs",
    "ring-4gpu": "stores, loads and reductions around a ring",
}
_FIRST = "findings-2gpu"
_MOST = 8
_FOLDER = "open_folder"


def show() -> None:
    # See visualizer.server.early: no list of pages comes here.
    st.html('<span class="without-sidebar"></span>')
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
        if state.arguments().own:
            _browse()
        with st.form("open_upload", border=False):
            files = st.file_uploader(
                "Or traces of this machine, all of one run", type="zst", accept_multiple_files=True, key="upload"
            )
            if st.form_submit_button("Open these") and files:
                state.open_paths(uploads.keep(files))
                st.rerun()
    with right:
        _recent()
        st.subheader("Look at a sample")
        # That with most to see in front.
        for sample in sorted(state.samples(), key=lambda sample: sample.stem != _FIRST):
            about = _SAMPLES.get(sample.stem, "")
            _offer([str(sample)], "sample", ":material/play_circle:", sample.stem + (f": {about}" if about else ""))
    st.divider()
    glossary.show()
    st.write("To record a trace of your own program:")
    st.code("snoopie run -- ./app", language="shell")


def _recent() -> None:
    """What was opened before: in this session, and by the same user; the latest first."""
    before = [*opened.latest(), *(recents.latest() if state.arguments().own else [])]
    recent = list(dict.fromkeys(before))[:_MOST]
    if recent:
        st.subheader("Opened before")
    for paths in recent:
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        _offer(paths, "recent", ":material/history:", Path(paths[0]).name + more, paths[0])


def _browse() -> None:
    """The folders where the app was started and where its traces lie, and what is in them."""
    roots = folders.roots()
    here = st.session_state.get(_FOLDER, roots[0])
    if not folders.allowed(here):
        here = roots[0]
    st.caption(theme.plain(f"Or from {here}"))
    found = folders.listing(here)
    with st.container(height=260, gap=None):
        above = [root for root in roots if root != here] if here in roots else [here.parent]
        for folder in above:
            _step(folder, str(folder) if here in roots else "..", ":material/arrow_upward:")
        for folder in found.folders:
            _step(folder, f"{folder.name}/", ":material/folder:")
        if len(found.traces) > 1:
            label = f"All {len(found.traces)} traces of this folder, as one run"
            _offer([str(here)], "folder", ":material/folder_zip:", label, flat=True)
        for trace in found.traces:
            _offer([str(trace)], "folder", ":material/description:", trace.name, flat=True)
        if not found.traces:
            st.caption("No trace (\\*.zst) lies here.")
    if found.more:
        st.caption(f"{found.more:,} more are not shown: type their path.")


def _step(folder: Path, label: str, icon: str) -> None:
    def go() -> None:
        st.session_state[_FOLDER] = folder

    st.button(theme.plain(label), key=f"into_{folder}", icon=icon, on_click=go, type="tertiary")


def _offer(paths: Sequence[str], kind: str, icon: str, label: str, about: str = "", *, flat: bool = False) -> None:
    """A button that opens some traces."""
    st.button(
        theme.plain(label),
        key=f"{kind}_{Path(paths[0]).stem if kind == 'sample' else tuple(paths)}",
        icon=icon,
        on_click=state.open_paths,
        args=(list(paths),),
        type="tertiary" if flat else "secondary",
        width="content" if flat else "stretch",
        help=theme.plain(about) if about else None,
    )
