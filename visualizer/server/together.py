"""Streamlit's small scripts in one answer. They are more than a hundred, and a browser asks for each by itself, six at
a time.

The page begins with a script of ours (together.js), which makes an address for each of them and tells the browser by an
import map that these stand for the files. Large files stay what they are: browsers keep them compiled. So does every
file that does more than to import others by their names; and the whole page, where it is not as it is known here.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from html import escape
from pathlib import Path

import streamlit
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from visualizer.server.kept import FOREVER
from visualizer.server.rewriting import Rewriting

_FOLDER = "/static/js/"
_SCRIPTS = Path(streamlit.__file__).parent / "static" / "static" / "js"
_LOADER = Path(__file__).with_name("together.js")
# Letters of a script that is small.
_SMALL = 100_000

_ENTRY = re.compile(r'<script type="module" crossorigin src="\./static/js/([^"]+)"></script>')
_PRELOADED = re.compile(r'\s*<link rel="modulepreload"[^>]*>')
# In minified code: import{a as b}from"./c.js", import"./c.js", import(`./c.js`).
_NAME = re.compile(r'"\./([\w.~-]+\.js)"')
_DYNAMIC = re.compile(r"import\(`\./([\w.~-]+\.js)`\)")
_BEFORE = ("from", "import")
# Stands for the folder, in what is sent.
_HERE = "\0"


class Together(Rewriting):
    """Puts the script into the page, and answers what it asks for."""

    def asks(self, scope: Scope) -> bool:
        # Pages have no ending.
        return "." not in scope["path"].rpartition("/")[2]

    def is_one(self, headers: Headers) -> bool:
        return headers.get("content-type", "").startswith("text/html")

    async def rewritten(self, _: MutableHeaders, body: bytes) -> bytes:
        return (await run_in_threadpool(rewritten, body.decode())).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sent = _known.get(scope["path"].rpartition("/")[2]) if scope["type"] == "http" else None
        if sent is None:
            await super().__call__(scope, receive, send)
        else:
            answer = Response(sent, media_type="application/json", headers={"Cache-Control": FOREVER})
            await answer(scope, receive, send)


# What was put into pages, by its name.
_known: dict[str, bytes] = {}


def rewritten(page: str, scripts: Path = _SCRIPTS) -> str:
    """The page with the script; as it is where it is none that is known."""
    found = _ENTRY.findall(page)
    if len(found) != 1 or not (scripts / found[0]).is_file():
        return page
    try:
        name, small, large = _of(found[0], scripts)
    except (OSError, UnicodeDecodeError):
        return page
    if not small:
        return page
    _known[name] = small
    preloads = [("fetch", name), *(("script", one) for one in large)]
    links = "".join(f'<link rel="preload" as="{kind}" crossorigin href=".{_FOLDER}{one}">' for kind, one in preloads)
    words = f'data-entry="{escape(found[0])}" data-small="{name}"'
    script = f"{links}<script {words}>{_LOADER.read_text()}</script>"
    return _PRELOADED.sub("", _ENTRY.sub(lambda _: script, page))


@cache
def _of(entry: str, scripts: Path) -> tuple[str, bytes, list[str]]:
    """The name of what is sent together, what it is, and the large scripts that the first page needs besides."""
    texts: dict[str, str] = {}
    _read(entry, scripts, texts)
    large = [name for name, text in texts.items() if name != entry and not _is_simple(text)]
    for name in _DYNAMIC.findall((scripts / entry).read_text(encoding="utf-8")):
        _read(name, scripts, texts)
    small = {
        name: _NAME.sub(f'"{_HERE}\\1"', text) for name, text in texts.items() if name != entry and _is_simple(text)
    }
    content = json.dumps(small, sort_keys=True).encode() if small else b""
    return f"together.{hashlib.sha256(content).hexdigest()[:16]}.json", content, large


def _read(name: str, scripts: Path, texts: dict[str, str]) -> None:
    """A script, those that it imports, and those that these do: as far as it matters here."""
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one in texts or not (scripts / one).is_file():
            continue
        with (scripts / one).open(encoding="utf-8") as script:
            # What a script imports comes first.
            texts[one] = script.read(_SMALL + 1)
        waiting += _imported(texts[one])


def _imported(text: str) -> list[str]:
    return [found[1] for found in _NAME.finditer(text) if text.endswith(_BEFORE, 0, found.start())]


def _is_simple(text: str) -> bool:
    """Whether a script can have another address than its file: it names others where it imports them, and nowhere
    else."""
    if len(text) > _SMALL or any(word in text for word in ("import(", "import.meta", _HERE)):
        return False
    paths = sum(text.count(f"{quote}{folder}") for quote in "\"'`" for folder in ("./", "../"))
    return paths == len(_imported(text))
