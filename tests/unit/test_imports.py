"""What tests may use of one another, and that what they use of Snoopie is there."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parents[1]
FILES = sorted(TESTS.rglob("*.py"))
BENCH = sorted((TESTS.parent / "bench").rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports, and the names that it takes from them, which may be modules."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_no_test_imports_a_test() -> None:
    tests = {path.stem for path in FILES if path.stem.startswith("test_")}
    assert Path(__file__).stem in tests
    # What several of them use is in tests/support.
    found = [
        (str(path.relative_to(TESTS)), name) for path in FILES for name in imported(path) if {*name.split(".")} & tests
    ]
    assert found == []


def of_ours(module: str | None) -> bool:
    return (module or "").split(".")[0] in ("snoopie", "visualizer")


def taken(module: str, name: str) -> Any:
    """What ``from module import name`` gives. AttributeError if there is no such name."""
    of = importlib.import_module(module)
    if not hasattr(of, name):
        try:
            importlib.import_module(f"{module}.{name}")
        except ModuleNotFoundError:
            raise AttributeError(f"{module} has no {name}") from None
    return getattr(of, name)


def names_of(tree: ast.Module) -> dict[str, Any]:
    """What the names that a file takes from Snoopie mean, without those that also mean something else in it.
    AttributeError for one that is not there."""
    found = {
        name.asname or name.name: taken(str(node.module), name.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and of_ours(node.module)
        for name in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.pop(node.id, None)
        elif isinstance(node, ast.arg):
            found.pop(node.arg, None)
    return found


def meaning_of(node: ast.expr, names: dict[str, Any]) -> Any:
    """What an expression like ``module.name`` means; None if that is not known. AttributeError if it is not there."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute):
        of = meaning_of(node.value, names)
        if isinstance(of, ModuleType) and of_ours(of.__name__):
            return taken(of.__name__, node.attr)
    return None


def check(node: ast.AST, names: dict[str, Any]) -> None:
    """AttributeError or TypeError if a test would get it from this expression, as far as the text tells."""
    if isinstance(node, ast.Attribute):
        meaning_of(node, names)
    elif isinstance(node, ast.Call):
        called = meaning_of(node.func, names)
        words = {word.arg: word for word in node.keywords if word.arg}
        whole = len(words) == len(node.keywords) and not any(isinstance(given, ast.Starred) for given in node.args)
        if whole and inspect.isfunction(called):
            inspect.signature(called).bind(*node.args, **words)


def wrong_uses(text: str) -> list[tuple[int, str]]:
    """(line, why) of the uses of Snoopie that cannot work, but those that are expected to fail."""
    tree = ast.parse(text)
    try:
        names = names_of(tree)
    except AttributeError as error:
        return [(1, str(error))]
    expected = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.With) and "raises" in ast.unparse(node.items[0])
        for inner in ast.walk(node)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and node not in expected:
            try:
                check(node, names)
            except (AttributeError, TypeError) as error:
                found.append((node.lineno, str(error)))
    return found


def test_what_tests_use_of_snoopie_is_there() -> None:
    # Tests on GPUs and benchmarks too, which would tell only where they run.
    wrong = [
        (str(path.relative_to(TESTS.parent)), *use) for path in FILES + BENCH for use in wrong_uses(path.read_text())
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("from snoopie.report import gone", "snoopie.report has no gone"),
        ("from snoopie.report import page\npage.gone()", "snoopie.report.page has no gone"),
        ("from snoopie.report.file import write\nwrite(1, 2, colour=3)", "unexpected keyword argument 'colour'"),
        ("from snoopie.report import file\nfile.write(1)", "missing a required argument: 'path'"),
    ],
)
def test_a_use_of_what_is_not_there_is_found(text: str, said: str) -> None:
    assert said in str(wrong_uses(text))
