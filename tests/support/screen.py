"""A command on a terminal of its own: what it draws, and keys."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]


class Screen:
    """`snoopie` with some words, 150 columns wide."""

    def __init__(self, *words: str, environment: dict[str, str] | None = None) -> None:
        self._control, terminal = pty.openpty()
        size = {"TERM": "xterm", "COLUMNS": "150", "LINES": "60"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "snoopie", *words], stdin=terminal, stdout=terminal, stderr=subprocess.PIPE,
            text=True, start_new_session=True,
            env={**(environment or os.environ), **size, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        )  # fmt: skip
        os.close(terminal)
        self.drawn = ""

    def __enter__(self) -> Screen:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # One that ends by itself would wait until somebody reads what it draws last.
        self._process.kill()
        self._process.communicate(timeout=120)
        os.close(self._control)

    def shows(self, *words: str) -> bool:
        """Whether all words have been drawn at last."""
        end = time.monotonic() + 60
        while not all(word in self.drawn for word in words) and time.monotonic() < end and self._read():
            pass
        return all(word in self.drawn for word in words)

    def press(self, key: str) -> None:
        os.write(self._control, key.encode())

    def ended(self) -> tuple[int, str]:
        """The status and what was said beside it, once it has ended."""
        end = time.monotonic() + 120
        while self._read():
            assert time.monotonic() < end, self.drawn
        assert self._process.stderr is not None
        said = self._process.stderr.read()
        return self._process.wait(timeout=120), said

    def _read(self) -> bool:
        """Reads on; False where nobody draws any more."""
        if select.select([self._control], [], [], 1)[0]:
            try:
                self.drawn += os.read(self._control, 1 << 16).decode("utf-8", "replace")
            except OSError:
                return False
        return True
