"""The page that a browser shows: markup, style, script and data in one file."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from snoopie.api.trace import Trace
from snoopie.report.interactive.limits import MOST_BYTES, Limits
from snoopie.report.interactive.payload import packed, payload, sections
from snoopie.report.page import about, title_of
from snoopie.report.parts import MOST_LETTERS, Folders, Progress, cut

_HERE = Path(__file__).parent
# One script: each uses what stands before it.
_SCRIPTS = (
    *("units", "elements", "state", "sums", "tables", "filters", "overview", "matrix"),
    *("listing", "source", "axis", "drawing", "timeline", "main"),
)


def render(
    trace: Trace,
    sources: Folders = (),
    *,
    title: str = "",
    part: str = "",
    progress: Progress | None = None,
    most: int = MOST_BYTES,
) -> str:
    """The page as HTML, of at most so many bytes."""
    environment = Environment(loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined)
    style, script = (_HERE / "page.css").read_text(encoding="utf-8"), script_text()
    tell = progress or (lambda _: None)
    tell("findings")
    fixed, limits = sections(trace, sources), Limits()
    tell("the rest")
    while True:
        text = environment.get_template("page.html").render(
            title=cut(title or title_of(trace)),
            about=about(trace),
            part=cut(part, 3 * MOST_LETTERS),
            style=Markup(style),
            script=Markup(script),
            style_hash=_hash(style),
            script_hash=_hash(script),
            data=packed(fixed | payload(trace, sources, limits)),
        )
        # Limits are of numbers and letters; how small these become, only compression knows.
        if len(text.encode("utf-8")) <= most or limits == limits.halved():
            return text
        limits = limits.halved()


def script_text() -> str:
    """The whole script."""
    return "\n".join((_HERE / "scripts" / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS)


def _hash(text: str) -> str:
    """As a Content-Security-Policy names what a page may run or be styled by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
