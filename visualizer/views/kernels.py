"""Traffic by kernel, and for a chosen kernel its matrix, launches over time, lines, objects and who launched it."""

from __future__ import annotations

import html
from dataclasses import replace

import streamlit as st

import snoopie
from snoopie import Trace
from snoopie.words import names, units
from visualizer import pages
from visualizer.controls import choices
from visualizer.look import theme
from visualizer.parts import places, remarks, stacks, tables
from visualizer.pictures import amounts, heatmap, picture
from visualizer.session import address, background, state

COLUMNS = [
    "kernel",
    "launches",
    "measured",
    "bytes",
    "accesses",
    "lanes",
    "wire_bytes",
    "wire_efficiency",
    "least_time",
]
LINE_COLUMNS = ["file", "line", "bytes", "accesses", "wire_efficiency"]
LAUNCH_COLUMNS = ["launch", "issuer", "began", "ran", "bytes", "accesses", "wire_efficiency", "grid", "block"]
OBJECT_COLUMNS = ["object", "name", "allocations", "bytes", "accesses", "size", "owner", "kind", "allocated_by"]
DETAILS = {
    "matrix": "Who reached whom",
    "time": "Over time",
    "lines": "Lines",
    "objects": "Objects",
    "stacks": "Who launched it",
}
LIMIT = 1000
_BINS = 200


def show() -> None:
    st.header("Kernels")
    table = state.ask(Trace.by_kernel)
    if table.empty:
        remarks.nothing("No kernel reached memory outside its GPU.")
        return
    remarks.estimated()
    columns = COLUMNS if state.view().estimated else [name for name in COLUMNS if name != "measured"]
    least = state.ask(Trace.least_times, "kernel").set_index("kernel")["least_time"]
    shown = table.head(LIMIT).assign(least_time=least.reindex(table["kernel"].head(LIMIT)).to_numpy())
    if len(table) > LIMIT:
        st.caption(f"The {LIMIT:,} with the most bytes of {len(table):,}; `trace.by_kernel()` has them all.")
    options = list(shown["kernel"])
    address.keep_one("kernel", options)
    tables.chooser(shown, columns, "kernels_table", of="kernel", height=320)
    moved = dict(zip(options, shown["bytes"].tolist(), strict=True))
    kernel = str(
        st.selectbox(
            "Kernel",
            options,
            key="kernel",
            format_func=lambda name: f"{names.short_name(name)} · {units.bytes(moved.get(name, 0))}",
            help="Most bytes first. Or click one above.",
        )
    )
    st.subheader(theme.plain(names.short_name(kernel)))
    if kernel != names.short_name(kernel):
        st.caption(theme.plain(kernel))
    _kernel(kernel)


def _kernel(kernel: str) -> None:
    address.keep_one("kernel_detail", list(DETAILS))
    detail = st.segmented_control(
        "What of it", list(DETAILS), format_func=DETAILS.__getitem__, key="kernel_detail", label_visibility="collapsed"
    )
    part = state.view().select(kernels=[kernel])
    match detail or "matrix":
        case "matrix":
            shown = choices.of_kernels()
            heatmap.show(part.matrix(shown.value, shown.reading), shown, "kernel_heatmap")
        case "time":
            _over_time(part, kernel)
        case "lines":
            _lines(part, kernel)
        case "objects":
            _objects(kernel)
        case _:
            _stacks(part, kernel)


def _over_time(part: snoopie.Trace, kernel: str) -> None:
    """Bytes of its launches by the time they ran, one colour for each GPU."""
    table = part.traffic_over_time(_BINS)
    launches = len(part.launches)
    if table.empty:
        remarks.nothing("No timestamps of its launches.", "This trace has no launch timestamps.")
        return
    first = state.trace().period[0]
    sums = table.groupby(["issuer", "start"], sort=False)["bytes"].sum().reset_index()
    width = int((table["end"] - table["start"]).max())
    known = places.by_label()
    issuers = {str(issuer): own for issuer, own in sums.groupby("issuer")}
    bars = [
        {
            "type": "bar",
            "name": html.escape(issuer),
            "x": ((own["start"] - first + width / 2) / 1e6).tolist(),
            "y": own["bytes"].tolist(),
            "width": width / 1e6,
            "marker": {"color": known[issuer].colour, "line": {"width": 0}},
            "customdata": [units.bytes(moved) for moved in own["bytes"]],
            "hovertemplate": "%{x:.3f} ms: %{customdata}",
        }
        for issuer, own in issuers.items()
    ]
    layout = {
        "barmode": "stack",
        "xaxis": {"title": {"text": "ms after the start"}},
        "yaxis": amounts.binary(sums.groupby("start")["bytes"].sum().max()),
        "height": 320,
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "showlegend": True,
    }
    timed = bool(part.timeline()["spanned"].all())
    how = "spread over the time they ran" if timed else "where they were called"
    st.caption(
        f"Bytes of {launches:,} measured launch{'' if launches == 1 else 'es'}, {how}; one bar is "
        f"{units.duration(width)}, one colour a GPU that issued."
    )
    st.plotly_chart(picture.figure(bars, layout), key="kernel_time", config={"displaylogo": False})
    first_ones = part.single_launches("start", LIMIT)
    if launches > LIMIT:
        st.caption(f"Its {LIMIT:,} earliest launches of {launches:,}.")
    tables.grid(first_ones, LAUNCH_COLUMNS, f"kernel_launches_{kernel}", height=320)
    most = part.single_launches("bytes", 1)
    label = f"Launch {int(most['launch'].iloc[0])}, with the most bytes"
    pages.link("launches", label, launch=str(int(most["launch"].iloc[0])))


def _lines(part: snoopie.Trace, kernel: str) -> None:
    lines = part.by_line()
    tables.grid(lines.head(LIMIT), LINE_COLUMNS, f"kernel_lines_{kernel}", height=320)
    for file, line, moved in lines[lines["file"] != ""][["file", "line", "bytes"]].head(5).itertuples(index=False):
        stacks.source_line(file, int(line), f" · {units.bytes(moved)}")


def _objects(kernel: str) -> None:
    own = replace(state.filters(), kernels=(kernel,))
    table = background.answer(state.scope(own).question(Trace.by_object, merged=True))
    if table is None:
        return
    known = table[table["object"] > 0].head(LIMIT)
    if known.empty:
        remarks.nothing("Its traffic could not be attributed to allocations.", "The trace may have no allocations.")
        return
    shown = known.rename(columns={"source": "allocated_by"})
    tables.grid(shown, OBJECT_COLUMNS, f"kernel_objects_{kernel}", height=320)
    for object, name, moved in known[["object", "name", "bytes"]].head(5).itertuples(index=False):
        label = " · ".join(filter(None, [f"Object {object}", theme.plain(name), units.bytes(moved)]))
        pages.link("objects", label, object=str(object))


def _stacks(part: snoopie.Trace, kernel: str) -> None:
    table = part.by_launch_stack().rename(columns={"source": "launched_by"})
    known = table[table["stack"] > 0]
    if known.empty:
        stacks.show(0, "its launches", "kernel_stack")
        return
    if len(known) < len(table):
        st.caption(f"Unknown for {int(table.loc[table['stack'] == 0, 'launches'].sum()):,} launches.")
    shown = known.head(LIMIT)
    columns = ["launched_by", "launches", "bytes", "accesses", "stack"]
    clicked = tables.choice(shown, columns, f"kernel_stacks_{kernel}", height=240)
    chosen = shown.iloc[0] if clicked is None else clicked
    stack = int(chosen["stack"])
    st.caption(theme.plain(f"The stack of {chosen['launched_by']}, innermost first:"))
    stacks.show(stack, "its launches", f"kernel_stack_{kernel}")
