"""Who moved how much to whom, as a picture and as a matrix: choosing a place or a pair in either filters all views."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
import streamlit as st

from snoopie import Trace
from snoopie.analysis.time.bandwidth import Over
from snoopie.words import units
from visualizer.controls import choices, filters
from visualizer.controls.choices import Shown
from visualizer.parts import native, places, remarks, tables
from visualizer.pictures import heatmap, network, topology
from visualizer.session import address, background, state
from visualizer.session.filters import Filters

# The filters that a choice here sets: the pictures show all, and what the filters let through stands out.
# Beside the two ends.
COLUMNS = {"host": ["bytes", "copies", "host_ns"], "both": ["bytes", "device_bytes", "host_bytes"]}
OF_DEVICE = ["bytes", "wire_bytes", "accesses", "lanes", "wire_efficiency"]
PICTURES = {"traffic": "Traffic", "links": "Links"}
MOST_PAIRS = 1000
GOING = "Going through the recorded accesses, for what may have been in the L1 cache …"
PALE = " In the pictures the rest is pale."
OF_GPU = ["gpu", "direction", "rate", "capacity"]
OF_PAIR = ["from", "to", "wire_bytes", "least_time", "busy", "rate"]
# Of what ran as slowly as it does under instrumentation, a share of the capacity says nothing of the program.
SHARE = "capacity_share"
LEAST_NOTE = (
    "The least time is what the wire bytes of kernels need at the full rate of the links between two GPUs: it is exact "
    "however slow the recorded kernels were, and what a perfect exchange could come down to. "
)
NO_RATE_NOTE = (
    "No rates: this trace has no GPU timestamps for this traffic. Kernels have them in traces from the current "
    "collector, copies in imported traces."
)
LINKS_NOTE = (
    "Wire bytes divided by the time in which at least one kernel or copy moved data that way, regardless of the "
    "reading and library chosen above. The capacity is that of a GPU's NVLinks in one direction, by number and "
    "generation. For a pair it is an upper bound, as if all links led to the other GPU or to a switch. "
)
NO_CAPACITY_NOTE = (
    "No capacity: the number or generation of the NVLinks is unknown, or the traffic took another path, such as to "
    "the host."
)

Kind = Literal["all", "issued", "owned", "pair", "between", "other"]


@dataclass(frozen=True)
class Choice:
    """What of the communication is chosen: all, what a place issued, its memory, a pair as issued, or what passed
    between two places both ways. ``other`` is what the filters say that is none of these."""

    kind: Kind = "all"
    labels: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return _NAMES[self.kind].format(*self.labels)

    @property
    def sentence(self) -> str:
        """What the views then show."""
        return _SENTENCES[self.kind].format(*self.labels)

    @property
    def issuers(self) -> list[str]:
        ends = {"issued": self.labels, "pair": self.labels[:1], "between": self.labels}
        return list(ends.get(self.kind, ()))

    @property
    def owners(self) -> list[str]:
        ends = {"owned": self.labels, "pair": self.labels[1:], "between": self.labels}
        return list(ends.get(self.kind, ()))


_NAMES: dict[Kind, str] = {
    "all": "Everything",
    "issued": "What {0} issued",
    "owned": "Memory of {0}",
    "pair": "{0} → {1}",
    "between": "{0} ↔ {1}",
    "other": "As the filters say",
}
_SENTENCES: dict[Kind, str] = {
    "all": "Click a GPU, an arrow or a cell, and all views show only that.",
    "issued": "All views show what {0} issued.",
    "owned": "All views show what touched the memory of {0}.",
    "pair": "All views show what {0} issued on the memory of {1}.",
    "between": "All views show what {0} and {1} issued on each other's memory, both ways: stores of one flow as loads "
    "of the other do.",
    "other": "All views show what the filters on the left let through.",
}


def show() -> None:
    st.header("Communication")
    shown = choices.of_all()
    # But for the filters that a click sets: all pairs stay there to be clicked.
    all_pairs = state.scope(replace(state.filters(), issuers=(), owners=()))
    matrix = state.answer(all_pairs.question(Trace.matrix, shown.value, shown.reading, shown.initiated, shown.library))
    order = [place.label for place in places.by_host(matrix.index)]
    matrix = matrix.loc[order, order]
    if not matrix.fillna(0).to_numpy().any():
        remarks.no_traffic(shown)
    if matrix.empty:
        return
    if shown.initiated != "host":
        remarks.estimated()
    picture = _chooser(matrix, shown)
    marked = _marked(matrix, shown)

    def click(*labels: str) -> None:
        choose(clicked(labels, shown, state.filters()))

    with st.container(key="two_pictures"):
        graph, cells = st.columns(2, gap="medium")
    with graph:
        if picture == "links":
            _topology(matrix, click)
        else:
            every, drawn = network.show(matrix, shown, "communication_graph", marked=marked, choose=click)
            if drawn < every:
                st.caption(f"{drawn} of {every} arrows, the largest; the matrix has all.")
    with cells:
        heatmap.show(matrix, shown, "communication_matrix", marked=marked, choose=click)
    for sentence in places.explain(matrix.index):
        st.caption(sentence)
    _pairs(shown)
    _links(shown)
    native.show()


# --- choosing ---


def clicked(labels: Sequence[str], shown: Shown, selected: Filters) -> Choice:
    """The choice that a click on these places means: what was chosen already gives way to everything."""
    if len(labels) == 1:
        kind: Kind = "issued" if places.by_label()[labels[0]].kind == "gpu" else "owned"
    else:
        kind = "pair" if shown.reading == "issued" else "between"
    choice = _sorted(Choice(kind, tuple(labels)))
    return Choice() if chosen(selected) == choice else choice


def choose(choice: Choice) -> None:
    """Sets the filters."""
    filters.choose(issuers=choice.issuers, owners=choice.owners)


def chosen(selected: Filters) -> Choice:
    """The choice that the filters say."""
    issuers, owners = selected.issuers, selected.owners
    if not issuers and not owners:
        return Choice()
    if len(issuers) == 1 and not owners:
        return Choice("issued", issuers)
    if len(owners) == 1 and not issuers:
        return Choice("owned", owners)
    if len(issuers) == len(owners) == 1:
        return Choice("pair", (*issuers, *owners))
    if issuers and len(owners) == 2 and set(issuers) <= set(owners):
        return _sorted(Choice("between", owners))
    return Choice("other")


def _sorted(choice: Choice) -> Choice:
    return Choice(choice.kind, tuple(sorted(choice.labels))) if choice.kind == "between" else choice


def _topology(matrix: pd.DataFrame, click: Callable[..., None]) -> None:
    gpu = topology.show(list(matrix.index), heatmap.height(len(matrix)))
    if gpu is not None:
        click(gpu)
        st.rerun()


def _chooser(matrix: pd.DataFrame, shown: Shown) -> str:
    """The same as clicks, by keyboard; it shows what is chosen. Beside it which picture is wanted."""
    address.keep_one("picture", [*PICTURES])
    now = chosen(state.filters())
    options = _options(matrix, shown)
    options += [now] * (now not in options)
    st.session_state["communication_choice"] = now
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Show",
            options,
            key="communication_choice",
            format_func=lambda choice: choice.name,
            on_change=lambda: choose(st.session_state["communication_choice"]),
            width=300,
            help="The same as a click in a picture. It sets the filters Issuer and Owner.",
        )
        st.button(
            "Show everything", key="communication_all", disabled=now.kind == "all", on_click=choose, args=(Choice(),)
        )
        st.segmented_control("Picture", [*PICTURES], format_func=PICTURES.__getitem__, key="picture")
    st.caption(now.sentence + ("" if now.kind == "all" else PALE))
    return str(st.session_state["picture"])


def _options(matrix: pd.DataFrame, shown: Shown) -> list[Choice]:
    """Everything, each place, and each pair with traffic, most first."""
    known = places.by_label()
    issued = [Choice("issued", (label,)) for label in matrix.index if known[label].kind == "gpu"]
    owned = [Choice("owned", (label,)) for label in matrix.columns]
    cells = np.nan_to_num(matrix.to_numpy(np.float64))
    ranked = sorted(np.argwhere(cells > 0).tolist(), key=lambda at: -float(cells[at[0], at[1]]))
    kind: Kind = "pair" if shown.reading == "issued" else "between"
    pairs = [_sorted(Choice(kind, (matrix.index[row], matrix.columns[column]))) for row, column in ranked]
    return list(dict.fromkeys([Choice(), *issued, *owned, *pairs]))


def _marked(matrix: pd.DataFrame, shown: Shown) -> pd.DataFrame:
    """Which cells the filters of places let through."""
    selected = state.filters()
    rows, columns = list(matrix.index), list(matrix.columns)

    def within(issuers: Iterable[str], owners: Iterable[str]) -> pd.DataFrame:
        row = pd.Series([not selected.issuers or label in selected.issuers for label in issuers])
        column = pd.Series([not selected.owners or label in selected.owners for label in owners])
        both = row.to_numpy()[:, None] & column.to_numpy()[None, :]
        return pd.DataFrame(both, matrix.index, matrix.columns)

    marked = within(rows, columns)
    # Data flows from the issuer or to it.
    return (
        marked
        if shown.reading == "issued"
        else marked | within(columns, rows).T.set_axis(matrix.index).set_axis(matrix.columns, axis=1)
    )


# --- tables ---


def _pairs(shown: Shown) -> None:
    """The pairs that the filters let through, library by library."""
    pairs = state.ask(Trace.by_library, shown.reading, shown.initiated)
    if shown.library is not None:
        pairs = pairs[pairs["library"] == shown.library]
    if pairs.empty:
        return
    st.subheader("Pairs")
    by_library = pairs.groupby("library")["bytes"].sum().sort_values(ascending=False, kind="stable")
    with st.container(horizontal=True):
        for library, moved in by_library.items():
            st.metric(choices.LIBRARIES[str(library)], units.bytes(moved), border=True, width="content")
    first, second = pairs.columns[:2]
    libraries = ["library"] if len(by_library) > 1 else []
    columns = [first, second, *libraries, *COLUMNS.get(shown.initiated, OF_DEVICE)]
    tables.grid(pairs.head(MOST_PAIRS), columns, f"communication_pairs_{shown.key}", height=400)
    if "wire_bytes" in columns:
        about = background.answer(state.selected().question(Trace.about_wire_bytes), wait=GOING)
        for sentence in about or []:
            st.caption(sentence)


def _links(shown: Shown) -> None:
    """How long the links need for what moved, how fast it flowed, and of native times the share of the capacity."""
    st.subheader("Over the links")
    least = state.ask(Trace.least_times)
    rates = _rates("pair", shown)
    left_out = state.ask(Trace.without_device_times)
    if rates.empty:
        if shown.initiated == "device" and least["least_time"].notna().any():
            st.caption(LEAST_NOTE)
            tables.grid(least.head(MOST_PAIRS), OF_PAIR[:4], "communication_least", height=300)
        st.caption(NO_RATE_NOTE)
        return
    rates = rates.merge(least[["from", "to", "least_time"]], on=["from", "to"], how="left")
    native = [] if (state.trace().processes["imported_from"] == "").any() else [SHARE]
    of_pair = [*OF_PAIR, *native] if shown.initiated == "device" else [*OF_PAIR[:3], *OF_PAIR[4:], *native]
    st.caption(LEAST_NOTE + LINKS_NOTE + " ".join(left_out))
    by_gpu = _rates("gpu", shown)
    with st.container(key="two_tables"):
        left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Each GPU, with all others**")
        tables.grid(by_gpu, [*OF_GPU, *native], f"communication_gpu_rates_{shown.initiated}", height=300)
    with right:
        st.markdown("**Each pair**")
        tables.grid(rates.head(MOST_PAIRS), of_pair, f"communication_rates_{shown.initiated}", height=300)
    if rates["capacity"].isna().any():
        st.caption(NO_CAPACITY_NOTE)


def _rates(over: Over, shown: Shown) -> pd.DataFrame:
    return state.ask(Trace.bandwidth, over, shown.initiated)
