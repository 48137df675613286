"""Two traces: what changed in all, between which places, and in which kernel, line or object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pandas as pd
import streamlit as st

import snoopie
from snoopie import Comparison
from snoopie.words import columns
from visualizer.controls import choices, filters
from visualizer.controls.choices import VALUES
from visualizer.look import theme
from visualizer.parts import cards, changes, remarks, side_by_side, tables
from visualizer.session import address, other, source_files, state

# Of what the tables are: the method of `snoopie.Comparison`, and the columns that name a row.
_TABLES: Mapping[str, tuple[Callable[[Comparison, str], pd.DataFrame], list[str]]] = {
    "Kernels": (Comparison.by_kernel, ["kernel"]),
    "Lines": (Comparison.by_line, ["file", "line", "line_b", "kernel"]),
    "Objects": (Comparison.by_object, ["name", "source", "owner", "kind"]),
    "Pairs": (Comparison.by_pair, ["issuer", "owner"]),
}
_MATCHED = {
    "Kernels": "Kernels match by full name, including template arguments.",
    "Lines": "Lines match by their text, where the traces hold it, else by their instructions, wherever they moved.",
    "Objects": "Objects match by variable, allocating line, owner and kind; all that match are one row.",
    "Pairs": "GPUs match by number.",
}
# What times there are of, and the columns that name a row.
_TIMES: Mapping[str, tuple[Literal["kernel", "line", "pair"], list[str]]] = {
    "Kernels": ("kernel", ["kernel"]),
    "Lines": ("line", ["file", "line", "line_b"]),
    "Pairs": ("pair", ["from", "to"]),
}
# The amounts on top.
_METRICS = ("bytes", "wire_bytes", "wire_efficiency", "accesses", "launches", "copy_bytes", "peak_memory", "leaks")
_MEMORY = "Filters of owners divide it; kernels, operations and issuers do not."


def show() -> None:
    st.header("Compare")
    paths = other.keep()
    if refused := other.refused():
        st.warning(
            theme.plain(f"The link names {refused}, which has not been opened here. Open it yourself to compare."),
            icon=":material/link_off:",
        )
    if not paths:
        st.write("What changed between the open trace, A, and another one, B.")
        _choose()
        return
    _chosen(paths[0])
    try:
        other.read(paths)
    except snoopie.TruncatedError as error:
        _explain(error)
        st.button("Read the intact part of B", key="other_read_truncated", on_click=other.accept_truncated)
        return
    except snoopie.SnoopieError as error:
        _explain(error)
        _choose()
        return
    _compared()


def _explain(error: snoopie.SnoopieError) -> None:
    st.error(theme.plain(str(error)), icon=":material/error:")


# --- which trace is B ---


def _choose() -> None:
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader("Open a trace as B")
        with st.form("open_other", border=False):
            path = st.text_input("Trace file, or folder with the traces of a run", key="other_path")
            if st.form_submit_button("Compare") and path.strip():
                other.choose(path.strip())
                st.rerun()
        for name in other.known():
            if name not in state.paths():
                _offer(name, "known", ":material/history:")
    with right:
        samples = state.samples()
        if samples:
            st.subheader("Or a sample")
        for sample in samples:
            _offer(str(sample), "sample", ":material/play_circle:")


def _offer(path: str, kind: str, icon: str) -> None:
    label = theme.plain(Path(path).stem if kind == "sample" else path)
    st.button(label, key=f"other_{kind}_{path}", icon=icon, on_click=other.choose, args=(path,), width="stretch")


def _chosen(name: str) -> None:
    a = state.names()
    b = Path(name).name if Path(name).name != a else name
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**A** {theme.plain(a)}, open now   →   **B** {theme.plain(b)}", help=theme.plain(name))
        st.button("Another B", key="other_another", icon=":material/swap_horiz:", on_click=other.choose, args=("",))


# --- what changed ---


def _compared() -> None:
    _filters()
    if not other.ask(_different):
        st.success(
            "No difference: every amount of the two traces, of each pair of places, kernel and line, is the same.",
            icon=":material/check_circle:",
        )
    _totals()
    if sentences := other.ask(Comparison.remarks):
        with st.expander(
            f"{len(sentences)} remark{'' if len(sentences) == 1 else 's'} on the two recordings", icon=":material/info:"
        ):
            st.markdown("\n".join(f"- {theme.plain(sentence)}" for sentence in sentences))

    st.subheader("Who reached whose memory")
    shown = choices.of_all(choices.IN_MATRIX)
    value = shown.value
    if value == "wire_efficiency":
        st.caption("Efficiencies cannot be subtracted: bytes are compared instead.")
        value = "bytes"
        shown = replace(shown, value=value)
    a, b, change = other.ask(Comparison.matrices, value, shown.reading, shown.initiated)
    if not (a.to_numpy().any() or b.to_numpy().any()):
        remarks.nothing("Neither trace has such traffic.")
    else:
        changes.matrices(a, b, change, shown)
        if not change.to_numpy().any():
            st.info(f"No difference in {VALUES[shown.value].lower()} between any two places.", icon=":material/check:")

    st.subheader("What changed")
    address.keep_one("by", list(_TABLES))
    by = st.segmented_control("By", list(_TABLES), key="by", label_visibility="collapsed") or "Kernels"
    _table(by, shown)


def _different(comparison: Comparison) -> bool:
    return comparison.different


def _filters() -> None:
    applied = other.applied()
    chosen = [f"{filters.TITLES[name]}: {', '.join(getattr(applied, name))}" for name in applied.active]
    if chosen:
        st.caption(theme.plain(f"Both traces are filtered. {'; '.join(chosen)}."))
    if other.left_out():
        st.caption("Filters by process, time and launch do not carry over to another run and are ignored here.")


def _totals() -> None:
    summary = other.ask(Comparison.summary)
    words = other.ask(Comparison.summary_in_words)
    with cards.row("compared", len(_METRICS)):
        for metric in _METRICS:
            a, b, change, ratio = words.loc[metric]
            same = summary["change"][metric] == 0
            about = f"{a} in A, {b} in B" + (f", {ratio}" if not same else "")
            meaning = f"\n\n{_MEMORY}" if metric in ("peak_memory", "leaks") else ""
            st.metric(
                columns.heading(metric),
                # A card has no room for why an efficiency is above 100 %; the hint has.
                str(b).partition(" (")[0],
                "no change" if same else str(change),
                delta_color="off",
                delta_arrow="off" if same or summary["change"][metric] is None else "auto",
                help=about + meaning,
                border=True,
            )
    with st.expander("All amounts, exact"):
        exact = summary[["a", "b", "change"]].map(lambda value: _exact(value)).assign(ratio=words["ratio"])
        exact = exact.assign(meaning=[columns.meaning(metric) for metric in exact.index])
        tables.facts(exact.reset_index(), "compare_summary")


def _exact(value: float | None) -> str:
    if value is None:
        return "not known"
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


def _table(by: str, shown: choices.Shown) -> None:
    method, keys = _TABLES[by]
    value, name = shown.value, VALUES[shown.value].lower()
    if by == "Pairs":
        table = other.ask(Comparison.by_pair, value, shown.reading, shown.initiated)
        keys = list(table.columns[:2])
        st.caption(_MATCHED[by])
    else:
        table = other.ask(method, value)
        st.caption(f"{name.capitalize()} of the instructions of kernels. {_MATCHED[by]}")
    if table.empty:
        remarks.nothing(f"There are no {by.lower()} with traffic in either trace.")
        return
    if not table["change"].any():
        st.info(f"No difference in {name} by {by.lower()}: {len(table):,} compared.", icon=":material/check:")
    changes.grid(table, keys, value, f"compare_{by}_{value}_{'_'.join(keys)}")
    if by in _TIMES:
        _times(by)
    if by == "Lines":
        _source(table, value)


def _times(by: str) -> None:
    """How long what moved took, where both traces know, else how long it takes at least."""
    of, keys = _TIMES[by]
    table = other.ask(Comparison.times, of)
    native = other.ask(_native) and of != "pair"
    st.markdown("**Times**")
    st.caption(
        "Native times of launches that moved something, from the clean recordings of both."
        if native
        else "How long the links need at least for what moved: exact however slow instrumentation was."
    )
    if table.empty:
        remarks.nothing("The rate of the links is not known.", "Without it there are no least times.")
        return
    changes.grid(table, keys, "native_time" if native else "least_time", f"compare_times_{by}")


def _native(comparison: Comparison) -> bool:
    return comparison.has_native


def _source(table: pd.DataFrame, value: str) -> None:
    """The file whose lines changed most, or another, side by side."""
    files = [file for file in dict.fromkeys(table["file"]) if file]
    if not files:
        return
    st.markdown("**Source side by side**")
    address.keep_one("compare_file", files)
    file = st.selectbox("File", files, key="compare_file", help="What changed most first.")
    found = source_files.find(file)
    text = None if found is None else "\n".join(found.lines)
    side_by_side.show(other.ask(Comparison.file_lines, file, value, text), value)
