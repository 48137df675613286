"""How make is run for `snoopie build`: alone in its folder, with its words in a file."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from snoopie.cli import places
from snoopie.cli.checks import memory
from snoopie.cli.checks.requirements import nvcc
from snoopie.cli.output import clean, is_terminal
from snoopie.errors import SnoopieError

# A compiler takes no more.
_MEMORY_OF_A_JOB = 1 << 30
_LINES_OF_A_FAILURE = 30


def make(folder: Path, nvbit: Path, arches: Sequence[str], jobs: int | None, environment: Mapping[str, str]) -> Path:
    """Makes the collector in a folder, again as far as something has changed; returns the library."""
    variables = {
        "NVBIT_PATH": nvbit,
        "NVCC": nvcc(environment),
        "ARCH": " ".join(arches),
        "BUILD": folder / "build",
        "OUT": folder,
    }
    words = [f"{name}={value}" for name, value in variables.items()]
    command = ["make", "--no-print-directory", "-C", str(places.sources()), f"-j{jobs or _cores()}", *words, "all"]
    with _alone_in(folder):
        _forget_other_sources(folder)
        _run(command, folder / "build.log", environment)
    return folder / places.LIBRARY


def _cores() -> int:
    """As many compilers as cores, if there is memory for them."""
    cores = len(os.sched_getaffinity(0))
    free = memory.free()
    return cores if free is None else max(1, min(cores, free // _MEMORY_OF_A_JOB))


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keeps a second build out of the folder."""
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SnoopieError(f"another snoopie build works in {folder}", "wait for its end") from None
        # Not every file system of a cluster has locks.
        except OSError:
            pass
        yield


def _forget_other_sources(folder: Path) -> None:
    """Deletes what an installation of the same version made of other sources: installed files have no useful dates."""
    digest = hashlib.sha256()
    root = places.sources()
    for path in sorted([root / "Makefile", *(root / "src").rglob("*")]):
        if path.is_file():
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    stamp, build = folder / "sources", folder / "build"
    if not stamp.is_file() or stamp.read_text() != digest.hexdigest():
        shutil.rmtree(build, ignore_errors=True)
        for name in (places.LIBRARY, places.COLLECTOR, "disassemble", places.TIMES):
            (folder / name).unlink(missing_ok=True)
        stamp.write_text(digest.hexdigest())


def _run(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
    """Runs make; on a terminal it is seen how far it is."""
    # Of a make that runs this command.
    own = {name: value for name, value in environment.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    shown = is_terminal(sys.stderr)
    compiled = 0
    pipe = subprocess.PIPE
    started = subprocess.Popen(command, stdout=pipe, stderr=subprocess.STDOUT, text=True, errors="replace", env=own)
    with log.open("w") as file, started as process:
        assert process.stdout is not None
        for line in process.stdout:
            file.write(line)
            if " -c " in line and shown:
                compiled += 1
                print(f"\r{compiled} files", end="", file=sys.stderr, flush=True)
    if shown and compiled:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    if process.returncode != 0:
        last = log.read_text(errors="replace").splitlines()[-_LINES_OF_A_FAILURE:]
        print("\n".join(map(clean, last)), file=sys.stderr)
        raise SnoopieError("the collector does not build: the last lines above say why", f"all of them are in {log}")
