"""A trace as a timeline in Chrome's trace event format, which Perfetto and chrome://tracing open.

Host processes have a track for each thread, with its ranges and calls; GPUs one for each stream, with its kernels, and
counters. Slices of one track must not overlap, but for calls within calls: what does gets a further track. Events are
written some at a time, however many there are.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import IO

from snoopie.api.trace import Trace
from snoopie.exporters.chrome_events import Story
from snoopie.exporters.chrome_tracks import json_text
from snoopie.files import whole_file

# Called now and then with the number of events written, and of all.
Progress = Callable[[int, int], None]


def export(
    trace: Trace,
    path: str | Path,
    *,
    force: bool = False,
    progress: Progress | None = None,
    kernel_names: bool = False,
    by_process: bool = False,
) -> int:
    """Write the timeline of a trace as JSON, compressed if the name ends with .gz; returns the number of events.

    ``kernel_names``: the call of a launch has the name of its kernel. ``by_process``: kernels stand with the process
    that launched them, not with their GPU. The file takes its name when it is complete. SnoopieError if it already
    exists (unless `force`) or cannot be written.
    """
    path = Path(path)
    story = Story(trace, kernel_names=kernel_names, by_process=by_process)
    with whole_file(path, force=force) as unfinished, unfinished.open("wb") as file:
        return _write(story, file, path.suffix == ".gz", progress)


def _write(story: Story, file: IO[bytes], compressed: bool, progress: Progress | None) -> int:
    if not compressed:
        return _write_events(story, file, progress)
    with gzip.GzipFile(filename="", mode="wb", compresslevel=4, fileobj=file, mtime=0) as packed:
        return _write_events(story, packed, progress)


def _write_events(story: Story, file: IO[bytes] | gzip.GzipFile, progress: Progress | None) -> int:
    about = json_text(story.about())
    file.write(f'{{"displayTimeUnit":"ns","otherData":{about},"traceEvents":['.encode())
    written = 0
    for events in story.events():
        if not events:
            continue
        file.write(((",\n" if written else "\n") + ",\n".join(events)).encode())
        written += len(events)
        if progress is not None:
            progress(written, max(written, story.expected))
    file.write(b"\n]}\n")
    return written
