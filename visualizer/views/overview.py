"""What happened, in a sentence, a picture and five lines; what to look at first; what was lost; and on what it ran."""

from __future__ import annotations

import datetime

import pandas as pd
import streamlit as st

from snoopie import Trace
from snoopie.analysis import losses
from snoopie.analysis.findings.finding import ranked
from snoopie.analysis.selection import COLLECTIVES_BY, UNMEASURED_BY
from snoopie.analysis.time import activity
from snoopie.analysis.traffic import links
from snoopie.analysis.traffic.pairs import DRAWN
from snoopie.words import columns, names, units
from visualizer import pages
from visualizer.controls import choices, time_range
from visualizer.look import theme
from visualizer.parts import cards, findings, glossary, places, remarks, stacks, tables
from visualizer.pictures import lanes as lane_picture
from visualizer.pictures import network
from visualizer.session import background, state
from visualizer.views import communication

OPERATION_NOTE = "Stores and reductions send data to the owner, loads fetch it from there, atomics do both."
NOT_MEASURED_NOTE = (
    "These instructions can reach memory outside their GPU, but the bytes they moved cannot be counted and are in no "
    "other number here. Accesses and lanes say how often they ran."
)
AMOUNTS = "Amounts by pair, operation and kind of place"
NO_FINDING = "No findings. docs/findings.md lists the rules and their thresholds."
_LINE = ["file", "line", "kernel", "bytes", "wire_efficiency", "least_time"]
_FEW, _MOST = 5, 1000
_STRIPS, _BLOCKS = 8, 120
LOOKING = "Searching the recorded accesses for repeated loads …"


def show() -> None:
    st.header("Overview")
    st.markdown(f"### {theme.plain(remarks.about() + state.ask(Trace.story))}")
    _what_ran(state.trace().processes)
    summary = state.ask(Trace.summary)
    _totals(summary)
    remarks.estimated()
    pairs = state.ask(Trace.by_pair)
    if pairs.empty:
        remarks.nothing(
            "No access to memory outside its GPU was recorded.",
            "The program may use copies instead, or a filter may exclude the communicating kernels.",
        )
    else:
        with st.container(key="two_pictures"):
            graph, lines = st.columns(2, gap="large")
        with graph:
            _graph(pairs)
        with lines:
            _lines()
    _strip()
    looked_at = st.container(gap="small")
    _losses(state.ask_whole(Trace.losses))
    _not_measured(state.ask(Trace.not_measured))
    # What is folded away is made when it is opened.
    amounts = st.expander(AMOUNTS, icon=":material/table:", key="overview_amounts", on_change="rerun")
    if amounts.open:
        with amounts:
            _pairs(pairs)
            _operations(state.ask(Trace.by_operation))
            _routes(state.ask(Trace.by_route))
    machine = st.expander(_machine(), icon=":material/memory:", key="overview_machine", on_change="rerun")
    if machine.open:
        with machine:
            remarks.not_filtered("the lists of GPUs and processes")
            _links()
            _gpus(state.trace().gpus)
            _processes(state.trace().processes)
    # All else is drawn by now.
    with looked_at:
        _findings()


# --- what happened ---


def _graph(pairs: pd.DataFrame) -> None:
    """Who reached whose memory; a click shows only that, here and in all views."""
    shown = choices.Shown("bytes", "issued")
    matrix = state.ask(Trace.matrix)
    order = [place.label for place in places.by_host(matrix.index)]
    matrix = matrix.loc[order, order]
    every = pd.DataFrame(True, matrix.index, matrix.columns)
    network.show(
        matrix,
        shown,
        "overview_graph",
        marked=every,
        choose=lambda *labels: communication.choose(communication.clicked(labels, shown, state.filters())),
    )
    for sentence in places.explain(pairs["owner"]):
        st.caption(sentence)
    glossary.offer()


def _lines() -> None:
    """Those that moved most, each with how long the links need for it at least."""
    what, table = _moved_most()
    st.markdown(f"**The {what} that moved most**")
    whole = max(int(table["bytes"].sum()), 1)
    for file, line, kernel, moved, efficiency, time in table[_LINE].head(_FEW).itertuples(index=False):
        facts = [units.bytes(moved), units.percent(moved / whole), f"{units.percent(efficiency)} efficient"]
        facts += [f"at least {units.duration(time)} on the links"] if time == time else []
        about = theme.plain(remarks.about() + " · ".join(facts))
        if line:
            stacks.source_line(file, int(line))
        else:
            pages.link("kernels", theme.plain(names.short_name(str(kernel))), kernel=str(kernel))
        st.caption(about)
    if len(table) > _FEW:
        pages.link("source" if what == "lines" else "kernels", f"All {len(table):,} {what}")


def _moved_most() -> tuple[str, pd.DataFrame]:
    """Lines, and kernels for what has no line; kernels alone where nothing has one. With _LINE, most bytes first."""
    every = state.ask(Trace.by_line)
    lines = every[every["line"] > 0]
    if lines.empty:
        least = state.ask(Trace.least_times, "kernel")[["kernel", "least_time"]]
        return "kernels", state.ask(Trace.by_kernel).assign(file="", line=0).merge(least, how="left")
    least = state.ask(Trace.least_times, "line")[["file", "line", "least_time"]]
    table = lines.merge(least, how="left")
    if len(lines) < len(every):
        others = state.ask(Trace.by, "kernel", "file", "line")
        table = pd.concat([table, others[others["line"] == 0]])
    return "lines", table.sort_values("bytes", ascending=False, kind="stable")


def _strip() -> None:
    """When kernels ran and how fast data flowed, in little room."""
    lanes = state.ask(Trace.activity_lanes, False)
    lanes = lanes[lanes["what"].isin([activity.KERNEL, activity.LAUNCH])].head(_STRIPS)
    if lanes.empty:
        return
    whole = time_range.whole()
    folds = tuple(state.ask(Trace.activity_gaps, *whole))
    blocks = state.ask(Trace.activity_blocks, *whole, _BLOCKS, False, tuple(lanes.index.tolist()), folds=folds)
    st.html(lane_picture.strip(lanes, blocks, whole, state.trace().period[0], folds))
    if folds:
        st.caption("Idle gaps are left out where a line is dotted.")
    pages.link("timeline", "When what ran, and what moved meanwhile")


def _what_ran(processes: pd.DataFrame) -> None:
    """The program, its processes, hosts, date and duration in a line."""
    programs = processes["command"].where(processes["command"] != "", processes["program"]).drop_duplicates()
    parts = [f"`{_code(command)}`" for command in programs.head(2)] + ["…"] * (len(programs) > 2)
    hosts = processes["host"][processes["host"] != ""].drop_duplicates()
    facts = []
    if len(processes) > 1:
        facts.append(f"{len(processes)} processes")
    if len(hosts):
        facts.append(f"on {hosts.iloc[0]}" if len(hosts) == 1 else f"on {len(hosts)} hosts")
    facts += _when(processes)
    facts += [f"imported from {tool}" for tool in processes["imported_from"].drop_duplicates() if tool]
    st.markdown(" · ".join([*parts, *map(theme.plain, facts)]))


def _code(text: str) -> str:
    """As the content of an inline code span, in which nothing but its end has a meaning."""
    shown = " ".join(text.split()).replace("`", "'")
    return shown if len(shown) <= 120 else shown[:119] + "…"


def _when(processes: pd.DataFrame) -> list[str]:
    started = processes["start_ns"][processes["start_ns"] > 0]
    if started.empty:
        return []
    try:
        began = datetime.datetime.fromtimestamp(int(started.min()) // 10**9).astimezone()
    except (OverflowError, OSError, ValueError):
        return []
    ended = processes["end_ns"]
    ran = [f"ran {units.duration(int(ended.max() - started.min()))}"] if (ended > 0).all() else []
    return [*ran, *([f"{began:%Y-%m-%d %H:%M}"] if units.is_date(int(started.min())) else [])]


def _totals(summary: dict[str, float]) -> None:
    about = remarks.about()
    launches = (
        f"{units.count(summary['measured'])} of them were measured and stand for the others."
        if about
        else "Measured launches of the selected kernels."
    )
    shown = [
        *(
            (columns.heading(name), about + _short(name, summary[name]), columns.meaning(name))
            for name in ("bytes", "wire_bytes", "wire_efficiency", "accesses")
        ),
        ("Launches", units.count(summary["launches"]), launches),
        ("Records", units.count(summary["records"]), "Single accesses with their addresses."),
    ]
    _metrics("moved", shown)
    trace = state.trace()
    if len(trace.processes) == 1 and trace.copies.empty and trace.collectives.empty:
        return
    ranks = sorted({int(rank) for rank in trace.processes["rank"] if rank >= 0})
    meaning = "Started by the host. A filter of kernels, operations or launches excludes them."
    beside = [
        ("GPUs", units.count(len(trace.gpus)), "Over all processes, identified by UUID."),
        ("Processes", units.count(len(trace.processes)), "One trace each."),
        *([("Ranks", units.numbers(ranks), "As the launcher numbered the processes.")] if ranks else []),
    ]
    # What the trace has none of needs no card; what the filters leave none of does.
    if len(trace.copies):
        copied = "By these copies; they are in no other total."
        beside.append(("Copies", units.count(summary["copies"]), meaning))
        beside.append(("Bytes copied", units.bytes(summary["copy_bytes"]), copied))
    if len(trace.collectives):
        calls = units.count(len(state.view().collectives))
        beside.append(("NCCL calls", calls, "Their kernels' traffic is in the totals above."))
    _metrics("run", beside)
    if len(trace.collectives):
        remarks.not_filtered("NCCL calls", COLLECTIVES_BY)


def _short(name: str, value: float) -> str:
    """An amount that fits into a card: what else there is to say of it, its meaning says."""
    return units.percent(value) if columns.kind(name) is columns.Kind.EFFICIENCY else columns.say(name, value)


def _metrics(of: str, shown: list[tuple[str, str, str]]) -> None:
    with cards.row(of, len(shown)):
        for label, value, meaning in shown:
            st.metric(label, value, help=meaning, border=True)


def _losses(sentences: list[str]) -> None:
    if not sentences:
        st.success(
            "Nothing was lost: every remote access of the selected kernels is counted.", icon=":material/check_circle:"
        )
        return
    text = "\n".join(f"- {theme.plain(sentence)}" for sentence in sentences)
    st.warning(f"What this trace does not show:\n\n{text}", icon=":material/warning:")


# --- findings ---


def _findings() -> None:
    """What the counts say at once, what the records say as soon as they were gone through."""
    st.subheader("What to look at first")
    if state.filters().active:
        st.caption("Only for the filtered traffic. GPUs and ranks are not compared, because filters make them unequal.")
    found = state.ask(Trace.findings, "counts")
    if state.arguments().scheduler is not None:
        # The workers of a cluster are others' too, and its traces larger.
        _listed([found])
        st.caption("Without the rules that need single accesses: snoopie findings runs them on the cluster.")
        return
    place = st.container(gap="small")
    rest = background.answer(state.selected().question(Trace.findings, "records"), prompt=0, wait=LOOKING)
    with place:
        if rest is None:
            findings.show(found, "counts")
        else:
            _listed([found, rest])


def _listed(parts: list[pd.DataFrame]) -> None:
    found = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    if found.empty:
        st.success(NO_FINDING, icon=":material/check_circle:")
    findings.show(ranked(found), "all")


# --- tables ---


def _pairs(pairs: pd.DataFrame) -> None:
    if len(pairs):
        st.markdown("**Who reached whose memory**")
        tables.facts(pairs[["issuer", "owner", "bytes", "accesses", "wire_efficiency"]].head(_MOST), "pairs")


def _operations(operations: pd.DataFrame) -> None:
    if len(operations):
        st.markdown("**By operation**")
        st.caption(OPERATION_NOTE)
        tables.facts(operations[["operation", "bytes", "accesses", "wire_efficiency"]], "by_operation")


def _routes(routes: pd.DataFrame) -> None:
    """Totals by direction, of kernels and copies."""
    if routes.empty:
        return
    st.markdown("**Where data flowed**")
    table = routes.assign(direction=routes["from"] + " → " + routes["to"])
    tables.facts(table[["direction", "bytes", "device_bytes", "host_bytes"]], "routes")


def _not_measured(unmeasured: pd.DataFrame) -> None:
    ran = losses.that_ran(unmeasured)
    if ran.empty:
        return
    st.subheader("Not measured")
    st.caption(NOT_MEASURED_NOTE)
    remarks.not_filtered("these instructions", UNMEASURED_BY)
    tables.grid(losses.in_words(ran), ["uncounted", "sites", "accesses", "lanes"], "not_measured", height=240)
    pages.link("sites", "Each instruction, with its source line")


def _machine() -> str:
    """The title of what is folded: how GPUs are linked, in a sentence or two."""
    return theme.plain(" ".join(links.in_words(state.trace().gpus, state.trace().links)))


def _links() -> None:
    """The matrix, unless the sentence at the top says it all, or nobody could see it."""
    gpus = state.trace().gpus
    if len(gpus) <= DRAWN and len(links.kinds(gpus, state.trace().links)) > 1:
        st.caption("How a GPU (row) reaches the memory of another (column).")
        tables.matrix(state.ask_whole(Trace.link_matrix), "links")


def _gpus(gpus: pd.DataFrame) -> None:
    known = places.by_label()
    table = gpus.assign(users=[known[label].users for label in gpus["label"]])
    users = ["users"] if table["users"].any() else []
    tables.facts(table[["label", *users, "name", "memory", "nvlinks", "sm", "host", "pci", "uuid"]], "gpus")


def _processes(processes: pd.DataFrame) -> None:
    """With the ranks that the launcher gave them, where it did."""
    known = [name for name in ("rank", "local_rank", "ranks") if (processes[name] >= 0).any()]
    table = processes.assign(gpus=places.used_gpus(processes.index))
    numbers = ["process"] if len(table) > 1 else []
    shown = [*numbers, *known, "program", "gpus", "host", "pid", "command"]
    tables.facts(table.reset_index(names="process")[shown], "all_processes")
