"""What hostile traces cost, command by command:  python bench/hostile.py [--names …] [--commands …] [--ranks N]

Each command runs on each file of tests/support/hostile.py in a process of its own, which may take --limit seconds and 8
GB. Prints a table of CPU time, peak memory and outcome. With --ranks it times a folder of so many small traces instead,
as a large job leaves one, and of a tenth of them. The figures of docs/trust.md come from here.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.support import hostile, ranks  # noqa: E402
from tests.support.every_command import commands  # noqa: E402

MIB = 1 << 20
MOST_MEMORY = 8 << 30


@dataclass(frozen=True)
class Outcome:
    """How a command ended: CPU time in s, peak memory in bytes, and its error or status."""

    seconds: float
    peak: int
    said: str


def measure(words: Sequence[str], limit: int) -> Outcome:
    """Runs one command to its end, or so many seconds of CPU."""

    def restrict() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))

    command = [sys.executable, "-m", "snoopie.cli", *words]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=errors, preexec_fn=restrict
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        lines = [line for line in errors.read().decode("utf-8", "replace").splitlines() if "note:" not in line]
    said = "done" if process.returncode == 0 else lines[-1][:200] if lines else f"status {process.returncode}"
    if process.returncode in (-9, -24):
        said = f"stopped after {limit} s"
    return Outcome(usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10, said)


def row(name: str, size: int, command: str, outcome: Outcome) -> str:
    """One row of the table."""
    return f"| {name} | {size:,} | {command} | {outcome.seconds:.1f} | {outcome.peak / MIB:,.0f} | {outcome.said} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", nargs="+", choices=hostile.FILES, default=list(hostile.FILES), help="files")
    parser.add_argument("--commands", nargs="+", help="commands, by name (default: all)")
    parser.add_argument("--limit", type=int, default=60, help="seconds of CPU a command (default: 60)")
    parser.add_argument("--ranks", type=int, help="a folder of so many traces instead")
    arguments = parser.parse_args()
    print("| file | bytes | command | CPU s | peak MiB | outcome |\n|---|---:|---|---:|---:|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if arguments.ranks:
            paths = {f"{number} ranks": ranks.write(folder / str(number), number)
                     for number in (arguments.ranks // 10, arguments.ranks)}  # fmt: skip
        else:
            paths = hostile.write(folder, arguments.names)
        for name, path in paths.items():
            size = sum(file.stat().st_size for file in path.iterdir()) if path.is_dir() else path.stat().st_size
            for command in commands(path, folder):
                if arguments.commands and command not in arguments.commands:
                    continue
                out = folder / "out"
                out.mkdir()
                print(row(name, size, command, measure(commands(path, out)[command], arguments.limit)), flush=True)
                shutil.rmtree(out)


if __name__ == "__main__":
    main()
