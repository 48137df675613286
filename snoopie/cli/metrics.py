"""Options of metrics, and offering or showing them while something runs."""

from __future__ import annotations

import argparse
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from snoopie.errors import UsageError
from snoopie.extras import need

if TYPE_CHECKING:
    from snoopie.live.metrics import Metrics

_PORT = 9400
_SECONDS = {"": 1, "ms": 0.001, "s": 1, "m": 60, "h": 3600}


def add_metrics(parser: argparse.ArgumentParser) -> None:
    """--prometheus and --otlp."""
    parser.add_argument(
        "--prometheus", type=_address, nargs="?", const=("127.0.0.1", _PORT), metavar="[HOST]:PORT",
        help=f"serve metrics for Prometheus, on this machine alone unless HOST says otherwise (default: :{_PORT})",
    )  # fmt: skip
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help="answer only scrapes that have the token in this file"
    )
    parser.add_argument("--otlp", metavar="URL", help="send metrics to an OpenTelemetry collector: http://host:4318")
    parser.add_argument(
        "--otlp-every", type=duration, default=10.0, metavar="TIME", help="how often to send them (default: 10s)"
    )


def wanted(arguments: argparse.Namespace) -> bool:
    """Whether metrics are."""
    if arguments.token_file and not arguments.prometheus:
        raise UsageError("--token-file is for --prometheus", "add that, or leave it out")
    return bool(arguments.prometheus or arguments.otlp)


@contextmanager
def offered(metrics: Metrics, lock: threading.Lock, arguments: argparse.Namespace, service: str) -> Iterator[None]:
    """Metrics are there for others meanwhile; ``lock`` is held while they change."""
    end = None
    if arguments.prometheus:
        need("watch", "--prometheus", "prometheus_client")
        from snoopie.live import prometheus

        host, port = arguments.prometheus
        port = prometheus.serve(metrics, lock, host, port, _token(arguments.token_file))
        print(f"snoopie: metrics are at http://{host}:{port}/metrics", file=sys.stderr, flush=True)
    if arguments.otlp:
        need("watch", "--otlp", "opentelemetry")
        from snoopie.live import otlp

        end = otlp.export(metrics, lock, arguments.otlp, arguments.otlp_every, service)
    try:
        yield
    finally:
        if end is not None:
            end()


@contextmanager
def shown(metrics: Metrics, lock: threading.Lock, end: Callable[[], None]) -> Iterator[None]:
    """The terminal shows them meanwhile; ``end`` is called by who has seen enough."""
    need("watch", "--live", "rich")
    from snoopie.live import terminal

    with terminal.shown(terminal.View(metrics), lock, end):
        yield


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


def duration(text: str) -> float:
    """The value of an option that is a time, in seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h)?", text)
    if match is None or not float(match[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 30s, 5m or 2h")
    return float(match[1]) * _SECONDS[match[2] or ""]


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not an address such as :9400 or 0.0.0.0:9400")
    return host.strip("[]") or "127.0.0.1", int(port)
