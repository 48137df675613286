"""Names of a megabyte in every string of a trace, the most that is read: what is shown of them has room."""

from __future__ import annotations

from pathlib import Path

import pytest

from snoopie import cli
from snoopie.errors import SnoopieError
from tests.support.every_command import commands
from tests.support.everything import long_builder
from visualizer.look import theme

LONG = "x" * 1_000_000
# A screen of a wide terminal, some hundred times.
MOST = 200_000
# What they write is data, and holds each name whole.
DATA = {
    *("export csv", "export parquet", "export sqlite", "export chrome", "export speedscope"),
    *("memory --events", "waits --json"),
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(long_builder().write(tmp_path_factory.mktemp("long") / "t.zst"))


@pytest.mark.parametrize("name", [name for name in commands(Path(), Path()) if name not in DATA])
def test_every_command(name: str, path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*commands(path, tmp_path)[name], "--trust"]) == 0
    said = capsys.readouterr()
    assert len(said.out) + len(said.err) < MOST
    assert all(file.stat().st_size < 2 * MOST for file in tmp_path.iterdir())


@pytest.mark.parametrize("by", ["collective", "copy", "file", "launch", "library", "operation", "process", "stack"])
def test_stats(by: str, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["stats", "--by", by, str(path), "--trust"]) == 0
    said = capsys.readouterr()
    assert len(said.out) + len(said.err) < MOST


def test_a_flame_graph(path: Path, tmp_path: Path) -> None:
    picture = tmp_path / "x.svg"
    assert cli.main(["export", "--format", "flamegraph", "-o", str(picture), str(path), "--trust"]) == 0
    assert picture.stat().st_size < 2 * MOST


def test_text_of_the_app() -> None:
    assert len(theme.plain(LONG)) <= 10_000


def test_an_error_that_quotes_one() -> None:
    assert len(str(SnoopieError(f"the trace has no kernel {LONG}", f"name another than {LONG}"))) <= 10_000
