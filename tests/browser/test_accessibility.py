"""Every page, light and dark, as axe sees it: nothing that keeps somebody from reading or using it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.steps import go_to
from tests.support import axe
from visualizer.pages import VIEWS

# What Streamlit itself makes of the list of pages, and its link that skips it.
NOT_OURS = ["[data-testid=stSidebarNav]", "[data-testid=stSkipToContent]"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_violation(scheme: Any, sample_app: Callable[[str], str], context: BrowserContext) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": 1440, "height": 1000})
    page.emulate_media(color_scheme=scheme)
    page.goto(sample_app("halo-4gpu"))
    page.get_by_role("heading", name=VIEWS[0].title, exact=True, level=2).wait_for()
    expect(page.get_by_test_id("stApp")).to_have_css("color-scheme", scheme)
    found = {}
    for view in VIEWS:
        go_to(page, view.title)
        if violations := axe.violations(page, NOT_OURS):
            found[view.name] = violations
    page.close()
    assert found == {}
