"""The address of a running app with its token, for the user: printed, and opened in a browser where there is one."""

from __future__ import annotations

import html
import socket
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from urllib.parse import urlencode

from visualizer.server.guard import KEY, LOOPBACK

# All addresses of the machine; none of them can be opened.
_ANY = ("0.0.0.0", "::")
_PAGE = """<!DOCTYPE html>
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>Snoopie</title>
"""


def address(host: str, port: int, page: str, token: str | None) -> str:
    """Where the app is, with the token that opens it."""
    name = socket.gethostname() if host in _ANY else f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/{page}" + (f"?{urlencode({KEY: token})}" if token else "")


def announce(host: str, there: str, token: str | None) -> None:
    """Prints the address. Says who else can open it, if anybody can."""
    print(f"{there}\nCtrl-C ends it.", flush=True)
    who = [] if host in LOOPBACK else ["other machines"]
    who += [] if token else ["whoever can reach it, without a token"]
    if who:
        print(f"snoopie: open to {' and '.join(who)}", file=sys.stderr, flush=True)


@contextmanager
def opened(there: str) -> Iterator[None]:
    """Has a browser open the address.

    By a page that only this user can read, and that goes with the server: others see the words of every command.
    """
    with TemporaryDirectory(prefix="snoopie-") as folder:
        page = Path(folder, "open.html")
        page.write_text(_PAGE.format(address=html.escape(there)))
        # Some browsers return when they are closed.
        Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()
        yield
