"""Tables that sort and filter: headings, amounts and meanings as everywhere, room and looks by kind of column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st
from st_aggrid import AgGrid, JsCode

from snoopie.words import columns
from snoopie.words.columns import Kind
from visualizer.look import theme

ROW_HEIGHT = 26
# Of a letter, and of what is left and right of a text: amounts are never cut.
_LETTER, _MARGIN = 6.6, 24
_NUMBER = {"type": "numericColumn", "filter": False}
# How much room values of a kind need, and how they look. Amounts get what their longest text needs, at least this.
_LOOKS: Mapping[Kind, dict[str, Any]] = {
    **{kind: {**_NUMBER, "width": 82} for kind in Kind if kind.is_amount},
    **{kind: {**_NUMBER, "width": 64} for kind in (Kind.NUMBER, Kind.OFFSET, Kind.LINE, Kind.CLOCK)},
    # Texts share what is left, and take no more than they need.
    **{kind: {"flex": 1, "minWidth": 74, "filter": False} for kind in (Kind.WORD, Kind.FLAG, Kind.COLUMN)},
    # A place can be a multicast object, with a long name.
    Kind.PLACE: {"flex": 2, "minWidth": 84, "filter": False},
    **{kind: {"flex": 2, "minWidth": 116} for kind in (Kind.NAME, Kind.PATH)},
    Kind.CODE: {"flex": 3, "minWidth": 190, "cellStyle": {"fontFamily": "monospace", "whiteSpace": "pre"}},
}
_CODE_LETTER = 8.0
# Beside a heading that can be filtered by.
_FILTER = 26
_LONGEST = 90  # letters
# Of a heading: a letter on average, a wide one, and what is left and right. Words are never broken.
_BOLD, _WIDE, _EDGES = 6.6, 8.6, 20
_BARS = ("bytes", "accesses", "host_ns")


# Of amounts, and of shares of 1: what is large and what is good are not the same.
_AMOUNT, _SHARE = "1, 115, 178", "2, 158, 115"


def _bar(largest: float, colour: str = _AMOUNT) -> JsCode:
    """A bar behind the number, as long as its share of the largest in the column."""
    return JsCode(
        f"function(p) {{ const width = 100 * Math.min(Math.max(Number(p.value) || 0, 0) / {largest}, 1); "
        f"const colour = 'rgba({colour}, 0.22)'; "
        "return {background: `linear-gradient(to right, ${colour} ${width}%, transparent ${width}%)`}; }"
    )


def _needed(name: str, texts: Sequence[str]) -> int:
    """The width in pixels of a column of texts: of its longest, or of its heading."""
    kind = columns.kind(name)
    letter = _CODE_LETTER if kind is Kind.CODE else _LETTER
    heading = _EDGES + _BOLD * len(columns.heading(name)) + (0 if _LOOKS[kind].get("filter") is False else _FILTER)
    return round(max(heading, _MARGIN + letter * min(max(map(len, texts), default=0), _LONGEST)))


def _column(name: str, values: pd.Series[Any], texts: Sequence[str] | None) -> dict[str, Any]:
    """How a column of that name is shown; ``texts`` stand in its cells, None for the values themselves."""
    kind = columns.kind(name)
    definition: dict[str, Any] = {
        "field": name,
        "headerName": columns.heading(name),
        "headerTooltip": columns.meaning(name),
        "tooltipField": name,
        **_LOOKS[kind],
    }
    word = round(_EDGES + _WIDE * max(map(len, definition["headerName"].split())))
    definition |= {name: max(definition[name], word) for name in ("width", "minWidth") if name in definition}
    if "flex" in definition:
        needed = _needed(name, [str(value) for value in values] if texts is None else texts)
        definition |= {"flex": needed, "maxWidth": max(needed, definition["minWidth"])}
    if texts is not None:
        # The value itself stays what it is, for sorting.
        definition["valueFormatter"] = f"data['{_text(name)}']"
    if texts and kind.is_amount:
        definition["width"] = max(definition["width"], round(_MARGIN + _LETTER * max(map(len, texts))))
    if kind in (Kind.SHARE, Kind.EFFICIENCY):
        definition["cellStyle"] = _bar(1.0, _SHARE)
    elif name in _BARS and len(values):
        definition["cellStyle"] = _bar(max(float(values.max()), 1.0))
    return definition


def _texts(name: str, values: Iterable[object]) -> list[str]:
    """The values of a column for people; of a path its last two names."""
    said = [columns.say(name, value) for value in values]
    return ["/".join(path.split("/")[-2:]) for path in said] if columns.kind(name) is Kind.PATH else said


def _text(name: str) -> str:
    """Where a row has the text of a column."""
    return f"{name} in words"


def grid(
    table: pd.DataFrame,
    shown: Sequence[str],
    key: str,
    *,
    height: int = 420,
    hidden: Sequence[str] = (),
    said: Mapping[str, Sequence[str]] | None = None,
    looks: Mapping[str, Mapping[str, Any]] | None = None,
) -> pd.Series[Any] | None:
    """A table that sorts, filters and can be read with the keyboard. Returns the chosen row, ``hidden`` columns too.

    ``said`` are texts, and ``looks`` options of AG Grid, of columns that need others than by their name.
    """
    fractions = {
        name: "float64" for name in shown if columns.kind(name) in (Kind.SHARE, Kind.EFFICIENCY, Kind.RATE, Kind.TIMES)
    }
    rows = table[[*shown, *hidden]].astype(fractions)
    values = {name: rows[name].tolist() for name in shown}
    in_words = {name: _texts(name, own) for name, own in values.items()} | dict(said or {})
    # Names are sent once.
    in_words = {name: words for name, words in in_words.items() if words != values[name]}
    definitions = [_column(name, rows[name], in_words.get(name)) | dict((looks or {}).get(name, {})) for name in shown]
    header = 48 if any(map(_in_two_lines, definitions)) else 34
    # In a place of its own. Where something new stands above it, the browser would move the table's frame, which loads
    # it again, and Streamlit does not know a frame again that was moved: it stayed empty.
    high = min(height, header + ROW_HEIGHT * max(len(rows), 2) + 6)
    with st.container(height=high, border=False):
        result = AgGrid(
            rows.assign(**{_text(name): list(words) for name, words in in_words.items()}),
            gridOptions={
                "columnDefs": [
                    *definitions,
                    *({"field": name, "hide": True} for name in (*hidden, *map(_text, in_words))),
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
            },
            update_on=["selectionChanged"],
            custom_css={
                **theme.font_faces(),
                ".ag-header-cell, .ag-cell:not([style*=monospace])": {"font-family": f"{theme.FONT} !important"},
                ".has-traffic": {"background-color": "rgba(222, 143, 5, 0.12) !important"},
            },
            allow_unsafe_jscode=True,  # the bars above and what views add; nothing of a trace is ever part of one
            height=high,
            key=key,
        )
    chosen = result.selected_rows
    return None if chosen is None or len(chosen) == 0 else chosen.iloc[0]


def _in_two_lines(definition: Mapping[str, Any]) -> bool:
    """Whether the heading is too long for its column; the width of others follows the page."""
    needed = _EDGES + _BOLD * len(definition["headerName"])
    return "width" in definition and needed > definition["width"]


def facts(table: pd.DataFrame, key: str, *, numbered: bool = False) -> None:
    """A small table of Streamlit, to be read and not to be chosen from."""
    names = [str(name) for name in table.columns]
    shown = pd.DataFrame({name: [columns.say(name, value) for value in table[name].tolist()] for name in names})
    shown.index = table.index
    headings: dict[str, Any] = {name: _heading(name) for name in names}
    headings["_index"] = _heading(str(table.index.name))
    st.dataframe(shown, hide_index=not numbered, key=key, column_config=headings)


def _heading(name: str) -> Any:
    return st.column_config.Column(columns.heading(name), help=columns.meaning(name))


def click(key: str, clicked: Any) -> None:
    """Has a row that was just clicked change the choice ``key``; None, or that of the last run, changes nothing."""
    if clicked is not None and clicked != st.session_state.get(f"{key}_clicked"):
        st.session_state[key] = clicked
    st.session_state[f"{key}_clicked"] = clicked
