"""What the opening page offers: recent traces of the user of `snoopie view`, and folders that it may list."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.support import ring
from tests.support.pages import metrics, start
from visualizer.session import folders, recents, state


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A user of whom nothing is known, in a folder with a trace, two runs and a link that leads out."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    work = tmp_path / "work"
    (work / "runs" / "one").mkdir(parents=True)
    (work / ".hidden").mkdir()
    ring.write_ring(work)
    ring.write_two_processes(work / "runs" / "one")
    (tmp_path / "elsewhere").mkdir()
    ring.write_ring(tmp_path / "elsewhere", name="secret.zst")
    (work / "out").symlink_to(tmp_path / "elsewhere")
    (work / "out.zst").symlink_to(tmp_path / "elsewhere" / "secret.zst")
    monkeypatch.chdir(work)
    return work


def labels(app: AppTest, kind: str) -> list[str]:
    return [button.label.replace("\\", "") for button in app.button if (button.key or "").startswith(kind)]


def click(app: AppTest, label: str) -> None:
    next(button for button in app.button if button.label.replace("\\", "") == label).click().run()


def test_what_was_opened_is_there_when_the_app_starts_again(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    first = start(monkeypatch, "--own", home / "ring.zst")
    assert metrics(first)["Accesses"] == "224"
    known = home.parent / "state" / "snoopie" / "recent.json"
    assert json.loads(known.read_text()) == [[str(home / "ring.zst")]]
    assert stat.S_IMODE(known.stat().st_mode) == 0o600
    app = start(monkeypatch, "--own")
    assert labels(app, "recent_") == ["ring.zst"]
    click(app, "ring.zst")
    assert metrics(app)["Accesses"] == "224"


def test_where_others_share_the_server_nothing_is_kept(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    assert metrics(start(monkeypatch, home / "ring.zst"))["Accesses"] == "224"
    assert not (home.parent / "state").exists()
    # Nor shown, nor is a folder listed.
    start(monkeypatch, "--own", home / "ring.zst")
    app = start(monkeypatch)
    assert labels(app, "recent_") == labels(app, "folder_") == labels(app, "into_") == []


def test_samples_and_what_is_gone_are_not_recent(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    copy = ring.write_ring(home.parent, name="gone.zst")
    start(monkeypatch, "--own", copy)
    start(monkeypatch, "--own", state.SAMPLES / "ring-4gpu.zst")
    assert recents.latest() == [(str(copy),)]
    copy.unlink()
    assert recents.latest() == []


@pytest.mark.parametrize("text", ["", "{", "7", '[7, [7], [], ["\\u0000"]]', "[" * 100_000])
def test_a_broken_list_is_none(home: Path, text: str) -> None:
    known = home.parent / "state" / "snoopie" / "recent.json"
    known.parent.mkdir(parents=True)
    known.write_text(text)
    assert recents.latest() == []


def test_folders_lead_to_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    app = start(monkeypatch, "--own")
    assert not app.exception
    assert labels(app, "into_") == ["runs/"]
    assert labels(app, "folder_") == ["ring.zst"]
    click(app, "runs/")
    click(app, "one/")
    every = ["All 2 traces of this folder, as one run", "ring.0.zst", "ring.1.zst"]
    assert sorted(labels(app, "folder_")) == every
    assert labels(app, "into_") == [".."]
    click(app, every[0])
    assert metrics(app)["Accesses"] == "224"


def test_nothing_leads_out_of_the_folders(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    app = start(monkeypatch, "--own")
    for outside in (home.parent, home / "out", home / "runs" / ".." / "..", home.parent / "elsewhere"):
        assert not folders.allowed(outside)
        assert folders.listing(outside) == folders.Listing((), (), 0)
        app.session_state["open_folder"] = outside
        app.run()
        assert labels(app, "folder_") == ["ring.zst"]


def test_the_folder_of_a_trace_may_be_listed(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    elsewhere = home.parent / "elsewhere"
    monkeypatch.setattr("sys.argv", ["app.py", "--own", str(elsewhere / "secret.zst"), str(home / "runs")])
    assert folders.roots() == [home, elsewhere]
    assert [path.name for path in folders.listing(elsewhere).traces] == ["secret.zst"]
