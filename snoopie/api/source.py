"""Traffic by source file, line and instruction."""

from __future__ import annotations

import pandas as pd

from snoopie.analysis.objects import alike
from snoopie.analysis.objects import by_object as _by_object
from snoopie.analysis.source import lines as _lines
from snoopie.analysis.source import tree
from snoopie.analysis.traffic import counts as _counts
from snoopie.analysis.traffic import pairs, story
from snoopie.analysis.traffic.pairs import Cell
from snoopie.analysis.traffic.reading import Reading
from snoopie.api.core import PAIR
from snoopie.api.notebook import Matrix, Rows
from snoopie.api.objects import ObjectMethods
from snoopie.api.texts import TextMethods
from snoopie.api.traffic import TrafficMethods
from snoopie.errors import warn

# Keys of sums.
_LINE = ("file", "line")


class SourceMethods(TrafficMethods, ObjectMethods, TextMethods):
    """Traffic by the code that caused it."""

    def story(self) -> str:
        """A sentence: which line (or kernel, without lines) moves most, between whom, and how efficiently."""
        sums = self._sums("file", "line", "kernel", *PAIR)
        return story.sentence(sums, len(self.gpus), int(self.copies["bytes"].sum()))

    def by_line(self) -> pd.DataFrame:
        """file line kernel (names joined by ", "), values; file "" and line 0 for what has no line"""
        return Rows(_counts.by_line(self._sums("file", "line", "kernel")))

    def by_site(self, *, merged: bool = False) -> pd.DataFrame:
        """site kernel (names joined by ", ") function file line offset opcode operation width wire_unit sass, values;
        ``merged``: the same instruction of several processes as one row, with the kernels of all"""
        return Rows(_counts.by_site(self._sums("site", "kernel"), self.sites, merged=merged))

    def by_file(self) -> pd.DataFrame:
        """file lines (with traffic), values; file "" for what has no line"""
        return _counts.by_file(self._sums(*_LINE))

    def file_tree(self) -> pd.DataFrame:
        """path name depth folder (bool) bytes share: the files of `by_file`, and those in which kernels only waited, in
        their folders, most bytes first.

        A folder (its path ends in "/") is followed by what it holds, one deeper; folders on the way to a single one are
        part of its name.
        """
        moved = self.by_file()[["file", "bytes"]]
        waited = self.sites.loc[self.waits["site"].unique(), "file"].unique()
        only = pd.Index(waited).difference(pd.Index(moved["file"]))
        return tree.tree(pd.concat([moved, pd.DataFrame({"file": only, "bytes": 0})]))

    def file_lines(self, file: str) -> pd.DataFrame:
        """line kernel, values, for the lines of one file in its order"""
        self._warn_of(file)
        return Rows(_lines.file_lines(self._sums("file", "line", "kernel"), file))

    def line_sites(self, file: str, line: int, *, merged: bool = False) -> pd.DataFrame:
        """The rows of `by_site` of one line"""
        self._warn_of(file)
        own = _lines.of_line(self._sums(*_LINE, "site", "kernel"), file, line)
        return _counts.by_site(own, self.sites, merged=merged)

    def line_matrix(self, file: str, line: int, value: Cell = "bytes", reading: Reading = "issued") -> pd.DataFrame:
        """The `matrix` of one line"""
        self._warn_of(file)
        of_line = _lines.of_line(self._sums(*_LINE, *PAIR), file, line)
        table = pairs.matrix(_counts.directed(of_line, reading), self._nodes("device"), value, self.label)
        return Matrix.of(table, value)

    def line_kernels(self, file: str, line: int) -> pd.DataFrame:
        """The rows of `by_kernel` of one line"""
        self._warn_of(file)
        return _counts.by_kernel(_lines.of_line(self._sums(*_LINE, "kernel", "launch"), file, line))

    def line_objects(self, file: str, line: int, *, merged: bool = False) -> pd.DataFrame:
        """The rows of `by_object` of one line, without copies: the allocations that it touched. Object 0 is memory of
        no known object, or of objects that neither counts nor records tell apart. ``merged``: as there.

        Goes through the records, once a trace, where counts alone do not tell all.
        """
        self._warn_of(file)
        counts = _lines.of_line(self._sums(*_LINE, "launch", "site", "owner", "object"), file, line)
        recorded = self._touched if (counts["object"] == 0).any() else _by_object.merged([])
        divided = _by_object.divided(counts, recorded)
        every = self._named(_by_object.by_object_alone(divided, self.objects, self.label))
        return alike.merged(every, self.arrays()) if merged else every

    def line_stacks(self, file: str, line: int) -> pd.DataFrame:
        """stack source kernel launches (with traffic) measured (of these), values: the calls that launched the kernels
        which executed a line. ``source`` is the `stack_label` of the stack, 0 and "" where it is not known.
        """
        self._warn_of(file)
        own = _lines.of_line(self._sums(*_LINE, "kernel", "launch"), file, line)
        table = _counts.by_stack(self._with_launches(own, "stack"))
        table.insert(1, "source", self.stack_label(table["stack"]))
        return table

    def line_chain(self, line_id: int) -> list[tuple[str, int, str]]:
        """(file, line, function) of a line and of the lines it was inlined at, innermost first"""
        return _lines.line_chain(self.lines, line_id)

    def _warn_of(self, file: str) -> None:
        """Warns of a file that no line of the whole trace is in; "" is where no line is known."""
        if file and not (self._tables.lines["file"] == file).any():
            warn(f"file: nothing is called {file}", "take a file of by_file()")
