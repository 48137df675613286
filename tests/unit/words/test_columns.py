"""Every surface takes its columns from `snoopie.words.columns`: none has others, or other headings."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import snoopie
from snoopie.api.notebook import Rows, rows_html
from snoopie.cli import main, output
from snoopie.cli.traffic import TABLES
from snoopie.report import page
from snoopie.words import columns
from snoopie.words.columns import COLUMNS, Kind
from tests.support import busy, mixed, ring
from tests.support.pages import view
from visualizer import pages
from visualizer.components.table import Column
from visualizer.parts import tables

HEADINGS = {column.heading for column in COLUMNS.values()}
# Squares whose columns are places, curves whose columns are kinds of memory, and what needs another tool's file.
OTHERS = {"matrix", "link_matrix", "line_matrix", "memory_curve", "object_heat", "object_rows", "object_offsets"}
OF_FILES = {
    "tensors",
    "by_tensor",
    "nvidia_smi",
    "native_by",
    "native_times",
    "native_overlap",
    "native_arrivals",
    "native_matching",
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Traces that have, together, traffic, copies, collectives, driver calls, times, objects and stacks."""
    made = tmp_path_factory.mktemp("traces")
    (made / "mixed").mkdir()
    return [mixed.write_mixed(made / "mixed"), busy.write_busy(made), ring.write_ring(made)]


@pytest.fixture(scope="module")
def trace(sources: list[Path]) -> snoopie.Trace:
    return snoopie.load(sources, all_runs=True)


def analyses(trace: snoopie.Trace) -> Iterator[tuple[str, pd.DataFrame]]:
    """Every table that a method of a trace makes, with the method's name."""
    first, last = trace.period
    line = trace.by_line().iloc[0]
    signature = trace.by_collective().iloc[0][["operation", "reduction", "type", "communicator"]]
    some = {
        "activity_blocks": (first, last),
        "activity_within": (first, last),
        "activity_of": ("kernel", 1),
        "activity_sums": (first, last),
        "activity_busy": (first, last),
        "activity_search": ("e",),
        "by": ("kernel", "line"),
        "calls_behind": tuple(signature),
        "file_lines": (line["file"],),
        "file_waits": (line["file"],),
        **dict.fromkeys(
            ("line_kernels", "line_objects", "line_sites", "line_stacks"), (line["file"], int(line["line"]))
        ),
        "object_reuse": (int(trace.objects.index[0]),),
        "single_calls": (str(trace.by_call()["call"].iloc[0]),),
        "stack": (1,),
    }
    for name, method in inspect.getmembers(snoopie.Trace, inspect.isfunction):
        returns = str(inspect.signature(method).return_annotation)
        if not name.startswith("_") and returns.endswith("DataFrame") and name not in OTHERS | OF_FILES:
            yield name, getattr(trace, name)(*some.get(name, ()))


def test_every_column_is_explained() -> None:
    for name, column in COLUMNS.items():
        assert column.heading[0].isupper() or column.heading[0].isdigit(), name
        assert column.meaning.endswith((".", "…")), name


def test_all_results_have_known_columns(trace: snoopie.Trace) -> None:
    found = dict(analyses(trace))
    assert len(found) > 40
    unknown = {name: [column for column in table if column not in COLUMNS] for name, table in found.items()}
    assert not {name: which for name, which in unknown.items() if which}


def test_a_comparison_has_known_columns(trace: snoopie.Trace) -> None:
    both = snoopie.compare(trace, trace)
    for table in (
        both.summary_in_words().reset_index(),
        both.by_pair(),
        both.by_kernel(),
        both.by_line(),
        both.by_object(),
    ):
        assert set(table) <= set(COLUMNS)
    assert set(both.summary().index) <= set(COLUMNS)
    assert headings(both._repr_html_()) == ["Amount", "A", "B", "Change", "B / A"]


class _Headings(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = False

    def handle_starttag(self, tag: str, _: list[tuple[str, str | None]]) -> None:
        self._inside = tag == "th"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.found.append(data)
            self._inside = False


def headings(markup: str) -> list[str]:
    read = _Headings()
    read.feed(markup)
    return read.found


def test_notebooks(trace: snoopie.Trace) -> None:
    shown = [table for _, table in analyses(trace) if isinstance(table, Rows)]
    assert len(shown) > 6
    for table in shown:
        assert headings(rows_html(table)) == [columns.heading(name) for name in table]


def test_the_report(trace: snoopie.Trace) -> None:
    found = headings(page.render(trace))
    assert len(found) > 60
    assert set(found) <= HEADINGS


COMMANDS = [
    ["info"],
    *(["stats", "--by", by] for by in TABLES if by != "tensor"),
    ["stats", "--reading", "flow"],
    ["calls"],
    ["calls", "--by", "thread"],
    ["memory"],
    ["memory", "--watermark", "--total"],
    ["summary"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_the_command_line(command: list[str], sources: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(output, "heading", lambda name: shown.append(name) or columns.heading(name))
    assert main([*command, "--all-runs", *map(str, sources)]) == 0
    assert shown
    # Settings are named by the collector, which a trace's header repeats.
    settings = (
        {name for own in snoopie.load(sources, all_runs=True).settings for name in own}
        if command == ["info"]
        else set()
    )
    assert set(shown) - settings <= set(COLUMNS)


def rows_of(told: Any) -> Iterator[dict[str, Any]]:
    """The rows of all tables in JSON: objects in lists."""
    for value in told.values() if isinstance(told, dict) else ():
        if isinstance(value, list):
            yield from (row for row in value if isinstance(row, dict))
            for row in value:
                yield from rows_of(row)


@pytest.mark.parametrize(
    "command", [[*words, "--json"] for words in COMMANDS[1:]] + [["findings", "--json"]], ids=" ".join
)
def test_json_of_the_command_line(command: list[str], sources: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--all-runs", *map(str, sources)]) == 0
    rows = list(rows_of(json.loads(capsys.readouterr().out)))
    assert rows or command[0] == "findings"
    assert {name for row in rows for name in row} - {"rows"} <= set(COLUMNS)


@pytest.mark.parametrize("name", [one.name for one in pages.VIEWS])
def test_the_app(name: str, sources: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    made = tables.columns_of
    drawn: list[tuple[pd.DataFrame, list[str], list[Column]]] = []

    def seen(table: pd.DataFrame, shown: Sequence[str], *others: Any, **options: Any) -> list[Column]:
        drawn.append((table, list(shown), made(table, shown, *others, **options)))
        return drawn[-1][-1]

    monkeypatch.setattr(tables, "columns_of", seen)
    with_other = [f"--compare={sources[2]}"] if name == "compare" else []
    app = view(monkeypatch, name, "--all-runs", *with_other, *sources)
    assert not app.exception
    assert drawn or name in ("source", "communication")
    for table, shown, own in drawn:
        for column, one in zip(shown, own, strict=True):
            assert (one.heading, one.meaning) == (COLUMNS[column].heading, COLUMNS[column].meaning)
            said = [columns.say(column, value) for value in table[column].tolist()]
            if COLUMNS[column].kind is not Kind.AMOUNT:
                # What is cut short in a cell is whole in its hint.
                assert list(one.hints or one.texts) == said


def test_efficiency_above_one_says_why() -> None:
    assert columns.say("wire_efficiency", 4.0) == "400 % (lanes shared addresses)"
    assert columns.say("wire_efficiency", 1.0) == "100 %"
    assert columns.say("share", 4.0) == "400 %"
    assert columns.change("wire_efficiency", 3.0) == "+300 %"
    assert columns.change("wire_efficiency", -0.0003) == "-0.03 %"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("bytes", 1536, "1.5 KiB"),
        ("accesses", -1, "–"),
        ("bandwidth", 1.5e9, "1.5 GB/s"),
        ("rate", float("nan"), "–"),
        ("host_ns", 1500, "1.5 µs"),
        ("began", 5_007_000, "5.007 ms"),
        ("used_change", -1536, "-1.5 KiB"),
        ("sm", 90, "9.0"),
        ("sm", 0, "–"),
        ("memory", 80 << 30, "80 GiB"),
        ("memory", 0, "–"),
        ("offset", 0x1F0, "0x1f0"),
        ("line", 0, "–"),
        ("rank", 0, "0"),
        ("rank", -1, "–"),
        ("reuse", 3.25, "3.25 ×"),
        ("metric", "wire_bytes", "Wire bytes"),
        ("exact", False, "no"),
        ("kernel", "k<int>", "k<int>"),
        ("a setting", 3, "3"),
    ],
)
def test_values_by_kind(name: str, value: object, text: str) -> None:
    assert columns.say(name, value) == text


@pytest.mark.parametrize("number", [10240, 10240.0, np.int64(10240), np.uint64(10240), np.float32(10240)])
def test_a_number_of_any_type_is_said_alike(number: float) -> None:
    assert columns.say("bytes", number) == "10 KiB"
    assert columns.change("bytes", number) == "+10 KiB"
