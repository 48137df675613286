"""What people come for: each test asks a question of a trace, and ends in the text that answers it.

With SNOOPIE_UPDATE_DOCS=1 they write into docs/performance.md how many clicks and seconds each answer took.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import running_app, settled
from tests.browser.steps import rows, table_at
from tests.support.program import SECTORS, App

OpenPage = Callable[[str], Page]
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "performance.md"
BEGIN, END = "<!-- by tests/browser/test_tasks.py -->\n", "<!-- end of tests/browser/test_tasks.py -->\n"


class Task:
    """A question, asked of the Overview, and what it takes to answer it."""

    def __init__(self, page: Page, question: str, begun: float) -> None:
        self.page = page
        self._question = question
        self._begun = begun
        self.clicks = 0

    def go_to(self, view: str) -> None:
        """One click, on the list of pages."""
        self.click(self.page.get_by_test_id("stSidebarNav").get_by_role("link", name=view, exact=True))
        self.page.get_by_role("heading", name=view, exact=True, level=2).wait_for()

    def click(self, place: Locator) -> None:
        if not self.clicks:
            # The page was there: who clicks has read it.
            settled(self.page)
            self._begun = time.perf_counter()
        self.clicks += 1
        place.click()

    def answers(self, *answers: Locator) -> None:
        """It is answered once all of this is seen."""
        for answer in answers:
            expect(answer).to_be_visible()
        seconds = time.perf_counter() - self._begun
        if os.environ.get("SNOOPIE_UPDATE_DOCS"):
            _write(self._question, f"| {self._question} | {self.clicks} | {seconds:.1f} |\n")


def _write(question: str, row: str) -> None:
    """The row of a question, instead of the one that it has."""
    text = DOCUMENT.read_text("utf-8")
    begin, end = text.index(BEGIN), text.index(END)
    head, *known = re.findall(r"(?s)^.*?\|---\|---:\|---:\|\n|^\|.*\|\n", text[begin:end], re.MULTILINE)
    kept = [line for line in known if not line.startswith(f"| {question} |")]
    DOCUMENT.write_text(text[:begin] + head + "".join([*kept, row]) + text[end:], "utf-8")


@contextmanager
def task(open_page: OpenPage, address: str, question: str) -> Iterator[Task]:
    begun = time.perf_counter()
    page = open_page(address)
    page.get_by_role("heading", name="Overview", exact=True, level=2).wait_for()
    yield Task(page, question, begun)


@pytest.fixture
def halo(sample_app: Callable[[str], str]) -> str:
    return sample_app("halo-4gpu")


def test_which_line_costs_most(halo: str, open_page: OpenPage) -> None:
    with task(open_page, halo, "Which line costs most?") as asked:
        answer = "halo.cu:25 sends half of all bytes, each GPU to the next one, 100 % efficient."
        asked.answers(asked.page.get_by_role("heading", name=answer))
        assert asked.clicks == 0
        # And one click further, the line itself.
        asked.page.get_by_role("link", name="halo.cu:25").click()
        asked.page.get_by_role("heading", name="halo.cu:25").wait_for()


def test_is_the_exchange_overlapped(halo: str, open_page: OpenPage) -> None:
    with task(open_page, halo, "Is my exchange overlapped by computation?") as asked:
        asked.go_to("Timeline")
        asked.answers(
            asked.page.get_by_text("0 % of the bytes moved while another kernel ran on the same GPU"),
            asked.page.get_by_text("the clocks are known to ± 10.1 µs"),
        )
        assert asked.clicks == 1


def test_which_pair_is_the_bottleneck_and_what_could_it_come_down_to(halo: str, open_page: OpenPage) -> None:
    with task(open_page, halo, "Which pair is the bottleneck, and how close is it to its link?") as asked:
        asked.go_to("Communication")
        first = rows(table_at(asked.page, 2)).first
        asked.answers(*(first.get_by_text(part) for part in ("GPU 0", "GPU 1", "320 KiB", "728.2 ns", "616.6 µs")))
        assert asked.clicks == 1


def test_which_array_is_exchanged_and_which_part_of_it(halo: str, open_page: OpenPage) -> None:
    """The grids have 66 rows of 4096 words, of which the first and the last are halos."""
    with task(open_page, halo, "Which array is exchanged, and which part of it?") as asked:
        asked.go_to("Objects")
        asked.page.get_by_role("heading", name="symmetric<float> (1), 16 copies").wait_for()
        asked.click(asked.page.get_by_role("radio", name="In rows", exact=True))
        asked.answers(
            asked.page.get_by_text("All 6,400 accesses were recorded and are shown."),
            asked.page.get_by_text("Guessed from the bytes that were touched."),
            asked.page.get_by_text("Each cell is 1 row × 32 B, 8 elements."),
        )
        expect(asked.page.get_by_role("spinbutton", name="Elements in a row")).to_have_value("4096")
        assert asked.clicks == 2


def test_what_does_nccl_do(sample_app: Callable[[str], str], open_page: OpenPage) -> None:
    with task(open_page, sample_app("allreduce-4gpu"), "What does NCCL do, and who is late?") as asked:
        asked.go_to("Collectives")
        last = rows(table_at(asked.page)).nth(2)
        # Its kernel is named RING_LL: what ran is Simple. What moved is what a ring of four moves, and a few flags.
        parts = ("AllReduce", "835.6 µs", "710.6 µs", "2.3 MiB", "Ring", "Simple", "830 MB/s")
        asked.answers(
            asked.page.get_by_text("of number 0: rank 2 came last"),
            *(last.get_by_text(part).first for part in parts),
        )
        assert asked.clicks == 1


def test_did_the_change_help(sample_app: Callable[[str], str], open_page: OpenPage) -> None:
    with task(open_page, sample_app("jacobi-2gpu.zst"), "Did my change help?") as asked:
        asked.go_to("Compare")
        times = rows(table_at(asked.page, 1)).first
        asked.answers(
            asked.page.get_by_test_id("stMetric").first.get_by_text("1.9 MiB", exact=True),
            asked.page.get_by_test_id("stMetric").first.get_by_text("+1.6 MiB"),
            *(times.get_by_text(part) for part in ("364 ns", "1.5 µs", "+1.1 µs")),
        )
        assert asked.clicks == 1


def test_what_should_be_mended_first(tmp_path: Path, open_page: OpenPage) -> None:
    """Line 9 moves more than line 8, of which more can be spared."""
    program = App()
    program.both_ways("store", 2 * SECTORS, lanes=SECTORS // 2, line=8)
    program.both_ways("store", 3 * SECTORS, lanes=10 * SECTORS, line=9)
    with (
        running_app(str(program.trace.write(tmp_path / "t.zst"))) as address,
        task(open_page, address, "What should I mend first, and what would it save?") as asked,
    ):
        first = asked.page.locator("[class*=st-key-finding_]").first
        asked.answers(
            first.get_by_text("app.cu:8 (kernel k8) stores small scattered pieces"),
            first.get_by_text("could save up to 2.3 µs on the links"),
        )
        assert asked.clicks == 0


def test_is_anything_missing(halo: str, open_page: OpenPage) -> None:
    with task(open_page, halo, "Can I trust the numbers: is anything missing?") as asked:
        asked.answers(
            asked.page.get_by_text("What this trace does not show:"),
            asked.page.get_by_text("Only some kernels were measured: those selected by 'relax,push'."),
        )
        assert asked.clicks == 0
