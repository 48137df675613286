"""Every relative link of a document leads to a file of the repository, and its anchor to a heading there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[3]
PLACES = (
    "*.md",
    "docs/*.md",
    "docs/*.ipynb",
    "changes/*.md",
    "sample_traces/*.md",
    "bench/**/*.md",
    "nvbit_tool/**/*.md",
)
DOCUMENTS = sorted(path for place in PLACES for path in ROOT.glob(place))

LINK = re.compile(r"\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
CODE_BLOCK = re.compile(r"^```.*?^```|^    [^\n]*", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")


def text(document: Path) -> str:
    """What a document says; of a notebook, its cells of text."""
    if document.suffix != ".ipynb":
        return document.read_text("utf-8")
    cells = json.loads(document.read_text("utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def anchors(document: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub makes them."""
    headings = HEADING.findall(CODE_BLOCK.sub("", text(document)))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(document: Path, root: Path) -> list[str]:
    """The relative links of a document that lead nowhere, or out of the repository."""
    return [
        link
        for link in LINK.findall(CODE.sub("", CODE_BLOCK.sub("", text(document))))
        if not re.match(r"[a-z]+:", link) and not _leads_somewhere(document, link, root)
    ]


def _leads_somewhere(document: Path, link: str, root: Path) -> bool:
    path, _, anchor = link.partition("#")
    target = (document.parent / unquote(path)).resolve() if path else document
    if not (target.exists() and target.is_relative_to(root)):
        return False
    return not anchor or (target.suffix == ".md" and anchor in anchors(target))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    assert broken(document, ROOT) == []


def test_every_document_is_in_the_index() -> None:
    index = set(LINK.findall((ROOT / "docs" / "README.md").read_text("utf-8")))
    documents = {path.name for path in (ROOT / "docs").iterdir() if path.suffix in (".md", ".ipynb")}
    assert documents - index == {"README.md"}


def test_what_is_broken(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    (tmp_path / "outside.md").touch()
    (root / "there.md").write_text("# It's `there`, once\n\n    # no heading\n")
    page = root / "page.md"
    page.write_text(
        "[a](there.md) [b](there.md#its-there-once) [c](https://example.org/x) [d](#here) `[e](in-code.md)`\n\n"
        "    [f](in-a-block.md)\n\n## Here\n\n"
        "[g](gone.md) [h](there.md#no-heading) [i](../outside.md) [j](#nowhere)\n"
    )
    assert broken(page, root) == ["gone.md", "there.md#no-heading", "../outside.md", "#nowhere"]
