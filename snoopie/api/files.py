"""A trace as files for others: exports and the report, as on the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import pandas as pd

from snoopie.api.core import TraceCore
from snoopie.errors import UsageError

if TYPE_CHECKING:
    from snoopie.api.trace import Trace

Format = Literal["parquet", "csv", "sqlite", "chrome"]
# What the end of a file's name says.
_SUFFIXES: dict[str, Format] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".sqlite": "sqlite",
    ".db": "sqlite",
    ".json": "chrome",
    ".json.gz": "chrome",
}


class FileMethods(TraceCore):
    """Files of other kinds.

    What writes them is imported when it is needed.
    """

    def tables(self, table: str | None = None, *, lanes: bool = False) -> dict[str, pd.DataFrame]:
        """What `export` writes, for pandas: name → table, ids as columns.

        All tables and the traffic by every key, or one ``table`` alone. ``lanes`` adds one row a lane of every record.
        UsageError for a table that there is not.
        """
        from snoopie.exporters.tables import frames

        return frames(cast("Trace", self), table, lanes=lanes)

    def export(
        self,
        path: str | os.PathLike[str],
        format: Format | None = None,
        *,
        table: str | None = None,
        lanes: bool = False,
        force: bool = False,
    ) -> list[Path]:
        """Writes every table, and the traffic by every key; returns the files. As `snoopie export`.

        ``parquet`` and ``csv`` write a folder with a file for each table, or, with ``table``, that one as the file
        ``path``; ``sqlite`` one database; ``chrome`` a timeline for Perfetto. Without a format the name's end says it:
        .parquet, .csv, .sqlite, .db, .json, .json.gz. ``lanes`` adds one row a lane of every record. SnoopieError if a
        file exists (unless ``force``) or cannot be written, UsageError for a format or table that there is not.
        """
        from snoopie.exporters import chrome, folder, sqlite

        trace, path = cast("Trace", self), Path(path)
        kind = format or _format_of(path)
        if kind == "chrome":
            if table is not None or lanes:
                raise UsageError("a timeline has no tables and no lanes", "leave them out, or choose another format")
            chrome.export(trace, path, force=force)
        elif kind == "sqlite":
            sqlite.export(trace, path, table=table, lanes=lanes, force=force)
        elif table is not None:
            folder.export_table(trace, table, path, kind, force=force)
        else:
            return list(folder.export(trace, path, kind, lanes=lanes, force=force).values())
        return [path]

    def report(
        self,
        path: str | os.PathLike[str],
        sources: Iterable[str | os.PathLike[str]] = (),
        *,
        title: str = "",
        interactive: bool = False,
        force: bool = False,
    ) -> None:
        """Writes all that the trace shows as one HTML file, without scripts. As `snoopie report`.

        ``interactive``: a viewer instead, whose own script filters and zooms, of at most 10 MB whatever the trace.
        Source is quoted from the folders ``sources`` alone. SnoopieError if a folder is not there, and if the file
        exists (unless ``force``) or cannot be written.
        """
        from snoopie.report.file import write

        folders = [Path(source) for source in sources]
        for folder in folders:
            if not folder.is_dir():
                raise UsageError(f"there is no folder {folder}", "check the path")
        write(cast("Trace", self), Path(path), folders, interactive=interactive, title=title, force=force)


def _format_of(path: Path) -> Format:
    for suffix, kind in _SUFFIXES.items():
        if path.name.lower().endswith(suffix):
            return kind
    raise UsageError(f"{path} does not say which format it is to have", "give one of parquet, csv, sqlite, chrome")
