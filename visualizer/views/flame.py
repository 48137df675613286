"""Traffic as a flame graph: who called whom on the host, the kernel, the line in it, and whose memory it reached."""

from __future__ import annotations

import html
from functools import partial

import pandas as pd
import streamlit as st

from snoopie import Trace
from snoopie.analysis.source import flame
from snoopie.analysis.traffic.counts import Value
from snoopie.exporters import flame as exporter
from snoopie.words import columns
from snoopie.words.libraries import is_library
from snoopie.words.text import NAME, cut
from visualizer.parts import remarks, tables
from visualizer.pictures import picture
from visualizer.session import address, state

VALUES: tuple[Value, ...] = ("bytes", "wire_bytes", "accesses", "lanes")
PATH_COLUMNS = ["launched_by", "kernel", "file", "line", "owner"]
FILES = {"flamegraph": ("SVG", "svg"), "speedscope": ("speedscope", "speedscope.json"), "collapsed": ("Text", "txt")}
# Parts of a picture, and rows of the table: of the others none could be seen.
_PARTS, _PATHS = 3000, 200
_ROW = 23


def show() -> None:
    st.header("Flame graph")
    address.keep_one("flame_value", list(VALUES))
    chosen = st.segmented_control("Value", VALUES, format_func=columns.heading, key="flame_value")
    value: Value = chosen or "bytes"
    tree = state.ask(Trace.flame_tree, value)
    if len(tree) == 1:
        remarks.nothing("No kernel reached memory outside its GPU.")
        return
    remarks.estimated()
    st.caption(
        "From the bottom up: functions that called one another, the kernel that they launched, its source line, and "
        "whose memory it reached. Click a part to enlarge it, and the lowest one to go back."
    )
    _picture(tree, value)
    with st.container(horizontal=True):
        for name, (label, ending) in FILES.items():
            # Made when it is asked for.
            text = partial(exporter.FORMATS[name], tree, value)
            st.download_button(label, text, f"flame.{ending}", icon=":material/download:", key=f"flame_{name}")
    paths = _paths(tree, value)
    if len(paths) > _PATHS:
        st.caption(f"The {_PATHS} of {len(paths):,} paths with the most; `trace.flame_tree()` has them all.")
    tables.grid(paths.head(_PATHS), [*PATH_COLUMNS, value], f"flame_paths_{value}", height=320)


def _picture(tree: pd.DataFrame, value: Value) -> None:
    # A part is never larger than its parent, and comes behind it: what is left is a tree.
    seen = tree.sort_values(value, ascending=False, kind="stable").head(_PARTS).sort_index()
    names = [html.escape(cut(name, NAME), quote=False) for name in seen["name"]]
    total = max(int(tree[value].iloc[0]), 1)
    amounts = [f"{columns.say(value, amount)} · {amount / total:.1%}" for amount in seen[value].tolist()]
    places = [
        f"<br>{html.escape(cut(file, NAME, keep_end=True), quote=False)}:{line}" if file else ""
        for file, line in seen[["file", "line"]].itertuples(index=False)
    ]
    parts = {
        "type": "icicle",
        "ids": [str(node) for node in seen.index],
        "parents": ["" if parent < 0 else str(parent) for parent in seen["parent"]],
        "labels": names,
        "values": seen[value].tolist(),
        "branchvalues": "total",
        "sort": False,
        "tiling": {"orientation": "v", "flip": "y", "pad": 1},
        "marker": {"colors": [exporter.COLOURS[kind] for kind in seen["kind"]], "line": {"width": 0}},
        "pathbar": {"visible": False},
        "textposition": "middle left",
        "textfont": {"color": "#000000", "size": 12},
        "customdata": list(zip(amounts, places, strict=True)),
        "texttemplate": "%{label}",
        "hovertemplate": "%{label}<br>%{customdata[0]}%{customdata[1]}<extra></extra>",
    }
    layout = {
        "height": max((int(seen["depth"].max()) + 1) * _ROW, 5 * _ROW),
        # What is too narrow for its name has none: letters are not made smaller.
        "uniformtext": {"minsize": 10, "mode": "hide"},
        "margin": {"l": 0, "r": 0, "t": 4, "b": 4},
        "hoverlabel": {"align": "left"},
    }
    picture.show([parts], layout, f"flame_{value}")


def _paths(tree: pd.DataFrame, value: Value) -> pd.DataFrame:
    """PATH_COLUMNS and the value, the paths with the most first."""
    names, files, lines = (tree[name].tolist() for name in ("name", "file", "line"))
    amounts = tree[value].tolist()
    rows = []
    for path in flame.paths(tree):
        *calls, kernel, line, owner = path
        # A name has the place behind the function: "step (train.py:12)".
        own = [call for call in calls if files[call] and not is_library(files[call], names[call].rpartition(" (")[0])]
        own = own or calls
        launched_by = names[own[-1]] if own else ""
        rows.append((launched_by, names[kernel], files[line], lines[line], names[owner], amounts[owner]))
    table = pd.DataFrame(rows, columns=[*PATH_COLUMNS, value])
    return table.sort_values(value, ascending=False, kind="stable", ignore_index=True)
