"""How much memory there was over time, what was there at the peak, what was never freed, and what the driver says."""

from __future__ import annotations

import html
from typing import Any

import pandas as pd
import streamlit as st

from snoopie import Trace
from snoopie.analysis.memory import usage
from snoopie.analysis.selection import MEMORY_BY
from snoopie.figures import colours
from snoopie.trace.lacks import Lack
from snoopie.words import units
from visualizer.controls import time_range
from visualizer.look import theme
from visualizer.parts import remarks, stacks, tables
from visualizer.pictures import amounts, picture
from visualizer.session import address, state

ALL = "all"
LIMIT = 1000
DRIVER = "driver: change since the first sample"
MADE = ["allocated_by", "call", "kind", "objects", "bytes"]
KINDS = ["device", "kind", "peak", "peak_after", "left", "objects"]

# So many points of all charts together; of one chart at most, as many as can be distinguished.
_POINTS, _MOST = 6000, 2000
_HEIGHT = 210
# From so many times what was allocated on, what the driver reports is drawn when it is asked for.
_DWARFED = 2


def show() -> None:
    st.header("Memory")
    kinds = state.ask(Trace.memory_by_kind)
    agreement = state.ask(Trace.memory_agreement, None, None, _MOST)
    if kinds.empty and not (agreement["used"] >= 0).any():
        remarks.no_memory()
        return
    devices = _devices(kinds, agreement)
    device = _device(devices)
    st.caption(
        "Memory allocated by the program, by kind. Memory counted with another object, such as a mapping, is in no sum."
    )
    remarks.not_filtered("memory", MEMORY_BY)
    _picture(devices if device == ALL else [device], agreement)
    chosen = None if device == ALL else device
    _kinds(kinds if chosen is None else kinds[kinds["device"] == chosen])
    _peaks(chosen)
    _leaks(chosen)
    _agreement(agreement if chosen is None else agreement[agreement["device"] == chosen])


def _devices(kinds: pd.DataFrame, agreement: pd.DataFrame) -> list[str]:
    """Those of which there is something to see, the host last."""
    known = {*kinds["device"], *agreement.loc[agreement["used"] >= 0, "device"]}
    return [label for label in state.trace().places["label"] if label in known]


def _device(devices: list[str]) -> str:
    options = [ALL, *devices] if len(devices) > 1 else devices
    device = address.keep_one("device", options)
    if len(options) > 1:
        st.pills(
            "Memory of", options, key="device", required=True,
            format_func=lambda label: "All devices" if label == ALL else theme.plain(label),
        )  # fmt: skip
    return device


# --- over time ---


def _picture(devices: list[str], agreement: pd.DataFrame) -> None:
    """A chart a device, one below another: kinds stacked, and the driver's report as a line."""
    points = min(_POINTS // len(devices), _MOST)
    origin = state.trace().period[0]
    data: list[dict[str, Any]] = []
    named: set[str] = set()
    layout: dict[str, Any] = {
        "height": 60 + _HEIGHT * len(devices),
        "margin": {"l": 8, "r": 8, "t": 26, "b": 8},
        "hovermode": "x",
        "legend": {"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom"},
        "xaxis": {
            "title": {"text": "s after the start"},
            "anchor": f"y{len(devices)}" if devices[1:] else "y",
            "range": [(moment - origin) / 1e9 for moment in time_range.whole()],
        },
    }
    titles = []
    part = 1 / len(devices)
    for number, device in enumerate(devices):
        axis = "y" if number == 0 else f"y{number + 1}"
        curve = state.ask(Trace.memory_curve, device, None, points)
        sampled = agreement[(agreement["device"] == device) & (agreement["used"] >= 0)]
        top = 1 - number * part
        dwarfs = _dwarfs(curve, sampled)
        curves = [*_areas(curve, axis, origin), *_reported(sampled, axis, origin, hidden=dwarfs)]
        for one in curves:
            # Each name once in the legend.
            one["showlegend"] = one["name"] not in named
            named.add(one["name"])
        data += curves
        layout[f"yaxis{axis[1:]}"] = {
            "domain": [top - part + 0.3 * part, top - 0.15 * part],
            **_amounts(curve, sampled.head(0) if dwarfs else sampled),
        }
        titles.append(_title(device, curve, origin, top))
    layout["annotations"] = titles
    figure = picture.figure(data, layout)
    st.plotly_chart(figure, key="memory_picture", width="stretch", config={"displaylogo": False})


def _areas(curve: pd.DataFrame, axis: str, origin: int) -> list[dict[str, Any]]:
    palette = colours.of_kinds()
    return [
        {
            **_line(kind, curve["time"], curve[kind], axis, origin),
            "stackgroup": axis,
            "line": {"shape": "hv", "width": 0.5, "color": palette[kind]},
        }
        for kind in curve.columns[1:]
    ]


def _dwarfs(curve: pd.DataFrame, sampled: pd.DataFrame) -> bool:
    """Whether the driver reports so much more, contexts and the collector's own memory, that the rest would be flat."""
    allocated = int(_totals(curve).max())
    return allocated > 0 and len(sampled) > 0 and int(sampled["used_change"].max()) > _DWARFED * allocated


def _reported(sampled: pd.DataFrame, axis: str, origin: int, *, hidden: bool) -> list[dict[str, Any]]:
    """What the driver says is in use, against each process's first sample: contexts and code are in all of them.
    ``hidden``: until somebody asks for it in the legend."""
    style = {"shape": "hv", "width": 1.5, "color": "#eeeeee" if theme.is_dark() else "#444444", "dash": "dot"}
    seen = "legendonly" if hidden else True
    return [
        {**_line(DRIVER, rows["time"], rows["used_change"], axis, origin), "line": style, "visible": seen}
        for _, rows in sampled.groupby("process")
    ]


def _line(name: str, times: pd.Series[int], sizes: pd.Series[int], axis: str, origin: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "yaxis": axis,
        "name": name,
        "legendgroup": name,
        "x": ((times - origin) / 1e9).tolist(),
        "y": sizes.tolist(),
        "customdata": [units.bytes(size) for size in sizes],
        "hovertemplate": f"{name}: %{{customdata}}<extra></extra>",
    }


def _amounts(curve: pd.DataFrame, sampled: pd.DataFrame) -> dict[str, Any]:
    highest = max(_totals(curve).max(), sampled["used_change"].max() if len(sampled) else 0)
    return amounts.binary(highest, sampled["used_change"].min() if len(sampled) else 0)


def _totals(curve: pd.DataFrame) -> pd.Series[int]:
    return curve.drop(columns="time").sum(axis=1)


def _title(device: str, curve: pd.DataFrame, origin: int, top: float) -> dict[str, Any]:
    """The device, and its peak."""
    totals = _totals(curve)
    highest, when = int(totals.max()), int(curve["time"].iloc[int(totals.argmax())])
    peak = f"peak {units.bytes(highest)} after {units.duration(when - origin)}" if highest else "nothing allocated"
    return {
        "text": f"<b>{html.escape(device)}</b>  {peak}",
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": top,
        "xanchor": "left",
        "yanchor": "top",
        "showarrow": False,
    }


# --- tables ---


def _kinds(kinds: pd.DataFrame) -> None:
    shown = kinds.assign(peak_after=kinds["peak_time"] - state.trace().period[0])
    st.subheader("By kind")
    tables.grid(shown[shown["counted"]], _with_process(KINDS), "memory_kinds", height=240)
    if not kinds["counted"].all():
        with st.expander("Memory counted with another object or process"):
            tables.grid(shown[~shown["counted"]], _with_process(KINDS), "memory_kinds_beside", height=200)


def _peaks(device: str | None) -> None:
    st.subheader("At the peak")
    table = state.ask(Trace.memory_watermark, device)
    if table.empty:
        st.caption(theme.plain(state.trace().lacks(Lack.ALLOCATIONS) or "The program allocated nothing here."))
        return
    st.caption("Allocations at each process's peak, by call site.")
    _made(table, ["device"] if device is None else [], "memory_peak")


def _leaks(device: str | None) -> None:
    st.subheader("Not freed")
    table = state.ask(Trace.leaks, device)
    if unknown := state.trace().lacks(Lack.ALLOCATIONS) or state.trace().lacks(Lack.FREES):
        st.caption(theme.plain(f"Leaks: {unknown}."))
    elif not state.trace().complete:
        st.caption("The trace is incomplete: memory that it shows as not freed may have been freed later.")
    elif not (table["state"] == usage.NEVER_FREED).any():
        st.success("No leaks: everything was freed, or lives until the end by design.", icon=":material/check_circle:")
    else:
        lost = int(table.loc[table["state"] == usage.NEVER_FREED, "bytes"].sum())
        st.caption(f"{units.bytes(lost)} were never freed before the program began to exit.")
    if len(table):
        _made(table, ["state", *(["device"] if device is None else [])], "memory_leaks")


def _made(table: pd.DataFrame, first: list[str], key: str) -> None:
    """Objects by who made them, and behind each row the call stack."""
    if len(table) > LIMIT:
        st.caption(f"The first {LIMIT:,} of {len(table):,} rows; `snoopie memory --json` has all.")
    named = table.head(LIMIT).rename(columns={"source": "allocated_by"})
    chosen = tables.choice(named, _with_process([*first, *MADE]), f"{key}_{len(first)}", height=300)
    if chosen is None:
        st.caption("Choose a row to see the call stack.")
        return
    stacks.show(int(chosen["stack"]), "this memory", f"{key}_stack")


def _with_process(columns: list[str]) -> list[str]:
    return ["process", *columns] if len(state.trace().processes) > 1 else columns


def _agreement(agreement: pd.DataFrame) -> None:
    """Where the driver reported most, and last."""
    known = agreement[agreement["used"] >= 0]
    if known.empty:
        st.caption("This trace has no driver reports of memory in use.")
        return
    st.subheader("Reported by the driver")
    st.caption(
        "Memory in use by all processes, its change since the first sample, and what the processes of the trace had "
        "allocated then. Only the driver's number includes contexts, loaded code and the collector's own memory."
    )
    groups = known.groupby(["process", "device"])
    rows = pd.concat(
        [known.loc[groups["used"].idxmax()].assign(sample="peak"), groups.tail(1).assign(sample="last")]
    ).sort_values(["process", "device", "sample"], ascending=[True, True, False])
    rows = rows.assign(after=rows["time"] - state.trace().period[0])
    shown = _with_process(["device", "sample", "after", "used", "used_change", "allocated_by_all"])
    tables.facts(rows[shown], "memory_agreement")
