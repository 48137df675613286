"""What the writer writes is what the reader reads."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import snoopie
from snoopie.errors import SnoopieError, TruncatedError
from snoopie.trace import writer
from snoopie.trace.container import Container
from snoopie.trace.tables import Process
from snoopie.trace.writer import HOST, UNKNOWN, TraceWriter, header
from tests.support.encoder import SCHEMA, encode_rows

START = 1_790_000_000_000_000_000
U64 = st.integers(0, 2**64 - 1)
AMOUNT = st.integers(0, 2**60)


def make(path: Path, gpus: int = 1) -> TraceWriter:
    process = {"host": "node1", "pid": 7, "program": "app", "command": ["./app", "é"], "start_ns": START}
    found = [{"uuid": f"GPU-{number}", "name": "H200"} for number in range(gpus)]
    return TraceWriter(path, header(tool={"version": "1", "imported_from": "X"}, process=process, gpus=found))


def names_in(text: str, array: str) -> tuple[str, ...]:
    """The strings of a constexpr array of C++."""
    return tuple(re.findall(r'"([^"]*)"', re.search(array + r"\[\] = \{(.*?)\};", text, re.DOTALL)[1]))  # type: ignore[index]


def test_the_names_are_those_of_the_collector() -> None:
    text = (Path(__file__).parents[3] / "nvbit_tool/src/trace/owners.h").read_text("utf-8")
    assert names_in(text, "kCodeNames") == writer.CODES
    assert names_in(text, "kObjectKindNames") == writer.OBJECT_KINDS
    assert names_in(text, "kCopyKindNames") == writer.COPY_KINDS
    assert names_in(text, "kDirectionNames") == writer.DIRECTIONS


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rows=st.lists(st.tuples(U64, st.integers(2**63, 2**63 + 2**32 - 1), st.lists(U64, min_size=32, max_size=32)),
                  max_size=20)
)  # fmt: skip
def test_single_accesses_come_back(tmp_path: Path, rows: list[tuple[int, int, list[int]]]) -> None:
    """What is written is what the description's own encoder writes."""
    bases, times, lanes = (np.array([row[place] for row in rows], np.uint64) for place in range(3))
    lanes = lanes.reshape(len(rows), 32)
    for table, columns in (
        ("records", {"pattern": 1, "base": bases, "time": times}),
        ("scattered", {"pattern": 1, "time": times, "addresses": lanes}),
    ):
        path = tmp_path / "t.zst"
        path.unlink(missing_ok=True)
        with make(path) as trace:
            trace.write(table, **columns)
            trace.finish(START, {})
        container = Container.open(path)
        declared = next(known for known in SCHEMA if known["name"] == table)
        plain = [
            {name: values if isinstance(values, int) else values[row].tolist() for name, values in columns.items()}
            for row in range(len(rows))
        ]
        zeros = {column["name"]: 0 for column in declared["columns"]}
        expected = encode_rows(declared["columns"], [zeros | row for row in plain]) if rows else b""
        assert b"".join(map(container.decode, container.blocks[1:-1])) == expected


def test_differences_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"records\.time"), make(tmp_path / "t.zst") as trace:
        trace.write("records", pattern=1, time=np.array([0, 2**32], np.uint64))
    assert not list(tmp_path.iterdir())


def test_a_small_trace(tmp_path: Path) -> None:
    path = tmp_path / "t.zst"
    with make(path, gpus=2) as trace:
        call = trace.intern("cuMemAlloc")
        addresses = np.array([4096, 2**64 - 1], np.uint64)
        trace.write("objects", id=[1, 2], address=addresses, bytes=[10, 20], owner=[1, HOST],
                    kind=[0, 6], time=[START + 1, START + 2], thread=9, call=call)  # fmt: skip
        trace.write("frees", object=[1], time=[START + 5], thread=[3])
        trace.write("notices", time=START, text="a sentence")
        trace.finish(START + 9, {"errors": 0})
    loaded = snoopie.load(path)
    assert loaded.complete
    assert loaded.processes[["host", "pid", "program", "end_ns"]].iloc[0].tolist() == ["node1", 7, "app", START + 9]
    assert loaded.objects["address"].tolist() == [4096, 2**64 - 1]
    assert loaded.objects["owner"].tolist() == [1, -1]
    assert loaded.objects["kind"].tolist() == ["device", "host"]
    assert loaded.objects["call"].tolist() == ["cuMemAlloc"] * 2
    assert loaded.objects["freed"].tolist() == [START + 5, 0]
    assert loaded.notices["text"].tolist() == ["a sentence"]


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rows=st.lists(st.tuples(st.text(), st.text(max_size=5), U64, AMOUNT, st.integers(-(2**31), 2**31 - 1)), max_size=40)
)
def test_any_strings_and_numbers_come_back(tmp_path: Path, rows: list[tuple[Any, ...]]) -> None:
    path = tmp_path / "t.zst"
    path.unlink(missing_ok=True)
    with make(path) as trace:
        calls, kernels = (trace.intern_all(row[place] for row in rows) for place in (0, 1))
        numbers = {"id": np.arange(1, len(rows) + 1), "start": np.array([row[3] for row in rows], np.int64)}
        trace.write(
            "calls", **numbers, call=calls, kernel=kernels, gpu=UNKNOWN, code=np.array([row[4] for row in rows], int)
        )
        sizes = {"bytes": 1, "owner": UNKNOWN}
        trace.write("objects", id=numbers["id"], address=np.array([row[2] for row in rows], np.uint64), **sizes)
        trace.finish(START, {})
    process = Process.open(path)
    texts = ["", *process.column("strings", "text")]
    shown = [text.encode("utf-8", "replace").decode() for row in rows for text in row[:2]]
    assert [texts[number] for number in process.column("calls", "call")] == shown[::2]
    assert [texts[number] for number in process.column("calls", "kernel")] == shown[1::2]
    assert process.column("calls", "start").tolist() == [row[3] for row in rows]
    assert process.column("calls", "code").tolist() == [row[4] for row in rows]
    assert process.column("objects", "address").tolist() == [row[2] for row in rows]


def test_blocks_are_small_and_in_order(tmp_path: Path) -> None:
    path = tmp_path / "t.zst"
    rows = 200_000
    with make(path) as trace:
        trace.intern_all(f"string {number} {'x' * (number % 100)}" for number in range(50_000))
        trace.write("frames", id=np.arange(1, rows + 1), address=np.arange(rows))
        trace.finish(START, {})
    container = Container.open(path)
    assert max(block.raw_size for block in container.blocks) <= 1 << 20
    assert len(container.blocks) > 4
    process = Process.open(path)
    assert np.array_equal(process.column("frames", "address"), np.arange(rows, dtype=np.uint64))
    assert len(process.column("strings", "text")) == 50_000


def test_a_long_string_is_cut_between_letters(tmp_path: Path) -> None:
    path = tmp_path / "t.zst"
    with make(path) as trace:
        trace.intern("é" * (1 << 16))
        trace.finish(START, {})
    (text,) = Process.open(path).column("strings", "text")
    assert text.endswith("é…") and len(text.encode()) <= 1 << 16


def test_no_existing_file_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "t.zst"
    path.write_text("mine")
    with pytest.raises(SnoopieError, match="already exists"):
        make(path)
    assert path.read_text() == "mine"
    with pytest.raises(SnoopieError, match="cannot be created"):
        make(tmp_path / "missing" / "t.zst")


def test_a_failure_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "t.zst"
    with pytest.raises(ZeroDivisionError), make(path) as trace:
        trace.write("frames", id=[1])
        raise ZeroDivisionError
    assert not path.exists()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "t.zst"
    with pytest.raises(SnoopieError, match="cannot be written"), make(path) as trace:
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, trace._file.fileno())
        os.close(full)
        trace.write("frames", id=np.arange(1, 1_000_000), address=np.random.default_rng(1).integers(0, 2**60, 999_999))
    assert not path.exists()


def test_without_finish_it_is_incomplete(tmp_path: Path) -> None:
    path = tmp_path / "t.zst"
    with make(path) as trace:
        trace.write("frames", id=[1])
    with pytest.raises(TruncatedError):
        snoopie.load(path)


def test_mistakes_are_refused(tmp_path: Path) -> None:
    with make(tmp_path / "t.zst") as trace:
        with pytest.raises(ValueError, match="no column"):
            trace.write("frames", identity=[1])
        with pytest.raises(ValueError, match="differ in length"):
            trace.write("frames", id=[1, 2], module=[1])
        for wrong in ([-1], [1 << 32], [0.5], ["x"]):
            with pytest.raises(ValueError, match=r"frames\.id"):
                trace.write("frames", id=wrong)
    with pytest.raises(ValueError, match="GPUs"):
        make(tmp_path / "u.zst", gpus=300)
