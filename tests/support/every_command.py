"""Every command that reads a trace, and a process that runs some:  python -m tests.support.every_command

Each line that it reads names a trace, a folder for what is written, and commands, as JSON: [TRACE, OUT, [NAME, …]]. It
answers with a line of JSON for each command, see `run_each`.
"""

from __future__ import annotations

import io
import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from importlib import import_module
from pathlib import Path


def commands(trace: Path, out: Path) -> dict[str, list[str]]:
    """The words of each command, by name. Files are written below ``out``."""
    at = str(trace)
    some = {name: [name, at] for name in ("info", "check", "stats", "findings", "calls", "memory", "summary", "waits")}
    some |= {f"stats {by}": ["stats", "--by", by, at] for by in ("kernel", "line", "site", "object", "library")}
    some |= {"diff": ["diff", at, at], "report": ["report", at, "-o", str(out / "x.html")]}
    some["report --interactive"] = ["report", "--interactive", at, "-o", str(out / "y.html")]
    for figure in ("matrix", "timeline", "lines", "memory"):
        some[f"plot {figure}"] = ["plot", "--figure", figure, "-o", str(out / f"{figure}.svg"), at]
    some |= {f"export {kind}": ["export", "--format", kind, "-o", str(out / kind), at] for kind in ("csv", "parquet")}
    some["watch"] = ["watch", at, "--prometheus", ":0", "--for", "1s"]
    some["export sqlite"] = ["export", "--format", "sqlite", "-o", str(out / "x.sqlite"), at]
    some |= {
        f"export {kind}": ["export", "--format", kind, "-o", str(out / f"x.{ending}"), at]
        for kind, ending in (("chrome", "json"), ("flamegraph", "svg"), ("speedscope", "speedscope.json"))
    }
    some |= {"memory --events": ["memory", "--events", at], "waits --json": ["waits", "--json", at]}
    return some


# What commands import when they run.
_NEEDED = (
    *("api.trace", "report.page", "report.interactive.page", "trace.check"),
    *("exporters.folder", "exporters.sqlite", "exporters.chrome"),
    *(f"figures.{name}" for name in ("lines", "matrix", "memory", "timeline")),
)


class _Nowhere(io.TextIOBase):
    def write(self, text: str) -> int:
        return len(text)


# Of these each reads another part of a trace.
FEW = ("check", "stats", "stats object", "calls", "watch", "report", "report --interactive", "export parquet")


def run_each(out: Path, some: dict[str, list[str]]) -> Iterator[dict[str, object]]:
    """What each command came to: its exit status (-N for a signal), CPU time in s, peak memory in bytes, and its error.

    Each runs in a copy of this process, which has imported what all of them need.
    """
    from snoopie import cli

    for name, words in some.items():
        errors = out / "errors"
        child = os.fork()
        if child == 0:
            status = 70
            try:
                with open(errors, "w") as file, redirect_stdout(_Nowhere()), redirect_stderr(file):
                    try:
                        status = cli.main(words)
                    except BaseException:
                        traceback.print_exc()
            finally:
                os._exit(status)
        _, ended, usage = os.wait4(child, 0)
        said = [
            line for line in errors.read_text().splitlines() if ": note:" not in line and not line.startswith("Next")
        ]
        yield {
            "command": name,
            "status": os.waitstatus_to_exitcode(ended),
            "seconds": usage.ru_utime + usage.ru_stime,
            "peak": usage.ru_maxrss << 10,
            "said": "\n".join(said[-20:]),
        }


def main() -> None:
    for module in _NEEDED:
        import_module(f"snoopie.{module}")
    for line in sys.stdin:
        trace, out, names = json.loads(line)
        every = commands(Path(trace), Path(out))
        for row in run_each(Path(out), {name: every[name] for name in names}):
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
