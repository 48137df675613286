"""What the tests run with is pinned by hash, and asked about."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "tests" / "requirements.lock"
_PIN = re.compile(
    r"^([\w.-]+)==(\S+)(?: ; [^\n\\]+)? \\\n((?: {4}--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)


def _pins() -> dict[str, str]:
    return {canonicalize_name(name): version for name, version, _ in _PIN.findall(LOCK.read_text())}


def _wanted() -> list[Requirement]:
    """What the package and its tests need, with the package's own extras taken apart."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = list(project["dependencies"])
    names = ["test"]
    for name in names:
        for line in extras[name]:
            own = re.fullmatch(r"snoopie\[([\w,]+)\]", line)
            names += own[1].split(",") if own else []
            lines += [] if own else [line]
    return [Requirement(line) for line in lines]


def test_the_lock_file_has_what_is_asked_for() -> None:
    pins = _pins()
    missing = [
        str(wanted)
        for wanted in _wanted()
        if (pin := pins.get(canonicalize_name(wanted.name))) is None or not wanted.specifier.contains(pin)
    ]
    assert not missing, "tests/requirements.lock is old: it says at its top how it is made"


def test_each_line_has_a_hash_and_none_names_an_index() -> None:
    text = LOCK.read_text()
    named = re.findall(r"^[\w.-]+==", text, re.MULTILINE)
    assert len(named) == len(_PIN.findall(text)) > 50
    assert "://" not in text and "--index-url" not in text and "--find-links" not in text


def _package(name: str, *advisories: str) -> dict[str, object]:
    return {"name": name, "version": "1.0", "vulns": [{"id": each, "fix_versions": ["1.1"]} for each in advisories]}


@pytest.mark.parametrize(
    ("out", "err", "status", "said"),
    [
        ({"dependencies": [_package("a"), _package("b")]}, "", 0, "2 of 2 packages audited, 0 advisories"),
        ({"dependencies": [_package("a", "PYSEC-1")]}, "", 1, "a 1.0: PYSEC-1, mended in 1.1"),
        ({"dependencies": [{"name": "a", "skip_reason": "not found"}]}, "", 0, "not audited: the package index"),
        (None, "ERROR: Could not connect to PyPI's vulnerability feed", 0, "not audited: the advisory service"),
        (None, "ERROR: invalid requirements", 1, "invalid requirements"),
    ],
)
def test_the_audit(tmp_path: Path, out: object, err: str, status: int, said: str) -> None:
    """With a pip-audit that answers as the real one does."""
    answer = "" if out is None else json.dumps(out)
    fake = tmp_path / "pip-audit"
    fake.write_text(
        f"#!{sys.executable}\nimport sys\nprint({answer!r})\nprint({err!r}, file=sys.stderr)\nsys.exit(1)\n"
    )
    fake.chmod(0o755)
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "audit")], capture_output=True, text=True, check=False,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    assert said in done.stdout + done.stderr
