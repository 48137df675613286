"""docs/app.md shows every view with a sample: these tests take its pictures.

With SNOOPIE_UPDATE_DOCS=1 they are written into docs/app/, without it only taken.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from tests.browser.conftest import ROOT, drawn, settled
from visualizer.pages import VIEWS
from visualizer.views.overview import LOOKING

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "app.md"
PICTURES = DOCUMENT.parent / "app"
# View → sample, and what is chosen there.
SHOWN = {
    "overview": ("ring-4gpu.zst", ""),
    "communication": ("allreduce-4gpu", ""),
    "source": ("jacobi-2gpu.zst", ""),
    "flame": ("allreduce-4gpu", ""),
    "kernels": ("jacobi-2gpu.zst", ""),
    "launches": ("jacobi-2gpu.zst", ""),
    "sites": ("halo-4gpu", ""),
    "objects": ("jacobi-2gpu.zst", "object=2"),
    "copies": ("jacobi-2gpu.zst", ""),
    "collectives": ("allreduce-4gpu", ""),
    "timeline": ("jacobi-2gpu.zst", ""),
    "memory": ("jacobi-2gpu.zst", ""),
    "calls": ("jacobi-2gpu.zst", ""),
    "compare": ("jacobi-2gpu.zst", ""),
}


@pytest.mark.parametrize("name", [view.name for view in VIEWS])
def test_picture(name: str, sample_app: Callable[[str], str], open_page: Callable[[str], Page]) -> None:
    sample, chosen = SHOWN[name]
    title = next(view.title for view in VIEWS if view.name == name)
    # The first page has no name of its own.
    page = open_page(f"{sample_app(sample)}/{name if name != VIEWS[0].name else ''}?{chosen}")
    page.get_by_role("heading", name=title, exact=True, level=2).wait_for()
    settled(page)
    # Tables and charts load their scripts.
    # What is folded loads its own when it is opened.
    expect(page.get_by_test_id("stSkeleton").filter(visible=True)).to_have_count(0)
    expect(page.get_by_text(LOOKING)).to_have_count(0)
    settled(page)
    # Where the samples lie on this machine is of no interest.
    for place in page.get_by_test_id("stMain").get_by_text(str(ROOT)).all():
        place.evaluate(
            "(place, root) => { place.textContent = place.textContent.replaceAll(root, '~/snoopie') }", str(ROOT)
        )
    taken = Image.open(io.BytesIO(drawn(page)))
    # Not a blank page.
    assert len(taken.getcolors(1 << 24) or []) > 100
    if os.environ.get("SNOOPIE_UPDATE_DOCS"):
        PICTURES.mkdir(exist_ok=True)
        taken.quantize(128).save(PICTURES / f"{name}.png", optimize=True)


def test_every_view_is_in_the_document() -> None:
    text = DOCUMENT.read_text()
    for view in VIEWS:
        assert f"## {view.title}\n" in text
        assert f"](app/{view.name}.png)" in text
        assert (PICTURES / f"{view.name}.png").is_file()
    assert {path.stem for path in PICTURES.glob("*.png")} == {view.name for view in VIEWS}
