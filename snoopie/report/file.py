"""A report as a file: to be read (`page`), or to be explored (`interactive.page`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from snoopie.api.trace import Trace
from snoopie.files import whole_file
from snoopie.report.parts import Folders, Progress


def write(
    trace: Trace,
    path: Path,
    sources: Folders = (),
    *,
    interactive: bool = False,
    title: str = "",
    part: str = "",
    force: bool = False,
    progress: Progress | None = None,
) -> None:
    """Write the report as one HTML file. Source is quoted as it was recorded, else from the folders ``sources``
    alone; not at all with None.

    ``part`` says which part of a trace a view is. SnoopieError if the file already exists (unless ``force``) or cannot
    be written.
    """
    render: Callable[..., str]
    if interactive:
        from snoopie.report.interactive import page as viewer

        render = viewer.render
    else:
        from snoopie.report import page

        render = page.render

    with whole_file(path, force=force) as unfinished:
        text = render(trace, sources, title=title, part=part, progress=progress)
        unfinished.write_text(text, encoding="utf-8")
