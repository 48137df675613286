"""Metrics of programs that make known calls: as promtool, Prometheus itself and an OpenTelemetry collector get them."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from tests.support import watched
from tests.support.watched import Program, Watch

pytestmark = pytest.mark.skipif(bool(watched.why_not()), reason=watched.why_not() or "-")


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    watched.build()


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    watched.end_all()


@pytest.fixture
def program() -> Iterator[Program]:
    with Program() as one:
        one.do("sync 1")
        yield one


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


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


def values(text: str) -> dict[tuple[str, ...], float]:
    """Name and the values of the labels that tell samples apart here → value."""
    kept = ("kernel", "call", "error", "direction", "source", "destination", "kind", "le", "what")
    return {
        (sample.name, *(sample.labels[name] for name in kept if name in sample.labels)): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("program", "program") == "program"
    }


def make_calls(program: Program) -> None:
    for command in ("alloc 4 1000", "free 1", "launch _Z6kernelv 300", "htod 3 100", "fail 2", "sync 2"):
        program.do(command)


def test_what_prometheus_gets(program: Program) -> None:
    port = free_port()
    watch = Watch("--all", "--prometheus", f":{port}")
    assert f"127.0.0.1:{port}" in watch.begun
    make_calls(program)
    done = ("snoopie_cuda_calls_total", "cuStreamSynchronize")
    found = until(lambda: values(scrape(port)).get(done) == 2 and values(scrape(port)))
    assert found["snoopie_cuda_launches_total", "kernel()"] == 300
    assert found["snoopie_cuda_calls_total", "cuMemAlloc_v2"] == 6
    assert found["snoopie_cuda_call_errors_total", "cuMemAlloc_v2", "CUDA_ERROR_OUT_OF_MEMORY"] == 2
    assert found["snoopie_cuda_copied_bytes_total", "host to device", "host", "unknown"] == 300
    assert found["snoopie_cuda_allocated_bytes", "device"] == 3000
    assert found["snoopie_cuda_call_duration_seconds_bucket", "cuStreamSynchronize", "+Inf"] == 2
    # A millisecond each.
    assert found["snoopie_cuda_call_duration_seconds_bucket", "cuStreamSynchronize", "0.000262144"] == 0
    assert found["snoopie_cuda_synchronization_seconds_total",] >= 0.002
    assert found["snoopie_cuda_lost_total", "events"] == 0
    # What ended programs did stays, and what they did not free has leaked.
    program.end()
    leaked = ("snoopie_cuda_leaked_bytes_total", "device")
    after = until(lambda: values(scrape(port)).get(leaked) and values(scrape(port)))
    assert after[leaked] == 3000
    assert after["snoopie_cuda_launches_total", "kernel()"] == 300
    assert ("snoopie_cuda_allocated_bytes", "device") not in after
    if shutil.which("promtool"):
        checked = subprocess.run(
            ["promtool", "check", "metrics"], input=scrape(port), capture_output=True, text=True, timeout=60
        )
        assert (checked.returncode, checked.stderr) == (0, "")
    watch.end()


def test_a_token(program: Program, tmp_path: Path) -> None:
    port, file = free_port(), tmp_path / "token"
    file.write_text("secret\n")
    watch = Watch("--all", "--prometheus", f":{port}", "--token-file", str(file))
    for token in ("", "secre", "secret2"):
        with pytest.raises(urllib.error.HTTPError, match="401"):
            scrape(port, token)
    assert "snoopie_cuda_processes" in scrape(port, "secret")
    watch.end()


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="no Prometheus is installed (Debian: prometheus)")
def test_a_real_prometheus(program: Program, tmp_path: Path) -> None:
    port, own = free_port(), free_port()
    watch = Watch("--all", "--prometheus", f":{port}")
    config = tmp_path / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s}\n"
        f"rule_files: [{watched.ROOT}/watch/deploy/alerts.yml]\n"
        f"scrape_configs: [{{job_name: snoopie, static_configs: [{{targets: ['127.0.0.1:{port}']}}]}}]\n"
    )
    server = subprocess.Popen(
        ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path}/data",
         f"--web.listen-address=127.0.0.1:{own}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def asked() -> list[Any]:
        query = urllib.parse.quote('sum(snoopie_cuda_launches_total{kernel="kernel()"})')
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{own}/api/v1/query?query={query}", timeout=30) as answer:
                return list(json.load(answer)["data"]["result"])
        except OSError:
            return []

    try:
        make_calls(program)
        assert until(lambda: [row for row in asked() if row["value"][1] == "300"])
    finally:
        server.terminate()
        server.wait(timeout=60)
        watch.end()


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool is installed (Debian: prometheus)")
def test_alerts() -> None:
    done = subprocess.run(
        ["promtool", "check", "rules", watched.ROOT / "watch/deploy/alerts.yml"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_dashboard_asks_for_metrics_that_there_are(program: Program) -> None:
    port = free_port()
    watch = Watch("--all", "--prometheus", f":{port}")
    make_calls(program)
    program.do("peer 1 10")
    known = set(re.findall(r"^# TYPE (\w+)", scrape(port), re.M))
    watch.end()
    for file in ("dashboard.json", "alerts.yml"):
        text = (watched.ROOT / "watch/deploy" / file).read_text()
        used = {re.sub(r"_bucket$", "", name) for name in re.findall(r"snoopie_cuda_\w+", text)}
        assert used
        assert used <= known


def test_what_opentelemetry_gets(program: Program) -> None:
    received: list[ExportMetricsServiceRequest] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            import gzip

            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            assert self.path == "/v1/metrics"
            received.append(ExportMetricsServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    watch = Watch("--all", "--otlp", f"http://127.0.0.1:{server.server_port}", "--otlp-every", "1s")
    make_calls(program)

    def sums() -> dict[tuple[str, str], float]:
        return {
            (metric.name, label.value.string_value): point.as_double or point.as_int
            for request in received
            for resource in request.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in metric.sum.data_points
            for label in point.attributes
            if label.key in ("kernel", "kind", "call")
        }

    found = until(lambda: sums().get(("snoopie.cuda.calls", "cuStreamSynchronize")) == 2 and sums())
    assert found["snoopie.cuda.launches", "kernel()"] == 300
    assert found["snoopie.cuda.allocated_bytes", "device"] == 3000
    watch.end()
    server.shutdown()
