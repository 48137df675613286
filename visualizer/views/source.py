"""The user's source with its traffic beside each line; for a chosen line its instructions and its own matrix."""

from __future__ import annotations

from pathlib import PurePath

import pandas as pd
import streamlit as st

from snoopie.analysis import source, units
from snoopie.errors import SnoopieError
from visualizer import choices, heatmap, remarks, state, tables, theme

NO_FILE = "(no source line)"
LINE_COLUMNS = ["bytes", "accesses", "wire_efficiency", "line", "code"]
SITE_COLUMNS = ["offset", "sass", "operation", "width", "bytes", "accesses", "wire_efficiency"]


def show() -> None:
    st.header("Source")
    lines: pd.DataFrame = state.ask("by_line")
    if lines.empty:
        remarks.nothing("No line reached memory outside its GPU.")
        return
    remarks.estimated()
    files = lines.groupby("file", sort=False)["bytes"].sum().sort_values(ascending=False, kind="stable")
    file = st.selectbox(
        "File",
        list(files.index),
        key="source_file",
        format_func=lambda name: f"{_short(name)} · {units.bytes(files.get(name, 0))}",
    )
    traffic: pd.DataFrame = state.ask("file_lines", file)
    if file == "":
        remarks.nothing(
            "These instructions have no source line.", "Compile with nvcc -lineinfo to see them in the source."
        )
        _line(file, 0)
        return
    text = _text(file)
    listing = _listing(traffic, text)
    hot = [int(line) for line in traffic.sort_values("bytes", ascending=False, kind="stable")["line"]]
    clicked = tables.grid(
        listing,
        LINE_COLUMNS,
        f"source_listing_{file}",
        height=574,  # whole rows
        rowClassRules={"has-traffic": "data.bytes > 0"},
        initialState={"scroll": {"top": _top_of(hot[0], listing), "left": 0}},
    )
    # A click in the listing moves the chooser, which also works by keyboard.
    choice = None if clicked is None else int(clicked["line"])
    if choice is not None and (file, choice) != st.session_state.get("source_clicked"):
        st.session_state["source_clicked"] = (file, choice)
        if choice in hot:
            st.session_state["source_line"] = choice
    if st.session_state.get("source_line") not in hot:
        st.session_state["source_line"] = hot[0]
    line = st.selectbox(
        "Line",
        hot,
        key="source_line",
        format_func=lambda number: _line_label(number, listing),
        help="Lines with traffic, most bytes first. Or click a line above.",
    )
    _line(file, line)


def _short(file: str) -> str:
    return "/".join(PurePath(file).parts[-2:]) if file else NO_FILE


def _line_label(number: int, listing: pd.DataFrame) -> str:
    code = listing.loc[listing["line"] == number, "code"]
    return f"{number}: {code.iloc[0].strip()}" if len(code) else str(number)


def _top_of(line: int, listing: pd.DataFrame) -> int:
    """Where a listing is scrolled to so that a line stands a little below its top, in pixels."""
    place = int((listing["line"] < line).sum())
    return max(place - 6, 0) * tables.ROW_HEIGHT


def _text(file: str) -> str | None:
    """The file's text; None, with a way to name its folder, where it is not in a folder that the user named."""
    path = source.find_source(file, state.source_folders())
    if path is not None:
        try:
            return source.read_source(path)
        except SnoopieError as error:
            st.error(theme.plain(str(error)))
            return None
    folders = ", ".join(str(folder) for folder in state.source_folders())
    missing = f"{PurePath(file).name} is not in {folders}. Only folders that you name are looked into."
    st.warning(theme.plain(missing), icon=":material/folder_off:")
    with st.form("source_folder_form"):
        folder = st.text_input("Folder with the source", value=str(PurePath(file).parent), key="source_folder")
        if st.form_submit_button("Look there") and folder.strip():
            state.add_source_folder(folder.strip())
            st.rerun()
    return None


def _listing(traffic: pd.DataFrame, text: str | None) -> pd.DataFrame:
    """All lines of the text, or without it those with traffic, with what they moved."""
    if text is None:
        return traffic.assign(code="")
    code = text.expandtabs(4).splitlines()
    everything = pd.DataFrame({"line": range(1, len(code) + 1), "code": code})
    return everything.merge(traffic, on="line", how="outer").assign(code=lambda table: table["code"].fillna(""))


def _line(file: str, line: int) -> None:
    sites: pd.DataFrame = state.ask("line_sites", file, line)
    st.subheader(theme.plain(f"{PurePath(file).name}:{line}") if file else NO_FILE)
    st.caption(theme.plain("in " + ", ".join(sites["kernel"].drop_duplicates())))
    for chain in _chains(sites):
        st.caption(theme.plain(chain))
    st.markdown("**Instructions**")
    tables.grid(sites, SITE_COLUMNS, f"line_sites_{file}_{line}", height=320)
    st.markdown("**Who reached whom by this line**")
    shown = choices.of_kernels()
    heatmap.show(state.ask("line_matrix", file, line, shown.value, shown.reading), shown, "line_heatmap")


def _chains(sites: pd.DataFrame) -> list[str]:
    """How inlined instructions got here, one sentence for each different way."""
    trace = state.trace()
    chains = []
    for line_id in trace.sites.loc[sites["site"], "line_id"].drop_duplicates():
        chain = trace.line_chain(int(line_id))
        if len(chain) > 1:
            steps = [
                f"{PurePath(file).name}:{line}" + (f" ({function})" if function else "")
                for file, line, function in chain
            ]
            chains.append("inlined: " + " ← ".join(steps))
    return list(dict.fromkeys(chains))
