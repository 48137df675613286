"""The fixture snoopie_expect, in a pytest of its own."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import snoopie
import snoopie.pytest_plugin
from tests.support import ring

ROOT = Path(snoopie.__file__).parents[1]


def run_pytest(folder: Path, test: str, *words: str) -> tuple[int, str]:
    (folder / "test_traffic.py").write_text(test)
    # Whether this checkout is what is installed, and as what, does not matter here.
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "snoopie.pytest_plugin", "-p", "no:cacheprovider", *words, "."],
        cwd=folder, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def test_what_holds_passes_and_what_fails_shows_its_numbers(tmp_path: Path) -> None:
    path = ring.write_ring(tmp_path)
    status, said = run_pytest(
        tmp_path,
        f"""
import snoopie

PATH = {str(path)!r}

def test_holds(snoopie_expect):
    assert snoopie_expect(PATH, "bytes(kernel=ring_get, GPU 0 -> GPU 1) == N/2", "launches == 11", N=4096)
    snoopie_expect(snoopie.load(PATH), "bytes == 53440", allow_gaps=True)

def test_fails(snoopie_expect):
    snoopie_expect(PATH, "launches == 11", "bytes(kernel=ring_get, GPU 0 -> GPU 1) == N", N=4096)

def test_unknown(snoopie_expect):
    snoopie_expect(PATH, "bytes(line='halo.cu:42') == 0")

def test_absent(snoopie_expect):
    snoopie_expect(PATH + "x", "bytes == 0")
""",
    )
    assert status == 1
    assert "3 failed, 1 passed" in said
    assert "bytes(kernel=ring_get, GPU 0 -> GPU 1) = 2,048 (2 KiB)" in said
    assert "no memory instruction of the trace is in a file halo.cu" in said
    assert "ring.zstx" in said
    # The test's own line is shown, nothing of what is below.
    assert "test_traffic.py:" in said and "pytest_plugin.py" not in said and "expect.py" not in said


def test_it_does_not_disturb_others(tmp_path: Path) -> None:
    status, said = run_pytest(tmp_path, "def test_own(): assert True\n")
    assert status == 0 and "1 passed" in said
    assert "snoopie_expect" in run_pytest(tmp_path, "def test_own(): assert True\n", "--fixtures")[1]


def test_it_imports_nothing_before_it_is_used() -> None:
    tree = ast.parse(Path(snoopie.pytest_plugin.__file__).read_text())
    imported = {
        name
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert imported == {"__future__", "os", "typing", "pytest"}


def test_pytest_finds_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"snoopie": snoopie.pytest_plugin.__name__}
