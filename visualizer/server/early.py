"""What a page needs before Streamlit's own scripts do: its style, so that nothing moves when they come, and who hears
the server's messages before they do (at_once.js).

Streamlit gives the page the whole width until the list of pages is there, and then moves all of it aside. And what the
app sends of style is used only once a script of Streamlit's is there that reads it.
"""

from __future__ import annotations

from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Scope

from visualizer.server.rewriting import Rewriting

_STYLE = b"<style>" + (Path(__file__).parents[1] / "look" / "page.css").read_bytes() + b"</style>"
_SCRIPT = b"<script>" + Path(__file__).with_name("at_once.js").read_bytes() + b"</script>"
_END = b"</head>"


class Early(Rewriting):
    """Puts both into the page that Streamlit serves at all addresses of the app."""

    def asks(self, scope: Scope) -> bool:
        # Pages have no ending.
        return "." not in scope["path"].rpartition("/")[2]

    def is_one(self, headers: Headers) -> bool:
        return headers.get("content-type", "").startswith("text/html")

    async def rewritten(self, _: MutableHeaders, body: bytes) -> bytes:
        return body.replace(_END, _STYLE + _SCRIPT + _END, 1)
