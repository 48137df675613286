"""Tables: headings, amounts and meanings as everywhere, room and looks by kind of column."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pandas as pd
import streamlit as st

from snoopie.words import columns, units
from snoopie.words.columns import Kind
from snoopie.words.text import NAME, cut
from visualizer.components import table as component
from visualizer.components.table import Column

# Of a letter, and of what is left and right of a text: amounts are never cut.
_LETTER, _MARGIN = 6.6, 24
_CODE_LETTER = 8.0
_LONGEST = 90  # letters
# Of a heading: a letter on average, a wide one, and what is left and right. Words are never broken.
_BOLD, _WIDE, _EDGES = 6.8, 8.6, 20
# A heading of a number that is no wider stands in one line.
_HEADING = 124
# The least room for values of a kind. Amounts get what their longest text needs; texts share what is left, and take no
# more than they need.
_LEAST: Mapping[Kind, int] = {
    **{kind: 82 for kind in Kind if kind.is_amount},
    **dict.fromkeys((Kind.NUMBER, Kind.OFFSET, Kind.LINE, Kind.CLOCK), 64),
    **dict.fromkeys((Kind.WORD, Kind.FLAG, Kind.COLUMN), 74),
    # A place can be a multicast object, with a long name.
    Kind.PLACE: 84,
    **dict.fromkeys((Kind.NAME, Kind.PATH), 116),
    Kind.CODE: 190,
}
_FIRST, _CHANGE = 240, 124
# A text that needs no more is never cut.
_WHOLE = 140
# What is left out where no row has a line; code also where it is of none.
_OF_LINES = ("file", "line", "code")
# The room of what scrolls a table sideways, and the width below which any page has the room for all columns.
_BAR, _NARROWEST = 12, 540
# What stands behind the exact value in a hint.
_UNITS: Mapping[Kind, str] = {
    **dict.fromkeys((Kind.BYTES, Kind.BYTES_CHANGE, Kind.CAPACITY), " bytes"),
    **dict.fromkeys((Kind.DURATION, Kind.MOMENT), " ns"),
    Kind.RATE: " bytes/s",
    Kind.COUNT: "",
}
# Columns with bars: some amounts, and shares of 1. What is large and what is good have colours of their own.
_BARS = ("bytes", "accesses", "host_ns")
_AMOUNT, _SHARE = ("rgba(1, 115, 178, 0.22)",), ("rgba(2, 158, 115, 0.22)",)
# Heights of headings, and of a table that is not told another, in pixels.
_ONE_LINE, _TWO_LINES, _HEIGHT = 32, 46, 420


def grid(
    table: pd.DataFrame,
    shown: Sequence[str],
    key: str,
    *,
    height: int = _HEIGHT,
    said: Mapping[str, Sequence[str]] | None = None,
    changes: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """A table that sorts, can be searched, and can be read with the keyboard, no higher than so many pixels.

    ``said`` are the texts of columns that need others than by their name; ``changes`` the colours for less and for more
    in columns of changes.
    """
    _draw(key, columns_of(table, shown, said or {}, changes or {}), height)


def choice(table: pd.DataFrame, shown: Sequence[str], key: str, *, height: int = _HEIGHT) -> pd.Series[Any] | None:
    """A table of which a row can be chosen: that row, for as long as the table stays what it is."""
    made = columns_of(table, shown)
    name, of = f"{key}_row", component.identity(made)
    known, place = st.session_state.get(name, (None, None))
    chosen = place if known == of else None

    def choose(place: int) -> None:
        st.session_state[name] = of, place

    _draw(key, made, height, chosen, choose)
    return None if chosen is None else table.iloc[chosen]


def chooser(table: pd.DataFrame, shown: Sequence[str], key: str, *, of: str, height: int = _HEIGHT) -> None:
    """A table whose column ``of`` has what the choice of that name can be: a click on a row makes it."""
    options = table[of].tolist()
    now = st.session_state.get(of)

    def choose(place: int) -> None:
        st.session_state[of] = options[place]

    _draw(key, columns_of(table, shown), height, options.index(now) if now in options else None, choose)


def facts(table: pd.DataFrame, key: str) -> None:
    """A small table, without bars."""
    _draw(key, columns_of(table, [str(name) for name in table.columns], bars=()), _HEIGHT)


def matrix(table: pd.DataFrame, key: str) -> None:
    """Words for each two places."""
    texts = {"": table.index.tolist()} | {label: table[label].tolist() for label in table.columns}
    width = {label: round(_MARGIN + _LETTER * max(map(len, [label, *own]))) for label, own in texts.items()}
    _draw(key, [Column(label, "", width[label], width[label], own) for label, own in texts.items()])


def _draw(
    key: str,
    made: Sequence[Column],
    height: int | None = None,
    chosen: int | None = None,
    on_choose: Callable[[int], None] | None = None,
) -> None:
    rows, header = len(made[0].texts), heading_height(made)
    needed = header + component.ROW * max(rows, 1) + 2 + (component.SEARCH if rows > component.FEW else 0)
    needed += _BAR if sum(column.least for column in made) > _NARROWEST else 0
    high = needed if height is None else min(height, needed)
    component.show(key, made, height=high, header=header, chosen=chosen, on_choose=on_choose)


def heading_height(made: Sequence[Column]) -> int:
    """In pixels: for two lines where one has no room."""
    return _TWO_LINES if any(_in_one_line(column.heading) > column.most for column in made) else _ONE_LINE


def _in_one_line(heading: str) -> int:
    return round(_EDGES + _BOLD * len(heading))


def columns_of(
    table: pd.DataFrame,
    shown: Sequence[str],
    said: Mapping[str, Sequence[str]] = MappingProxyType({}),
    changes: Mapping[str, Sequence[str]] = MappingProxyType({}),
    bars: Sequence[str] = _BARS,
) -> list[Column]:
    """Columns as they are shown; see `grid`."""
    if "line" in shown and len(table) and not (pd.to_numeric(table["line"], errors="coerce") > 0).any():
        shown = [name for name in shown if name not in _OF_LINES]
    if "code" in shown and len(table) and not (table["code"].fillna("") != "").any():
        shown = [name for name in shown if name != "code"]
    made = [_column(name, table[name].tolist(), said.get(name), changes.get(name, ()), name in bars) for name in shown]
    # What the rows are called is read in a narrow window, too.
    first = next((place for place, column in enumerate(made) if column.least < column.most), None)
    if first is not None:
        made[first] = replace(made[first], least=max(made[first].least, min(made[first].most, _FIRST)))
    return made


def _column(name: str, values: Sequence[Any], said: Sequence[str] | None, changes: Sequence[str], bars: bool) -> Column:
    kind, heading = columns.kind(name), columns.heading(name)
    words = [cut(columns.say(name, value), NAME) for value in values]
    texts = [cut(text, NAME) for text in said or _short(kind, values, words)]
    is_number = kind.is_number or kind is Kind.CLOCK
    numbers = _numbers(values, words) if is_number else None
    least = max(_LEAST[kind], round(_EDGES + _WIDE * max(map(len, heading.split()))))
    one_line = _in_one_line(heading)
    longest = min(max(map(len, texts), default=0), _LONGEST)
    needed = round(_MARGIN + (_CODE_LETTER if kind is Kind.CODE else _LETTER) * longest)
    least = max(least, _CHANGE if changes else 0, needed if needed <= _WHOLE else 0)
    most = max(least, needed, one_line if one_line <= _HEADING or not is_number else 0)
    is_share = kind in (Kind.SHARE, Kind.EFFICIENCY)
    return Column(
        heading,
        columns.meaning(name),
        most if is_number else least,
        most,
        texts,
        numbers,
        _UNITS.get(kind) if numbers else None,
        words if texts != words else None,
        changes or (_SHARE if is_share else _AMOUNT if bars else ()),
        1.0 if is_share else max(map(abs, filter(None, numbers or ())), default=1.0),
        "number" if is_number else "code" if kind is Kind.CODE else "",
    )


def _short(kind: Kind, values: Sequence[Any], words: Sequence[str]) -> Sequence[str]:
    """What fits into a cell; the hint has the rest."""
    if kind is Kind.PATH:
        return ["/".join(path.split("/")[-2:]) for path in words]
    if kind is Kind.EFFICIENCY:
        return [
            word if word == units.NOTHING else units.percent(value) for value, word in zip(values, words, strict=True)
        ]
    return words


def _numbers(values: Iterable[Any], words: Iterable[str]) -> list[float | None] | None:
    """By which a column is sorted; what is not known has no place among others. None where all are words."""
    plain = [value.item() if hasattr(value, "item") else value for value in values]
    if any(isinstance(value, str) for value in plain):
        return None
    return [
        None if value is None or word == units.NOTHING or not math.isfinite(value) else value
        for value, word in zip(plain, words, strict=True)
    ]
