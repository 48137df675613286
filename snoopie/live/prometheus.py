"""Metrics for Prometheus, over HTTP."""

from __future__ import annotations

import hmac
import threading
from collections.abc import Callable, Iterable, Iterator
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import CollectorRegistry, make_wsgi_app
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from snoopie.errors import SnoopieError
from snoopie.live.metrics import BUCKETS, Metrics

_PREFIX = "snoopie_cuda_"
_App = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class Collector:
    """Asked at every scrape."""

    def __init__(self, metrics: Metrics, lock: threading.Lock) -> None:
        self._metrics, self._lock = metrics, lock

    def collect(self) -> Iterator[Any]:
        """The families as prometheus_client has them."""
        with self._lock:
            families, durations = self._metrics.families(), self._metrics.durations()
        for one in families:
            kind = CounterMetricFamily if one.total else GaugeMetricFamily
            family = kind(_PREFIX + one.name, one.help, labels=list(one.labels))
            for labels, value in one.values.items():
                family.add_metric(list(labels), value)
            yield family
        histogram = HistogramMetricFamily(
            _PREFIX + "call_duration_seconds", "Time in calls of the CUDA driver.", labels=["call"]
        )
        bounds = [*(repr(bucket) for bucket in BUCKETS), "+Inf"]
        for call in durations.slots:
            counts = durations.buckets(call).tolist()
            histogram.add_metric([call], list(zip(bounds, counts, strict=True)), durations.seconds[call])
        yield histogram


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """A scrape is no news."""


def serve(metrics: Metrics, lock: threading.Lock, host: str, port: int, token: str) -> int:
    """Answers scrapes from now on; returns the port. With a ``token``, only those that have it. SnoopieError where the
    address is not free."""
    registry = CollectorRegistry()
    registry.register(Collector(metrics, lock))
    app: _App = make_wsgi_app(registry)
    try:
        server = make_server(host, port, _guarded(app, token) if token else app, _Server, _Quiet)
    except OSError as error:
        raise SnoopieError(
            f"{host}:{port} cannot be listened on ({error.strerror})", "name another with --prometheus"
        ) from None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return int(server.server_port)


def _guarded(app: _App, token: str) -> _App:
    expected = f"Bearer {token}".encode()

    def guarded(environment: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        given = environment.get("HTTP_AUTHORIZATION", "").encode("latin-1", "replace")
        if hmac.compare_digest(given, expected):
            return app(environment, start)
        start("401 Unauthorized", [("WWW-Authenticate", "Bearer"), ("Content-Type", "text/plain")])
        return [b"a token is needed\n"]

    return guarded
