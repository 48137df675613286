"""snoopie watch: the driver calls of programs that run already, from outside."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from snoopie.cli import places, run_id
from snoopie.cli.metrics import add_metrics, duration, offered, shown, wanted
from snoopie.cli.output import in_shell_words, print_next
from snoopie.errors import SnoopieError, UsageError
from snoopie.words.units import plural

if TYPE_CHECKING:
    from snoopie.watch.recorder import Recorder
    from snoopie.watch.session import Session
    from snoopie.watch.watcher import Watcher

DESCRIPTION = (
    "Watch the CUDA driver calls of programs that run already, without touching them: launches, copies, allocations "
    "with their call stacks, errors and times, as traces that all commands read. Needs root, Linux 5.15 or newer and "
    "snoopie_watch (make -C watch). Or follow a recording that `snoopie run` is making, which needs none of that."
)
_BYTES = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
# Of the ring of single calls: a power of two, as the kernel wants it.
_LEAST_BUFFER, _MOST_BUFFER = 1 << 12, 1 << 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", metavar="TRACE", nargs="*",
        help="instead: traces that `snoopie run` writes now, or folders with them, to show or offer as metrics",
    )  # fmt: skip
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--pid", type=_pid, nargs="+", metavar="PID", help="these processes, but none that they start")
    which.add_argument("--all", action="store_true", help="every process that runs, and those that start later")
    which.add_argument("--cgroup", metavar="PATH", type=Path, help="the processes of a cgroup, and of those below it")
    which.add_argument(
        "--container", metavar="ID", help="the processes of a container: the beginning of its ID is enough"
    )
    parser.add_argument(
        "--for", dest="seconds", type=duration, metavar="TIME",
        help="end after 30s, 5m, 2h; else with Ctrl-C, or when all processes of --pid have ended",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", metavar="OUT.zst",
        help="name of the trace, of OUT.PID.zst with several processes, or a folder; if left out, a new folder here, "
        "or none with --live, --prometheus or --otlp",
    )  # fmt: skip
    parser.add_argument("--live", action="store_true", help="show processes, kernels, copies and memory meanwhile")
    parser.add_argument("--trust", action="store_true", help="lift the limits on what a trace named here may hold")
    parser.add_argument("--force", action="store_true", help="overwrite traces that exist")
    parser.add_argument(
        "--totals", action="store_true", help="only sums, and what was not freed: costs less, and needs no space"
    )
    parser.add_argument(
        "--stacks", action="store_true", help="call stacks of launches and copies too, not only of allocations"
    )
    parser.add_argument(
        "--every-call", action="store_true", help="count every driver function, not only those that do work"
    )
    parser.add_argument(
        "--buffer", type=_size, default=16 << 20, metavar="SIZE",
        help="room for single calls that were not read yet, a power of 2 (default: 16MiB); those beyond are lost, and "
        "counted",
    )  # fmt: skip
    add_metrics(parser)
    parser.add_argument(
        "--tool", metavar="PATH",
        help="snoopie_watch to use (default: SNOOPIE_WATCH; or the first of this version in this checkout, "
        " in lib/snoopie of Python's prefix, in /usr/local/lib/snoopie)",
    )  # fmt: skip


def main(arguments: argparse.Namespace) -> int:
    offering = wanted(arguments)
    if arguments.files:
        return _follow(arguments)
    if not (arguments.pid or arguments.all or arguments.cgroup or arguments.container):
        raise UsageError(
            "it is not said what to watch", "name --pid, --all, --cgroup, --container, or traces that are being written"
        )
    from snoopie.watch import watcher
    from snoopie.watch.metrics import WatchMetrics
    from snoopie.watch.session import Session

    watcher.check_machine()
    program = watcher.find(arguments.tool, os.environ, [folder / watcher.PROGRAM for folder in _folders()])
    options = _options(arguments)
    run = run_id.new()
    session = Session(keep=_records(arguments))
    lock = threading.Lock()
    metrics = WatchMetrics(session) if offering or arguments.live else None
    with (
        watcher.Watcher(program, options) as running,
        offered(metrics, lock, arguments, "snoopie-watch") if metrics else nullcontext(),
    ):
        _end_later(running, arguments.seconds)
        with shown(metrics, lock, running.end) if metrics and arguments.live else _said_when_begun(session):
            for frame, content in running.frames():
                with lock:
                    session.take_one(frame, content)
    for note in session.notes:
        print(f"snoopie: note: {in_shell_words(note)}", file=sys.stderr)
    return _write(session, arguments, run, whole=running.whole) if _records(arguments) else 0


def _follow(arguments: argparse.Namespace) -> int:
    """Traces that are being written, of which nothing here decides what is in them."""
    from snoopie.cli.following import follow

    for name in ("pid", "all", "cgroup", "container", "output", "force", "totals", "stacks", "every_call", "tool"):
        if getattr(arguments, name):
            raise UsageError(
                f"--{name.replace('_', '-')} is for programs that run already, not for traces",
                "leave it out, or the traces",
            )
    return follow(arguments)


def _records(arguments: argparse.Namespace) -> bool:
    """Whether traces are wanted: metrics alone need none."""
    return bool(arguments.output) or not (arguments.prometheus or arguments.otlp or arguments.live)


def _folders() -> list[Path]:
    return [places.checkout().parent / "watch", *places.SITES]


def _options(arguments: argparse.Namespace) -> list[str]:
    """The words for snoopie_watch."""
    from snoopie.watch import watcher

    words: list[str] = []
    for pid in arguments.pid or ():
        if not Path(f"/proc/{pid}").exists():
            raise UsageError(f"there is no process {pid}", "ps lists those that run")
        words += ["--pid", str(pid)]
    cgroup = arguments.cgroup
    if arguments.container:
        cgroup = watcher.cgroup_of(arguments.container, watcher.cgroup_root())
    if cgroup is not None:
        if not (cgroup / "cgroup.procs").exists():
            raise UsageError(f"{cgroup} is no cgroup", "name a folder below /sys/fs/cgroup")
        words += ["--cgroup", str(cgroup)]
    flags = {
        "totals": arguments.totals or not _records(arguments),
        "stacks": arguments.stacks,
        "every-call": arguments.every_call,
    }
    words += [f"--{name}" for name, wanted in flags.items() if wanted]
    return [*words, "--buffer", str(arguments.buffer)]


def _end_later(running: Watcher, seconds: float | None) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: running.end())
    if seconds is not None:
        timer = threading.Timer(seconds, running.end)
        timer.daemon = True
        timer.start()


@contextmanager
def _said_when_begun(session: Session) -> Iterator[None]:
    def said(_: Session) -> None:
        session.listeners.remove(said)
        number = len(session.attached)
        where = f"{plural(number, 'file', 'files')} of the driver" if number else "no driver yet"
        print(f"snoopie: watching {where}; Ctrl-C ends it", file=sys.stderr, flush=True)

    session.listeners.append(said)
    yield


def _write(session: Session, arguments: argparse.Namespace, run: str, *, whole: bool) -> int:
    """Writes the trace of each process that made calls. Unless the stream is ``whole``, it is not known what memory
    those have that had not ended."""
    from snoopie.importers.output import write_all

    recorders = [recorder for recorder in session.recorders if len(recorder.sums.calls)]
    if not recorders:
        raise SnoopieError("no watched program made a call that is followed", "watch for longer, or --all")
    paths = _paths(recorders, arguments.output, run)
    paths[0].parent.mkdir(parents=True, exist_ok=True)
    notices: dict[str, None] = {}

    def write(number: int, path: Path) -> None:
        recorder = recorders[number]
        told = recorder.finish(
            path,
            {"id": run, "of": "run"},
            session.live_of(recorder) if whole or recorder.ended else None,
            session.now,
            session.lost,
            not arguments.totals,
        )
        notices.update(dict.fromkeys(told))

    write_all(paths, write, force=arguments.force)
    for path in paths:
        print(in_shell_words(f"wrote {path}"))
    for sentence in notices:
        print(in_shell_words(sentence))
    sys.stdout.flush()
    print_next("calls", *map(str, paths if len(paths) < 4 else [paths[0].parent]))
    return 0


def _paths(recorders: Sequence[Recorder], output: str | None, run: str) -> list[Path]:
    """One name each: a process that ended and a later one can have the same number."""
    folder = Path(output or f"snoopie-watch-{run}/")
    if output and not output.endswith("/") and not folder.is_dir():
        stem = folder.with_suffix("") if folder.suffix == ".zst" else folder
        if len(recorders) == 1:
            return [folder]
        names = [f"{stem.name}.{recorder.about.pid}" for recorder in recorders]
        folder = stem.parent
    else:
        names = [
            f"{re.sub(r'[^A-Za-z0-9._+-]', '_', recorder.about.program) or 'process'}.{recorder.about.pid}"
            for recorder in recorders
        ]
    seen: dict[str, int] = {}
    paths = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        paths.append(folder / f"{name if seen[name] == 1 else f'{name}-{seen[name]}'}.zst")
    return paths


# --- Values of options ---


def _pid(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 1 << 22:
        raise argparse.ArgumentTypeError(f"{text!r} is not the number of a process")
    return int(text)


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+)(KiB|MiB|GiB)?", text)
    size = int(match[1]) * _BYTES[match[2] or ""] if match else 0
    if size & (size - 1) or not _LEAST_BUFFER <= size <= _MOST_BUFFER:
        raise argparse.ArgumentTypeError(f"{text!r} is not a power of 2 between 4KiB and 1GiB, such as 64MiB")
    return size
