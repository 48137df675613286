"""Every page, light and dark, as axe sees it: nothing that keeps somebody from reading or using it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.steps import go_to
from tests.support import axe
from tests.support.contrast import ENOUGH, contrast
from visualizer.pages import VIEWS

# What Streamlit itself makes of the list of pages, and its link that skips it.
NOT_OURS = ["[data-testid=stSidebarNav]", "[data-testid=stSkipToContent]"]
# The same on every page.
SIDEBAR = "[data-testid=stSidebar]"
# All that a dark page has of its own.
COLOURS = ["color-contrast"]


# What is written beside pictures, and its colour, which axe does not see: it looks at no SVG.
_WORDS = """
() => [...document.querySelectorAll(".js-plotly-plot text")]
  .filter((text) => text.textContent && text.checkVisibility({visibilityProperty: true}))
  .filter((text) => text.closest(".xtick, .ytick, .xtitle, .ytitle, .legendtext, .cbaxis, .cbtitle, .annotation-text"))
  .map((text) => [text.textContent, getComputedStyle(text).fill, getComputedStyle(text).fillOpacity])
"""
_GROUND = "() => getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"


def _pale(page: Page) -> list[str]:
    """Words beside pictures that cannot be read by everybody."""

    def colour(css: str) -> str:
        return "#" + "".join(f"{int(part):02x}" for part in re.findall(r"\d+", css)[:3])

    ground = colour(page.evaluate(_GROUND))
    return [
        f"{text!r} in {fill} on {ground}"
        for text, fill, opacity in page.evaluate(_WORDS)
        if opacity != "1" or contrast(colour(fill), ground) < ENOUGH
    ]


@pytest.mark.parametrize(("scheme", "rules"), [("light", []), ("dark", COLOURS)])
def test_no_violation(scheme: Any, rules: list[str], sample_app: Callable[[str], str], context: BrowserContext) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.emulate_media(color_scheme=scheme)
    page.goto(sample_app("halo-4gpu"))
    page.get_by_role("heading", name=VIEWS[0].title, exact=True, level=2).wait_for()
    expect(page.get_by_test_id("stApp")).to_have_css("color-scheme", scheme)
    found = {}
    outside = NOT_OURS
    for view in VIEWS:
        go_to(page, view.title)
        if violations := [*axe.violations(page, outside, rules), *_pale(page)]:
            found[view.name] = violations
        outside = [*NOT_OURS, SIDEBAR]
    page.close()
    assert found == {}
