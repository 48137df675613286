"""What ran, on which GPUs; totals; what was lost or not measured."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from snoopie.analysis import losses, units
from visualizer import places, remarks, state, tables, theme
from visualizer.views import sites

OPERATION_NOTE = "Stores and reductions send data to the owner, loads bring it from there, atomics do both."
NOT_MEASURED_NOTE = (
    "These instructions can reach memory outside their GPU, and how much they moved cannot be told: it is in no other "
    "number here. Accesses and lanes say how often they ran."
)


def show() -> None:
    st.header("Overview")
    _totals(state.ask("summary"))
    remarks.estimated()
    _losses(state.ask("losses", whole=True))

    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Who reached whose memory")
        _pairs(state.ask("by_pair"))
    with right:
        st.subheader("By operation")
        st.caption(OPERATION_NOTE)
        _operations(state.ask("by_operation"))
    _not_measured(state.ask("not_measured"))

    st.subheader("GPUs")
    _gpus(state.trace().gpus)
    st.subheader("Processes")
    _processes(state.trace().processes)


def _totals(summary: dict[str, float]) -> None:
    about = remarks.about()
    launches = (
        f"{units.count(summary['measured'])} of them were measured, and stand for the others."
        if about
        else "Measured launches of the selected kernels."
    )
    shown = [
        ("Bytes", about + units.bytes(summary["bytes"]), "Lanes × width: what the instructions of kernels asked for."),
        (
            "Wire bytes",
            about + units.bytes(summary["wire_bytes"]),
            "32 bytes for every sector touched: what had to move.",
        ),
        ("Wire efficiency", about + units.percent(summary["wire_efficiency"]), "Bytes / wire bytes."),
        ("Accesses", about + units.count(summary["accesses"]), "Executions of a memory instruction by a warp."),
        ("Launches", units.count(summary["launches"]), launches),
        ("Records", units.count(summary["records"]), "Single accesses with their addresses."),
    ]
    _metrics(shown)
    trace = state.trace()
    if len(trace.processes) == 1 and trace.copies.empty and trace.collectives.empty:
        return
    ranks = sorted({int(rank) for rank in trace.processes["rank"] if rank >= 0})
    meaning = "Started by the host. A filter of kernels or operations excludes them."
    beside = [
        ("GPUs", units.count(len(trace.gpus)), "Of all processes, told apart by UUID."),
        ("Processes", units.count(len(trace.processes)), "One trace each."),
        *([("Ranks", units.numbers(ranks), "As the launcher numbered the processes.")] if ranks else []),
        ("Copies", units.count(summary["copies"]), meaning),
        ("Bytes copied", units.bytes(summary["copy_bytes"]), "By these copies; they are in no other total."),
        ("NCCL calls", units.count(len(state.view().collectives)), "Their kernels' traffic is in the totals above."),
    ]
    _metrics(beside)


def _metrics(shown: list[tuple[str, str, str]]) -> None:
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
        remarks.nothing(
            "No access to memory outside its GPU was recorded.",
            "The program may copy instead, or a filter may exclude the kernels that communicate.",
        )
        return
    tables.grid(pairs, ["issuer", "owner", "bytes", "accesses", "wire_efficiency"], "pairs", height=300)
    for sentence in places.explain(pairs["owner"]):
        st.caption(sentence)


def _operations(operations: pd.DataFrame) -> None:
    tables.grid(operations, ["operation", "bytes", "accesses", "wire_efficiency"], "by_operation", height=300)


def _not_measured(unmeasured: pd.DataFrame) -> None:
    if unmeasured.empty:
        return
    st.subheader("Not measured")
    st.caption(NOT_MEASURED_NOTE)
    in_words = losses.in_words(unmeasured)
    tables.grid(in_words, ["what", "sites", "accesses", "lanes"], "not_measured", height=240)
    st.page_link(st.Page(sites.show, url_path="sites"), label="Each of them, with its line", icon=":material/pin_drop:")


def _gpus(gpus: pd.DataFrame) -> None:
    known = places.by_label()
    table = gpus.assign(memory=[units.bytes(size) for size in gpus["memory"]])
    table["users"] = [known[label].users for label in gpus["label"]]
    table["nvlinks"] = [str(links) if links >= 0 else "unknown" for links in gpus["nvlinks"]]
    table["sm"] = [f"{sm // 10}.{sm % 10}" for sm in gpus["sm"]]
    users = ["users"] if table["users"].any() else []
    _facts(table[["label", *users, "name", "memory", "nvlinks", "sm", "host", "pci", "uuid"]], "gpus")


def _processes(processes: pd.DataFrame) -> None:
    """With the ranks that the launcher gave them, where it did."""
    known = [name for name in ("rank", "local_rank", "ranks") if (processes[name] >= 0).any()]
    table = processes.assign(gpus=places.used_gpus(processes.index))
    for name in known:
        table[name] = [str(number) if number >= 0 else units.NOTHING for number in processes[name]]
    _facts(table[[*known, "program", "gpus", "host", "pid", "command"]], "processes", numbered=len(table) > 1)


def _facts(table: pd.DataFrame, key: str, *, numbered: bool = False) -> None:
    headings = {name: tables.heading(name) for name in table.columns} | {
        "_index": tables.heading(str(table.index.name))
    }
    st.dataframe(table, hide_index=not numbered, key=key, column_config=headings)
