"""Streams as people read them, in every view."""

from __future__ import annotations

import pandas as pd

from snoopie import Trace
from visualizer.session import state

Names = dict[tuple[int, int], str]


def names() -> Names:
    """Process and handle → the stream's name, of the whole trace: a filter renames none."""
    table = state.ask_whole(Trace.stream_names)
    keys = zip(table["process"].tolist(), table["stream"].tolist(), strict=True)
    return dict(zip(keys, table["name"].tolist(), strict=True))


def name(known: Names, process: int, handle: int) -> str:
    """Its name; the handle where it has none."""
    return known.get((process, handle), f"stream {handle:#x}")


def column(table: pd.DataFrame) -> list[str]:
    """What stands under "Stream" for the rows of a table with process and stream: "3", "default"."""
    known = names()
    rows = zip(table["process"].tolist(), table["stream"].tolist(), strict=True)
    return [brief(name(known, process, handle)) for process, handle in rows]


def brief(stream: str) -> str:
    """A stream's name where it is said already that it is one."""
    return stream.removeprefix("stream ").removesuffix(" stream")
