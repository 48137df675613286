"""No trace can hang a command, fill the memory or end it with a traceback: commands on every hostile file.

A few commands, which read different parts of a trace; all of them with SNOOPIE_HOSTILE=all, which takes some minutes.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import snoopie
from snoopie.trace.limits import LIMITS
from tests.support import every_command, hostile

Ask = Callable[[Path, Path, list[str]], list[dict[str, Any]]]
ROOT = Path(__file__).resolve().parents[2]
GIB = 1 << 30
# On a quiet machine no command takes 5 s: this is for a busy one, whose CPU time is longer too.
SECONDS = 30
# Beyond this no process gets: one that wants it is stopped before the machine suffers.
MOST_MEMORY = 8 * GIB

# What each file is refused for, or "" where it is read.
REFUSED = {
    "absurd-counts": "of tables in a file of",
    "counts-allowed": "",
    "strings": "of tables in a file of",
    "notices": "notices, and the limit is 10,000",
    "names-everywhere": "of text in a file of",
    "path": "",
    "code": "",
    "sass": "",
    "names": "",
    "long-names": "",
    "long-modules": "",
    "symbols": "symbols of frames, and the limit is 250,000",
    "symbols-allowed": "",
    "inline-chain": "functions inlined into one another",
    "inline-chain-allowed": "",
    "deep-stacks": "call stacks of",
    "stacks-of-objects": "",
    "stacks-of-many-objects": "",
    "nested-objects": "deep inside one another",
    "lives": "",
    "3000-gpus": "3,000 GPUs",
    "20000-gpus": "20,000 GPUs",
    "250-gpus": "",
    "endless-header": "100,000 settings",
    "nested-header": "is not JSON",
    "claimed-rows": "is too short for 4294967295 rows",
    "tiny-frames": "",
    "not-utf8": "",
    "wrapping": "",
    "source-of-newlines": "",
    "equal-waits": "",
    "waits-for-many-stores": "",
    "overlapping-copies": "",
    # Only what looks at where single accesses went.
    "places-apart": "",
    "records": "of recorded accesses in a file of",
    "records-allowed": "",
}

# Commands that read more of what a file is about.
ALSO = {
    "long-names": ("stats library", "export chrome", "export flamegraph"),
    "long-modules": ("diff",),
    "symbols-allowed": ("diff",),
    "stacks-of-many-objects": ("memory --events",),
    "equal-waits": ("waits", "waits --json"),
    "waits-for-many-stores": ("waits", "waits --json"),
    "overlapping-copies": ("export chrome",),
    "records-allowed": ("export csv", "export sqlite"),
}


def restrict() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


def chosen(name: str, path: Path, out: Path) -> list[str]:
    """The commands that are run on a file: a few, or with SNOOPIE_HOSTILE=all each of them."""
    if os.environ.get("SNOOPIE_HOSTILE") == "all":
        return list(every_command.commands(path, out))
    # A file that is refused is refused when it is opened, which all commands do by the same function.
    return ["check", "stats"] if REFUSED[name] else [*every_command.FEW, *ALSO.get(name, ())]


def test_every_file_is_here() -> None:
    assert REFUSED.keys() == hostile.FILES.keys()


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """ask(trace, folder, names of commands) → what each came to.

    One process has imported what they need, and each runs in a copy of it, under limits of its own.
    """
    folder = tmp_path_factory.mktemp("commands")
    with open(folder / "errors", "wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.every_command"], cwd=ROOT, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=errors, text=True, preexec_fn=restrict,
        )  # fmt: skip

    def answers(path: Path, out: Path, some: list[str]) -> list[dict[str, Any]]:
        assert process.stdin is not None and process.stdout is not None
        print(json.dumps([str(path), str(out), some]), file=process.stdin, flush=True)
        lines = [process.stdout.readline() for _ in some]
        assert all(lines), (folder / "errors").read_text()[-2000:]
        return [json.loads(line) for line in lines]

    yield answers
    process.communicate()
    assert process.returncode == 0, (folder / "errors").read_text()[-2000:]


@pytest.mark.parametrize("name", hostile.FILES)
def test_every_command(name: str, ask: Ask, tmp_path: Path) -> None:
    path = hostile.write(tmp_path, [name])[name]
    assert path.stat().st_size < 1_000_000
    some = chosen(name, path, tmp_path)
    done = ask(path, tmp_path, some)
    assert [row["command"] for row in done] == some
    # No file can hold more, uncompressed, and be read.
    raw = LIMITS.tables_of(path.stat().st_size)
    for row in done:
        assert row["status"] in (0, 1), row
        assert row["peak"] < GIB + 3 * raw, row
        # A watch reads less, and so refuses less.
        if REFUSED[name] and row["command"] != "watch":
            assert row["status"] == 1, row
            assert row["command"] == "check" or REFUSED[name] in row["said"], row
    if not REFUSED[name]:
        assert next(row for row in done if row["command"] == "stats")["status"] == 0


def test_more_gpus_in_a_folder_than_can_be_drawn(ask: Ask, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    hostile.write_many_gpus(folder)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 1_000_000
    for row in ask(folder, tmp_path, ["plot matrix", "report", "report --interactive", "diff"]):
        assert row["status"] == 0, row
        assert row["peak"] < GIB, row


# Of long names no more than are refused: whoever lifts the limits waits for all of them.
TRUSTED = {"names-everywhere": lambda: hostile.long_names_everywhere(4_000)}


@pytest.mark.parametrize("name", ["inline-chain", "deep-stacks", "nested-objects", "names-everywhere", "3000-gpus"])
def test_trust_lifts_the_limits(name: str, tmp_path: Path) -> None:
    path = tmp_path / "t.zst"
    path.write_bytes(TRUSTED.get(name, hostile.FILES[name])())
    with pytest.raises(snoopie.LimitError, match=r"the limit is .*; if you trust who made it, .*trust=True"):
        snoopie.load(path)
    assert snoopie.load(path, trust=True).by_line()["accesses"].sum() > 0


def test_addresses_that_wrap(tmp_path: Path) -> None:
    trace = snoopie.load(hostile.write(tmp_path, ["wrapping"])["wrapping"])
    for by in ("site", "object"):
        table = trace.reuse(by)
        assert (table["distinct"] >= 0).all()
        assert table["accesses"].sum() >= 16


def test_million_of_tiny_frames_in_time_that_grows_with_them(tmp_path: Path) -> None:
    path = tmp_path / "frames.zst"
    path.write_bytes(hostile.tiny_frames(50_000))
    assert len(snoopie.load(path).counts) == 1
