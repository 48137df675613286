"""How tables and traces show themselves in a notebook: amounts in units, bars and shades, at home on light and dark.

The tables are DataFrames like any other; what is derived from one is a plain DataFrame, as its columns may mean
something else. Colours are see-through, and text has the page's own. A page that shows no styles shows the numbers.
"""

from __future__ import annotations

import html
import shutil
from collections.abc import Callable, Iterable, Sequence

import pandas as pd

from snoopie.words.columns import Kind, heading, kind, meaning, say
from snoopie.words.text import cut, printable

MOST_ROWS = 20
_MOST_PLACES = 64
_MOST_LETTERS = 120
_MOST_IN_TERMINAL = 40
_SHADE = "rgba(1, 115, 178, {:.2f})"
_RIGHT = "text-align: right"
_LEFT = "text-align: left"


class _Shown(pd.DataFrame):
    """A DataFrame with a look of its own; what pandas derives from it is a plain one."""

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return pd.DataFrame


class Rows(_Shown):
    """One row a line, kernel, pair, …; the largest first."""

    def __repr__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str | None:
        return rows_html(self) if pd.get_option("display.notebook_repr_html") else None


class Matrix(_Shown):
    """A square of places; ``value`` says what its numbers are."""

    # What pandas keeps beside the columns, also in a pickle.
    _metadata = ["_value"]  # noqa: RUF012
    _value: str | None

    @classmethod
    def of(cls, matrix: pd.DataFrame, value: str) -> Matrix:
        shown = cls(matrix)
        shown._value = value
        return shown

    def __repr__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str | None:
        return matrix_html(self, self._value or "") if pd.get_option("display.notebook_repr_html") else None


def shown(table: pd.DataFrame) -> pd.DataFrame:
    """The table as Rows, unless it has a look of its own or its rows have names."""
    plain = type(table) is pd.DataFrame and isinstance(table.index, pd.RangeIndex) and table.index.name is None
    return Rows(table) if plain else table


def text(table: pd.DataFrame) -> str:
    """The table for a terminal, with every column, where pandas has dots: wide ones go on below. Long names are cut."""
    most = pd.get_option("display.max_rows")
    first = pd.DataFrame(table if most is None else table.head(most))
    cut = {
        name: pd.Series([_cut(str(name), value) for value in first[name]], first.index, dtype="object")
        for name in first.columns
        if isinstance(first[name].dtype, pd.StringDtype) or first[name].dtype == object
    }
    written = first.assign(**cut).to_string(line_width=max(shutil.get_terminal_size().columns, 40))
    more = len(table) - len(first)
    return written + (f"\n… and {more:,} more rows" if more else "")


def rows_html(table: pd.DataFrame, columns: Sequence[str] | None = None, most: int = MOST_ROWS) -> str:
    """The first rows as an HTML table, all names escaped; the exact amount is in a cell's tooltip."""
    names = [str(name) for name in table.columns] if columns is None else list(columns)
    shown = table.head(most)
    numbers = [kind(name).is_number or table[name].dtype.kind in "iuf" for name in names]
    head = _head(names, numbers)
    cells = [_cells(name, shown[name], number) for name, number in zip(names, numbers, strict=True)]
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in zip(*cells, strict=True))
    more = len(table) - len(shown)
    foot = f"<p>… and {more:,} more rows</p>" if more else ""
    return f"<div><table><thead>{head}</thead><tbody>{body}</tbody></table>{foot}</div>"


def matrix_html(matrix: pd.DataFrame, value: str) -> str:
    """A square of places with the larger numbers darker; one without traffic is a dot."""
    if max(matrix.shape) > _MOST_PLACES:
        corner = matrix.iloc[:_MOST_PLACES, :_MOST_PLACES]
        return matrix_html(corner, value) + f"<p>… of {len(matrix)} × {len(matrix.columns)}</p>"
    largest = max(float(matrix.to_numpy().max(initial=0)), 1.0)
    first, second = (heading(str(side.name or "")) for side in (matrix.index, matrix.columns))
    head = _row("th", [f"{first} ↓ {second} →", *map(str, matrix.columns)], [_LEFT] + [_RIGHT] * len(matrix.columns))
    body = ""
    for label, line in zip(matrix.index, matrix.to_numpy().tolist(), strict=True):
        cells = "".join(
            f'<td title="{cell:,}" style="{_RIGHT}; background: {_SHADE.format(0.1 + 0.45 * cell / largest)}">'
            f"{html.escape(say(value, cell))}</td>"
            if cell
            else f'<td style="{_RIGHT}">·</td>'
            for cell in line
        )
        body += f"<tr><th>{_text(label)}</th>{cells}</tr>"
    return f"<div><table><thead>{head}</thead><tbody>{body}</tbody></table></div>"


def trace_html(title: str, matrix: pd.DataFrame, lines: pd.DataFrame, losses: Iterable[str]) -> str:
    """A trace: who reached whom, the lines that moved most, what it lacks."""
    parts = [f"<p><b>{_text(title)}</b></p>"]
    if matrix.to_numpy().any():
        parts.append("<p>Bytes by issuer and owner</p>" + matrix_html(matrix, "bytes"))
    if len(lines):
        shown = ["file", "line", "kernel", "bytes", "wire_efficiency"]
        parts.append("<p>Source lines, most bytes first</p>" + rows_html(lines, shown, 5))
    lacks = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in losses)
    parts.append(f"<p>What it lacks</p><ul>{lacks}</ul>" if lacks else "<p>Nothing was lost.</p>")
    return f"<div>{''.join(parts)}</div>"


def _cut(name: str, value: object) -> object:
    """A text in little room: of a path the end says most."""
    if not isinstance(value, str):
        return value
    return cut(printable(value, " "), _MOST_IN_TERMINAL, keep_end=kind(name) is Kind.PATH)


def _cells(name: str, column: pd.Series, number: bool) -> list[str]:
    # Someone divided a number of bytes: it is none any more.
    divided = column.dtype.kind == "f" and kind(name).is_whole
    if divided or not kind(name).is_amount:
        align = _RIGHT if number else _LEFT
        return [
            f'<td style="{align}">{_text(value if divided else say(name, value))}</td>' for value in column.tolist()
        ]
    values = column.tolist()
    largest = max((float(value) for value in values), default=0.0) if name == "bytes" else 0.0
    return [
        f'<td title="{_exact(value)}" style="{_RIGHT}{_bar(value / largest) if largest > 0 else ""}">'
        f"{html.escape(say(name, value))}</td>"
        for value in values
    ]


def _bar(share: float) -> str:
    colour, end = _SHADE.format(0.3), f"{100 * share:.1f}%"
    return f"; background: linear-gradient(to right, {colour} {end}, transparent {end})"


def _exact(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else html.escape(str(value))


def _head(names: Sequence[str], numbers: Sequence[bool]) -> str:
    """The headings, each with its meaning in its tooltip."""
    cells = (
        f'<th title="{html.escape(meaning(name))}" style="{_RIGHT if number else _LEFT}">{_text(heading(name))}</th>'
        for name, number in zip(names, numbers, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"


def _row(tag: str, texts: Iterable[str], styles: Iterable[str]) -> str:
    cells = (f'<{tag} style="{style}">{_text(text)}</{tag}>' for text, style in zip(texts, styles, strict=True))
    return f"<tr>{''.join(cells)}</tr>"


def _text(value: object) -> str:
    text = str(value)
    return html.escape(cut(text, _MOST_LETTERS))
