"""A table that sorts by any column and can be searched, of which only the rows in sight are drawn."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from visualizer.components import component, event

ROW, SEARCH = 26, 36  # pixels: a row, and the field above a table of more than FEW rows
FEW = 20

_mount = component("table", "elements")


@dataclass(frozen=True)
class Column:
    """What stands above it and what it means, its width in pixels (at least, at most), and the texts in its cells.

    ``values`` are what it is sorted by, and shown exactly in a hint with their ``unit``; without them the texts are.
    ``hints`` are what texts are short for. Bars of a colour are as long as their share of ``largest``; of two colours,
    they lead from the middle to the left for less and to the right for more, and it is sorted by how much.
    """

    heading: str
    meaning: str
    least: int
    most: int
    texts: Sequence[str]
    values: Sequence[float | None] | None = None
    unit: str | None = None
    hints: Sequence[str] | None = None
    colours: Sequence[str] = ()
    largest: float = 1.0
    look: str = ""  # "number" or "code"


def identity(columns: Sequence[Column]) -> int:
    """What tells a table from another, or from what it was before."""
    return zlib.crc32(json.dumps([vars(column) for column in columns], default=tuple).encode())


def show(
    key: str,
    columns: Sequence[Column],
    *,
    height: int,
    header: int,
    chosen: int | None = None,
    on_choose: Callable[[int], None] | None = None,
) -> None:
    """Draws it, in a place of a fixed height. With ``on_choose``, which is told its number, a row can be chosen."""
    rows, of = len(columns[0].texts), identity(columns)
    # Names of a trace are in keys, and Streamlit allows a key no two of these in a row.
    key = key.replace("_", "-") if "__" in key else key

    def chose() -> None:
        value = event(key, "row")
        # A slow browser may still show other rows.
        if on_choose is None or not isinstance(value, list) or len(value) != 2 or value[0] != of:
            return
        if isinstance(value[1], int) and 0 <= value[1] < rows:
            on_choose(value[1])

    _mount(
        key=key,
        data={
            "of": of,
            "columns": [vars(column) for column in columns],
            "rows": rows,
            "height": height,
            "header": header,
            "search": rows > FEW,
            "chosen": chosen,
            "choosable": on_choose is not None,
        },
        height=height,
        on_row_change=chose,
    )
