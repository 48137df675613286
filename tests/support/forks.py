"""Commands in processes of their own that import nothing again: forks of an interpreter that has imported everything.

A fork's streams are what the test says, in an interpreter that started with the test's environment, and it ends as any
other does. Only its first second is missing. What a closed or full stream does to an interpreter that starts is for
tests that start one.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# A stream that is not there.
CLOSED = "closed"


class Forks:
    """Use it as a context."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forks"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "", **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Forks:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate()

    def run(self, folder: Path, words: list[str], stdout: str = "out") -> tuple[int, bytes, bytes]:
        """Status, what went to ``stdout`` where that is a file of the folder, and standard error, of one command."""
        assert self._server.stdin and self._server.stdout
        print(json.dumps([str(folder), words, stdout]), file=self._server.stdin, flush=True)
        status = int(self._server.stdout.readline())
        out = (folder / stdout).read_bytes() if stdout == "out" else b""
        return status, out, (folder / "err").read_bytes()


def serve() -> list[str]:
    """Answers requests until there are no more. Returns, in each fork, the words of its command."""
    for line in sys.stdin:
        folder, words, stdout = json.loads(line)
        pid = os.fork()
        if pid == 0:
            os.chdir(folder)
            redirect(0, os.devnull, os.O_RDONLY)
            redirect(1, stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            redirect(2, "err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            if stdout == CLOSED:
                os.close(1)
                sys.stdout = None
            return list(words)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    os._exit(0)


def redirect(descriptor: int, path: str, flags: int) -> None:
    opened = os.open(os.devnull if path == CLOSED else path, flags)
    os.dup2(opened, descriptor)
    os.close(opened)


if __name__ == "__main__":
    from importlib import import_module

    from snoopie import cli

    for name in cli.COMMANDS:
        import_module(f"snoopie.cli.{'import_' if name == 'import' else name}")
    for name in ("api.trace", "report.page", "figures.matrix", "exporters.folder", "importers.rocm"):
        import_module(f"snoopie.{name}")
    # What is here already is copied into no fork by being looked at.
    gc.freeze()
    sys.argv = ["snoopie", *serve()]
    sys.exit(cli.main())
