"""Every command that reads a trace, and a process that runs them all:  python -m tests.support.every_command TRACE OUT

It prints a line of JSON for each: the command, its exit status, the CPU time in s, and its error. What is no error of
Snoopie's family ends the process.
"""

from __future__ import annotations

import io
import json
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path


def commands(trace: Path, out: Path) -> dict[str, list[str]]:
    """The words of each command, by name. Files are written below ``out``."""
    at = str(trace)
    some = {name: [name, at] for name in ("info", "check", "stats", "findings", "calls", "memory", "summary")}
    some |= {f"stats {by}": ["stats", "--by", by, at] for by in ("kernel", "line", "site", "object")}
    some |= {"diff": ["diff", at, at], "report": ["report", at, "-o", str(out / "x.html")]}
    for figure in ("matrix", "timeline", "lines", "memory"):
        some[f"plot {figure}"] = ["plot", "--figure", figure, "-o", str(out / f"{figure}.svg"), at]
    some |= {f"export {kind}": ["export", "--format", kind, "-o", str(out / kind), at] for kind in ("csv", "parquet")}
    some["export sqlite"] = ["export", "--format", "sqlite", "-o", str(out / "x.sqlite"), at]
    some["export chrome"] = ["export", "--format", "chrome", "-o", str(out / "x.json"), at]
    return some


class _Nowhere(io.TextIOBase):
    def write(self, text: str) -> int:
        return len(text)


def main() -> None:
    from snoopie import cli

    for name, words in commands(Path(sys.argv[1]), Path(sys.argv[2])).items():
        errors, started = io.StringIO(), time.process_time()
        with redirect_stdout(_Nowhere()), redirect_stderr(errors):
            status = cli.main(words)
        said = next((line for line in errors.getvalue().splitlines() if ": note:" not in line), "")
        row = {"command": name, "status": status, "seconds": time.process_time() - started, "said": said}
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
