"""A file of two traces side by side, with what changed of each line between the two."""

from __future__ import annotations

import html
from collections.abc import Hashable, Iterator, Mapping

import pandas as pd
import streamlit as st

from snoopie.figures import colours
from snoopie.words import columns, units
from snoopie.words.text import visible

# Lines around each with traffic or with another text, and rows in all: nobody reads on.
_AROUND = 3
_ROWS = 400
_LONGEST = 300
_GROUND = {"A": f"{colours.LESS}22", "B": f"{colours.MORE}22"}
_STYLE = """<style>
.side-by-side { overflow-x: auto; border: 1px solid rgba(128, 128, 128, 0.3); border-radius: 8px; }
.side-by-side table { border-collapse: collapse; width: 100%; min-width: 860px; table-layout: fixed; font-size: 13px; }
.side-by-side th { text-align: left; padding: 2px 8px; font-weight: 600; }
.side-by-side td { padding: 1px 8px; line-height: 20px; white-space: pre; overflow: hidden; text-overflow: ellipsis; }
.side-by-side td:nth-child(2), .side-by-side td:nth-child(5) { font-family: "Source Code Pro", monospace; }
.side-by-side .n { text-align: right; width: 3.2rem; }
.side-by-side .d { text-align: right; width: 6.5rem; font-variant-numeric: tabular-nums; font-weight: 600; }
.side-by-side .gap td { text-align: center; padding: 4px; border-block: 1px dashed rgba(128, 128, 128, 0.4); }
</style>"""


def show(lines: pd.DataFrame, value: str) -> None:
    """``lines`` as `snoopie.Comparison.file_lines` has them, of a value."""
    rows = list(_rows(lines, value))
    what = html.escape(f"B − A: {columns.heading(value)}")
    head = (
        f'<th class="n">A</th><th>Code in A</th><th class="d" title="{what}">Δ</th>'
        '<th class="n">B</th><th>Code in B</th>'
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows[:_ROWS])}</tbody></table>"
    # What scrolls can be reached with the keyboard.
    st.html(
        f'{_STYLE}<div class="side-by-side" tabindex="0" role="region" aria-label="Source side by side">{table}</div>'
    )
    if len(rows) > _ROWS:
        st.caption(f"The first {_ROWS:,} of {len(rows):,} rows that changed or moved something.")


def _rows(lines: pd.DataFrame, value: str) -> Iterator[str]:
    """Rows of the table: what moved something or has another text, and a few lines around it."""
    told = (lines["a"] > 0) | (lines["b"] > 0) | (lines["only"] != "") | _differ(lines)
    near = pd.Series(False, lines.index)
    for distance in range(-_AROUND, _AROUND + 1):
        near |= told.shift(distance, fill_value=False)
    largest = max(float(lines["change"].abs().max()) if len(lines) else 0.0, 1.0)
    left_out = 0
    for row, other, shown in zip(lines.to_dict("records"), _differ(lines), near, strict=True):
        if not shown:
            left_out += 1
            continue
        if left_out:
            yield f'<tr class="gap"><td colspan="5">{units.plural(left_out, "line", "lines")} as before</td></tr>'
            left_out = 0
        yield _row(row, bool(other), value, largest)


def _differ(lines: pd.DataFrame) -> pd.Series[bool]:
    # How far a line is indented says nothing of what it does.
    return lines["code"].str.strip() != lines["code_b"].str.strip()


def _row(row: Mapping[Hashable, object], other: bool, value: str, largest: float) -> str:
    cells = []
    for side, line, code in (("A", row["line"], row["code"]), ("B", row["line_b"], row["code_b"])):
        ground = f' style="background: {_GROUND[side]}"' if other and line else ""
        text = html.escape(visible(str(code))[:_LONGEST])
        cells.append(f'<td class="n">{line or ""}</td><td{ground} title="{text}">{text}</td>')
    a, b, change = (int(str(row[name])) for name in ("a", "b", "change"))
    said = columns.change(value, change) if change else "=" if a else ""
    colour = colours.MORE if change > 0 else colours.LESS
    part = 100 * abs(change) / largest
    bar = f"background: linear-gradient(to right, {colour}55 {part:.1f}%, transparent {part:.1f}%)" if change else ""
    exact = f"A {columns.say(value, a)}, B {columns.say(value, b)}"
    delta = f'<td class="d" style="{bar}" title="{html.escape(exact)}">{html.escape(said)}</td>'
    return f"<tr>{cells[0]}{delta}{cells[1]}</tr>"
