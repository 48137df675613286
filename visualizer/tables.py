"""Tables that sort and filter: how a column of each name is shown."""

from __future__ import annotations

from typing import Any

import pandas as pd
from st_aggrid import AgGrid, JsCode

# Where the name in words is not the name with a capital letter and spaces.
_HEADINGS = {
    "sass": "SASS",
    "host_ns": "Host time",
    "device_bytes": "By kernels",
    "host_bytes": "By the host",
    "call_bytes": "Bytes of calls",
    "start": "Started at",
    "local_rank": "Rank on its host",
    "ranks": "Of ranks",
    "what": "What cannot be counted",
    "label": "GPU",
    "gpus": "GPUs",
    "users": "Used by",
    "nvlinks": "NVLinks",
    "sm": "Compute capability",
    "pci": "PCI",
    "pid": "PID",
    "uuid": "UUID",
}
ROW_HEIGHT = 26
_BYTES = ("bytes", "wire_bytes", "call_bytes", "device_bytes", "host_bytes")
_COUNTS = ("accesses", "lanes", "sectors", "launches", "measured", "copies", "calls", "count", "sites")
_DURATIONS = ("host_ns", "start")
_SMALL = ("width", "peer", "process")
_SHORT = ("issuer", "from", "source", "operation", "reduction", "type", "kind", "rank", "stream")
# A place that is the other end can be a multicast object, with a long label.
_ENDS = ("owner", "to", "destination")
_NAMES = ("kernel", "function", "file", "call", "communicator", "what")
_CODE = ("sass", "code")
_TWO_LINES = frozenset({"wire_efficiency", "call_bytes"})
_BARS = ("bytes", "accesses", "host_ns")

_NUMBER = {"type": "numericColumn", "filter": False}
_SIZES = ((1024, "KiB"), (1024**2, "MiB"), (1024**3, "GiB"), (1024**4, "TiB"), (1024**5, "PiB"))
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
    elif name == "wire_efficiency":
        percent = "value === null || value === undefined ? '' : (100 * value).toFixed(1) + ' %'"
        definition |= {"valueFormatter": percent, **_NUMBER, "width": 90, "cellStyle": _bar(1.0)}
    elif name == "offset":
        definition |= {"valueFormatter": "'0x' + value.toString(16)", **_NUMBER, "width": 66}
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
    table: pd.DataFrame, columns: list[str], key: str, *, height: int = 420, **options: Any
) -> pd.Series[Any] | None:
    """A table that sorts, filters and can be read with the keyboard. Returns the chosen row."""
    shown = table[columns].astype({name: "float64" for name in columns if name == "wire_efficiency"})
    header = 48 if _TWO_LINES.intersection(columns) else 34
    result = AgGrid(
        shown,
        gridOptions={
            "columnDefs": [column(name, shown) for name in columns],
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
