"""Files are whole or not there; pipes, devices and links are written to, never replaced."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd
import pytest

from snoopie import cli
from snoopie.errors import SnoopieError
from snoopie.files import check_free, to_standard_output, whole_file, whole_files
from tests.support import ring


def write(path: Path, text: str = "new", *, force: bool = False) -> None:
    with whole_file(path, force=force) as unfinished:
        unfinished.write_text(text)


def test_a_file_is_there_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x.txt"
    with whole_file(path) as unfinished:
        unfinished.write_text("half")
        assert not path.exists()
        # Beside it: a rename does not copy.
        assert unfinished.parent.parent == path.parent
    assert path.read_text() == "half"
    assert list(path.parent.iterdir()) == [path]


def test_nothing_is_left_after_an_error(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_text("old")
    with pytest.raises(ZeroDivisionError), whole_files([tmp_path / "x", old], force=True) as unfinished:
        for path in unfinished:
            path.write_text("half")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == [old]
    assert old.read_text() == "old"


def test_a_link_stays_and_what_it_points_to_is_written(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    target, link, dangling = tmp_path / "far" / "x.txt", tmp_path / "link", tmp_path / "dangling"
    target.write_text("old")
    link.symlink_to(target)
    dangling.symlink_to(tmp_path / "far" / "y.txt")
    for path in (link, dangling):
        with pytest.raises(SnoopieError, match="already exists; name another file, or overwrite with --force"):
            write(path)
        write(path, force=True)
        assert path.is_symlink() and path.read_text() == "new"
    assert not target.is_symlink() and target.read_text() == "new"
    assert sorted(path.name for path in (tmp_path / "far").iterdir()) == ["x.txt", "y.txt"]


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    write(pipe, "through the pipe", force=True)
    reader.join()
    assert got == ["through the pipe"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_is_written_to() -> None:
    before = os.stat("/dev/null")
    write(Path("/dev/null"), force=True)
    assert os.stat("/dev/null").st_ino == before.st_ino
    with pytest.raises(SnoopieError, match=r"/dev/full cannot be written \(No space left on device\); .* free space"):
        write(Path("/dev/full"), force=True)
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
    with pytest.raises(SnoopieError, match="/dev/null already exists"):
        write(Path("/dev/null"))


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert to_standard_output(Path(name))
    check_free(Path(name))
    print("before ", end="")
    write(Path(name))
    print(" after", flush=True)
    assert capfd.readouterr().out == "before new after\n"


def test_standard_output_that_is_a_file_is_not_replaced(tmp_path: Path) -> None:
    code = (
        "from pathlib import Path; from snoopie.files import whole_file\n"
        "print('before', flush=True)\n"
        "with whole_file(Path('/dev/stdout')) as unfinished: unfinished.write_text('new\\n')\n"
        "print('after')"
    )
    path = tmp_path / "x.txt"
    with path.open("w") as output:
        subprocess.run([sys.executable, "-c", code], stdout=output, check=True)
    assert path.read_text() == "before\nnew\nafter\n"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (".", "is a folder; name a file in it"),
        ("file/below", r"cannot be written \(Not a directory\); name another file"),
        ("x" * 300, r"cannot be written \(File name too long\); name another file"),
        ("loop", r"loop already exists"),
    ],
)
def test_what_cannot_be_written_is_one_sentence(tmp_path: Path, name: str, sentence: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(SnoopieError, match=sentence):
        write(tmp_path / name)


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # For root every folder is writable.
    monkeypatch.setattr("pathlib.Path.mkdir", refused)
    with pytest.raises(SnoopieError, match=r"cannot be written \(Permission denied\); .*check its permissions"):
        write(tmp_path / "x")


# the commands


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return ring.write_ring(tmp_path / "in")


COMMANDS = {
    "report": ["report"],
    "timeline": ["export", "--format", "chrome"],
    "database": ["export", "--format", "sqlite"],
    "table": ["export", "--format", "csv", "--table", "traffic_by_pair"],
    "parquet": ["export", "--format", "parquet", "--table", "traffic_by_pair"],
    "figure": ["plot", "--figure", "matrix", "--format", "svg"],
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_standard_output_has_what_a_file_would_have(
    words: list[str], trace: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "out"
    assert cli.main([*words, str(trace), "-o", str(path)]) == 0
    told = capfdbinary.readouterr()
    assert f"wrote {path}".encode() in told.out or f"to {path}\n".encode() in told.out
    assert cli.main([*words, str(trace), "-o", "-"]) == 0
    told = capfdbinary.readouterr()
    assert told.out == path.read_bytes()
    assert b"wrote " in told.err and b"Next: open" not in told.err


def test_a_picture_of_memory_on_standard_output(
    trace: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    picture = tmp_path / "out.png"
    assert cli.main(["memory", str(trace), "--plot", str(picture)]) == 0
    capfdbinary.readouterr()
    assert cli.main(["memory", str(trace), "--plot", "-"]) == 0
    assert capfdbinary.readouterr().out == picture.read_bytes()
    assert not (Path.cwd() / "-").exists()
    assert cli.main(["memory", str(trace), "--plot", "-", "--json"]) == 2
    told = capfdbinary.readouterr()
    assert told.out == b""
    assert b"the picture is all that goes to standard output; name a file with --plot" in told.err


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_full_device_is_one_sentence_and_stays(
    words: list[str], trace: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*words, str(trace), "-o", "/dev/full", "--force"]) == 1
    told = capfd.readouterr()
    assert told.out == ""
    assert re.fullmatch(r"snoopie: /dev/full cannot be written \(No space left on device\); .*\n", told.err)
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_a_table_on_standard_output(trace: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    assert cli.main(["export", str(trace), "--format", "csv", "--table", "traffic_by_pair", "-o", str(path)]) == 0
    assert pd.read_csv(path)["bytes"].sum() == ring.TOTALS["bytes"]
    assert f'read_csv("{path}")' in capfd.readouterr().err
    for words, sentence in (
        (["--format", "csv", "-o", "-"], "a stream can hold only one table; choose one with --table"),
        (["--format", "csv", "-o", "-", "--table", "pairs"], "there is no table pairs; choose one of runs, "),
        (["--format", "chrome", "-o", "-", "--table", "sites"], "a timeline has no tables"),
    ):
        assert cli.main(["export", str(trace), *words]) == 2
        assert sentence in capfd.readouterr().err


def test_a_reader_that_has_seen_enough_is_no_error(trace: Path) -> None:
    command = [sys.executable, "-m", "snoopie.cli", "export", str(trace), "--format", "sqlite", "-o", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_takes_away_what_is_unfinished(tmp_path: Path, number: signal.Signals) -> None:
    # A log that nobody writes: the import waits for it, its trace already begun.
    pipe, out = tmp_path / "snoopie_log_7.zst", tmp_path / "out"
    os.mkfifo(pipe)
    out.mkdir()
    # What a shell starts in the background ignores SIGINT, and so would all that these tests start.
    command = ["env", "--default-signal", sys.executable, "-m", "snoopie"]
    command += ["import", "snoopie-log", str(pipe), "-o", str(out / "t.zst")]
    child = subprocess.Popen(command, stderr=subprocess.PIPE)
    with pipe.open("wb"):
        ends = time.monotonic() + 60
        while not list(out.iterdir()) and time.monotonic() < ends:
            time.sleep(0.01)
        assert list(out.iterdir())
        child.send_signal(number)
        _, said = child.communicate(timeout=60)
    assert child.returncode == 128 + number
    assert list(out.iterdir()) == []
    assert b"Traceback" not in said


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with whole_file(tmp_path / "x") as unfinished:
            os.kill(os.getpid(), signal.SIGHUP)
            unfinished.write_text("whole")
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (tmp_path / "x").read_text() == "whole"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
