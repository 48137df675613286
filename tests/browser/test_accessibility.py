"""Every page, light and dark, as axe sees it: nothing that keeps somebody from reading or using it."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import PATIENCE, settled
from visualizer.pages import VIEWS

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
# What Streamlit itself makes of the list of pages, and its link that skips it.
NOT_OURS = ["[data-testid=stSidebarNav]", "[data-testid=stSkipToContent]"]
RUN = """
outside => axe.run({exclude: outside.map(one => [one])}, {resultTypes: ["violations"]}).then(
  found => found.violations.flatMap(({id, nodes}) => nodes.map(node => `${id}: ${node.html.slice(0, 200)}`)))
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_violation(scheme: Any, sample_app: Callable[[str], str], browser: Browser, note: str) -> None:
    context = browser.new_context(viewport={"width": 1440, "height": 1000}, color_scheme=scheme)
    context.set_default_timeout(PATIENCE)
    context.add_init_script(note)
    page = context.new_page()
    found = {}
    for view in VIEWS:
        page.goto(f"{sample_app('halo-4gpu')}/{view.name}")
        page.get_by_role("heading", name=view.title, exact=True, level=2).wait_for()
        settled(page)
        page.evaluate(AXE)
        if violations := page.evaluate(RUN, NOT_OURS):
            found[view.name] = violations
    context.close()
    assert found == {}
