"""The server's messages reach Streamlit's scripts together, run by run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

import visualizer.server

SCRIPT = Path(visualizer.server.__file__).with_name("at_once.js")
# A socket that receives what it is told to, and what its listener has heard.
SOCKET = """
window.heard = [];
const socket = new WebSocket("ws://127.0.0.1:9/none");
socket.addEventListener("message", (event) => heard.push(Array.from(new Uint8Array(event.data))));
window.receive = (bytes) =>
  socket.dispatchEvent(new MessageEvent("message", { data: new Uint8Array(bytes).buffer }));
"""


def message(field: str, hash: str = "") -> bytes:
    """One as Streamlit's server sends it, with one field besides its hash and metadata."""
    sent = ForwardMsg(hash=hash)
    sent.metadata.active_script_hash = "a" * 200  # whose length takes two bytes
    if field == "script_finished":
        sent.script_finished = ForwardMsg.FINISHED_SUCCESSFULLY
    else:
        getattr(sent, field).SetInParent()
    return bytes(sent.SerializeToString())


BEGIN, PART, CHANGE = message("new_session"), message("delta", "f" * 32), message("session_status_changed")
END = message("script_finished")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    # Of its own: a context's clock is that of all its pages.
    with browser.new_context() as context:
        page = context.new_page()
        # Time stands still, for what waits for a moment only.
        page.clock.install(time=0)
        page.add_init_script(path=SCRIPT)
        page.goto("about:blank")
        page.evaluate(f"() => {{ {SOCKET} }}")
        page.clock.pause_at(1000)
        yield page


def heard(page: Page, *received: bytes) -> Sequence[bytes]:
    """What the listener has heard when these were received."""
    page.evaluate("all => { for (const one of all) receive(one); }", [list(one) for one in received])
    return [bytes(one) for one in page.evaluate("heard")]


def test_a_run_is_heard_at_its_end(page: Page) -> None:
    assert heard(page, CHANGE, PART) == [CHANGE, PART]
    assert heard(page, BEGIN, PART, CHANGE) == [CHANGE, PART]
    assert heard(page, PART, END) == [CHANGE, PART, BEGIN, PART, CHANGE, PART, END]
    assert heard(page, CHANGE) == [CHANGE, PART, BEGIN, PART, CHANGE, PART, END, CHANGE]


def test_a_long_run_is_heard_as_it_goes(page: Page) -> None:
    assert heard(page, BEGIN, PART) == []
    page.clock.run_for(150)
    assert heard(page, PART) == []
    page.clock.run_for(100)
    assert heard(page) == [BEGIN, PART, PART]
    assert heard(page, PART) == [BEGIN, PART, PART]
    page.clock.run_for(250)
    assert heard(page, END) == [BEGIN, PART, PART, PART, END]


def test_what_cannot_be_told_is_heard(page: Page) -> None:
    """A message that is cut off, and one without any field."""
    odd = [b"", BEGIN[:1], BEGIN[:40], b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff"]
    assert heard(page, *odd) == odd
