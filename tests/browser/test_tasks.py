"""What people come for: each test asks a question of a sample, and ends in the text that answers it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import settled
from tests.browser.steps import go_to, metric, rows

OpenPage = Callable[[str], Page]


@pytest.fixture
def halo(sample_app: Callable[[str], str]) -> str:
    return sample_app("halo-4gpu")


def begin(page: Page) -> Page:
    page.get_by_role("heading", name="Overview", exact=True, level=2).wait_for()
    settled(page)
    return page


def test_which_line_costs_most(halo: str, open_page: OpenPage) -> None:
    page = begin(open_page(halo))
    answer = "halo.cu:25 sends half of all bytes, each GPU to the next one, 100 % efficient."
    expect(page.get_by_role("heading", name=answer)).to_be_visible()
    # And one click further, the line itself.
    page.get_by_role("link", name="halo.cu:25").click()
    page.get_by_role("heading", name="halo.cu:25").wait_for()


def test_is_the_exchange_overlapped(halo: str, open_page: OpenPage) -> None:
    page = begin(open_page(halo))
    go_to(page, "Timeline")
    expect(page.get_by_text("0 % of the bytes moved while another kernel ran on the same GPU")).to_be_visible()
    expect(page.get_by_text("the clocks are known to ± 10.1 µs")).to_be_visible()


def test_which_pair_is_the_bottleneck_and_what_could_it_come_down_to(halo: str, open_page: OpenPage) -> None:
    page = begin(open_page(halo))
    go_to(page, "Communication")
    first = rows(page.frame_locator("iframe").nth(2)).first
    for part in ("GPU 0", "GPU 1", "320 KiB", "728.2 ns", "616.6 µs"):
        expect(first).to_contain_text(part)


def test_what_does_nccl_do(sample_app: Callable[[str], str], open_page: OpenPage) -> None:
    page = begin(open_page(sample_app("allreduce-4gpu")))
    go_to(page, "Collectives")
    expect(page.get_by_text("of number 0: rank 2 came last")).to_be_visible()
    last = rows(page.frame_locator("iframe").first).nth(2)
    # Its kernel is named RING_LL: what ran is Simple. What moved is what a ring of four moves, and a few flags.
    for part in ("AllReduce", "835.6 µs", "710.6 µs", "2.3 MiB", "Ring", "Simple", "830 MB/s"):
        expect(last).to_contain_text(part)


def test_did_the_change_help(sample_app: Callable[[str], str], open_page: OpenPage) -> None:
    page = begin(open_page(sample_app("jacobi-2gpu.zst")))
    go_to(page, "Compare")
    assert metric(page, "Bytes") == "1.9 MiB"
    expect(page.get_by_test_id("stMetric").first).to_contain_text("+1.6 MiB")
