"""A person opens the overview, reads a finding, and follows it to its line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import picture, running_app, settled
from tests.browser.steps import in_address
from tests.support.program import FILE, MIB, SECTORS, App

OpenPage = Callable[[str], Page]

SOURCE = (
    "".join(f"// line {number}\n" for number in range(1, 8)) + "    to[8 * i] = value;  // scattered\n" + "//\n" * 40
)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A program whose line 8 stores scattered words, and whose other lines, with more bytes, do nothing wrong."""
    folder = tmp_path_factory.mktemp("app")
    program = App()
    program.both_ways("store", 16 * SECTORS, lanes=16 * SECTORS, line=8)
    for line in (30, 20):
        program.both_ways("store", 8 * SECTORS, line=line)
    program.trace.copy(0, 254, 64 * MIB, gpu=0, destination_address=0x5000)
    program.trace.copy(254, 1, 64 * MIB, gpu=1, source_address=0x5000)
    (folder / Path(FILE).name).write_text(SOURCE)
    with running_app(str(program.trace.write(folder / "app.zst"))) as address:
        yield address


def test_a_finding_leads_to_its_line(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    card = page.locator("[class*=st-key-finding]").filter(has_text="stores small scattered pieces")
    card.wait_for()
    settled(page)
    expect(card).to_contain_text("app.cu:8 (kernel k8)")
    expect(card).to_contain_text("wire efficiency 12.5 % (below 50 %)")
    expect(card).to_contain_text("Let neighbouring lanes store neighbouring words")
    expect(page.locator("[class*=st-key-finding]")).to_have_count(2)
    picture(page, "findings")
    card.get_by_role("link", name="Line 8 in the source").click()
    page.get_by_role("heading", name="Source", exact=True, level=2).wait_for()
    settled(page)
    expect(page.get_by_role("heading", name=re.compile(r"app\.cu:8"))).to_be_visible()
    in_address(page, "source_line=8")
    picture(page, "finding_line")


def test_a_narrow_window(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    page.set_viewport_size({"width": 700, "height": 1000})
    card = page.locator("[class*=st-key-finding]").first
    card.get_by_role("link").wait_for()
    settled(page)
    box, link = card.bounding_box(), card.get_by_role("link").bounding_box()
    assert box is not None and link is not None
    assert link["x"] + link["width"] <= box["x"] + box["width"]
    picture(page, "findings_narrow")
