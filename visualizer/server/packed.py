"""Scripts and styles in zstd, for browsers that take it: a fifth smaller than gzip makes them in the time."""

from __future__ import annotations

import zstandard
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_FOLDERS = ("/static/", "/component/")
# Smaller ones gain nothing.
_LEAST = 500
# With it a first load is below 4 MB; more of it costs more time than it saves.
_LEVEL = 10


class Packed:
    """Packs the files that Streamlit serves; leaves the rest, and other browsers, to gzip."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_file = scope["type"] == "http" and scope["method"] == "GET" and scope["path"].startswith(_FOLDERS)
        if not is_file or not _takes_zstd(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        # Streamlit would pack some of them itself, as small as gzip can, each time anew.
        others = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
        begun: Message | None = None
        body = b""

        async def sender(message: Message) -> None:
            nonlocal begun, body
            if message["type"] == "http.response.start" and _is_text(message):
                begun = message
            elif message["type"] == "http.response.body" and begun is not None:
                body += message.get("body", b"")
                if message.get("more_body"):
                    return
                headers = MutableHeaders(scope=begun)
                headers.add_vary_header("Accept-Encoding")
                if len(body) >= _LEAST:
                    body = await run_in_threadpool(zstandard.compress, body, _LEVEL)
                    headers["content-encoding"] = "zstd"
                    headers["content-length"] = str(len(body))
                await send(begun)
                await send({"type": "http.response.body", "body": body})
            else:
                await send(message)

        await self._app({**scope, "headers": others}, receive, sender)


def _takes_zstd(headers: Headers) -> bool:
    return "zstd" in (word.strip() for word in headers.get("accept-encoding", "").split(","))


def _is_text(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    kind = headers.get("content-type", "").partition(";")[0]
    is_text = kind.startswith("text/") or kind in ("application/javascript", "application/json", "image/svg+xml")
    return start["status"] == 200 and is_text and "content-encoding" not in headers
