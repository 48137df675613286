"""The whole page."""

from __future__ import annotations

import datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from snoopie.api.trace import Trace
from snoopie.report import sections
from snoopie.report.parts import MOST_LETTERS, Folders, Progress, cut
from snoopie.words import units

_HERE = Path(__file__).parent


def render(
    trace: Trace,
    sources: Folders = (),
    *,
    title: str = "",
    part: str = "",
    progress: Progress | None = None,
) -> str:
    """The report as HTML."""
    made = []
    for maker in sections.ALL:
        if progress is not None:
            progress(maker.__name__)
        made.append(maker(trace, sources))
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("page.html").render(
        title=cut(title or title_of(trace)),
        about=about(trace),
        part=cut(part, 3 * MOST_LETTERS),
        sections=[section for section in made if section.parts],
        absent=[section for section in made if not section.parts],
        style=Markup((_HERE / "page.css").read_text(encoding="utf-8")),
    )


def title_of(trace: Trace) -> str:
    """The title that a report has by itself."""
    programs = list(dict.fromkeys(trace.processes["program"]))
    return f"Traffic of {', '.join(programs[:3])}{', …' if programs[3:] else ''}"


def about(trace: Trace) -> list[str]:
    """One line each: the command, when and where it ran."""
    processes = trace.processes
    commands = list(dict.fromkeys(processes["command"]))
    hosts = list(dict.fromkeys(processes["host"]))
    number = f"{len(processes)} process{'' if len(processes) == 1 else 'es'}"
    started = _date(int(processes["start_ns"].min()))
    ran = f"{number} on {', '.join(hosts[:8])}{', …' if hosts[8:] else ''}{f', started {started}' if started else ''}"
    more = f" (and {len(commands) - 1} other commands)" if len(commands) > 1 else ""
    return [f"{cut(commands[0], 3 * MOST_LETTERS)}{more}", cut(ran)]


def _date(ns: int) -> str:
    if not units.is_date(ns):
        return ""
    try:
        return datetime.datetime.fromtimestamp(ns // 10**9, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return ""
