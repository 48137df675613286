"""What a page needs to know before Streamlit's own scripts do: where it will be, so that nothing moves when it comes.

Streamlit gives the page the whole width until the list of pages is there, and then moves all of it aside.
"""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# The width that Streamlit gives the list of pages, and from which width of the window on it stands beside the page.
_STYLE = (
    b"<style>@media (min-width: 768px) {"
    b" [data-testid=stAppViewContainer]:not(:has([data-testid=stSidebar], .without-sidebar)) { padding-left: 281px; }"
    b" }</style>"
)
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
