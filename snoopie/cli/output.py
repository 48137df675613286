"""Tables and commands as text: aligned for people, cut to the width of a terminal, whole and plain in a pipe."""

from __future__ import annotations

import math
import os
import shlex
import shutil
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from snoopie.extras import APP, missing
from snoopie.files import to_standard_output
from snoopie.words import remedies
from snoopie.words.columns import Kind, heading, kind
from snoopie.words.text import briefly, cut, visible, visible_lines

if TYPE_CHECKING:
    import pandas as pd

_GAP = "  "
# A text column that has to give way on a narrow terminal keeps this much.
_LEAST = 12
# Letters of anything from a trace that is shown and is no cell: a path has at most 4,096. --csv and --json have all of
# them.
_LONGEST = 10_000


def clean(text: object) -> str:
    """Text from a trace for a terminal: one line, without the control characters that could steer it."""
    return visible(cut(str(text), _LONGEST))


def in_shell_words(text: str) -> str:
    """A sentence of the reader, which names remedies in Python, for someone at a shell."""
    return clean(remedies.in_shell_words(text))


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at the stream."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def print_table(table: pd.DataFrame, stream: TextIO | None = None) -> None:
    """Print the columns of a table in their order, amounts with their units."""
    stream = stream or sys.stdout
    names = [str(name) for name in table.columns]
    columns = [[heading(name), *_cells(name, table[name].tolist())] for name in names]
    widths = [max(map(len, cells)) for cells in columns]
    right = [kind(name).is_number or table[name].dtype.kind in "iuf" for name in names]
    bold = narrow = False
    if is_terminal(stream):
        narrow = True
        widths = _fit(widths, right, shutil.get_terminal_size().columns)
        bold = "NO_COLOR" not in os.environ
    placed = [_placed(*column, narrow) for column in zip(columns, names, widths, right, strict=True)]
    for row, line in enumerate(zip(*placed, strict=True)):
        text = _GAP.join(line).rstrip()
        print(f"\033[1m{text}\033[0m" if bold and row == 0 else text, file=stream)


def _cells(name: str, values: Iterable[object]) -> list[str]:
    of = kind(name)

    def write(value: object) -> str:
        return briefly(of.say(value), keep_end=of is Kind.PATH)

    # Of ten thousand processes most say the same. Values of other types can be equal and yet read differently.
    once = cache(write)
    return [once(value) if type(value) in (int, str) else write(value) for value in values]


def print_data(text: str) -> None:
    """Print lines for programs: as they are, unless a person looks at them."""
    # Also a terminal that says it is dumb may act on what it is sent.
    sys.stdout.write(visible_lines(text) if sys.stdout.isatty() else text)


def print_pairs_of_values(rows: Iterable[tuple[str, object]], stream: TextIO | None = None) -> None:
    """Print `name  value` lines with the values below one another."""
    cells = [(name, clean(value)) for name, value in rows]
    width = max((len(name) for name, _ in cells), default=0)
    for name, value in cells:
        print(f"{name:<{width}}{_GAP}{value}", file=stream or sys.stdout)


def shell_words(words: Iterable[str]) -> str:
    """Words as one would type them, in bash or zsh where they have letters that cannot be printed."""
    return " ".join(shlex.quote(word) if word.isprintable() else _in_escapes(word) for word in words)


def json_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table, column → value, as `json` takes them."""
    names = [str(name) for name in table.columns]
    columns = [[json_value(value) for value in table[name]] for name in table.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def json_value(value: Any) -> Any:
    """A value of a table; None for what is not a number."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    # numpy's numbers are no numbers to json
    return value.item() if hasattr(value, "item") else value


def say_written(path: Path, sentence: str) -> None:
    """Say what was written, on stderr where the file itself went to standard output."""
    print(clean(sentence), file=sys.stderr if to_standard_output(path) else sys.stdout, flush=True)


def size_of(path: Path) -> str:
    """ ", 1,234 bytes" of a file that was written; nothing of a pipe or a device."""
    return f", {path.stat().st_size:,} bytes" if path.is_file() and not to_standard_output(path) else ""


def print_next(*words: str) -> None:
    """Say, on stderr, which command comes next; what it needs and may not be there is installed first."""
    first = "pip install 'snoopie[app]' && " if words[0] == "view" and missing(APP) else ""
    print(f"Next: {first}snoopie {shell_words(words)}", file=sys.stderr, flush=True)


def _in_escapes(word: str) -> str:
    # A file's name can steer a terminal as well. What is no text in it has come as letters that stand for bytes.
    word = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{''.join(letter if letter.isprintable() else _bytes(letter) for letter in word)}'"


def _bytes(letter: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", "surrogateescape"))


def _placed(cells: Iterable[str], name: str, width: int, right: bool, narrow: bool) -> list[str]:
    if narrow:
        keep_end = kind(name) is Kind.PATH
        cells = [cut(text, width, keep_end=keep_end) for text in cells]
    return [text.rjust(width) if right else text.ljust(width) for text in cells]


def _fit(widths: list[int], right: list[bool], total: int) -> list[int]:
    """Narrow the widest text columns until the line fits; amounts stay whole."""
    widths = list(widths)
    texts = [i for i, is_right in enumerate(right) if not is_right]
    while texts and sum(widths) + len(_GAP) * (len(widths) - 1) > total:
        widest = max(texts, key=lambda i: widths[i])
        if widths[widest] <= _LEAST:
            break
        widths[widest] -= 1
    return widths
