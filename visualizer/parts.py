"""Pieces that several views share: choosers, the heatmap, tables."""

from __future__ import annotations

from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from st_aggrid import AgGrid, JsCode

from snoopie.analysis import units
from visualizer import theme

VALUES = {"bytes": "Bytes", "wire_bytes": "Wire bytes", "accesses": "Accesses", "lanes": "Lanes"}
READINGS = {"issued": "Who issued", "flow": "Where data flowed"}
EXPLAINED = {
    "issued": "{0} executed the instructions; {1} owns the memory that they touched.",
    "flow": "Data left {0} and arrived at {1}. An atomic that returns a value counts both ways.",
}
IN_MATRIX = ("A row's GPU", "a column's GPU")
IN_GRAPH = ("the GPU where an arrow begins", "the GPU where it ends")
HEADINGS = {
    "kernel": "Kernel",
    "function": "Function",
    "launches": "Launches",
    "accesses": "Accesses",
    "lanes": "Lanes",
    "bytes": "Bytes",
    "sectors": "Sectors",
    "wire_bytes": "Wire bytes",
    "wire_efficiency": "Wire efficiency",
    "issuer": "Issuer",
    "owner": "Owner",
    "from": "From",
    "to": "To",
    "file": "File",
    "line": "Line",
    "offset": "Offset",
    "operation": "Operation",
    "width": "Width",
    "opcode": "Opcode",
    "sass": "SASS",
    "code": "Code",
}
_STEPS = {"B": (1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]), "": (1000, ["", "K", "M", "G", "T", "P"])}


def amount(value: str, number: float) -> str:
    """A number of VALUES for people."""
    return units.bytes(number) if value.endswith("bytes") else units.count(number)


def value_and_reading(place: str, ends: tuple[str, str] = IN_MATRIX) -> tuple[str, str]:
    """The two choosers of every picture of who sent to whom, and what it shows in words."""
    left, right = st.columns(2, vertical_alignment="bottom")
    value = left.segmented_control(
        "Value", list(VALUES), format_func=VALUES.__getitem__, default="bytes", key=f"value_{place}"
    )
    reading = right.segmented_control(
        "Reading", list(READINGS), format_func=READINGS.__getitem__, default="issued", key=f"reading_{place}"
    )
    value, reading = value or "bytes", reading or "issued"
    explained = EXPLAINED[reading].format(*ends)
    st.caption(explained[0].upper() + explained[1:])
    return value, reading


def _colorbar(value: str, largest: float) -> dict[str, Any]:
    ticks = [largest * part / 4 for part in range(5)] if largest else [0.0]
    return {
        "title": VALUES[value],
        "tickvals": ticks,
        "ticktext": [amount(value, tick) for tick in ticks],
        "thickness": 14,
    }


def heatmap(matrix: pd.DataFrame, value: str, key: str) -> None:
    """The matrix as a heatmap with its numbers; cells without traffic stay empty."""
    cells = matrix.to_numpy()
    row, column = ("Issuer", "Owner") if matrix.index.name == "issuer" else ("From", "To")
    name = VALUES[value]
    text = [[amount(value, cell) if cell else "" for cell in line] for line in cells]
    figure = go.Figure(
        go.Heatmap(
            z=[[float(cell) if cell else None for cell in line] for line in cells],
            x=list(matrix.columns),
            y=list(matrix.index),
            text=text,
            texttemplate="%{text}",
            customdata=cells,
            hovertemplate=f"{row} %{{y}}<br>{column} %{{x}}<br>%{{customdata:,}} {name.lower()}<extra></extra>",
            hoverongaps=False,
            colorscale=theme.heat_scale(),
            zmin=0,
            zmax=max(float(cells.max(initial=0)), 1.0),
            xgap=2,
            ygap=2,
            colorbar=_colorbar(value, float(cells.max(initial=0))),
        )
    )
    figure.update_yaxes(autorange="reversed", title=row, showgrid=False, zeroline=False)
    figure.update_xaxes(side="top", title=column, showgrid=False, zeroline=False)
    figure.update_layout(margin={"l": 8, "r": 8, "t": 8, "b": 8}, height=max(260, 90 + 64 * len(matrix)))
    st.plotly_chart(figure, key=key, width="stretch", config={"displaylogo": False})


def _formatter(unit: str) -> str:
    """A formatter of AG Grid, as an expression: the number stays a number, for sorting."""
    base, names = _STEPS[unit]
    parts = [
        f"value >= {base**p} ? (value / {base**p}).toFixed(1) + ' {names[p]}'" for p in range(len(names) - 1, 0, -1)
    ]
    return " : ".join([*parts, f"value + '{' ' + unit if unit else ''}'"])


def _bar(share: str) -> JsCode:
    """A bar behind the number, as long as its share of the largest in the column."""
    return JsCode(
        "function(p) { const width = 100 * (Number(p.value) || 0) / (" + share + "); "
        "return {background: `linear-gradient(to right, rgba(1, 115, 178, 0.22) ${width}%, transparent ${width}%)`}; }"
    )


ROW_HEIGHT = 26
_NUMBER = {"type": "numericColumn", "filter": False}
_NO_VALUE = "value === null || value === undefined ? '' : "


def column(name: str, table: pd.DataFrame) -> dict[str, Any]:
    """How a column of that name is shown."""
    definition: dict[str, Any] = {"field": name, "headerName": HEADINGS.get(name, name), "tooltipField": name}
    if name in ("bytes", "wire_bytes"):
        definition |= {"valueFormatter": _NO_VALUE + f"({_formatter('B')})", **_NUMBER, "width": 112}
    elif name in ("accesses", "lanes", "sectors", "launches"):
        definition |= {"valueFormatter": _NO_VALUE + f"({_formatter('')})", **_NUMBER, "width": 102}
    elif name == "wire_efficiency":
        definition |= {
            "valueFormatter": _NO_VALUE + "(100 * value).toFixed(1) + ' %'",
            **_NUMBER,
            "width": 128,
        }
    elif name == "offset":
        definition |= {"valueFormatter": "'0x' + value.toString(16)", **_NUMBER, "width": 82}
    elif name in ("line", "width"):
        definition |= {**_NUMBER, "width": 70}
    elif name in ("sass", "code"):
        definition |= {"flex": 2, "minWidth": 260, "cellStyle": {"fontFamily": "monospace", "whiteSpace": "pre"}}
    elif name in ("issuer", "owner", "from", "to", "operation"):
        definition |= {"flex": 1, "minWidth": 90, "filter": False}
    elif name in ("kernel", "function", "file"):
        definition |= {"flex": 1, "minWidth": 180}
    if name in ("bytes", "accesses") and len(table):
        definition["cellStyle"] = _bar(str(max(float(table[name].max()), 1.0)))
    elif name == "wire_efficiency":
        definition["cellStyle"] = _bar("1.0")
    return definition


def grid(
    table: pd.DataFrame, columns: list[str], key: str, *, height: int = 420, **options: Any
) -> pd.Series[Any] | None:
    """A table that sorts, filters and can be read with the keyboard. Returns the chosen row."""
    shown = table[columns].astype({name: "float64" for name in columns if name == "wire_efficiency"})
    result = AgGrid(
        shown,
        gridOptions={
            "columnDefs": [column(name, shown) for name in columns],
            "defaultColDef": {"resizable": True, "sortable": True, "filter": True, "suppressHeaderMenuButton": True},
            "rowSelection": {"mode": "singleRow", "checkboxes": False, "enableClickSelection": True},
            "rowHeight": ROW_HEIGHT,
            "headerHeight": 34,
            "tooltipShowDelay": 400,
            **options,
        },
        update_on=["selectionChanged"],
        custom_css={".has-traffic": {"background-color": "rgba(222, 143, 5, 0.12) !important"}},
        allow_unsafe_jscode=True,  # the formatters above; nothing of a trace is ever part of one
        height=min(height, 40 + ROW_HEIGHT * max(len(shown), 2) + 20),
        key=key,
    )
    chosen = result.selected_rows
    return None if chosen is None or len(chosen) == 0 else chosen.iloc[0]


def nothing(why: str, what: str) -> None:
    """An empty view says why it is empty and what to do."""
    st.info(f"{why} {what}", icon=":material/info:")
