"""The public object for two traces: `compare` and `Comparison`."""

from __future__ import annotations

import html
from collections.abc import Callable, Collection, Hashable
from functools import cached_property
from typing import Any, Literal

import pandas as pd

from snoopie.analysis.comparison import limits, same_lines
from snoopie.analysis.comparison import side_by_side as _side_by_side
from snoopie.analysis.comparison.limits import Limit
from snoopie.analysis.comparison.side_by_side import Number
from snoopie.analysis.memory import usage
from snoopie.analysis.source import texts
from snoopie.analysis.traffic.bounds import written_units
from snoopie.analysis.traffic.reading import Initiated, Reading, ends
from snoopie.analysis.traffic.values import VALUES, Value
from snoopie.api.arguments import checked, checked_methods
from snoopie.api.expect import amounts
from snoopie.api.loading import Source, load
from snoopie.api.notebook import rows_html
from snoopie.api.trace import Trace
from snoopie.trace.lacks import Lack
from snoopie.words import units

_OBJECT = ["name", "source", "owner", "kind"]
_OF_OBJECTS = [*VALUES, "copied_in", "copied_out", "size", "objects"]


@checked_methods
class Comparison:
    """Two traces, or views of them, side by side: ``a`` is what was, ``b`` what is now.

    Tables have the columns a, b, change (b - a), ratio (b / a, NaN where a is 0) and only ("A" or "B" for what the
    other does not have, else ""), largest change first. What is compared is matched by name: places by their labels
    (GPUs by number; each trace may have another number of them), kernels by their whole name with template arguments,
    lines by file and text, objects by variable and line.
    """

    def __init__(self, a: Trace, b: Trace) -> None:
        self.a = a
        self.b = b

    def summary(self) -> pd.DataFrame:
        """metric | a b change ratio: `comparison.limits.METRICS`, and wire_efficiency; None where not known.

        Of views, memory is divided by `snoopie.analysis.selection.MEMORY_BY` alone.
        """
        return _side_by_side.summary(*self._summaries)

    def summary_in_words(self) -> pd.DataFrame:
        """metric | a b change ratio: `summary` as text, with units"""
        table = self.summary()
        return _side_by_side.in_words(table, table.index, self.about)

    def matrices(
        self, value: Value = "bytes", reading: Reading = "issued", initiated: Initiated = "device"
    ) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """`Trace.matrix` of A and of B, and B - A, all three over the places of both; int64"""
        a, b = (trace.matrix(value, reading, initiated) for trace in self._both)
        return _side_by_side.matrices(a, b, _side_by_side.place_order(trace.places for trace in self._both))

    def matrix(
        self, value: Value = "bytes", reading: Reading = "issued", initiated: Initiated = "device"
    ) -> pd.DataFrame:
        """`Trace.matrix` of B minus that of A, over the places of both; int64"""
        return self.matrices(value, reading, initiated)[2]

    def by_pair(
        self, value: str = "bytes", reading: Reading = "issued", initiated: Initiated = "device"
    ) -> pd.DataFrame:
        """issuer owner (``flow``: from to) as labels, a b change ratio only, of a value of `Trace.by_pair`"""
        return _side_by_side.side_by_side(*self._pairs(reading, initiated), ends(reading), value)

    def by_kernel(self, value: str = "bytes") -> pd.DataFrame:
        """kernel a b change ratio only, of a value of `Trace.by_kernel`, launches too"""
        return _side_by_side.side_by_side(*self._kernels, ["kernel"], value)

    def by_line(self, value: str = "bytes") -> pd.DataFrame:
        """file line kernel (names joined by ", ") line_b (its number in B, 0 where it has no traffic in B) a b change
        ratio only; file, line and kernel are A's where the line has traffic in A.

        A file is the same where its path is or, built elsewhere, where the ends of the paths are: see `files`. A line
        is the same by its text, where both traces hold it, else by its instructions: also where others were put in
        before it.
        """
        keys, carried = ["file", "at"], ["line", "kernel"]
        a, b = self._lines
        table = _side_by_side.side_by_side(a, b, keys, value, carried=carried)
        return _with_lines_of_b(table, b, "kernel")

    def file_lines(self, file: str, value: str = "bytes", text: str | None = None) -> pd.DataFrame:
        """line code line_b code_b, a b change only, of a value of `Trace.by_line`: a file of A (or one of B alone) and
        what it became, in their order; line or line_b is 0 where the other has none.

        All lines where the traces hold their text; else those with traffic. ``text`` is that of a file whose text
        neither holds: it is shown where the lines of both are the same.
        """
        other = next((b for b, a in self._same_files.items() if a == file), file)
        own, its = (
            table[(table["file"] == name) & (table["line"] > 0)].groupby("line")[value].sum()
            for table, name in zip(self._own_lines, (file, other), strict=True)
        )
        same = self._same_lines(file, other)
        texts_ = [self.a.source(file), self.b.source(other)]
        if texts_ == [None, None] and all(line == there for line, there in same.items()):
            texts_ = [text, text]
            same |= {line: line for line in range(1, 1 + len(texts.split(text or "")))}
        codes = [[] if one is None else texts.split(one) for one in texts_]
        of_a, of_b = (
            sorted({*range(1, len(code) + 1), *table.index.tolist()})
            for code, table in zip(codes, (own, its), strict=True)
        )
        found = pd.DataFrame(same_lines.aligned(of_a, of_b, same), columns=["line", "line_b"], dtype="int64")
        for name, line, code, amount, table in (
            ("code", "line", codes[0], "a", own),
            ("code_b", "line_b", codes[1], "b", its),
        ):
            known = [code[at - 1] if 0 < at <= len(code) else "" for at in found[line].tolist()]
            found[name] = pd.Series(known, found.index, dtype="str")
            found[amount] = table.reindex(found[line], fill_value=0).to_numpy("int64")
        found["change"] = found["b"] - found["a"]
        only = found["line_b"].eq(0).map({True: "A", False: ""}).where(found["line"] > 0, "B")
        return found[["line", "code", "line_b", "code_b", "a", "b", "change"]].assign(only=only.astype("str"))

    @property
    def has_native(self) -> bool:
        """True if both traces have a clean recording, and so native times"""
        return self.a.clean is not None and self.b.clean is not None

    def times(self, by: Literal["kernel", "line", "pair"] = "kernel") -> pd.DataFrame:
        """kernel (line: file line line_b, as in `by_line`; pair: from to), a b change ratio only (ns): the native times
        of launches that moved something, where both traces have them (`has_native`), else how long the links need at
        least for what moved, which is exact however slow instrumentation was. Of a pair always the latter."""
        value = "native_time" if self.has_native and by != "pair" else "least_time"
        sides = [trace.native_by(by) if value == "native_time" else trace.least_times(by) for trace in self._both]
        a, b = (table[table[value] > 0].astype({value: "int64"}) for table in sides)
        if by != "line":
            keys = ["kernel"] if by == "kernel" else ["from", "to"]
            # Names may be categories, which the tables of the app cannot read.
            one, other = (table.astype(dict.fromkeys(keys, "str")) for table in (a, b))
            return _side_by_side.side_by_side(one, other, keys, value)
        lines_a, lines_b = (table[["file", "line", "at"]] for table in self._lines)
        lines_b = lines_b.assign(own=self._own_lines[1]["file"])
        a = a.merge(lines_a.drop_duplicates(), on=["file", "line"])
        b = b.rename(columns={"file": "own"}).merge(lines_b.drop_duplicates(), on=["own", "line"])
        keys = ["file", "at"]
        in_a = pd.MultiIndex.from_frame(b[keys]).isin(pd.MultiIndex.from_frame(lines_a[keys]))
        named = b.assign(line=b["at"].where(in_a, b["line"]))
        kept = [*keys, "line", value]
        table = _side_by_side.side_by_side(a[kept], named[kept], keys, value, carried=["line"])
        return _with_lines_of_b(table, b, "line")

    def by_object(self, value: str = "bytes") -> pd.DataFrame:
        """name source (line) owner (label) kind, a b change ratio only, of a value of `Trace.by_object`, of the
        ``size`` (bytes) or the number of ``objects``; those that agree in name, source, owner and kind are added up.

        Objects that something touched. Where name and line are not known, owner and kind alone say what is the same.
        """
        return _side_by_side.side_by_side(*self._objects, _OBJECT, value)

    def files(self) -> pd.DataFrame:
        """a b: the paths of files with traffic that are the same file at different paths"""
        others = sorted((one, other) for other, one in self._same_files.items() if one != other)
        return pd.DataFrame(others, columns=["a", "b"], dtype="str")

    def exceeded(self, increase: Collection[str] = (), decrease: Collection[str] = ()) -> list[str]:
        """Sentences on what grew, or shrank, by more than it may; [] if nothing did. docs/ci.md.

        A limit is "bytes:5%" of all, "bytes/line:10%" of each line (or pair, kernel, object) by itself, or
        "bytes(GPU 0 -> GPU 1):0" of a part of the traffic, with the selectors of docs/expect.md. UsageError for what is
        none, SnoopieError where a trace does not have the metric.
        """
        every = [Limit.parse(text) for text in increase] + [Limit.parse(text, "decrease") for text in decrease]
        return [sentence for limit in every for sentence in self._exceeded(limit)]

    @property
    def different(self) -> bool:
        """True if any amount of the summary, of a pair, a kernel or a line is another in B"""
        tables: list[Callable[[str], pd.DataFrame]] = [self.by_pair, self.by_kernel, self.by_line]
        return (
            any(bool(change) for change in self.summary()["change"] if change == change)
            or bool(self.by_pair("bytes", "issued", "host")["change"].any())
            or any(bool(by(value)["change"].any()) for by in tables for value in VALUES)
        )

    @property
    def about(self) -> tuple[str, str]:
        """What stands before an amount of A, and of B, for people: "≈ " where it is an estimate"""
        return _about(self.a), _about(self.b)

    def remarks(self) -> list[str]:
        """What the reader of a comparison has to know, in plain sentences: how the recordings differ, what was matched
        by less than its whole name, what one of the traces or both do not show."""
        sentences = []
        if self.a.paths == self.b.paths:
            sentences.append("A and B are the same recording.")
        a, b = (units.plural(len(trace.processes), "process", "processes") for trace in self._both)
        if a != b:
            sentences.append(f"A is of {a}, B of {b}.")
        a, b = (units.plural(len(trace.gpus), "GPU", "GPUs") for trace in self._both)
        if a != b:
            sentences.append(f"A has {a}, B has {b}: they are matched by their numbers.")
        a, b = (", ".join(trace.gpus["name"].drop_duplicates()) or "none" for trace in self._both)
        if a != b:
            sentences.append(f"The GPUs are others: {a} in A, {b} in B.")
        if moved := len(self.files()):
            which = "1 file has another path" if moved == 1 else f"{moved} files have other paths"
            sentences.append(f"{which} in B than in A: matched by the paths' ends.")
        of_host = [{setting.get("host_memory", True) for setting in trace.settings} for trace in self._both]
        if of_host[0] != of_host[1]:
            sentences.append("Accesses to the host's memory were not measured alike in A and B.")
        unit_a, unit_b = (written_units(trace.sites) for trace in self._both)
        if unit_a and unit_b and unit_a != unit_b:
            sentences.append(
                "What is written was not counted in the same wire units in A and B: traces of format 3 have units of "
                "32 bytes, later ones of 16. Its wire bytes are no measure of a change."
            )
        of_a, of_b = (trace.losses() for trace in self._both)
        sentences += [f"A and B: {sentence}" for sentence in of_a if sentence in of_b]
        sentences += [f"A: {sentence}" for sentence in of_a if sentence not in of_b]
        sentences += [f"B: {sentence}" for sentence in of_b if sentence not in of_a]
        return sentences

    # How it shows itself

    def __repr__(self) -> str:
        return f"<Comparison: A {self.a!r}, B {self.b!r}>"

    def _repr_html_(self) -> str:
        titles = zip(_side_by_side.SIDES, self._both, strict=True)
        traces = "".join(f"<p>{side}: {html.escape(repr(trace))}</p>" for side, trace in titles)
        remarks = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self.remarks())
        return f"<div>{traces}{rows_html(self.summary_in_words().reset_index())}<ul>{remarks}</ul></div>"

    # Inside. Tables of A and B are kept: they serve every value.

    @property
    def _both(self) -> tuple[Trace, Trace]:
        return self.a, self.b

    @cached_property
    def _summaries(self) -> tuple[dict[str, Number], dict[str, Number]]:
        return _summary(self.a), _summary(self.b)

    def _exceeded(self, limit: Limit) -> list[str]:
        if limit.quantity is not None:
            found = limit.sentence(limit.of, *amounts(limit.quantity, self._both))
        elif not limit.key:
            found = limit.exceeded(self.summary())
        else:
            table: pd.DataFrame = getattr(self, f"by_{limit.key}")(limit.metric)
            return limit.exceeded_rows(table, [_row_name(limit.key, row) for row in table.to_dict("records")])
        return [] if found is None else [found]

    @cached_property
    def _known_pairs(self) -> dict[tuple[Reading, Initiated], tuple[pd.DataFrame, pd.DataFrame]]:
        return {}

    def _pairs(self, reading: Reading, initiated: Initiated) -> tuple[pd.DataFrame, pd.DataFrame]:
        key = (reading, initiated)
        if key not in self._known_pairs:
            self._known_pairs[key] = (self.a.by_pair(*key), self.b.by_pair(*key))
        return self._known_pairs[key]

    @cached_property
    def _kernels(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        return self.a.by_kernel(), self.b.by_kernel()

    @cached_property
    def _own_lines(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        return self.a.by_line(), self.b.by_line()

    @cached_property
    def _same_files(self) -> dict[str, str]:
        a, b = self._own_lines
        return _side_by_side.same_files(a["file"], b["file"])

    @cached_property
    def _lines(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        a, b = self._own_lines
        named = [self._same_files.get(file, file) for file in b["file"]]
        same = {
            (file, other): self._same_lines(file, other)
            for file, other in dict.fromkeys(zip(named, b["file"], strict=True))
            if file in set(a["file"])
        }
        # A line that A does not have stands apart from whichever has its number there.
        at = [
            same.get((file, other), {}).get(line, -line) if line else 0
            for file, other, line in zip(named, b["file"], b["line"].tolist(), strict=True)
        ]
        return a.assign(at=a["line"]), b.assign(file=pd.Series(named, b.index, dtype="str"), at=at)

    def _same_lines(self, file: str, other: str) -> dict[int, int]:
        """line of a file of B → line of the same file of A."""
        a, b = self.a.source(file), self.b.source(other)
        if a is not None and b is not None:
            return same_lines.by_text(texts.split(a), texts.split(b))
        own, its = (sites[sites["file"] == name] for sites, name in zip(self._sites, (file, other), strict=True))
        return same_lines.by_code(own, its)

    @cached_property
    def _sites(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        return self.a.by_site(), self.b.by_site()

    @cached_property
    def _objects(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        return _by_name(self.a.by_object()), _by_name(self.b.by_object())


@checked
def compare(a: Trace | Source, b: Trace | Source) -> Comparison:
    """Two traces side by side. What is no trace yet is loaded, as by `load`: ``compare("before.zst", "after/")``."""
    return Comparison(*(one if isinstance(one, Trace) else load(one) for one in (a, b)))


def _summary(trace: Trace) -> dict[str, Number]:
    sums = trace.summary()
    # Without any object, allocations were not recorded.
    seen = len(trace.objects) > 0
    peaks, left = trace.memory_watermark(total=True)["peak"], trace.leaks()
    never_freed = left.loc[left["state"] == usage.NEVER_FREED, "bytes"]
    return {
        **{metric: sums[metric] for metric in limits.METRICS if metric in sums},
        "peak_memory": int(peaks.max()) if len(peaks) else 0 if seen else None,
        "leaks": int(never_freed.sum()) if seen and trace.complete and not trace.lacks(Lack.FREES) else None,
        "wire_efficiency": sums["wire_efficiency"],
    }


def _by_name(table: pd.DataFrame) -> pd.DataFrame:
    """Rows of `Trace.by_object`, those added up that agree in _OBJECT."""
    # Object 0 is what belongs to none.
    table = table.assign(objects=(table["object"] > 0).astype("int64"))
    return table.groupby(_OBJECT, sort=False)[_OF_OBJECTS].sum().reset_index()


def _with_lines_of_b(table: pd.DataFrame, b: pd.DataFrame, after: str) -> pd.DataFrame:
    """A comparison by file and ``at``, which goes, with the number of the line in B, or 0, behind a column."""
    keys = ["file", "at"]
    there = b.drop_duplicates(keys).set_index(keys)["line"]
    found = there.reindex(pd.MultiIndex.from_frame(table[keys]), fill_value=0).to_numpy("int64")
    table.insert(list(table.columns).index(after) + 1, "line_b", found)
    return table.drop(columns="at")


def _row_name(key: str, row: dict[Hashable, Any]) -> str:
    """What a row of a comparison is of."""
    if key == "pair":
        return f"{row['issuer']} -> {row['owner']}"
    if key == "line":
        return f"{row['file']}:{row['line']}" if row["line"] else "unknown lines"
    if key == "object" and not row["owner"]:
        return "no known object"
    if key == "object":
        return " ".join(filter(None, (row["name"] or "an allocation", row["source"], f"on {row['owner']}")))
    return str(row[key])


def _about(trace: Trace) -> str:
    return "≈ " if trace.estimated else ""
