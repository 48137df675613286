"""snoopie watch: the driver calls of programs that run already, from outside."""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from snoopie.cli import places, run_id
from snoopie.cli.output import in_shell_words, print_next
from snoopie.errors import SnoopieError, UsageError
from snoopie.extras import need
from snoopie.words.units import plural

if TYPE_CHECKING:
    from snoopie.watch.recorder import Recorder
    from snoopie.watch.session import Session
    from snoopie.watch.watcher import Watcher

DESCRIPTION = (
    "Watch the CUDA driver calls of programs that run already, without touching them: launches, copies, allocations "
    "with their call stacks, errors and times, as traces that all commands read. Needs root, Linux 5.15 or newer and "
    "snoopie_watch (make -C watch)."
)
_SECONDS = {"": 1, "ms": 0.001, "s": 1, "m": 60, "h": 3600}
_BYTES = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
# Of the ring of single calls: a power of two, as the kernel wants it.
_LEAST_BUFFER, _MOST_BUFFER = 1 << 12, 1 << 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--pid", type=_pid, nargs="+", metavar="PID", help="these processes, but none that they start")
    which.add_argument("--all", action="store_true", help="every process that runs, and those that start later")
    which.add_argument("--cgroup", metavar="PATH", type=Path, help="the processes of a cgroup, and of those below it")
    which.add_argument(
        "--container", metavar="ID", help="the processes of a container: the beginning of its ID is enough"
    )
    parser.add_argument(
        "--for", dest="seconds", type=_duration, metavar="TIME",
        help="end after 30s, 5m, 2h; else with Ctrl-C, or when all processes of --pid have ended",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", metavar="OUT.zst",
        help="name of the trace, of OUT.PID.zst with several processes, or a folder; a new folder here, if left out",
    )  # fmt: skip
    parser.add_argument(
        "--live", action="store_true", help="show processes, kernels, copies and memory meanwhile; traces only with -o"
    )
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
    parser.add_argument(
        "--prometheus", type=_address, metavar="[HOST]:PORT",
        help="serve metrics for Prometheus, on this machine alone unless HOST says otherwise; traces only with -o",
    )  # fmt: skip
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help="answer only scrapes that have the token in this file"
    )
    parser.add_argument(
        "--otlp",
        metavar="URL",
        help="send metrics to an OpenTelemetry collector: http://host:4318; traces only with -o",
    )
    parser.add_argument(
        "--otlp-every", type=_duration, default=10.0, metavar="TIME", help="how often to send them (default: 10s)"
    )
    parser.add_argument(
        "--tool", metavar="PATH",
        help="snoopie_watch to use (default: SNOOPIE_WATCH; or the first of this version in this checkout, "
        " in lib/snoopie of Python's prefix, in /usr/local/lib/snoopie)",
    )  # fmt: skip


def main(arguments: argparse.Namespace) -> int:
    from snoopie.watch import watcher
    from snoopie.watch.session import Session

    watcher.check_machine()
    program = watcher.find(arguments.tool, os.environ, [folder / watcher.PROGRAM for folder in _folders()])
    options = _options(arguments)
    run = run_id.new()
    session = Session(keep=_records(arguments))
    lock = threading.Lock()
    with watcher.Watcher(program, options) as running, _exported(session, lock, arguments):
        _end_later(running, arguments.seconds)
        with _shown(session, lock, running) if arguments.live else _said_when_begun(session):
            for frame, content in running.frames():
                with lock:
                    session.take_one(frame, content)
    for note in session.notes:
        print(f"snoopie: note: {in_shell_words(note)}", file=sys.stderr)
    return _write(session, arguments, run, whole=running.whole) if _records(arguments) else 0


def _records(arguments: argparse.Namespace) -> bool:
    """Whether traces are wanted: metrics alone need none."""
    return bool(arguments.output) or not (arguments.prometheus or arguments.otlp or arguments.live)


@contextmanager
def _exported(session: Session, lock: threading.Lock, arguments: argparse.Namespace) -> Iterator[None]:
    """Metrics are there for others meanwhile."""
    if arguments.token_file and not arguments.prometheus:
        raise UsageError("--token-file is for --prometheus", "add that, or leave it out")
    if not (arguments.prometheus or arguments.otlp):
        yield
        return
    from snoopie.watch.metrics import Metrics

    metrics = Metrics(session)
    end = None
    if arguments.prometheus:
        need("watch", "--prometheus", "prometheus_client")
        from snoopie.watch import prometheus

        host, port = arguments.prometheus
        port = prometheus.serve(metrics, lock, host, port, _token(arguments.token_file))
        print(f"snoopie: metrics are at http://{host}:{port}/metrics", file=sys.stderr, flush=True)
    if arguments.otlp:
        need("watch", "--otlp", "opentelemetry")
        from snoopie.watch import otlp

        end = otlp.export(metrics, lock, arguments.otlp, arguments.otlp_every)
    try:
        yield
    finally:
        if end is not None:
            end()


def _token(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        token = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{path} cannot be read", "name a file that holds a token") from None
    if not token:
        raise UsageError(f"{path} is empty", "put a token into it")
    return token


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
def _shown(session: Session, lock: threading.Lock, running: Watcher) -> Iterator[None]:
    need("watch", "--live", "rich")
    from snoopie.watch import live

    with live.shown(live.View(session), lock, running.end):
        yield


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


def _duration(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)?", text)
    if match is None or not float(match[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 30s, 5m or 2h")
    return float(match[1]) * _SECONDS[match[2] or ""]


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not an address such as :9400 or 0.0.0.0:9400")
    return host.strip("[]") or "127.0.0.1", int(port)


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+)(KiB|MiB|GiB)?", text)
    size = int(match[1]) * _BYTES[match[2] or ""] if match else 0
    if size & (size - 1) or not _LEAST_BUFFER <= size <= _MOST_BUFFER:
        raise argparse.ArgumentTypeError(f"{text!r} is not a power of 2 between 4KiB and 1GiB, such as 64MiB")
    return size
