"""Traffic by object: which allocation was touched, where in it, by whom, how often; and who allocated it."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from snoopie import Trace
from snoopie.errors import NotATraceError
from snoopie.figures import colours
from snoopie.trace.lacks import Lack
from snoopie.words import units
from visualizer.look import theme
from visualizer.parts import remarks, stacks, tables
from visualizer.pictures import object_heat
from visualizer.session import address, background, state

LIMIT = 1000
BY = {"allocation": "Allocations", "tensor": "PyTorch tensors"}
COLUMNS = [
    "object", "name", "allocations", "bytes", "accesses", "size", "owner", "kind", "allocated_by", "copied_in",
    "copied_out",
]  # fmt: skip
TENSOR_COLUMNS = ["tensor", "gpu_label", "file", "line", "function", "size", "bytes", "accesses", "copied_in"]
# Bars of so few rows are text with a width: a picture of Plotly takes the browser 0.1 s.
_BAR = colours.of_gpus(1)[0]
_ROWS = "display: grid; grid-template-columns: max-content 1fr; gap: 0.35rem 0.75rem; font-size: 0.8rem"
_BESIDE = "display: flex; gap: 0.5rem"
SITE_COLUMNS = ["kernel", "file", "line", "operation", "bytes", "distinct", "reuse", "accesses"]


def show() -> None:
    st.header("Objects")
    if state.trace().objects.empty:
        _none()
        return
    address.keep_one("object_by", list(BY))
    by = st.segmented_control("By", list(BY), format_func=BY.__getitem__, key="object_by") or "allocation"
    remarks.estimated()
    if by == "tensor":
        _tensors()
        return
    # What other GPUs touched comes first: copies of the host are no remote accesses.
    table = background.answer(state.selected().question(Trace.by_object, merged=True))
    if table is None:
        return
    known = table[table["object"] > 0]
    if known.empty:
        remarks.nothing("No object was reached from outside its GPU.", _why_no_object())
        return
    _about(table)
    shown = known.head(LIMIT)
    if len(known) > LIMIT:
        st.caption(f"The {LIMIT:,} with the most bytes of {len(known):,}; `trace.by_object(merged=True)` has them all.")
    _keep(known, shown)
    named = shown.rename(columns={"source": "allocated_by"})
    tables.chooser(named, COLUMNS, "objects_table", of="object", height=320)
    _object(_chosen(shown), known)


def ahead() -> None:
    """Has made what the first look at the objects of a large trace needs, while a user looks at other views."""
    if not state.has_trace() or not background.is_large():
        return
    trace = state.whole()
    table = background.ahead(trace.question(Trace.by_object, merged=True))
    background.ahead(trace.question(Trace.reuse))
    known = table[table["object"] > 0] if table is not None else pd.DataFrame()
    if known.empty:
        return
    copies = _copies(int(known["object"].iloc[0]))
    object_heat.ahead(copies, int(state.trace().objects["bytes"].loc[list(copies)].max()))
    background.ahead(trace.question(Trace.object_reuse, copies))
    background.ahead(trace.question(Trace.reuse, "site"))


def _copies(object: int) -> tuple[int, ...]:
    """All objects that are the same array of the program."""
    array = state.ask_whole(Trace.arrays)["array"]
    return tuple(array.index[array == array.loc[object]].tolist())


def _keep(known: pd.DataFrame, shown: pd.DataFrame) -> None:
    """The object that is chosen: by a click, by the chooser or by the address."""
    object = address.keep_number("object", state.trace().objects.index, int(known["object"].iloc[0]))
    options = shown["object"].tolist()
    if object not in options:
        # That of its array, where a link named another copy.
        same = set(_copies(object))
        st.session_state["object"] = next((option for option in options if option in same), object)


def _chosen(shown: pd.DataFrame) -> int:
    every, place = state.trace().objects, state.trace().label
    object, options = st.session_state["object"], shown["object"].tolist()
    options = options if object in options else [object, *options]
    labels = {
        number: " · ".join(filter(None, [str(number), name, owner, units.bytes(moved)]))
        for number, name, owner, moved in shown[["object", "name", "owner", "bytes"]].itertuples(index=False)
    }

    def label(number: int) -> str:
        return labels.get(number) or f"{number} · {place(int(every['owner'].loc[number]))}"

    return int(
        st.selectbox("Object", options, key="object", format_func=label, help="Most bytes first. Or click one above.")
    )


def _about(table: pd.DataFrame) -> None:
    """What the sums of the table leave open, in sentences."""
    if not table["exact"].all():
        st.caption(
            "Some objects share pages, and not every access was recorded: their common traffic is divided in "
            "proportion to the records."
        )
    unknown = table[table["object"] == 0]
    if len(unknown) and unknown["bytes"].iloc[0]:
        amount = units.bytes(int(unknown["bytes"].iloc[0]))
        st.caption(f"{amount} more could not be attributed to an allocation.")


def _row(table: pd.DataFrame, object: int) -> dict[str, Any]:
    """The row of an object; {} where it has none."""
    rows = table[table["object"] == object]
    return {str(name): column.tolist()[0] for name, column in rows.items()} if len(rows) else {}


def _object(object: int, known: pd.DataFrame) -> None:
    every = _copies(object)
    row = _row(known, object)
    title = row.get("name") or state.ask_whole(Trace.arrays)["name"].loc[object]
    count = f", {len(every)} copies" if len(every) > 1 else ""
    st.subheader(theme.plain(f"Object {object}" + (f": {title}" if title else "") + count))
    object_heat.keep(object)
    copies, row = _of_copies(object, every, row)
    own = _row(state.trace().objects.reset_index(), copies[0] if len(copies) == 1 else object)
    moved, accesses = row.get("bytes", 0), row.get("accesses", 0)
    sizes = state.trace().objects["bytes"].loc[list(copies)]
    with st.container(horizontal=True):
        about = remarks.about()
        each = " each" if len(copies) > 1 else ""
        st.metric("Size", units.bytes(int(sizes.max())) + each, border=True, width="content")
        st.metric(
            "Owner", theme.plain(row.get("owner") or state.trace().label(own["owner"])), border=True, width="content"
        )
        st.metric("Bytes moved", about + units.bytes(moved), border=True, width="content")
        st.metric("Accesses", about + units.count(accesses), border=True, width="content")
    st.markdown("**Who touched which part**")
    reuse = background.answer(state.selected().question(Trace.reuse))
    if reuse is not None:
        reused = reuse.loc[reuse["object"].isin(copies), ["accesses", "bytes", "distinct"]].sum().to_dict()
        _recorded(accesses, int(reused["accesses"]))
        object_heat.show(copies, int(sizes.max()))
        if reused["bytes"]:
            _reuse(copies, int(reused["bytes"]), int(reused["distinct"]))
    _allocation(own)


def _of_copies(object: int, every: tuple[int, ...], row: dict[str, Any]) -> tuple[tuple[int, ...], dict[str, Any]]:
    """Which of the copies of an array are shown, all together or one, and what is known of them."""
    if len(every) == 1:
        return every, row
    table = background.answer(state.selected().question(Trace.by_object))
    if table is None:
        return every, row
    touched = table.loc[table["object"].isin(every), "object"].tolist()
    address.keep_number("object_copy", (0, *touched), 0)
    objects, place = state.trace().objects, state.trace().label
    ranks = state.trace().processes["rank"]

    def label(number: int) -> str:
        if not number:
            return "All, added up"
        rank = int(ranks.loc[objects["process"].loc[number]])
        seen = f", as rank {rank} sees it" if rank >= 0 else ""
        return f"Object {number} · {place(int(objects['owner'].loc[number]))}{seen}"

    one = st.selectbox(
        "Copy",
        [0, *touched],
        key="object_copy",
        format_func=label,
        help="Allocations that are one array: made at the same place of the program by each rank, or for each GPU.",
    )
    return ((one,), _row(table, one)) if one else (every, row)


def _recorded(accesses: int, recorded: int) -> None:
    """What share of the accesses the picture shows."""
    if not recorded:
        return
    if state.view().estimated or recorded < accesses:
        st.caption(f"{recorded:,} of {remarks.about()}{accesses:,} accesses were recorded and are shown.")
    else:
        st.caption(f"All {accesses:,} accesses were recorded and are shown.")


def _reuse(copies: tuple[int, ...], moved: int, distinct: int) -> None:
    st.markdown("**How often the same bytes were moved**")
    sentence = f"{units.bytes(moved)} moved for {units.bytes(distinct)} of distinct bytes"
    if moved > distinct:
        st.markdown(
            f"{sentence}: each **{units.times(moved / distinct)}** on average, to or from the same GPU. Whether it was "
            "the same data, or new each time as a stencil's halo is, the addresses do not say."
        )
    else:
        st.markdown(f"{sentence}: no byte went twice to or from the same GPU.")
    often = background.answer(state.selected().question(Trace.object_reuse, copies))
    if often is None:
        return
    if len(often) > 1:
        _bars(often)
    sites = background.answer(state.selected().question(Trace.reuse, "site"))
    if sites is None:
        return
    sites = sites[sites["object"].isin(copies)]
    # The same instruction of several processes is one.
    facts = state.ask(Trace.by_site).set_index("site")[["kernel", "file", "line", "operation", "offset"]]
    alike = sites.join(facts, on="site").groupby(list(facts.columns), sort=False, dropna=False, observed=True)
    sites = alike[["accesses", "bytes", "distinct"]].sum().reset_index()
    sites["reuse"] = sites["bytes"] / sites["distinct"].where(sites["distinct"] > 0)
    sites = sites.sort_values("bytes", ascending=False, kind="stable").head(LIMIT)
    st.markdown("**By which instructions**")
    tables.grid(sites, SITE_COLUMNS, f"object_sites_{copies}", height=240)
    lines = sites[sites["file"].fillna("") != ""].drop_duplicates(["file", "line"]).head(3)
    for file, line in lines[["file", "line"]].itertuples(index=False):
        stacks.source_line(file, int(line))


def _bars(often: pd.DataFrame) -> None:
    largest = max(int(often["bytes"].max()), 1)
    rows = []
    for least, most, size in often[["at_least", "at_most", "bytes"]].itertuples(index=False):
        times = f"{least:,} ×" if least == most else f"{least:,}–{most:,} ×"
        width = f"max(2px, calc({size / largest:.4f} * (100% - 6rem)))"
        bar = f'<span style="flex: none; width: {width}; background: {_BAR}"></span>'
        rows.append(
            f'<span style="text-align: right">{times}</span><span style="{_BESIDE}">{bar}{units.bytes(size)}</span>'
        )
    st.caption("How many bytes were touched how often, counted per GPU.")
    st.html(f'<div style="{_ROWS}">{"".join(rows)}</div>')


def _allocation(own: dict[str, Any]) -> None:
    st.markdown("**Who allocated it**")
    st.markdown(theme.plain(_life(own)))
    stacks.show(own["stack"], "this allocation", "object_stack")


def _life(own: dict[str, Any]) -> str:
    """When it came and went, by whom, in a sentence or two."""
    trace = state.trace()
    process = trace.processes.loc[own["process"]]
    begin, end = own["allocated"], own["freed"]
    thread = f" in thread {own['thread']}" if own["thread"] else ""
    who = f"{own['call'] or 'a call'}{thread} of process {process['pid']}"
    if len(trace.processes) > 1 and process["rank"] >= 0:
        who += f" (rank {process['rank']})"
    if not begin:
        return f"By {who}."
    sentence = f"By {who}, {units.duration(begin - trace.period[0])} after the start"
    if not end:
        return f"{sentence}; {'whether it was freed is unknown' if trace.lacks(Lack.FREES) else 'never freed'}."
    how = "with its context" if own["with_context"] else f"by thread {own['freed_by']}"
    if not own["with_context"] and own["freed_by"] == own["thread"]:
        how = "by the same thread" if own["thread"] else ""
    return f"{sentence}; freed {how} {units.duration(max(end - begin, 0))} later.".replace("  ", " ")


def _tensors() -> None:
    try:
        table = background.answer(state.selected().question(Trace.by_tensor))
    except NotATraceError as error:
        remarks.nothing(theme.plain(str(error)), "`snoopie run --tensors` records tensors of PyTorch beside the trace.")
        return
    if table is None:
        return
    known = table[table["tensor"] > 0]
    if known.empty:
        remarks.nothing("No tensor was reached from outside its GPU.")
        return
    if len(known) > LIMIT:
        st.caption(f"The {LIMIT:,} with the most bytes of {len(known):,}; `trace.by_tensor()` has them all.")
    label = state.trace().label
    shown = known.head(LIMIT)
    shown = shown.assign(gpu_label=[label(int(place)) for place in shown["gpu"]])
    tables.grid(shown, TENSOR_COLUMNS, "objects_tensors", height=640)


def _why_no_object() -> str:
    if not any(settings.get("sample_size", 1) for settings in state.trace().settings):
        return "Without recorded addresses (SAMPLE_SIZE=0), most accesses cannot be attributed to an allocation."
    return remarks.NOTHING


def _none() -> None:
    trace = state.trace()
    if "objects" not in trace.schema:
        remarks.nothing(
            "This trace's format has no allocations.", ("Record it again with the current collector to see them.")
        )
    elif trace.lacks(Lack.ALLOCATIONS):
        remarks.nothing(
            "The tool that recorded this trace does not record allocations.", "Record the program with snoopie run."
        )
    elif not any(settings.get("object_attribution", True) for settings in trace.settings):
        remarks.nothing("Allocations were not recorded.", "Record without --no-objects (DATA_OBJECT_ATTRIBUTION=1).")
    else:
        remarks.nothing("This trace has no allocations.", "The program made none that another GPU could reach.")
