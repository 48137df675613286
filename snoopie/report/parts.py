"""What a report is made of. Texts are those of the trace, cut to what a page can show; the template escapes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, TypeAlias

import pandas as pd
from markupsafe import Markup
from matplotlib.figure import Figure

from snoopie.figures.picture import inline_svg, printable
from snoopie.words.columns import Kind, heading, kind, say

# So that a report stays small whatever a trace holds.
MOST_ROWS = 40
MOST_LETTERS = 160
# Texts, and names that end in a line's number, up to so many letters stay on one line.
_SHORT, _SHORT_PATH = 14, 44
# Columns of what instructions moved.
TRAFFIC = ("bytes", "accesses", "wire_bytes", "wire_efficiency")
# Columns with bars behind their numbers.
_BARS = ("bytes", "host_ns", "call_bytes")

# Where source files may be quoted from beside the trace itself; None: no source is quoted at all.
Folders: TypeAlias = Sequence[Path] | None
# Called with the section that is being made.
Progress: TypeAlias = Callable[[str], None]


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True)
class Sentences:
    """A list of sentences, each of which matters."""

    kind: ClassVar[str] = "sentences"
    texts: list[str]


@dataclass(frozen=True)
class KeyNumbers:
    """Numbers with their names, and in a few words what they mean."""

    kind: ClassVar[str] = "numbers"
    numbers: list[tuple[str, str, str]]


@dataclass(frozen=True)
class Cell:
    """A text; ``share`` (0 to 100) is the length of the bar behind it, None for none."""

    text: str
    share: float | None = None


@dataclass(frozen=True)
class Table:
    """Rows of cells. ``looks`` of columns: number, short (stays on one line) or text; ``more`` rows are left out, see
    ``where``.
    """

    kind: ClassVar[str] = "table"
    caption: str
    headings: list[str]
    looks: list[str]
    rows: list[list[Cell]]
    more: int = 0
    where: str = ""


@dataclass(frozen=True)
class Drawing:
    """A figure as SVG."""

    kind: ClassVar[str] = "drawing"
    svg: Markup
    caption: str


@dataclass(frozen=True)
class FindingCard:
    severity: str
    title: str
    where: str
    numbers: str
    threshold: str
    remedy: str


@dataclass(frozen=True)
class Findings:
    """What rules found, each with its numbers and what to do."""

    kind: ClassVar[str] = "findings"
    findings: list[FindingCard]


@dataclass(frozen=True)
class SourceLine:
    number: int
    code: str
    amount: str = ""
    share: float = 0.0


@dataclass(frozen=True)
class Listing:
    """Lines of a source file; where numbers are not neighbours, lines are left out."""

    kind: ClassVar[str] = "listing"
    file: str
    lines: list[SourceLine]


Part = Text | Sentences | KeyNumbers | Table | Drawing | Findings | Listing


@dataclass(frozen=True)
class Section:
    """A part of the report under a heading. Without parts, ``absent`` says why."""

    key: str
    title: str
    parts: list[Part] = field(default_factory=list)
    absent: str = ""


def drawing(figure: Figure, caption: str) -> Drawing:
    """A figure of `snoopie.figures`, which escape what they draw."""
    return Drawing(Markup(inline_svg(figure, caption)), caption)


def table(rows: pd.DataFrame, columns: Sequence[str], caption: str = "", where: str = "") -> Table:
    """The first rows of a table as text, without columns that are empty; ``where`` says what lists them all."""
    shown = rows.head(MOST_ROWS)
    made = {name: _column(name, shown[name]) for name in columns}
    made = {name: cells for name, cells in made.items() if any(cell.text for cell in cells)}
    cells = [list(row) for row in zip(*made.values(), strict=True)]
    looks = [_look(name, shown[name], cells) for name, cells in made.items()]
    return Table(caption, [heading(name) for name in made], looks, cells, len(rows) - len(shown), where)


def _look(name: str, values: pd.Series, cells: list[Cell]) -> str:
    if kind(name).is_amount:
        return "number"
    most = _SHORT_PATH if kind(name) is Kind.PATH else _SHORT
    return "short" if max(len(cell.text) for cell in cells) <= most else "text"


def _column(name: str, values: pd.Series) -> list[Cell]:
    largest = float(values.max()) if name in _BARS and len(values) else 0.0
    # Where an amount is not known, it has no bar.
    shares = [100 * float(value) / largest if value == value else None for value in values] if largest > 0 else None
    said = [cut(say(name, value), keep_end=kind(name) is Kind.PATH) for value in values.tolist()]
    return [Cell(text, shares[row] if shares else None) for row, text in enumerate(said)]


def cut(text: str, most: int = MOST_LETTERS, *, keep_end: bool = False) -> str:
    """A text on one line, not longer than a page can show."""
    if keep_end:
        return printable(text, most)
    clean = printable(text[: most + 1], most + 1)
    return clean if len(clean) <= most else clean[: most - 1] + "…"
