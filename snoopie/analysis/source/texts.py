"""Text of source files that a trace holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd

from snoopie.analysis.source.finder import read_bytes
from snoopie.errors import UsageError
from snoopie.trace.columns import decode

# A line of code that is shown beside numbers is no longer than this.
_LONGEST = 200


def by_file(sources: pd.DataFrame) -> dict[str, str]:
    """The text of each file that is kept; of several processes that of the first."""
    kept = sources[sources["kept"]].drop_duplicates("file")
    return dict(zip(kept["file"], kept["text"], strict=True))


def split(text: str) -> list[str]:
    """The lines of a file as compilers count them: Python would also end them at form feeds."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


class Lines:
    """Single lines of files; each file is divided when a line of it is first wanted."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._divided: dict[str, list[str]] = {}

    def of(self, files: Iterable[str], lines: Iterable[int]) -> list[str]:
        """The text of each line without indentation, "" where it is not known."""
        return [self._line(file, int(line)) for file, line in zip(files, lines, strict=True)]

    def _line(self, file: str, line: int) -> str:
        if file not in self._texts or line < 1:
            return ""
        if file not in self._divided:
            self._divided[file] = split(self._texts[file])
        own = self._divided[file]
        return own[line - 1].strip()[:_LONGEST] if line <= len(own) else ""


def differs(path: Path, text: str) -> bool:
    """Whether a file that was found here is not the one of this recorded text."""
    try:
        return decode(read_bytes(path)) != text
    except UsageError:
        return True
