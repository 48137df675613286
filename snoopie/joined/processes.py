"""The table of processes: what each trace says of its own."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence

import numpy as np
import pandas as pd

from snoopie.joined.frames import frame
from snoopie.joined.ranks import ranks_of
from snoopie.joined.runs import Run
from snoopie.trace.tables import Process


def processes(sources: Sequence[Process], runs: Sequence[Run]) -> pd.DataFrame:
    """One row a process, with the place of its run."""
    run = np.zeros(len(sources), np.int64)
    for number, own in enumerate(runs):
        run[list(own.processes)] = number
    headers = [source.header for source in sources]
    ranks = [ranks_of(header.ranks) for header in headers]
    return frame(
        {
            "host": [header.host for header in headers],
            "pid": np.array([header.pid for header in headers], np.int64),
            "program": [header.program for header in headers],
            "command": [shlex.join(header.command) for header in headers],
            "start_ns": np.array([header.start_ns for header in headers], np.int64),
            "rank": np.array([own.rank for own in ranks], np.int64),
            "local_rank": np.array([own.local_rank for own in ranks], np.int64),
            "ranks": np.array([own.ranks for own in ranks], np.int64),
            # Tables hold text, and a file's name can be any bytes.
            "path": [os.fsencode(source.path).decode(errors="backslashreplace") for source in sources],
            "complete": np.array([source.complete for source in sources], np.bool_),
            "version": [str(header.tool.get("version", "")) for header in headers],
            "exit_ns": np.array([source.footer.exit_ns if source.footer else 0 for source in sources], np.int64),
            "end_ns": np.array([source.footer.end_ns if source.footer else 0 for source in sources], np.int64),
            "imported_from": [str(header.tool.get("imported_from", "")) for header in headers],
            "run": run,
        },
        "process",
        np.arange(len(headers)),
    )
