"""The lines of a source file with bars for what they moved; a click or an arrow key chooses a line."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import pandas as pd

from snoopie.analysis.source.highlight import Line
from snoopie.words import columns, units
from visualizer.components import component, event

# Rows that are sent at once; more come when they are scrolled to.
WINDOW = 1000
# Rows of a listing: browsers draw no element that is much higher.
MOST = 700_000

_mount = component("listing", "elements")
# Headings of the amounts; the last two where it was recorded how long kernels moved and waited.
_AMOUNTS = {
    "bytes": "Bytes",
    "accesses": "Accesses",
    "wire_efficiency": "Wire eff.",
    "moving": "Moving",
    "held": "Held",
}


def show(
    key: str,
    file: str,
    traffic: pd.DataFrame,
    chosen: int,
    *,
    total: int,
    first: int,
    lines: Sequence[Line] | None,
    about: str,
    on_choose: Callable[[int], None],
    on_scroll: Callable[[int], None],
) -> None:
    """Draws ``total`` rows, of which ``lines`` are those from the place ``first`` on.

    Of the amounts of ``traffic``, as `Trace.file_lines` has them, those are shown that are there, beside them the times
    ``moving`` and ``held`` (ns). ``lines`` None: the text is not known, and the rows are the lines of ``traffic``.
    ``about`` stands before amounts that are estimates. ``on_choose`` is told the number of a line, ``on_scroll`` the
    place of a row whose surroundings have to be sent.
    """

    # Nothing but whole numbers comes back, whatever the browser sends.
    def tell(name: str, to: Callable[[int], None]) -> Callable[[], None]:
        def changed() -> None:
            value = event(key, name)
            if isinstance(value, int) and 0 <= value < 1 << 31:
                to(value)

        return changed

    if lines is None:
        some = traffic.iloc[first : first + WINDOW]
        numbers = [int(line) for line in some["line"]]
    else:
        some = traffic[traffic["line"].between(first + 1, first + len(lines))]
        numbers = []
    _mount(
        key=key,
        data={
            "file": file,
            "amounts": [heading for name, heading in _AMOUNTS.items() if name in traffic],
            "total": total,
            "first": first,
            "chosen": chosen,
            # Kind and characters of a run one after another.
            "lines": [[part for run in line for part in run] for line in lines or []],
            # Of the rows sent, where they are not all lines.
            "numbers": numbers,
            "traffic": {int(row["line"]): _cells(row, traffic, about) for row in some.to_dict("records")},
            **_hot(traffic, total, lines is None),
        },
        on_line_change=tell("line", on_choose),
        on_top_change=tell("top", on_scroll),
    )


def _cells(row: dict[Hashable, Any], traffic: pd.DataFrame, about: str) -> list[list[float | str]]:
    """How long the bar is (0 to 1), what stands in it, and its exact value."""
    cells: list[list[float | str]] = []
    for name in _AMOUNTS:
        if name not in row:
            continue
        value = row[name]
        if not math.isfinite(value):
            cells.append([0, "", ""])
            continue
        largest = 1.0 if name == "wire_efficiency" else max(float(traffic[name].max()), 1.0)
        if name == "wire_efficiency":
            # A cell is narrow: why it is above 100 % is in the hint.
            text, exact = units.percent(value), columns.say(name, value)
        else:
            unit = ("ns " if name in ("moving", "held") else "") + columns.heading(name).lower()
            text, exact = columns.say(name, value), f"{value:,.0f} {unit}"
        cells.append([round(min(max(value / largest, 0), 1), 4), text, about + exact])
    return cells


def _hot(traffic: pd.DataFrame, total: int, places_are_rows: bool) -> dict[str, list[float]]:
    """The lines with traffic (the WINDOW largest), their rows, and how much of the largest each has."""
    most = traffic.assign(row=range(len(traffic)) if places_are_rows else traffic["line"] - 1)
    most = most.fillna({"bytes": 0}).nlargest(WINDOW, "bytes").sort_values("row")
    most = most[most["row"] < total]
    largest = max(float(most["bytes"].max()), 1.0) if len(most) else 1.0
    return {
        "hot": [int(line) for line in most["line"]],
        "hotRows": [int(row) for row in most["row"]],
        "heat": [round(value / largest, 3) for value in most["bytes"]],
    }
