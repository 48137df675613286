"""A call stack as a list of frames, with links to the source of those that have traffic."""

from __future__ import annotations

from pathlib import PurePath

import streamlit as st

from snoopie import Trace
from visualizer import pages
from visualizer.look import theme
from visualizer.parts import remarks, tables
from visualizer.session import state

COLUMNS = ["function", "file", "line", "code", "module"]
# Links under a stack: of one more, its innermost frames are what tells it.
_LINKS = 4


def show(stack: int, what: str, key: str) -> None:
    """The frames of a stack, innermost first; ``what`` was called by it ("the allocation")."""
    if stack == 0:
        _none(what)
        return
    frames = state.ask_whole(Trace.stack, stack)
    tables.grid(frames, COLUMNS, f"{key}_{stack}", height=320)
    traffic = set(state.ask(Trace.by_line)["file"])
    places = frames[frames["file"].isin(traffic) & (frames["file"] != "")].drop_duplicates(["file", "line"])
    for file, line in places[["file", "line"]].head(_LINKS).itertuples(index=False):
        source_line(file, int(line))


def source_line(file: str, line: int, note: str = "") -> None:
    """A link to a line in the source view."""
    label = theme.plain(f"{PurePath(file).name}:{line}") + note
    pages.link("source", label, source_file=file, source_line=str(line))


def _none(what: str) -> None:
    trace = state.trace()
    if "stacks" not in trace.schema:
        remarks.nothing(f"This trace has no call stacks for {what}.", "Its collector did not record them.")
    elif not any(settings.get("code_context", True) for settings in trace.settings):
        remarks.nothing(f"Call stacks for {what} were not recorded.", "Record without --no-stacks (CODE_CONTEXT=1).")
    else:
        st.caption(f"No call stack for {what}: it could not be unwound.")
