"""Answers about a large trace come later, and what later pages need is loaded ahead: by the server's doing.

If the browser asked for them, it would tell what its page shows; while a click is being answered, that takes it back.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.conftest import running_app, settled
from tests.support.encoder import START_NS, TraceBuilder
from visualizer.session import background

# Each of the launches stores as many times as a record is kept for, 512 bytes each.
LAUNCHES = 4
STORES = background._FEW // LAUNCHES + 1


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on a trace of more records than it goes through while a page is drawn."""
    trace = TraceBuilder((0, 1))
    put = trace.function("put(float4*)")
    stored = trace.site(put, "STG.E.128", "store", 16)
    begin = 0x7F00_0000_0000
    trace.add("objects", address=begin, bytes=512 * STORES, owner=1, kind=0, time=START_NS)
    for _ in range(LAUNCHES):
        launch = trace.launch(put, 0)
        trace.count(launch, stored, 1, STORES, 32 * STORES, 16 * STORES)
        for number in range(STORES):
            trace.record(launch, stored, 1, begin + 512 * number, 16, block=number)
    path: Path = tmp_path_factory.mktemp("large") / "large.zst"
    with running_app(str(trace.write(path))) as address:
        yield address


def test_the_browser_asks_for_nothing_by_itself(large: str, context: BrowserContext) -> None:
    asked: list[str | bytes] = []
    page = context.new_page()
    page.on("websocket", lambda socket: socket.on("framesent", lambda sent: asked.append(sent)))
    page.goto(f"{large}/objects")
    going = page.get_by_text("Going through the recorded accesses")
    going.first.wait_for()
    settled(page)
    del asked[:]
    # One answer after the other, as the page gets to them.
    page.get_by_text("By which instructions").wait_for()
    expect(going).to_have_count(0)
    # Another session, whose answers are there, still loads ahead.
    page.reload()
    ahead = page.locator(".st-key-preload")
    ahead.wait_for(state="attached")
    assert len(asked) == 1
    ahead.wait_for(state="detached")
    page.get_by_text("By which instructions").wait_for()
    assert len(asked) == 1
    page.close()
