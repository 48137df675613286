"""What tests may use of one another."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports, and the names that it takes from them, which may be modules."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_no_test_imports_a_test() -> None:
    files = list(TESTS.rglob("*.py"))
    tests = {path.stem for path in files if path.stem.startswith("test_")}
    assert Path(__file__).stem in tests
    # What several of them use is in tests/support.
    found = [
        (str(path.relative_to(TESTS)), name) for path in files for name in imported(path) if {*name.split(".")} & tests
    ]
    assert found == []
