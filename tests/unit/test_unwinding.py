"""A signal ends the program for certain, and what is unfinished is taken away before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from snoopie.unwinding import unwound
from tests.support.processes import alone

_ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
_BEGIN = """
import collections, ctypes, functools, os, signal, sys
from pathlib import Path
from snoopie.files import whole_file
number, path = int(sys.argv[1]), Path(sys.argv[2])
reading, writing = os.pipe()
signal_comes = functools.partial(ctypes.CDLL(None).kill, os.getpid(), number)
wait = functools.partial(os.read, reading, 1)
with whole_file(path):
"""
# Both calls are made from C, and Python looks for no signal between them.
_JUST_BEFORE_A_WAIT = """
    collections.deque(map(functools.partial.__call__, [signal_comes, wait]))
"""
_WHERE_NOBODY_RECEIVES_IT = """
    class Deleted:
        def __del__(self):
            signal_comes()
            len("")
    sys.unraisablehook = lambda _: None
    Deleted()
    wait()
"""
_AGAIN_WHILE_IT_ENDS = """
    try:
        signal_comes()
        wait()
    finally:
        for _ in range(3):
            signal_comes()
            len("")
        print("done")
"""


@pytest.mark.parametrize("number", _ENDING)
@pytest.mark.parametrize(
    "rest",
    [_JUST_BEFORE_A_WAIT, _WHERE_NOBODY_RECEIVES_IT, _AGAIN_WHILE_IT_ENDS],
    ids=["just before a wait", "where nobody receives it", "again while it ends"],
)
def test_it_ends(tmp_path: Path, number: signal.Signals, rest: str) -> None:
    command = ["env", "--default-signal", sys.executable, "-c", _BEGIN + rest, str(int(number)), str(tmp_path / "x")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    # The interpreter ends by SIGINT itself where nobody receives KeyboardInterrupt.
    assert ended.returncode == (-number if number == signal.SIGINT else 128 + number), ended.stderr
    assert ended.stdout == ("done\n" if rest is _AGAIN_WHILE_IT_ENDS else "")
    assert list(tmp_path.iterdir()) == []


def test_what_was_handled_before_does_not_hinder_it() -> None:
    with pytest.raises(KeyboardInterrupt):
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            with pytest.raises(SystemExit), unwound():
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(60)
            raise


def test_signals_to_a_child_do_not_end_its_parent() -> None:
    with unwound():
        child = os.fork()
        if child == 0:
            # What it receives would be written to the parent's pipe.
            os._exit(0 if signal.set_wakeup_fd(-1) == -1 else 3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_it_leaves_all_as_it_was() -> None:
    alone(_leaves_all_as_it_was)


def _leaves_all_as_it_was() -> None:
    before = [signal.getsignal(number) for number in _ENDING]
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    old = signal.set_wakeup_fd(writing)
    threads = threading.active_count()
    descriptors = len(os.listdir("/proc/self/fd"))
    try:
        with unwound():
            assert [signal.getsignal(number) for number in _ENDING] != before
        assert signal.set_wakeup_fd(writing) == writing
    finally:
        signal.set_wakeup_fd(old)
        os.close(reading)
        os.close(writing)
    with unwound():
        pass
    assert signal.set_wakeup_fd(old) == old == -1
    assert [signal.getsignal(number) for number in _ENDING] == before
    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/fd")) == descriptors - 2


@pytest.mark.parametrize("lacking", ["os.pipe", "threading.Thread.start"])
def test_it_does_without_what_the_system_refuses(lacking: str) -> None:
    alone(_does_without, lacking)


def _does_without(lacking: str) -> None:
    def refused(*_: object) -> None:
        raise RuntimeError("can't start new thread") if "Thread" in lacking else OSError(24, "Too many open files")

    descriptors = len(os.listdir("/proc/self/fd"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lacking, refused)
        with pytest.raises(SystemExit), unwound():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
    assert len(os.listdir("/proc/self/fd")) == descriptors
