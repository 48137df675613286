"""Launches one by one, and for a chosen launch its matrix, the collectives that it carries out, and who launched it."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from snoopie import Trace
from snoopie.analysis.host.launches import Order
from snoopie.words import names, units
from visualizer import pages
from visualizer.controls import choices
from visualizer.look import theme
from visualizer.parts import native, remarks, stacks, streams, tables
from visualizer.pictures import heatmap
from visualizer.session import address, state

LIMIT = 1000
ORDERS: dict[Order, str] = {"bytes": "Most bytes", "ran": "Longest", "start": "Earliest"}
COLUMNS = [
    "launch",
    "kernel",
    "issuer",
    "began",
    "ran",
    "native_time",
    "bytes",
    "accesses",
    "wire_efficiency",
    "grid",
    "block",
]
CALLS = ["operation", "reduction", "type", "count", "bytes", "peer", "communicator", "rank", "stream"]


def show() -> None:
    st.header("Launches")
    every = state.view().launches
    if every.empty:
        remarks.nothing(
            "No launch was measured.",
            "No launch could reach another GPU's memory, or the filters exclude them all.",
        )
        return
    address.keep_one("launch_order", list(ORDERS))
    order: Order = (
        st.segmented_control("Show first", list(ORDERS), format_func=ORDERS.__getitem__, key="launch_order") or "bytes"
    )
    table = native.with_times(state.ask(Trace.single_launches, order, LIMIT))
    if len(every) > LIMIT:
        st.caption(f"{LIMIT:,} of {len(every):,} measured launches; `trace.launches` has them all.")
    if state.view().estimated:
        st.caption("Only some launches were measured. Each row shows one launch, unscaled.")
    timed = bool((table["ran"] >= 0).any())
    if not timed:
        st.caption("This trace has no launch durations: launches are shown at the time of their calls.")
    several = len(state.trace().processes) > 1
    columns = (
        [name for name in COLUMNS if (timed or name != "ran") and name in table]
        + ["stream"]
        + (["rank"] if several else [])
    )
    shown = table.assign(stream=streams.column(table))
    address.keep_number("launch", every.index, int(table["launch"].iloc[0]))
    tables.chooser(shown, columns, f"launches_table_{order}", of="launch", height=420)
    _launch(_chosen(table))


def _chosen(table: pd.DataFrame) -> int:
    """The launch chosen by a click, by the chooser, or by the address."""
    every, place = state.view().launches, state.trace().label
    launch = int(st.session_state["launch"])
    short = {kernel: names.short_name(kernel) for kernel in table["kernel"].unique()}
    labels = {
        number: f"{number} · {short[kernel]} · {issuer}"
        for number, kernel, issuer in table[["launch", "kernel", "issuer"]].itertuples(index=False)
    }
    if launch not in labels:
        kernel, gpu = str(every["kernel"].loc[launch]), int(every["gpu"].loc[launch])
        labels = {launch: f"{launch} · {names.short_name(kernel)} · {place(gpu)}"} | labels
    return int(
        st.selectbox("Launch", [*labels], key="launch", format_func=labels.__getitem__, help="Or click one above.")
    )


def _launch(launch: int) -> None:
    part = state.view().select(launches=launch)
    facts = _row(part.single_launches())
    st.subheader(theme.plain(f"Launch {launch}: {names.short_name(facts['kernel'])}"))
    pages.link("kernels", theme.plain(f"All launches of {names.short_name(facts['kernel'])}"), kernel=facts["kernel"])
    with st.container(horizontal=True):
        shape = (
            f"{facts['grid']} block{'' if facts['grid'] == '1' else 's'} of {facts['block']} threads"
            if facts["grid"]
            else "not known"
        )
        for name, value in (
            ("GPU", facts["issuer"]),
            ("Bytes", units.bytes(facts["bytes"])),
            ("Accesses", units.count(facts["accesses"])),
            ("Ran", units.duration(facts["ran"]) if facts["ran"] >= 0 else units.NOTHING),
        ):
            st.metric(name, value, border=True, width="content")
    dynamic = f", {units.bytes(facts['shared_memory'])} of dynamic shared memory" if facts["shared_memory"] else ""
    pid = state.trace().processes["pid"].loc[facts["process"]]
    who = f"thread {facts['thread']} of process {pid}" if facts["thread"] else "an unknown thread"
    stream = streams.name(streams.names(), facts["process"], facts["stream"])
    st.caption(theme.plain(f"Grid: {shape}{dynamic}. On the {stream} ({facts['stream']:#x}), launched by {who}."))
    st.markdown("**Who reached whom in this launch**")
    if facts["accesses"]:
        shown = choices.of_kernels()
        heatmap.show(part.matrix(shown.value, shown.reading), shown, "launch_heatmap")
    else:
        remarks.nothing("This launch reached no memory outside its GPU.", "It was instrumented nevertheless.")
    if facts["group"]:
        st.markdown("**The collectives that it carries out**")
        calls = part.collectives
        shown_calls = calls.assign(stream=streams.column(calls))
        tables.grid(shown_calls, CALLS, f"launch_calls_{launch}", height=240)
    st.markdown("**Who launched it**")
    stacks.show(facts["stack"], "this launch", "launch_stack")


def _row(table: pd.DataFrame) -> dict[str, Any]:
    return {str(name): column.tolist()[0] for name, column in table.items()}
