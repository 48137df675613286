"""Runs a target on many inputs, in a process that is watched from outside: it may hang, or be killed.

An input is made of the target's name, a seed and a number, so that the watcher can make the same again.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass
from mmap import mmap
from pathlib import Path

from tests.fuzz.bounds import MOST_MEMORY
from tests.fuzz.target import Target

# Wall-clock seconds of one input; nothing that is no fault comes near.
_MOST_SECONDS = 300
# Inputs of one process: what they leave in memory goes with it.
_INPUTS = 400
_STATE = struct.Struct("<qd")


@dataclass(frozen=True)
class Found:
    """A fault: what happened, and the file that holds the input."""

    target: str
    seed: int
    number: int
    what: str
    path: Path
    options: str = ""

    def __str__(self) -> str:
        again = f"python -m tests.fuzz {self.options}--seed {self.seed} --first {self.number} --inputs 1 {self.target}"
        return f"{self.what.rstrip()}\nthe input is {self.path}; again: {again}"


@dataclass(frozen=True)
class Outcome:
    inputs: int
    seconds: float
    found: list[Found]


def fuzz(
    target: Target, *, seed: int, keep: Path, first: int = 0, inputs: int | None = None, seconds: float = 1e18,
    most_faults: int = 10,
) -> Outcome:  # fmt: skip
    """Checks inputs from the ``first`` on, so many or for so long. Faults are kept in a folder."""
    begun = time.monotonic()
    number, found = first, list[Found]()
    last = sys.maxsize if inputs is None else first + inputs
    while number < last and time.monotonic() - begun < seconds and len(found) < most_faults:
        until = begun + seconds
        number, what = _run_some(target, seed, number, min(last, number + _INPUTS), until)
        if what:
            keep.mkdir(parents=True, exist_ok=True)
            path = keep / f"{target.name}-{seed}-{number}{target.ending}"
            path.write_bytes(target.input(seed, number))
            found.append(Found(target.name, seed, number, what, path, target.options))
            number += 1
    return Outcome(number - first, time.monotonic() - begun, found)


def check_one(target: Target, path: Path) -> str:
    """What is wrong with what becomes of a file; "" if nothing is."""
    with tempfile.TemporaryDirectory(prefix="snoopie-fuzz-") as folder:
        return _checked(target, path.read_bytes(), Path(folder))


def _run_some(target: Target, seed: int, first: int, last: int, until: float) -> tuple[int, str]:
    """The number after the last input that was checked, and ""; or the number of one with a fault, and what it is."""
    # Before the copy, which is to begin with all that inputs need.
    target.seeds()
    folder = Path(tempfile.mkdtemp(prefix="snoopie-fuzz-"))
    state = mmap(-1, _STATE.size)
    state[:] = _STATE.pack(first, time.monotonic())
    said = folder / "said"
    child = os.fork()
    if child == 0:
        status = 70
        try:
            status = _child(target, seed, first, last, until, folder, state)
        except BaseException:
            said.write_text(traceback.format_exc())
        finally:
            os._exit(status)
    try:
        status = _watched(child, state)
        number = int(_STATE.unpack(state[:])[0])
        if status == 0:
            return number, ""
        text = said.read_text() if said.exists() else ""
        if status == -signal.SIGKILL:
            text = f"it was killed: it did not end within {_MOST_SECONDS} s, or took all memory"
        return number, text or f"the process ended with status {status}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _child(target: Target, seed: int, first: int, last: int, until: float, folder: Path, state: mmap) -> int:
    # What a step prints is not wanted.
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    number = first
    while number < last and time.monotonic() < until:
        state[:] = _STATE.pack(number, time.monotonic())
        what = _checked(target, target.input(seed, number), folder / "work")
        if what:
            (folder / "said").write_text(what)
            return 1
        number += 1
        state[:] = _STATE.pack(number, time.monotonic())
    return 0


def _checked(target: Target, data: bytes, folder: Path) -> str:
    shutil.rmtree(folder, ignore_errors=True)
    work = folder / "out"
    work.mkdir(parents=True)
    path = folder / f"input{target.ending}"
    path.write_bytes(data)
    try:
        with warnings.catch_warnings():
            # Numbers that overflow or are divided by nothing are wrong numbers.
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            target.check(path, work)
    except Exception:
        return traceback.format_exc()
    return ""


def _watched(child: int, state: mmap) -> int:
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() - _STATE.unpack(state[:])[1] > _MOST_SECONDS:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.02)
