"""C++ that one release of a compiler takes and the next refuses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.pages import ROOT

_FOLDERS = [ROOT / "nvbit_tool" / "src", ROOT / "nvbit_tool" / "tests", ROOT / "bench", ROOT / "watch"]
_FILES = sorted(
    path
    for folder in _FOLDERS
    for path in folder.rglob("*")
    if path.suffix in (".h", ".cpp", ".cu", ".cuh") and "build" not in path.parts
)
_USED = re.compile(r"\bu?int(8|16|32|64|ptr)_t\b")
_COMMENT = re.compile(r"//.*")
_DECLARED = re.compile(r"#include [<\"](cstdint|stdint\.h|inttypes\.h|cuda\.h|cuda_runtime\.h|nvbit\.h)[>\"]")
_OURS = re.compile(r'#include "([^"]+)"')


def _with_included(path: Path, found: dict[Path, str]) -> dict[Path, str]:
    if path not in found:
        found[path] = path.read_text()
        for name in _OURS.findall(found[path]):
            for folder in (path.parent, *_FOLDERS):
                if (folder / name).is_file():
                    _with_included((folder / name).resolve(), found)
                    break
    return found


@pytest.mark.parametrize("path", _FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_fixed_width_integers_are_declared(path: Path) -> None:
    """g++ 12 had them in <array> and <string>; g++ 13 has not, and did not build the collector."""
    if _USED.search(_COMMENT.sub("", path.read_text())):
        assert any(_DECLARED.search(text) for text in _with_included(path, {}).values())
