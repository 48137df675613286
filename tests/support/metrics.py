"""Metrics as others get them: Prometheus by scraping, an OpenTelemetry collector by what is sent to it."""

from __future__ import annotations

import gzip
import json
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.ports import free_port

# Those that tell samples apart in the tests.
_LABELS = (
    "kernel", "call", "error", "direction", "source", "destination", "issuer", "owner", "operation", "kind", "le",
    "what",
)  # fmt: skip


def until(found: Callable[[], Any]) -> Any:
    """What is found at last."""
    end = time.monotonic() + 60
    while not (value := found()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return value


def scrape(port: int, token: str = "") -> str:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers=headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return str(answer.read().decode())


def values(text: str, program: str) -> dict[tuple[str, ...], float]:
    """Name and the values of labels → value; of this program, and of what is of none."""
    return {
        (sample.name, *(sample.labels[name] for name in _LABELS if name in sample.labels)): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("program", program) == program
    }


def checked(text: str) -> tuple[int, str]:
    """What promtool says of metrics."""
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


@contextmanager
def prometheus(port: int, folder: Path, rules: Path) -> Iterator[Callable[[str], list[Any]]]:
    """A server that scrapes a port, as a function that answers queries."""
    own, config = free_port(), folder / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s}\n"
        f"rule_files: [{rules}]\n"
        f"scrape_configs: [{{job_name: snoopie, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]\n"
    )
    server = subprocess.Popen(
        ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
         f"--web.listen-address=127.0.0.1:{own}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def ask(query: str) -> list[Any]:
        address = f"http://127.0.0.1:{own}/api/v1/query?query={urllib.parse.quote(query)}"
        try:
            with urllib.request.urlopen(address, timeout=30) as answer:
                return list(json.load(answer)["data"]["result"])
        except OSError:
            return []

    try:
        yield ask
    finally:
        server.terminate()
        server.wait(timeout=60)


class Receiver:
    """An OpenTelemetry collector, as far as it receives metrics."""

    def __init__(self) -> None:
        self.requests: list[ExportMetricsServiceRequest] = []
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                assert self.path == "/v1/metrics"
                requests.append(ExportMetricsServiceRequest.FromString(body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Receiver:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def services(self) -> set[str]:
        """The names of the services that sent something."""
        return {
            one.value.string_value
            for request in self.requests
            for resource in request.resource_metrics
            for one in resource.resource.attributes
            if one.key == "service.name"
        }

    def sums(self, *labels: str) -> dict[tuple[str, ...], float]:
        """Name and the values of labels → the last value."""
        return {
            (metric.name, *(one.value.string_value for one in point.attributes if one.key in labels)): (
                point.as_double or point.as_int
            )
            for request in self.requests
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in metric.sum.data_points
        }
