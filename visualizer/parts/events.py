"""Long lists of single events: tables as everywhere, or on demand of AG Grid, which has a filter at each heading.

Each table of AG Grid is a frame that loads its script at every visit, so no page begins with one (parts/tables.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st
from st_aggrid import AgGrid, JsCode

from visualizer.components.table import FEW, ROW, Column
from visualizer.look import theme
from visualizer.parts import tables

_SIGN = 26  # pixels
_PLACE = "place"  # where a row has its number


def choice(table: pd.DataFrame, shown: Sequence[str], key: str, *, of: str, height: int = 420) -> pd.Series[Any] | None:
    """A table of which a row can be chosen: that row. ``of`` tells it from others in the same place of the page, which
    all have filters or have none."""
    # More than a screen of rows, as with the search of other tables.
    filters = len(table) > FEW and st.toggle(
        "Filter by column",
        key=f"{key}_filters",
        help="A table with a filter at each heading: amounts between two others, texts that begin or end with a word.",
    )
    name = f"{key}_{of}"
    if not filters:
        return tables.choice(table, shown, name, height=height)
    return _with_filters(table, shown, f"{name}_filtered", height)


def _with_filters(table: pd.DataFrame, shown: Sequence[str], key: str, height: int) -> pd.Series[Any] | None:
    made = tables.columns_of(table, shown)
    header = tables.heading_height(made)
    rows: dict[str, Sequence[Any]] = {_PLACE: range(len(table))}
    for name, column in zip(shown, made, strict=True):
        rows |= {name: column.values or column.texts, _text(name): column.texts}
    # In a place of its own. Where something new stands above it, the browser would move the table's frame, which loads
    # it again, and Streamlit does not know a frame again that was moved: it stayed empty.
    high = min(height, header + ROW * max(len(table), 2) + 6)
    with st.container(height=high, border=False):
        result = AgGrid(
            pd.DataFrame(rows),
            gridOptions={
                "columnDefs": [
                    *map(_definition, shown, made),
                    *({"field": name, "hide": True} for name in (_PLACE, *map(_text, shown))),
                ],
                "defaultColDef": {"resizable": True, "suppressHeaderMenuButton": True, "wrapHeaderText": True},
                "rowSelection": {"mode": "singleRow", "checkboxes": False, "enableClickSelection": True},
                "rowHeight": ROW,
                "headerHeight": header,
                "tooltipShowDelay": 400,
            },
            update_on=["selectionChanged"],
            custom_css={
                **theme.font_faces(),
                ".ag-header-cell, .ag-cell:not([style*=monospace])": {"font-family": f"{theme.FONT} !important"},
            },
            allow_unsafe_jscode=True,  # the bars below; nothing of a trace is ever part of one
            height=high,
            key=key,
        )
    chosen = result.selected_rows
    return None if chosen is None or len(chosen) == 0 else table.iloc[int(chosen.iloc[0][_PLACE])]


def _text(name: str) -> str:
    """Where a row has the text of a column, whose value is what it is sorted and filtered by."""
    return f"{name} in words"


def _definition(name: str, column: Column) -> dict[str, Any]:
    """A column, in AG Grid's words."""
    definition: dict[str, Any] = {
        "field": name,
        "headerName": column.heading,
        "headerTooltip": column.meaning,
        "tooltipField": _text(name),
        "valueFormatter": f"data['{_text(name)}']",
        "minWidth": column.least,
        "flex": column.most,
        # Beside the heading stands the sign of the filter.
        "maxWidth": column.most + _SIGN,
        "filter": "agNumberColumnFilter" if column.values else "agTextColumnFilter",
    }
    if column.look == "number":
        definition["type"] = "numericColumn"
    if column.colours and column.values:
        definition["cellStyle"] = _bar(column.largest, column.colours[0])
    return definition


def _bar(largest: float, colour: str) -> JsCode:
    """A bar behind the number, as long as its share of the largest in the column."""
    return JsCode(
        f"function(p) {{ const width = 100 * Math.min(Math.max(Number(p.value) || 0, 0) / {largest}, 1); "
        f"return {{background: `linear-gradient(to right, {colour} ${{width}}%, transparent ${{width}}%)`}}; }}"
    )
