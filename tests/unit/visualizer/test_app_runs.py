"""The app on traces of several runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import mixed, ring
from tests.support.pages import said, start, view


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two runs: ring, and mixed, which began later, of two processes."""
    builder = ring.ring_builder(pid=42)
    builder.header["process"]["run"] = {"id": "first", "of": "run"}
    builder.header["process"]["start_ns"] -= 10**9
    builder.write(tmp_path / "ring.zst")
    return mixed.write_mixed(tmp_path)


def test_it_asks_which_run_is_meant(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    app = start(monkeypatch, folder)
    assert not app.exception
    offered = [button for button in app.button if str(button.key).startswith("run_")]
    assert [button.label.replace("\\", "").split(" (")[0] for button in offered] == [
        "first", "node1-4711-1790000000", "Add up all 2",
    ]  # fmt: skip
    assert "2 processes" in offered[1].label
    offered[0].click().run()
    assert not app.exception
    assert any(caption.value.replace("\\", "") == "ring.zst" for caption in app.sidebar.caption)
    app.sidebar.button(key="choose_run").click().run()
    app.button(key="run_all").click().run()
    assert not app.exception
    assert "2 runs are added up." in [warning.value for warning in app.sidebar.warning]


@pytest.mark.parametrize(
    ("arguments", "files"),
    [(["--run", "first"], "ring.zst"), (["--run=1"], "2 traces, mixed.0.zst and others"),
     (["--all-runs"], "3 traces, mixed.0.zst and others")],
)  # fmt: skip
def test_the_command_line_says_which(
    monkeypatch: pytest.MonkeyPatch, folder: Path, arguments: list[str], files: str
) -> None:
    app = view(monkeypatch, "overview", *arguments, folder)
    assert not app.exception
    assert files in [caption.value.replace("\\", "") for caption in app.sidebar.caption]


def test_the_address_says_which(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """What was chosen stands in it, also where the command line says otherwise, and another session follows it."""
    app = view(monkeypatch, "overview", "--run=1", folder)
    assert "run" not in app.query_params
    app.sidebar.button(key="choose_run").click().run()
    app.button(key="run_first").click().run()
    assert app.query_params["run"] in ("first", ["first"])  # by Streamlit's version
    for words, files in (("first", "ring.zst"), ("all", "3 traces, mixed.0.zst and others")):
        other = start(monkeypatch, folder)
        other.query_params["run"] = words
        other.run()
        assert not other.exception
        assert files in [caption.value.replace("\\", "") for caption in other.sidebar.caption]
        assert other.query_params["run"] in (words, [words])


def test_a_run_that_is_not_there(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    app = start(monkeypatch, "--run=third", folder)
    assert "there is no run third: the traces have 0: first" in said(app).replace("\\", "")


def test_one_run_asks_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    app = start(monkeypatch, mixed.write_mixed(tmp_path))
    assert not [button for button in app.button if str(button.key).startswith(("run_", "choose_run"))]


def test_what_is_compared_with_must_be_one_run(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    one = ring.write_ring(tmp_path_factory.mktemp("one"))
    app = view(monkeypatch, "compare", f"--compare={folder}", one)
    assert not app.exception
    assert "2 runs that do not belong together" in said(app)
