"""A person looks at memory at its peak, and at driver calls, one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE, picture, running_app
from tests.browser.steps import go_to, in_address, rows, set_to, table_at
from tests.support import busy

OpenPage = Callable[[str], Page]


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on the program of tests/support/busy.py."""
    with running_app(str(busy.write_busy(tmp_path_factory.mktemp("busy")))) as address:
        yield address


def test_memory_at_its_peak(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Memory")
    page.locator(".annotation-text").filter(has_text="peak 96 MiB after 2 ms").wait_for(timeout=2 * PATIENCE)
    picture(page, "memory")
    set_to(page, "GPU 0")
    in_address(page, "device=GPU")
    peak = table_at(page, 1)
    peak.get_by_text("busy.cu:20").first.click()
    stack = table_at(page, 2)
    stack.get_by_text("Model::Model(int)").first.wait_for()
    picture(page, "memory_stack")


def test_a_call_and_its_place_in_time(app: str, open_page: OpenPage) -> None:
    page = open_page(app)
    go_to(page, "Calls")
    table_at(page).get_by_text("CUDA_ERROR_ILLEGAL_ADDRESS").wait_for(timeout=2 * PATIENCE)
    table_at(page, 1).get_by_text("cuMemAlloc_v2").click()
    page.wait_for_function("location.search.includes('call=cuMemAlloc_v2')")
    single = rows(table_at(page, 2))
    expect(single).to_have_count(2, timeout=PATIENCE)
    picture(page, "calls")
    single.first.click()
    page.get_by_role("link", name="This call in the timeline").click()
    page.get_by_role("heading", name="Timeline", level=2).wait_for()
    page.get_by_text("Driver call 101").first.wait_for()
