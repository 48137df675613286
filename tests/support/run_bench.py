"""A folder in which `snoopie run` runs, with a stand-in for the collector: a program that writes where SNOOPIE_OUTPUT
says."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from snoopie.cli import settings

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300  # seconds, for a machine that is busy with something else

# What the collector does, as far as `snoopie run` sees it: a new file at the pattern, named after this process.
WRITE_TRACE = """
import os, pathlib, re
def write_trace(content, pid=None):
    names = {"%h": "node1", "%p": str(pid or os.getpid()), "%n": "app", "%%": "%"}
    path = re.sub("%.", lambda match: names[match.group()], os.environ["SNOOPIE_OUTPUT"])
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.write(descriptor, pathlib.Path(content).read_bytes())
    os.close(descriptor)
"""


def loaded_library() -> Path:
    # Preloading a library that every process has already changes nothing.
    maps = Path("/proc/self/maps").read_text().splitlines()
    return Path(next(line.split(maxsplit=5)[5] for line in maps if "/libc." in line or "/libc-" in line))


@dataclass
class Bench:
    """A folder to run in, with a stand-in for the tool and for what NVBit needs."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tool, programs = self.folder / "tool" / "mem_multigpu.so", self.folder / "cuda"
        tool.parent.mkdir()
        tool.symlink_to(loaded_library())
        programs.mkdir()
        for name in ("nvdisasm", "cuobjdump"):
            self.program(programs / name, "")
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in settings.BY_VARIABLE
            and name not in ("LD_PRELOAD", "CUDA_INJECTION64_PATH")
            and not name.startswith("SNOOPIE_")
        }
        self.environment = kept | {
            "SNOOPIE_TOOL": str(tool),
            "PATH": f"{programs}:/usr/bin:/bin",
            "PYTHONPATH": str(ROOT),
        }
        self.work = self.folder / "work"
        self.work.mkdir()

    @property
    def tool(self) -> str:
        return self.environment["SNOOPIE_TOOL"]

    def program(self, path: Path, code: str) -> Path:
        """An executable Python script."""
        path.write_text(f"#!{sys.executable}\n{WRITE_TRACE}\n{code}\n")
        path.chmod(0o755)
        return path

    def app(self, code: str) -> str:
        self.program(self.work / "app", code)
        return "./app"

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "snoopie.cli", "run", *words]

    def run(self, *words: str, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            cwd=self.work,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            **options,  # type: ignore[call-overload]
        )
