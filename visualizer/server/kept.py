"""What browsers may keep without asking again: the files of AG Grid, of which Streamlit does not say for how long.

Each of its tables is a frame, and would load a script of more than a megabyte again.
"""

from __future__ import annotations

import re

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# The name of a file that changes with what is in it, as main.f4bb7ae6.js.
_HASHED = re.compile(r"\.[0-9a-f]{8,}\.\w+$")
FOREVER = "public, max-age=31536000, immutable"
# Others may differ after an update of the package.
_AN_HOUR = "public, max-age=3600"


class Kept:
    """Says it where Streamlit lets everybody keep a file."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/component/"):
            await self._app(scope, receive, send)
            return

        async def sender(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("cache-control") == "public":
                    headers["cache-control"] = FOREVER if _HASHED.search(scope["path"]) else _AN_HOUR
            await send(message)

        await self._app(scope, receive, sender)
