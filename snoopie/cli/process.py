"""Starting the program so that it does not notice: its streams, open files, signals and exit status are its own."""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from snoopie.errors import SnoopieError

# What a shell answers when a program cannot be run, and when there is none of that name.
NOT_EXECUTABLE = 126
NOT_FOUND = 127

# A terminal sends these to every process in the foreground, the program included.
_KEYBOARD = (signal.SIGINT, signal.SIGQUIT)
# These reach only this process (a batch system, `kill`), so they are passed on.
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


class ProgramError(SnoopieError):
    """The program cannot be started; `status` is what a shell would return."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def find_program(name: str, path: str) -> str:
    """The file that `name` runs, searched as a shell does: on `path` unless it holds a slash."""
    found = shutil.which(name, path=path)
    if found:
        return found
    if "/" not in name:
        hint = f": did you mean ./{name}?" if os.path.isfile(name) else ": check the name, or give its path"
        raise ProgramError(f"there is no program {name} on PATH{hint}", NOT_FOUND)
    if os.path.isdir(name):
        raise ProgramError(f"{name} is a folder: name the program in it", NOT_EXECUTABLE)
    if os.path.exists(name):
        raise ProgramError(f"{name} is not executable: chmod +x it, or name its interpreter first", NOT_EXECUTABLE)
    raise ProgramError(f"there is no file {name}: check the path, or build it first", NOT_FOUND)


def run(program: str, command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a program to its end; `command` is what it is told it was called as.

    Returns its exit status, negative if a signal ended it, as `subprocess` does.
    """
    with _SignalRelay() as relay:
        try:
            # close_fds=False: a shell may have opened files for it, as in `app <(zcat input.gz)`.
            child = subprocess.Popen(command, executable=program, env=dict(environment), close_fds=False)
        except OSError as error:
            raise ProgramError(f"{program} could not be started: {error.strerror}", NOT_EXECUTABLE) from error
        relay.pass_to(child)
        return child.wait()


class _SignalRelay:
    """While it is entered, signals for this process go to the program, and this process lives to report."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[Any] | None = None
        self._early: list[int] = []
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "_SignalRelay":
        for number in (*_KEYBOARD, *_PASSED_ON):
            # An ignored signal (nohup, a job in the background of a script) stays ignored, here and in the program.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def pass_to(self, child: "subprocess.Popen[Any]") -> None:
        self._child = child
        for number in self._early:
            child.send_signal(number)

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        if number in _KEYBOARD and _in_foreground():
            return  # the terminal has told the program too
        if self._child is None:
            self._early.append(number)
        else:
            self._child.send_signal(number)


def _in_foreground() -> bool:
    with contextlib.suppress(OSError):
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            return os.tcgetpgrp(terminal) == os.getpgrp()
        finally:
            os.close(terminal)
    return False
