"""Files against others that should be the same: written again, decompressed by zstd, read by many threads and by one.

SNOOPIE_FUZZ_EXAMPLES=N makes it N files a test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import snoopie
from snoopie.trace import parallel
from snoopie.trace.container import Container
from snoopie.trace.declaration import declaration
from snoopie.trace.limits import LIMITS
from snoopie.trace.tables import Process
from snoopie.trace.writer import TraceWriter, header
from tests.plain import random_traces
from tests.support import everything
from tests.support.encoder import START_NS

EXAMPLES = int(os.environ.get("SNOOPIE_FUZZ_EXAMPLES", "3"))
SAMPLES = sorted((Path(__file__).parents[2] / "sample_traces").glob("**/*.zst"))
GPUS = 3
HEADER = header(
    tool={"version": "0"},
    process={"host": "h", "pid": 1, "program": "p", "command": ["p"], "start_ns": START_NS},
    gpus=[{"uuid": f"GPU-{number}"} for number in range(GPUS)],
)
Columns = dict[str, NDArray[Any]]


def random_columns(table: dict[str, Any], rows: int, known: dict[str, int], random: np.random.Generator) -> Columns:
    """Rows that mean something, of a table of which references lead to tables that were made before."""
    columns: Columns = {}
    for column in table["columns"]:
        role, ref, kind = column.get("role", ""), column.get("ref", ""), column["type"]
        width = int(kind.rstrip("]").partition("[")[2] or 1)
        ids = np.arange(1, rows + 1)
        if kind == "utf8":
            texts = ["", "é", '"quoted"\n', "x" * 5000, "\N{GRINNING FACE}\0"]
            values = np.array([texts[number] for number in random.integers(0, len(texts), rows)], object)
        elif role == "id":
            values = ids
        elif role in ("row", "row or none") and ref == table["name"]:
            values = random.integers(0, ids)
        elif role in ("row", "row or none"):
            values = random.integers(int(role == "row"), known[ref] + 1, rows)
        elif role.startswith(("gpu", "owner", "set")):
            values = random.integers(0, GPUS, rows) if role != "set" else None
        elif role in ("flag", "operations", "codes", "copy_kinds", "object_kinds", "directions"):
            values = random.integers(0, 2, rows)
        elif role == "log2":
            values = random.integers(0, 64, rows)
        elif kind == "delta4":
            values = START_NS + random.integers(0, 1 << 31, rows)
        elif role in ("address", "handle"):
            values = random.integers(0, 1 << 64, rows * width, np.uint64).reshape(rows, -1)
            values = values if width > 1 else values.ravel()
        else:
            bits = min(8 * int(kind[-1]) - int(kind[0] == "i"), 40)
            values = random.integers(0, 1 << bits, rows)
        columns[column["name"]] = values
    if table["name"] == "sampling":
        columns["measured"] = np.minimum(columns["measured"], columns["launches"])
    return columns


def write(path: Path, texts: list[str], tables: dict[str, Columns]) -> bytes:
    with TraceWriter(path, HEADER) as writer:
        writer.intern_all(texts)
        for name, columns in tables.items():
            writer.write(name, **columns)
        writer.finish(START_NS + 10**9, {})
    return path.read_bytes()


def read(path: Path) -> tuple[list[str], dict[str, Columns]]:
    """What a file holds that the reader takes, block by block."""
    process = Process.open(path)
    parts: dict[str, list[Columns]] = {}
    for block in process.blocks:
        if (table := process.header.tables.get(block.table)) is not None:
            content = process.container.decode(block)
            parts.setdefault(table.name, []).append(table.decode(content, block.rows, None, LIMITS.string))
    tables = {
        name: {column: np.concatenate([part[column] for part in blocks]) for column in blocks[0]}
        for name, blocks in parts.items()
    }
    return [str(text) for text in tables.pop("strings")["text"]], tables


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_what_is_read_and_written_again_is_the_same_file(tmp_path: Path, seed: int) -> None:
    random = np.random.default_rng(seed)
    texts = [f"text {number} {'y' * int(random.integers(0, 3000))}" for number in range(int(random.integers(2, 900)))]
    known, tables = {"strings": len(texts)}, {}
    for table in declaration():
        if table["name"] in ("strings", "sets"):
            continue
        rows = int(random.integers(1, 5000 if table["name"] in ("records", "counts", "patterns") else 60))
        tables[table["name"]] = random_columns(table, rows, known, random)
        known[table["name"]] = rows
    first = write(tmp_path / "first.zst", texts, tables)
    read_texts, read_tables = read(tmp_path / "first.zst")
    assert read_texts == texts
    assert {name: set(columns) for name, columns in read_tables.items()} == {
        name: set(columns) for name, columns in tables.items()
    }
    assert write(tmp_path / "again.zst", read_texts, read_tables) == first


def files(folder: Path) -> list[Path]:
    """Samples, traces with rows in every table in many blocks, and random ones."""
    made = [everything.everything_builder().write(folder / "everything.zst", block_rows=5)]
    for seed in range(EXAMPLES):
        made.append(random_traces.make(seed).builder.write(folder / f"{seed}.zst", block_rows=seed % 3 + 1))
    return [*SAMPLES[:: 1 if EXAMPLES > 3 else 8], *made]


def test_blocks_are_what_zstd_makes_of_the_file(tmp_path: Path) -> None:
    zstd = shutil.which("zstd")
    if zstd is None:
        pytest.fail("install zstd: what is read is compared with what it decompresses")
    for path in files(tmp_path):
        container = Container.open(path)
        ours = b"".join(container.decode(block) for block in container.blocks)
        theirs = subprocess.run([zstd, "-dcq", str(path)], capture_output=True, check=True).stdout
        assert ours == theirs, path


ANALYSES: tuple[Callable[[snoopie.Trace], pd.DataFrame], ...] = (
    *(snoopie.Trace.by_line, snoopie.Trace.by_kernel, snoopie.Trace.by_object, snoopie.Trace.matrix),
    *(snoopie.Trace.lane_accesses, snoopie.Trace.by_pair, snoopie.Trace.timeline),
    lambda trace: trace.reuse("site"),
)


def test_many_threads_read_what_one_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in files(tmp_path):
        found = []
        for cores in (1, 5):
            monkeypatch.setattr(parallel, "cores", lambda cores=cores: cores)
            trace = snoopie.load(path)
            found.append([*trace.tables().values(), *(analysis(trace) for analysis in ANALYSES)])
        for alone, together in zip(*found, strict=True):
            pd.testing.assert_frame_equal(alone, together)
