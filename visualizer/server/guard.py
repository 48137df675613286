"""Who may talk to the app: those who know its token, from the app's own pages.

Stands before every address of the server, its WebSocket too. Who comes with the token gets a cookie and is sent on to
the same address without it, so that it stays out of bookmarks, of what is copied, and of what other sites are told.
"""

from __future__ import annotations

import secrets
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

KEY = "token"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_NO_TOKEN = (
    "This app belongs to who started it. Open the address that snoopie view printed, with its token, in this browser."
)
_NOT_FROM_HERE = "This app answers its own pages only."
# The browser itself keeps every page from reaching anything but the app. Streamlit and the tables make functions of
# strings; components come as blobs.
_POLICY = "; ".join(
    [
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self'",
    ]
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


class Guard:
    """``token``: None lets everybody in. ``hosts``: the names under which a browser may reach the server; () is any,
    where others may give it a name that is not known here."""

    def __init__(self, app: ASGIApp, token: str | None, hosts: tuple[str, ...]) -> None:
        self._app = app
        self._token = token
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._answer(scope)
        if refusal is None:
            await self._app(scope, receive, _with_headers(send) if scope["type"] == "http" else send)
        elif scope["type"] == "websocket":
            # Before it is accepted, this is an answer of status 403.
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await refusal(scope, receive, _with_headers(send))

    def _answer(self, scope: Scope) -> Response | None:
        """What is said instead of what was asked for; None to let it pass."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_own(host) or not _is_from(host, headers.get("origin")):
            return _refuse(_NOT_FROM_HERE)
        if self._token is None:
            return None
        if scope["type"] == "http" and scope["method"] in ("GET", "HEAD"):
            words = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            if given := [value for name, value in words if name == KEY]:
                if not self._is_token(given[-1]):
                    return _refuse(_NO_TOKEN)
                rest = [(name, value) for name, value in words if name != KEY]
                return self._welcome(host, scope["path"], rest)
        # Whatever else of this machine set cookies, in whatever form.
        cookies = cookie_parser("; ".join(headers.getlist("cookie")))
        return None if self._is_token(cookies.get(_name(host), "")) else _refuse(_NO_TOKEN)

    def _is_own(self, host: str) -> bool:
        """Whether the browser knows the server by a name of its own: a foreign name that leads here is an attack."""
        return not self._hosts or _split(host)[0] in self._hosts

    def _is_token(self, given: str) -> bool:
        assert self._token is not None
        return secrets.compare_digest(given.encode("utf-8", "surrogateescape"), self._token.encode())

    def _welcome(self, host: str, path: str, words: list[tuple[str, str]]) -> Response:
        assert self._token is not None
        # Never two slashes, after which a browser would look for a host.
        address = "/" + quote(path.lstrip("/\\")) + ("?" + urlencode(words) if words else "")
        response = RedirectResponse(address, 303, {"Cache-Control": "no-store"})
        response.set_cookie(_name(host), self._token, httponly=True, samesite="lax")
        return response


def _refuse(why: str) -> Response:
    return PlainTextResponse(why + "\n", 403, {"Cache-Control": "no-store"})


def _split(host: str) -> tuple[str, int | None]:
    """Name and port of a Host header; ("", None) where it is none."""
    try:
        parts = urlsplit(f"//{host}")
        return parts.hostname or "", parts.port
    except ValueError:
        return "", None


def _is_from(host: str, origin: str | None) -> bool:
    """Whether a page of the app asks. Browsers leave the origin out where it is the same, or where somebody types an
    address; only they are kept from what other pages make them do."""
    return origin is None or origin.partition("://")[2] == host


def _name(host: str) -> str:
    """The cookie's. A browser gives cookies to all ports of a host: each app on it, by whatever tunnel, has its own."""
    return f"snoopie-{_split(host)[1] or 80}"


def _with_headers(send: Send) -> Send:
    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(_HEADERS)
        await send(message)

    return sender
