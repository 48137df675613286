"""The user's source by traffic: files in their folders, lines, and for one line its instructions, who reached whom, the
allocations that it touched, and the kernels and calls that ran it."""

from __future__ import annotations

from pathlib import PurePath

import pandas as pd
import streamlit as st

from snoopie import Trace
from snoopie.analysis.source import lines as source_lines
from snoopie.analysis.source.highlight import Line
from snoopie.words import units
from visualizer.components import file_tree, listing
from visualizer.controls import choices
from visualizer.look import theme
from visualizer.parts import remarks, tables
from visualizer.pictures import heatmap
from visualizer.session import address, background, source_files, state

NO_FILE = "(no source line)"
# Lines in the chooser; the listing has the others.
CHOICES = 1000
SITE_COLUMNS = ["offset", "sass", "operation", "width", "bytes", "accesses", "wire_efficiency"]
OBJECT_COLUMNS = [
    "name",
    "allocations",
    "allocated_by",
    "owner",
    "kind",
    "size",
    "bytes",
    "accesses",
    "wire_efficiency",
]
STACK_COLUMNS = ["stack", "launched_by", "kernel", "launches", "bytes", "accesses"]
FRAME_COLUMNS = ["function", "file", "line", "code"]
KERNEL_COLUMNS = ["kernel", "launches", "bytes", "accesses", "wire_efficiency"]
DETAILS = {
    "sites": "Instructions",
    "pairs": "Who reached whom",
    "objects": "Objects",
    "stacks": "Launched by",
    "kernels": "Kernels",
}
WAITS = {"waits": "Moving or waiting"}
WAIT_COLUMNS = [
    *("kernel", "issuer", "owner", "awaited", "stored_by", "known_by", "waits", "waited", "longest", "held", "moving"),
    "sass",
]


def show() -> None:
    st.header("Source")
    tree = state.ask(Trace.file_tree)
    if tree.empty:
        remarks.nothing("No line reached memory outside its GPU.")
        return
    remarks.estimated()
    files = list(state.ask(Trace.by_file)["file"])
    known = set(files)
    waited = [path for path in tree.loc[~tree["folder"], "path"] if path not in known]
    file = _file([*files, *waited])
    left, right = st.columns([3, 8], gap="small")
    with left:
        file_tree.show("source_tree", tree, file, NO_FILE, about=remarks.about(), waited=waited, on_choose=_choose_file)
    with right:
        line = _lines(file)
    _line(file, line)


def _file(files: list[str]) -> str:
    """The file of the address, or that was chosen; the line of another is forgotten."""
    asked = st.query_params.get("source_file")
    if asked is not None and asked not in files:
        what = PurePath(asked).name or NO_FILE
        st.info(theme.plain(f"{what} has no traffic in this trace, or the filters exclude it."), icon=":material/info:")
    file = address.keep_one("source_file", files)
    before = st.session_state.get("source_line_of")
    if before is not None and before != file:
        # A link names the line of its file; else the hottest one is chosen.
        forget_or_read = address.reread if asked == file else address.forget
        forget_or_read("source_line")
    st.session_state["source_line_of"] = file
    return file


def _choose_file(file: str) -> None:
    st.session_state["source_file"] = file
    address.forget("source_line")
    st.session_state["source_line_of"] = file


def _choose_line(line: int) -> None:
    if line:
        st.session_state["source_line"] = line


def _lines(file: str) -> int:
    """The listing of a file, and the line that is chosen in it; 0 for what has no line."""
    traffic = _with_waits(file, state.ask(Trace.file_lines, file))
    if file == "":
        remarks.nothing(
            "These instructions have no source line.", "Compile with nvcc -lineinfo to see them in the source."
        )
        return 0
    found = source_files.find(file)
    text = None if found is None else found.lines
    hot = [int(line) for line in traffic.sort_values("bytes", ascending=False, kind="stable")["line"]]
    line = address.keep_positive("source_line", hot[0])
    offered = hot[:CHOICES] if line in hot[:CHOICES] else [line, *hot[:CHOICES]]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Line",
            offered,
            key="source_line",
            format_func=lambda number: _named(number, text),
            help="Lines with traffic, most bytes first. Or click a line below; arrow keys go to the next with traffic.",
        )
        source_files.manage()
    st.caption(theme.plain(file if found is None else f"{file} · {found.origin}"))
    if found is None:
        source_files.missing(file)
    last = int(traffic["line"].max())
    total = min(len(traffic) if text is None else max(len(text), last), listing.MOST)
    row = _row(line, traffic, text, total)
    first = _window(file, line, row, total)
    listing.show(
        "source_listing",
        file,
        traffic,
        line,
        total=total,
        first=first,
        lines=None if text is None else _window_lines(file, text, first, total),
        about=remarks.about(),
        on_choose=_choose_line,
        on_scroll=lambda place: _scroll(file, line, place),
    )
    if text is not None and last > len(text):
        st.caption("There is traffic beyond the end of this file: it is not the version that was compiled.")
    return line


def _with_waits(file: str, traffic: pd.DataFrame) -> pd.DataFrame:
    """Lines at which kernels moved or waited have further amounts. Those that waited need no traffic: kernels also poll
    their own memory."""
    if state.view().waits.empty and state.view().moves.empty:
        return traffic
    times = state.ask(Trace.file_waits, file)[["line", "moving", "held"]]
    return traffic.merge(times.where(times > 0).astype({"line": "int64"}), on="line", how="outer")


def _named(number: int, text: list[str] | None) -> str:
    code = text[number - 1].strip() if text is not None and number <= len(text) else ""
    return f"{number}: {code[:120]}" if code else str(number)


def _row(line: int, traffic: pd.DataFrame, text: list[str] | None, total: int) -> int:
    """Where in the listing a line stands, or the nearest that is in it."""
    return min(int((traffic["line"] < line).sum()) if text is None else line - 1, total - 1)


# Which rows are sent: around the chosen line, until another part of the file is scrolled to.


def _window(file: str, line: int, row: int, total: int) -> int:
    """The place of the first row to send."""
    kept: tuple[str, int, int] | None = st.session_state.get("source_window")
    if kept is not None and kept[0] == file and (kept[1] == line or kept[2] <= row < kept[2] + listing.WINDOW):
        first = kept[2]
    else:
        first = row - listing.WINDOW // 2
    first = max(min(first, total - listing.WINDOW), 0)
    st.session_state["source_window"] = (file, line, first)
    return first


def _scroll(file: str, line: int, place: int) -> None:
    st.session_state["source_window"] = (file, line, place - listing.WINDOW // 2)


def _window_lines(file: str, text: list[str], first: int, total: int) -> list[Line]:
    last = min(first + listing.WINDOW, total)
    lines = source_files.highlighted(file, text, first, min(last, len(text)))
    return [*lines, *([] for _ in range(last - first - len(lines)))]


# The chosen line


def _line(file: str, line: int) -> None:
    sites = state.ask(Trace.line_sites, file, line, merged=True)
    st.subheader(theme.plain(f"{PurePath(file).name}:{line}") if file else NO_FILE)
    waits = _waits_of(file, line)
    if sites.empty:
        if waits.empty:
            remarks.nothing("This line reached no memory outside its GPU.", "Lines with a bar did.")
        else:
            st.caption("This line reached no memory outside its GPU: it waited.")
            _waits(file, line)
        return
    for chain in _chains(sites):
        st.caption(theme.plain(chain))
    details = DETAILS | (WAITS if len(waits) else {})
    address.keep_one("source_detail", list(details))
    detail = st.segmented_control(
        "About this line",
        list(details),
        format_func=details.__getitem__,
        key="source_detail",
        label_visibility="collapsed",
    )
    shows = {"pairs": _pairs, "objects": _objects, "stacks": _stacks, "kernels": _kernels, "waits": _waits}
    shows.get(detail or "sites", _sites)(file, line)


def _sites(file: str, line: int) -> None:
    tables.grid(
        state.ask(Trace.line_sites, file, line, merged=True), SITE_COLUMNS, f"line_sites_{file}_{line}", height=320
    )


def _pairs(file: str, line: int) -> None:
    shown = choices.of_kernels()
    heatmap.show(state.ask(Trace.line_matrix, file, line, shown.value, shown.reading), shown, "line_heatmap")


def _kernels(file: str, line: int) -> None:
    tables.grid(state.ask(Trace.line_kernels, file, line), KERNEL_COLUMNS, f"line_kernels_{file}_{line}", height=320)


def _waits_of(file: str, line: int) -> pd.DataFrame:
    if state.view().waits.empty and state.view().moves.empty:
        return pd.DataFrame()
    table = state.ask(Trace.by_wait, "site")
    return table[(table["file"] == file) & (table["line"] == line)]


def _waits(file: str, line: int) -> None:
    table = _waits_of(file, line)
    st.caption(
        "The kernel polled memory until its value changed, or accessed other memory from a first to a last time. Times "
        "are instrumented: exact in order, approximate in length."
    )
    tables.grid(table, WAIT_COLUMNS, f"line_waits_{file}_{line}", height=320)
    if given_up := int(table["given_up"].sum()):
        st.caption(f"{units.plural(given_up, 'wait', 'waits')} did not end by the value.")


def _objects(file: str, line: int) -> None:
    table = background.answer(state.selected().question(Trace.line_objects, file, line, merged=True))
    if table is None:
        return
    if (table["object"] == 0).all():
        why = "cannot attribute this line to allocations" if len(state.trace().objects) else "has no allocations"
        st.caption(f"This trace {why}: record it with objects and records to see which ones this line touched.")
        return
    names = [
        name or (f"object {number}" if number else "(unknown)")
        for name, number in zip(table["name"], table["object"], strict=True)
    ]
    table = table.assign(name=names).rename(columns={"source": "allocated_by"})
    tables.grid(table, OBJECT_COLUMNS, f"line_objects_{file}_{line}", height=320)
    if not table["exact"].all():
        st.caption("Objects share pages here, and not every access was recorded: their common traffic is an estimate.")


def _stacks(file: str, line: int) -> None:
    table = state.ask(Trace.line_stacks, file, line)
    if (table["stack"] == 0).all():
        st.caption("This trace has no call stacks for these launches: record it with stacks to see what launched them.")
        return
    table = table.assign(source=table["source"].where(table["stack"] > 0, "(not known)"))
    table = table.rename(columns={"source": "launched_by"})
    chosen = tables.choice(table, STACK_COLUMNS, f"line_stacks_{file}_{line}", height=190)
    stack = int(table["stack"].iloc[0]) if chosen is None else int(chosen["stack"])
    frames = state.ask_whole(Trace.stack, stack)
    if len(frames):
        tables.grid(frames, FRAME_COLUMNS, f"line_frames_{stack}", height=240)


def _chains(sites: pd.DataFrame) -> list[str]:
    """How inlined instructions got here, one sentence for each different way."""
    trace = state.trace()
    line_ids = trace.sites.loc[sites["site"], "line_id"].drop_duplicates()
    return source_lines.ways(source_lines.inlined(trace.lines, line_ids))
