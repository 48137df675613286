"""python visualizer/server/serve.py [--address A] [--port N] [--no-token] [--page P] -- WORDS OF THE APP

Serves the app to who knows its token, which is made here: no other process ever has it in its words.
"""

from __future__ import annotations

import argparse
import secrets
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware

# Also in a checkout that is not installed, where only this file's folder would be searched.
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from snoopie.garbage import import_to_stay  # noqa: E402
from visualizer.server import invitation  # noqa: E402
from visualizer.server.early import Early  # noqa: E402
from visualizer.server.guard import LOOPBACK, Guard  # noqa: E402
from visualizer.server.kept import Kept  # noqa: E402
from visualizer.server.packed import Packed  # noqa: E402
from visualizer.server.together import Together  # noqa: E402

APP = ROOT / "visualizer" / "app.py"


def main() -> None:
    own, words = _words(sys.argv[1:])
    try:
        _look_at(own.address, own.port)
    except OSError as error:
        sys.exit(f"snoopie: {own.address}:{own.port} cannot be served ({error.strerror}); name another --port")
    token = None if own.no_token else secrets.token_urlsafe(32)
    hosts = LOOPBACK if own.address in LOOPBACK else ()

    @asynccontextmanager
    async def invite(_: st.App) -> AsyncGenerator[dict[str, Any]]:
        # The port is ours by now: nobody else can have taken it, to be told the token.
        there = invitation.address(own.address, st.get_option("server.port"), own.page, token)
        invitation.announce(own.address, there, token)
        Thread(target=_import_ahead, daemon=True).start()
        with nullcontext() if st.get_option("server.headless") else invitation.opened(there):
            yield {}

    # As `streamlit run` would leave it: the app reads it, and its settings lie beside it.
    # Who has the token, on this machine, is its user: the app may show what they opened before, and their folders.
    sys.argv = [str(APP), *(["--own"] if token is not None and hosts else []), *words]
    middleware = [
        Middleware(Guard, token=token, hosts=hosts),
        # A page's scripts are 10 MB and more as they are; a level above costs the first page more than it saves. What
        # Packed has packed stays so.
        Middleware(GZipMiddleware, compresslevel=3),
        Middleware(Packed),
        Middleware(Early),
        Middleware(Together),
        Middleware(Kept),
    ]
    app = st.App(APP, lifespan=invite, middleware=middleware)
    options = {
        "server.address": own.address,
        "server.allowedHosts": ["*"],  # the guard knows better
        "server.fileWatcherType": "none",
        "browser.gatherUsageStats": False,
        "logger.hideWelcomeMessage": True,
    }
    # Which is how it ends.
    with suppress(KeyboardInterrupt):
        app.run(config=options | ({"server.port": own.port} if own.port else {}))


def _import_ahead() -> None:
    """What the first page waits for otherwise, most of it for pandas: the browser loads its scripts meanwhile."""
    import_to_stay("snoopie.api.trace", "plotly.graph_objects")


def _words(words: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", default=LOOPBACK[0])
    parser.add_argument("--port", type=int)
    parser.add_argument("--page", default="")
    parser.add_argument("--no-token", action="store_true")
    split = words.index("--") if "--" in words else len(words)
    return parser.parse_args(words[:split]), words[split + 1 :]


def _look_at(address: str, port: int | None) -> None:
    """OSError where the address is not this machine's, or its port is taken. Without a port the app looks for one."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        trial.bind((address, port or 0))


if __name__ == "__main__":
    main()
