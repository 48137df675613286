"""The overview's findings: cards at once from counts, later from records; what ran and how the GPUs are linked."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import snoopie
from snoopie.analysis.findings import RULES
from snoopie.trace import text_columns
from tests.support.encoder import TraceBuilder
from tests.support.endless import endless
from tests.support.pages import PATIENCE, ROOT, start, table, table_rows, unfold, until
from tests.support.program import ACCESSES, FILE, MIB, SECTORS, App, reads
from tests.support.viewing import alive
from visualizer import pages
from visualizer.session import background
from visualizer.session.filters import Filters
from visualizer.session.question import Scope

LOADS = next(rule for rule in RULES if rule.name == "repeated-loads")


def titles(app: AppTest) -> list[str]:
    """The sentences of the cards."""
    return [text.value.split("**")[1].replace("\\", "") for text in app.markdown if ":material" in text.value]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Scattered stores, and loads that repeat."""
    app = App()
    app.both_ways("store", 4 * SECTORS, lanes=4 * SECTORS)
    reads(app, ACCESSES // 4, ACCESSES)
    return app.trace.write(tmp_path / "t.zst")


def test_cards(monkeypatch: pytest.MonkeyPatch, trace: Path) -> None:
    app = start(monkeypatch, trace)
    assert not app.exception
    assert titles(app) == [
        "app.cu:7 (kernel k7) stores small scattered pieces: 512 KiB of data take 4 MiB on the wire",
        "app.cu:7 (kernel k7) loads the same data repeatedly: each sector at least 4× in a launch, on average",
    ]
    texts = [text.value.replace("\\", "") for text in [*app.markdown, *app.caption]]
    assert LOADS.remedy in texts
    assert any("wire efficiency 12.5 % (below 50 %) · wire bytes 4 MiB (at least 1 MiB)" in text for text in texts)


def test_findings_of_records_come_later(monkeypatch: pytest.MonkeyPatch, trace: Path) -> None:
    monkeypatch.setattr(background, "_FEW", 0)
    app = start(monkeypatch, trace)

    def come() -> bool:
        if len(titles(app)) == 2:
            return True
        # What the counts say is there meanwhile.
        assert len(titles(app)) == 1
        assert any("Searching the recorded accesses" in caption.value for caption in app.caption)
        return False

    until(app, come)
    assert not any("Searching the recorded" in caption.value for caption in app.caption)


def loads(trace: Path) -> Scope:
    """What the other process is asked about: the loads of a trace."""
    status = trace.stat()
    return Scope(((str(trace), status.st_size, status.st_mtime_ns),), False, Filters(operations=("load",)))


def test_another_process_answers_the_same(monkeypatch: pytest.MonkeyPatch, trace: Path) -> None:
    text_columns.by_reference()  # as the app does
    asked, part = loads(trace), snoopie.load(trace).select(operations=["load"])
    worker = background._Worker(0)
    found = worker.answer(asked.question(snoopie.Trace.findings, "records"))
    assert len(found) == 1
    pd.testing.assert_frame_equal(found, part.findings("records"))
    process = worker._process
    assert process is not None
    # It gives way to the app, also where time is first divided between sessions; but not to all others.
    assert os.getsid(process.pid) == process.pid
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, process.pid) == min(own + 10, 19)
    if (group := Path(f"/proc/{process.pid}/autogroup")).exists():
        assert group.read_text().split()[-1] == "10"
    with pytest.raises(snoopie.UsageError, match="there is no object 99"):
        worker.answer(asked.question(snoopie.Trace.object_heat, 99, 8, width=4))
    pd.testing.assert_frame_equal(worker.answer(asked.question(snoopie.Trace.by_object)), part.by_object())
    assert worker._process is process
    # One that was ended is started anew for the next answer.
    process.kill()
    process.wait()
    pd.testing.assert_frame_equal(worker.answer(asked.question(snoopie.Trace.by_object)), part.by_object())
    assert worker._process is not process
    # And without any, this process answers.
    monkeypatch.setattr(sys, "executable", "/does/not/exist")
    assert worker._process is not None
    worker._process.kill()
    worker._process.wait()
    pd.testing.assert_frame_equal(worker.answer(asked.question(snoopie.Trace.by_object)), part.by_object())


def test_no_process_stays_behind(tmp_path: Path) -> None:
    script = (
        "from visualizer.session import background; worker = background._Worker(0);"
        "print(worker._running().pid, flush=True)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    end = time.monotonic() + PATIENCE
    while alive(int(done.stdout)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not alive(int(done.stdout))


def test_nor_one_that_is_busy(trace: Path, tmp_path: Path) -> None:
    worker = background._Worker(0)
    process, begun = worker._running(), tmp_path / "begun"
    assert process.stdin is not None
    process.stdin.write(pickle.dumps(loads(trace).question(endless, begun)))
    process.stdin.flush()
    end = time.monotonic() + PATIENCE
    while not begun.exists() and time.monotonic() < end:
        time.sleep(0.1)
    assert begun.exists() and process.poll() is None
    # As when this process ends.
    process.stdin.close()
    process.wait(PATIENCE)


def test_findings_follow_the_filters(monkeypatch: pytest.MonkeyPatch, trace: Path) -> None:
    app = start(monkeypatch, trace)
    app.multiselect(key="operations").set_value(["load"]).run()
    assert [title.split(" ")[3] for title in titles(app)] == ["loads"]


def test_no_finding(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    app = start(monkeypatch, ring_path)
    assert titles(app) == []
    assert any("No findings. docs/findings.md" in box.value for box in app.success)


def test_links_lead_to_the_evidence(monkeypatch: pytest.MonkeyPatch, trace: Path) -> None:
    asked: list[tuple[str, dict[str, str]]] = []
    monkeypatch.setattr(pages, "link", lambda name, label, **query: asked.append((name, query)))
    start(monkeypatch, trace)
    # After those to the lines that moved most.
    assert asked[-2:] == 2 * [("source", {"source_file": FILE, "source_line": "7"})]


def test_what_ran_and_how_gpus_are_linked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    builder = TraceBuilder(3)
    builder.header["process"]["command"] = ["./a`pp", "<b>*x*</b>"]
    for link in builder.header["links"]:
        link["native_atomics"] = 2 not in (link["issuer"], link["owner"])
    builder.header["links"] = [link for link in builder.header["links"] if link["owner"] != 2 or link["issuer"] != 1]
    builder.copy(0, 1, MIB, gpu=0)
    app = start(monkeypatch, builder.write(tmp_path / "t.zst"))
    assert not app.exception
    ran = app.markdown[1].value.replace("\\", "")
    linked = app.expander[1].label.replace("\\", "")
    assert ran.startswith("`'./a'pp' '<b>*x*</b>'`") and "on node1" in ran and "ran 2 s" in ran
    assert linked == "3 × NVIDIA H200, 18 NVLinks each."
    unfold(app, "overview_amounts", "overview_machine")
    assert table_rows(app, "routes") == [["GPU → GPU", "1 MiB", "0 B", "1 MiB"]]
    assert list(table(app, "links")) == ["", "GPU 0", "GPU 1", "GPU 2"]
    assert table_rows(app, "links") == [
        ["GPU 0", "", "NVLink", "PCIe"],
        ["GPU 1", "NVLink", "", "unknown"],
        ["GPU 2", "PCIe", "PCIe", ""],
    ]


def test_hostile_names_are_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    app = App()
    kernel = app.trace.function("k<b>**x**</b>(int*)")
    site = app.trace.site(kernel, "STG", "store", 4, line=app.trace.line("/x/[a](http://evil).cu", 3))
    for gpu in (0, 1):
        app.trace.count(app.trace.launch(kernel, gpu), site, 1 - gpu, SECTORS, SECTORS, SECTORS)
    shown = start(monkeypatch, app.trace.write(tmp_path / "t.zst"))
    assert not shown.exception
    (card,) = (text.value for text in shown.markdown if ":material" in text.value)
    assert "\\<b\\>\\*\\*x" in card and "\\[" not in card  # of the path only its last part: evil).cu
    assert "evil\\)\\.cu" in card
