"""What is published is the same bytes whoever builds it, wherever and whenever: who builds it again can compare."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_SOURCES = ("LICENSE", "README.md", "hatch_build.py", "pyproject.toml", "snoopie", "visualizer", "nvbit_tool/Makefile",
            "nvbit_tool/requirements", "nvbit_tool/include", "nvbit_tool/licenses", "nvbit_tool/src")  # fmt: skip


def _copy(to: Path, *, when: int) -> Path:
    """The checkout in another place, of another time, under another umask."""
    for name in _SOURCES:
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, to / name)
    for path in to.rglob("*"):
        path.chmod(0o700 if path.is_dir() or os.access(path, os.X_OK) else 0o600)
        os.utime(path, (when, when))
    return to


def _built(target: str, source: Path, to: Path) -> tuple[str, bytes]:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(to)]
    environment = {"PATH": os.environ["PATH"], "SOURCE_DATE_EPOCH": "1700000000", "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(command, cwd=source, env=environment, check=True, capture_output=True)
    (made,) = (path for path in to.iterdir() if path.name.endswith((".whl", ".tar.gz")))
    return made.name, made.read_bytes()


@pytest.mark.parametrize("target", ["wheel", "sdist"])
def test_two_builds_give_the_same_bytes(tmp_path: Path, target: str) -> None:
    here = _built(target, _copy(tmp_path / "one", when=1_600_000_000), tmp_path / "first")
    there = _built(target, _copy(tmp_path / "another" / "place", when=1_750_000_000), tmp_path / "second")
    assert here == there
