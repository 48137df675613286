"""The text of source files, as it was recorded."""

from __future__ import annotations

from functools import cached_property

import pandas as pd

from snoopie.analysis.source import texts
from snoopie.api.attributes import TraceAttributes


class TextMethods(TraceAttributes):
    """What source files said when the program ran."""

    def source(self, file: str) -> str | None:
        """The text of a file (of ``lines``) when its code was first launched; None if the trace does not hold it.

        Of processes that had different files of this name the first counts; ``source_files`` has them all.
        """
        return self._whole._texts.get(file)

    def _code(self, table: pd.DataFrame) -> list[str]:
        """The text of the line of each row, in ``file`` and ``line``; "" where the trace does not hold it."""
        return self._whole._lines_of_code.of(table["file"], table["line"])

    @cached_property
    def _texts(self) -> dict[str, str]:
        return texts.by_file(self.source_files)

    @cached_property
    def _lines_of_code(self) -> texts.Lines:
        return texts.Lines(self._texts)
