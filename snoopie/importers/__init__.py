"""Other tools' files → the same tables, or traces of them. Importers know the tables, and nothing of one another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# Told of long work: what is being read, and how many rows of it were.
Progress = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Imported:
    """The traces that an importer wrote, one a process, and sentences on what they lack."""

    paths: list[Path]
    notices: list[str]
