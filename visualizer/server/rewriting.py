"""Answers of Streamlit's server that are sent as something else."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Rewriting:
    """Holds an answer back until all of it is there, and sends what `rewritten` makes of it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def asks(self, scope: Scope) -> bool:
        """Whether the answer to such a GET may be one to rewrite."""
        raise NotImplementedError

    def is_one(self, headers: Headers) -> bool:
        """Whether an answer with these headers is."""
        raise NotImplementedError

    async def rewritten(self, headers: MutableHeaders, body: bytes) -> bytes:
        """What to send instead; the headers may be changed, and tell its length afterwards."""
        raise NotImplementedError

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or not self.asks(scope):
            await self._app(scope, receive, send)
            return
        # Streamlit would compress some answers itself.
        others = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
        begun: Message | None = None
        body = b""

        async def sender(message: Message) -> None:
            nonlocal begun, body
            if message["type"] == "http.response.start" and self._is_one(message):
                begun = message
            elif message["type"] == "http.response.body" and begun is not None:
                body += message.get("body", b"")
                if message.get("more_body"):
                    return
                headers = MutableHeaders(scope=begun)
                body = await self.rewritten(headers, body)
                headers["content-length"] = str(len(body))
                await send(begun)
                await send({"type": "http.response.body", "body": body})
            else:
                await send(message)

        await self._app({**scope, "headers": others}, receive, sender)

    def _is_one(self, start: Message) -> bool:
        return start["status"] == 200 and self.is_one(Headers(raw=start["headers"]))
