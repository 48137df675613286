"""How a user is told where the app is."""

from __future__ import annotations

import socket
import webbrowser
from pathlib import Path
from queue import SimpleQueue
from urllib.parse import unquote, urlsplit

import pytest

from visualizer.server import invitation


def test_addresses_that_can_be_opened() -> None:
    assert invitation.address("127.0.0.1", 8501, "", "a-b_c") == "http://127.0.0.1:8501/?token=a-b_c"
    assert invitation.address("127.0.0.1", 8501, "compare", None) == "http://127.0.0.1:8501/compare"
    assert invitation.address("::1", 9000, "", None) == "http://[::1]:9000/"
    assert invitation.address("0.0.0.0", 9000, "", None) == f"http://{socket.gethostname()}:9000/"


def test_a_browser_gets_the_token_by_a_private_page(monkeypatch: pytest.MonkeyPatch) -> None:
    told: SimpleQueue[str] = SimpleQueue()
    monkeypatch.setattr(webbrowser, "open", told.put)
    there = "http://127.0.0.1:8501/?token=secret"
    with invitation.opened(there):
        # The words of a browser's command can be read by all users.
        address = told.get(timeout=60)
        assert "secret" not in address
        page = Path(unquote(urlsplit(address).path))
        assert f'content="0; url={there}"' in page.read_text()
        assert page.parent.stat().st_mode & 0o077 == 0
    assert not page.parent.exists()


@pytest.mark.parametrize(
    ("host", "token", "sentence"),
    [
        ("127.0.0.1", "t", ""),
        ("127.0.0.1", None, "snoopie: open to whoever can reach it, without a token\n"),
        ("0.0.0.0", "t", "snoopie: open to other machines\n"),
        ("0.0.0.0", None, "snoopie: open to other machines and whoever can reach it, without a token\n"),
    ],
)
def test_what_is_open_to_others_is_said(
    capsys: pytest.CaptureFixture[str], host: str, token: str | None, sentence: str
) -> None:
    invitation.announce(host, "http://x/", token)
    assert capsys.readouterr() == ("http://x/\nCtrl-C ends it.\n", sentence)
