"""Streamlit's small scripts in one answer: which they are, and what is left as it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from visualizer.server import together

PAGE = """<head>
    <script type="module" crossorigin src="./static/js/index.a1.js"></script>
    <link rel="modulepreload" crossorigin href="./static/js/a.b1.js">
    <link rel="stylesheet" crossorigin href="./static/css/index.c1.css">
  </head>"""
SCRIPTS = {
    "index.a1.js": 'const d=["./lazy.e1.js","./other.f1.js"];import{a}from"./a.b1.js";import"./big.d1.js";'
    "const l=()=>import(`./lazy.e1.js`)",
    "a.b1.js": 'import{b}from"./b.c1.js";import"./index.a1.js";export{b as a};',
    "b.c1.js": "export const b='./no-script.txt'.length;",
    "big.d1.js": 'import{b}from"./b.c1.js";' + "/" * together._SMALL,
    "lazy.e1.js": 'import{a as t}from"./a.b1.js";export default t;',
    "other.f1.js": "export {};",
}


def written(folder: Path, **changed: str) -> Path:
    for name, text in (SCRIPTS | changed).items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def sent(page: str) -> dict[str, str]:
    name = page.partition('data-small="')[2].partition('"')[0]
    content: dict[str, str] = json.loads(together._known[name])
    return content


def test_small_scripts_are_sent_together(tmp_path: Path) -> None:
    page = together.rewritten(PAGE, written(tmp_path))
    # Not b.c1.js, which names a file in a way that nobody knows; nor what nothing imports.
    assert sent(page) == {
        "a.b1.js": 'import{b}from"\0b.c1.js";import"\0index.a1.js";export{b as a};',
        "lazy.e1.js": 'import{a as t}from"\0a.b1.js";export default t;',
    }
    assert 'data-entry="index.a1.js"' in page
    # What the first page needs besides is loaded meanwhile.
    for script in ("big.d1.js", "b.c1.js"):
        assert f'<link rel="preload" as="script" crossorigin href="./static/js/{script}">' in page
    assert "modulepreload" not in page and '<script type="module"' not in page
    assert '<link rel="stylesheet" crossorigin href="./static/css/index.c1.css">' in page


@pytest.mark.parametrize(
    "more",
    ["import.meta.url", "import(t)", 'new Worker("./worker.g1.js")', "fetch(`../media/picture.png`)", "'\0'"],
)
def test_what_does_more_than_to_import_others_stays_a_file(more: str, tmp_path: Path) -> None:
    page = together.rewritten(PAGE, written(tmp_path, **{"lazy.e1.js": SCRIPTS["lazy.e1.js"] + more}))
    assert list(sent(page)) == ["a.b1.js"]


@pytest.mark.parametrize(
    "page",
    [
        PAGE.replace("index.a1.js", "none.a1.js"),
        PAGE.replace('<script type="module" crossorigin', "<script defer"),
        PAGE + PAGE,
        "<html></html>",
    ],
)
def test_a_page_that_is_not_known_stays_what_it_is(page: str, tmp_path: Path) -> None:
    assert together.rewritten(page, written(tmp_path)) == page


def test_scripts_that_cannot_be_read_stay_what_they_are(tmp_path: Path) -> None:
    (written(tmp_path) / "b.c1.js").write_bytes(b"export const b='\xff'")
    assert together.rewritten(PAGE, tmp_path) == PAGE


def test_another_version_has_another_name(tmp_path: Path) -> None:
    """Browsers keep it for good."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one = together.rewritten(PAGE, written(tmp_path / "one"))
    two = together.rewritten(PAGE, written(tmp_path / "two", **{"a.b1.js": "export const a=1;"}))
    assert one != two
