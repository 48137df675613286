"""What ran, on which GPUs; totals; what was lost or not measured."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from snoopie.analysis import units
from visualizer import parts, state, theme

OPERATION_NOTE = "Stores and reductions send data to the owner, loads bring it from there, atomics do both."


def show() -> None:
    st.header("Overview")
    _totals(state.ask("summary"))
    _losses(state.ask("losses", whole=True))

    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Who reached whose memory")
        _pairs(state.ask("by_pair"))
    with right:
        st.subheader("By operation")
        st.caption(OPERATION_NOTE)
        _operations(state.ask("by_operation"))

    trace = state.trace()
    st.subheader("GPUs")
    _gpus(trace.gpus)
    st.subheader("Processes")
    processes = trace.processes[["program", "host", "pid", "rank", "command"]]
    st.dataframe(processes, hide_index=True, key="processes")
    if len(unmeasured := state.ask("not_measured")):
        st.subheader("Not measured")
        st.caption("Instructions that can reach another GPU's memory in a way that this version cannot count.")
        st.dataframe(unmeasured[["kernel", "file", "line", "opcode", "sass"]], hide_index=True, key="not_measured")


def _totals(summary: dict[str, float]) -> None:
    shown = [
        ("Bytes", units.bytes(summary["bytes"]), "Lanes × width: what the program asked for."),
        ("Wire bytes", units.bytes(summary["wire_bytes"]), "32 bytes for every sector touched: what had to move."),
        ("Wire efficiency", units.percent(summary["wire_efficiency"]), "Bytes / wire bytes."),
        ("Accesses", units.count(summary["accesses"]), "Executions of a memory instruction by a warp."),
        ("Launches", units.count(summary["launches"]), "Measured launches of the selected kernels."),
        ("Records", units.count(summary["records"]), "Single accesses with their addresses."),
    ]
    with st.container(horizontal=True):
        for label, value, meaning in shown:
            st.metric(label, value, help=meaning, border=True, width="content")


def _losses(sentences: list[str]) -> None:
    if not sentences:
        st.success(
            "Nothing was lost: every remote access of the selected kernels is counted.", icon=":material/check_circle:"
        )
        return
    text = "\n".join(f"- {theme.plain(sentence)}" for sentence in sentences)
    st.warning(f"What this trace does not show:\n\n{text}", icon=":material/warning:")


def _pairs(pairs: pd.DataFrame) -> None:
    if pairs.empty:
        parts.nothing(
            "No access to another GPU's memory was recorded.",
            "The program may copy instead, or a filter may exclude the kernels that communicate.",
        )
        return
    parts.grid(pairs, ["issuer", "owner", "bytes", "accesses", "wire_efficiency"], "pairs", height=300)


def _operations(operations: pd.DataFrame) -> None:
    parts.grid(operations, ["operation", "bytes", "accesses", "wire_efficiency"], "by_operation", height=300)


def _gpus(gpus: pd.DataFrame) -> None:
    table = gpus.assign(memory=[units.bytes(size) for size in gpus["memory"]])
    table["nvlinks"] = [str(links) if links >= 0 else "unknown" for links in gpus["nvlinks"]]
    table["sm"] = [f"{sm // 10}.{sm % 10}" for sm in gpus["sm"]]
    st.dataframe(
        table[["label", "name", "memory", "nvlinks", "sm", "host", "pci", "uuid"]],
        hide_index=True,
        key="gpus",
        column_config={
            "label": "GPU",
            "nvlinks": "NVLinks",
            "sm": "Compute capability",
            "pci": "PCI",
            "uuid": "UUID",
        },
    )
