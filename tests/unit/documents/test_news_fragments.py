"""News fragments in changes/ have names that towncrier takes: it leaves out others without a word."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TOWNCRIER = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["towncrier"]
TYPES = [kind["directory"] for kind in TOWNCRIER["type"]]
FRAGMENTS = ROOT / TOWNCRIER["directory"]


def misnamed(names: Iterable[str]) -> list[str]:
    """Names that are neither ISSUE.TYPE.md nor +SHORT-NAME.TYPE.md, each perhaps with a number before .md."""
    name = re.compile(rf"(\d+|\+[\w-]+)\.({'|'.join(TYPES)})(\.\d+)?\.md")
    return sorted(each for each in names if each != "README.md" and not name.fullmatch(each))


def test_fragments_are_named_and_say_something() -> None:
    fragments = list(FRAGMENTS.iterdir())
    assert misnamed(path.name for path in fragments) == []
    assert [path.name for path in fragments if not path.read_text("utf-8").strip()] == []


def test_what_is_misnamed() -> None:
    good = ["README.md", "12.bugfix.md", "12.bugfix.1.md", "+plot-dpi.feature.md", "+version-4.format.md"]
    bad = ["+plot.improvement.md", "12.md", "feature.md", "plot-dpi.feature.md", "notes.txt"]
    assert misnamed(good + bad) == sorted(bad)


def test_the_changelog_has_the_place_for_new_releases() -> None:
    assert (ROOT / TOWNCRIER["filename"]).read_text("utf-8").count(TOWNCRIER["start_string"]) == 1


def test_every_type_is_in_the_instructions() -> None:
    text = (FRAGMENTS / "README.md").read_text("utf-8")
    assert [kind for kind in TYPES if f"`{kind}`" not in text] == []
