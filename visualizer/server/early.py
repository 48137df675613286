"""What a page needs to know before Streamlit's own scripts do: its style, so that nothing moves when they come.

Streamlit gives the page the whole width until the list of pages is there, and then moves all of it aside. And what the
app sends of style is used only once a script of Streamlit's is there that reads it.
"""

from __future__ import annotations

from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_STYLE = b"<style>" + (Path(__file__).parents[1] / "look" / "page.css").read_bytes() + b"</style>"
_END = b"</head>"


class Early:
    """Puts the style into the page that Streamlit serves at all addresses of the app."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Pages have no ending.
        if scope["type"] != "http" or scope["method"] != "GET" or "." in scope["path"].rpartition("/")[2]:
            await self._app(scope, receive, send)
            return
        # Streamlit would compress some pages itself.
        headers = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
        begun: Message | None = None
        body = b""

        async def sender(message: Message) -> None:
            nonlocal begun, body
            if message["type"] == "http.response.start" and _is_page(message):
                begun = message
            elif message["type"] == "http.response.body" and begun is not None:
                body += message.get("body", b"")
                if message.get("more_body"):
                    return
                body = body.replace(_END, _STYLE + _END, 1)
                MutableHeaders(scope=begun)["content-length"] = str(len(body))
                await send(begun)
                await send({"type": "http.response.body", "body": body})
            else:
                await send(message)

        await self._app({**scope, "headers": headers}, receive, sender)


def _is_page(start: Message) -> bool:
    kind = MutableHeaders(scope=start).get("content-type", "")
    return start["status"] == 200 and kind.startswith("text/html")
