"""What the terminal shows."""

from __future__ import annotations

import io

import numpy as np
from rich.console import Console

from snoopie.live.about import About
from snoopie.live.terminal import View
from snoopie.watch import stream
from snoopie.watch.metrics import WatchMetrics
from snoopie.watch.session import Session
from snoopie.watch.stream import Frame, Start


def test_a_view() -> None:
    session = Session(read_about=lambda pid: About(pid, program=f"app{pid}\x1b[31m"))
    session.take_one(Frame.START, Start(0, ["cuLaunchKernel"]))
    view = View(WatchMetrics(session))
    for second in range(1, 4):
        rows = np.zeros(2, stream.SUMS)
        rows["pid"], rows["kernel"], rows["calls"], rows["errors"] = (1, 2), 5, (10 * second, 70 * second), (3, 0)
        session.take_one(Frame.NAMES, np.array([(5, 1, 0, b"_Z4kernv"), (5, 2, 0, b"_Z4kernv")], stream.NAME))
        session.take_one(Frame.SUMS, rows)
        view.processes()
        view.render()
        session.take_one(Frame.TICK, np.array([second * 10**9], np.uint64))
    rows = rows.copy()
    rows["calls"] = 40, 400
    session.take_one(Frame.SUMS, rows)
    # By what they launched since: ten, and 190.
    assert [(row.about.pid, row.launches) for row in view.processes()] == [(2, 190), (1, 10)]
    view.key = "e"
    assert [row.about.pid for row in view.processes()] == [1, 2]
    output = io.StringIO()
    Console(file=output, width=120).print(view.render())
    text = output.getvalue()
    assert "kern()" in text
    # Of accesses by kernels nothing is known, which is not the same as none.
    assert "accesse" not in text
    assert "\x1b" not in text
