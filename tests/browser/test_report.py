"""The report in a real browser: offline, light and dark, on paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

import snoopie
from snoopie.report.file import write
from tests.browser.conftest import picture
from tests.browser.steps import SAMPLES

BACKGROUND = "getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = tmp_path_factory.mktemp("report") / "report.html"
    write(snoopie.load(SAMPLES / "ring-4gpu.zst"), written, [SAMPLES])
    return written


def open_report(browser: Browser, path: Path, scheme: str, width: int = 1400) -> tuple[Page, list[str]]:
    """The report from its file, and what went wrong or was asked for beyond it."""
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 1000})  # type: ignore[arg-type]
    context.set_offline(True)
    page = context.new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: wrong.append(request.url) if request.url != path.as_uri() else None)
    page.goto(path.as_uri())
    return page, wrong


@pytest.mark.parametrize(("scheme", "background"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 23, 28)")])
def test_opens_offline_in_light_and_dark(browser: Browser, path: Path, scheme: str, background: str) -> None:
    page, wrong = open_report(browser, path, scheme)
    assert page.evaluate(BACKGROUND) == background
    page.get_by_role("link", name="Source lines").click()
    heading = page.get_by_role("heading", name="Source lines")
    assert 0 <= heading.bounding_box()["y"] < 100  # type: ignore[index]
    matrix = page.get_by_role("img", name="Bytes by issuer")
    # Text of a figure has the colour of the page's text.
    label = matrix.locator("text", has_text="GPU 3").first
    assert label.evaluate("text => getComputedStyle(text).fill") == page.evaluate(
        "getComputedStyle(document.body).color"
    )
    assert page.get_by_role("table").filter(has_text="wire bytes").count() >= 3
    assert page.locator(".listing .hot").count() == 3
    page.evaluate("scrollTo(0, 0)")
    picture(page, f"report_{scheme}")
    assert wrong == []
    page.context.close()


def test_fits_a_narrow_window(browser: Browser, path: Path) -> None:
    page, _ = open_report(browser, path, "light", width=500)
    assert page.evaluate("document.documentElement.scrollWidth") <= 500
    picture(page, "report_narrow")
    page.context.close()


def test_prints_on_light_paper(browser: Browser, path: Path, tmp_path: Path) -> None:
    page, wrong = open_report(browser, path, "dark")
    paper = page.pdf(format="A4")
    (tmp_path / "report.pdf").write_bytes(paper)
    pages = len(re.findall(rb"/Type\s*/Page\b", paper))
    assert 3 <= pages <= 10
    page.emulate_media(media="print")
    assert page.evaluate(BACKGROUND) == "rgb(255, 255, 255)"
    assert not page.get_by_role("navigation").is_visible()
    assert wrong == []
    page.context.close()
