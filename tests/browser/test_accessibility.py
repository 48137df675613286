"""Every page, light and dark, as axe sees it: nothing that keeps somebody from reading or using it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import PATIENCE, settled
from tests.support import axe
from visualizer.pages import VIEWS

# What Streamlit itself makes of the list of pages, and its link that skips it.
NOT_OURS = ["[data-testid=stSidebarNav]", "[data-testid=stSkipToContent]"]


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
        if violations := axe.violations(page, NOT_OURS):
            found[view.name] = violations
    context.close()
    assert found == {}
