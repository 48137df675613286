"""Tables that sort and filter: how a column of each name is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st
from st_aggrid import AgGrid, JsCode

# Where the name in words is not the name with a capital letter and spaces.
_HEADINGS = {
    "sass": "SASS",
    "gpu": "GPU",
    "capacity_share": "Of capacity",
    "host_ns": "Host time",
    "device_bytes": "By kernels",
    "host_bytes": "By the host",
    "call_bytes": "Bytes of calls",
    "start": "Started at",
    "moment": "Started at",
    "busy_share": "Busy",
    "busy": "Busy time",
    "gap": "Idle time",
    "gaps": "Idle gaps",
    "least": "Shortest",
    "most": "Longest",
    "mean_ns": "Mean",
    "min_ns": "Shortest",
    "max_ns": "Longest",
    "p50_ns": "Half took less than",
    "p90_ns": "90 % took less than",
    "p99_ns": "99 % took less than",
    "peak_time": "Peak at",
    "left": "At the end",
    "local_rank": "Rank on its host",
    "ranks": "Of ranks",
    "what": "What cannot be counted",
    "thing": "What",
    "label": "GPU",
    "gpu_label": "GPU",
    "distinct": "Different bytes",
    "launched_by": "Launched by",
    "gpus": "GPUs",
    "users": "Used by",
    "nvlinks": "NVLinks",
    "sm": "Compute capability",
    "pci": "PCI",
    "pid": "PID",
    "uuid": "UUID",
}
ROW_HEIGHT = 26
_BYTES = (
    *("bytes", "size", "wire_bytes", "call_bytes", "device_bytes", "host_bytes", "copied_in", "copied_out"),
    *("distinct", "peak", "left"),
)
_COUNTS = (
    *("accesses", "lanes", "sectors", "launches", "measured", "copies", "calls", "count", "sites"),
    *("records", "gaps", "errors", "objects"),
)
_DURATIONS = (
    *("host_ns", "start", "ran", "duration", "busy", "gap", "total", "average", "least", "most", "peak_time"),
    *("mean_ns", "min_ns", "max_ns", "p50_ns", "p90_ns", "p99_ns"),
)
_RATES = ("rate", "capacity")
_SHARES = ("wire_efficiency", "share", "capacity_share", "busy_share")
_SMALL = ("width", "peer", "process", "object", "tensor", "launch", "stack", "returned")
_SHORT = (
    *("gpu", "direction", "library", "issuer", "from", "source", "operation", "reduction", "type", "kind", "rank"),
    *("stream", "thing", "place", "resource", "device", "state"),
)
# A place that is the other end can be a multicast object, with a long label.
_ENDS = ("owner", "gpu_label", "grid", "block", "to", "destination")
_NAMES = (
    *("kernel", "function", "file", "call", "communicator", "what", "name", "module", "launched_by", "allocated_by"),
)
_CODE = ("sass", "code")
_TWO_LINES = frozenset({"wire_efficiency", "call_bytes"})
_BARS = ("bytes", "accesses", "host_ns")

_NUMBER = {"type": "numericColumn", "filter": False}
_SIZES = ((1024, "KiB"), (1024**2, "MiB"), (1024**3, "GiB"), (1024**4, "TiB"), (1024**5, "PiB"))
# Capacities of links are given in powers of ten.
_DECIMAL_SIZES = ((10**3, "kB/s"), (10**6, "MB/s"), (10**9, "GB/s"), (10**12, "TB/s"))
_THOUSANDS = ((10**3, "K"), (10**6, "M"), (10**9, "G"), (10**12, "T"), (10**15, "P"))
_TIMES = ((10**3, "µs"), (10**6, "ms"), (10**9, "s"))


def _scaled(steps: tuple[tuple[int, str], ...], unit: str = "") -> str:
    """A formatter of AG Grid, as an expression: the number stays a number, for sorting. No value shows as nothing, a
    negative one as not known."""
    parts = [f"value >= {size} ? (value / {size}).toFixed(1) + ' {name}'" for size, name in reversed(steps)]
    rest = f"value + '{' ' + unit if unit else ''}'"
    return " : ".join(["value === null || value === undefined ? ''", "value < 0 ? 'not known'", *parts, rest])


def _bar(largest: float) -> JsCode:
    """A bar behind the number, as long as its share of the largest in the column."""
    return JsCode(
        f"function(p) {{ const width = 100 * Math.max(Number(p.value) || 0, 0) / {largest}; "
        "return {background: `linear-gradient(to right, rgba(1, 115, 178, 0.22) ${width}%, transparent ${width}%)`}; }"
    )


def heading(name: str) -> str:
    """A column's name in words."""
    return _HEADINGS.get(name, name.replace("_", " ").capitalize())


def column(name: str, table: pd.DataFrame) -> dict[str, Any]:
    """How a column of that name is shown."""
    definition: dict[str, Any] = {"field": name, "headerName": heading(name), "tooltipField": name}
    if name in _BYTES:
        definition |= {"valueFormatter": _scaled(_SIZES, "B"), **_NUMBER, "width": 82}
    elif name in _COUNTS:
        definition |= {"valueFormatter": _scaled(_THOUSANDS), **_NUMBER, "width": 82}
    elif name in _DURATIONS:
        definition |= {"valueFormatter": _scaled(_TIMES, "ns"), **_NUMBER, "width": 82}
    elif name in _RATES:
        definition |= {"valueFormatter": _scaled(_DECIMAL_SIZES, "B/s"), **_NUMBER, "width": 90}
    elif name in _SHARES:
        percent = "value === null || value === undefined ? '' : (100 * value).toFixed(1) + ' %'"
        definition |= {"valueFormatter": percent, **_NUMBER, "width": 90, "cellStyle": _bar(1.0)}
    elif name == "bandwidth":
        definition |= {"valueFormatter": _scaled(_SIZES, "B"), **_NUMBER, "width": 82}
    elif name == "moment":
        exact = "(value / 1e6).toLocaleString('en', {minimumFractionDigits: 3, maximumFractionDigits: 3}) + ' ms'"
        definition |= {"valueFormatter": exact, **_NUMBER, "width": 110}
    elif name == "offset":
        definition |= {"valueFormatter": "'0x' + value.toString(16)", **_NUMBER, "width": 66}
    elif name == "reuse":
        times = "value === null || value === undefined ? '' : value.toFixed(1) + ' ×'"
        definition |= {"valueFormatter": times, **_NUMBER, "width": 82}
    elif name == "line":
        definition |= {"valueFormatter": "value > 0 ? value : ''", **_NUMBER, "width": 58}
    elif name in _SMALL:
        definition |= {"valueFormatter": "value < 0 ? '' : value", **_NUMBER, "width": 64}
    elif name in _SHORT:
        definition |= {"flex": 1, "minWidth": 74, "filter": False}
    elif name in _ENDS:
        definition |= {"flex": 2, "minWidth": 84, "filter": False}
    elif name in _NAMES:
        definition |= {"flex": 2, "minWidth": 116}
        if name == "file":
            definition["valueFormatter"] = "value.split('/').slice(-2).join('/')"
    elif name in _CODE:
        definition |= {"flex": 3, "minWidth": 190, "cellStyle": {"fontFamily": "monospace", "whiteSpace": "pre"}}
    if name in _BARS and len(table):
        definition["cellStyle"] = _bar(max(float(table[name].max()), 1.0))
    return definition


def grid(
    table: pd.DataFrame, columns: list[str], key: str, *, height: int = 420, hidden: Sequence[str] = (), **options: Any
) -> pd.Series[Any] | None:
    """A table that sorts, filters and can be read with the keyboard. Returns the chosen row, ``hidden`` columns too."""
    shown = table[[*columns, *hidden]].astype({name: "float64" for name in columns if name in _SHARES})
    header = 48 if _TWO_LINES.intersection(columns) else 34
    result = AgGrid(
        shown,
        gridOptions={
            "columnDefs": [
                *(column(name, shown) for name in columns),
                *({"field": name, "hide": True} for name in hidden),
            ],
            "defaultColDef": {
                "resizable": True,
                "sortable": True,
                "filter": True,
                "suppressHeaderMenuButton": True,
                "wrapHeaderText": True,
            },
            "rowSelection": {"mode": "singleRow", "checkboxes": False, "enableClickSelection": True},
            "rowHeight": ROW_HEIGHT,
            "headerHeight": header,
            "tooltipShowDelay": 400,
            **options,
        },
        update_on=["selectionChanged"],
        custom_css={".has-traffic": {"background-color": "rgba(222, 143, 5, 0.12) !important"}},
        allow_unsafe_jscode=True,  # the formatters above; nothing of a trace is ever part of one
        height=min(height, header + ROW_HEIGHT * max(len(shown), 2) + 6),
        key=key,
    )
    chosen = result.selected_rows
    return None if chosen is None or len(chosen) == 0 else chosen.iloc[0]


def click(key: str, clicked: Any) -> None:
    """Has a row that was just clicked change the choice ``key``; None, or that of the last run, changes nothing."""
    if clicked is not None and clicked != st.session_state.get(f"{key}_clicked"):
        st.session_state[key] = clicked
    st.session_state[f"{key}_clicked"] = clicked
