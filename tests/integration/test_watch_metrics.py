"""Metrics of programs that make known calls: as promtool, Prometheus itself and an OpenTelemetry collector get them."""

from __future__ import annotations

import shutil
import urllib.error
from pathlib import Path

import pytest

from tests.support import watched
from tests.support.metrics import Receiver, checked, prometheus, scrape, until, values
from tests.support.ports import free_port
from tests.support.screen import Screen
from tests.support.watched import Program, Watch

pytestmark = [watched.where_possible, pytest.mark.usefixtures("watch_built", "nothing_left")]

DEPLOY = watched.ROOT / "watch/deploy"


def make_calls(program: Program) -> None:
    for command in ("alloc 4 1000", "free 1", "launch _Z6kernelv 300", "htod 3 100", "fail 2", "sync 2"):
        program.do(command)


def test_what_prometheus_gets(program: Program) -> None:
    port = free_port()
    watch = Watch("--all", "--prometheus", f":{port}")
    assert f"127.0.0.1:{port}" in watch.begun
    make_calls(program)
    done = ("snoopie_cuda_calls_total", "cuStreamSynchronize")
    found = until(lambda: values(scrape(port), "program").get(done) == 2 and values(scrape(port), "program"))
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
    after = until(lambda: values(scrape(port), "program").get(leaked) and values(scrape(port), "program"))
    assert after[leaked] == 3000
    assert after["snoopie_cuda_launches_total", "kernel()"] == 300
    assert ("snoopie_cuda_allocated_bytes", "device") not in after
    if shutil.which("promtool"):
        assert checked(scrape(port)) == (0, "")
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
    port = free_port()
    watch = Watch("--all", "--prometheus", f":{port}")
    with prometheus(port, tmp_path, DEPLOY / "alerts.yml") as ask:
        make_calls(program)
        query = 'sum(snoopie_cuda_launches_total{kernel="kernel()"})'
        assert until(lambda: [row for row in ask(query) if row["value"][1] == "300"])
    watch.end()


def test_what_opentelemetry_gets(program: Program) -> None:
    with Receiver() as receiver:
        watch = Watch("--all", "--otlp", receiver.url, "--otlp-every", "1s")
        make_calls(program)

        def sums() -> dict[tuple[str, ...], float]:
            return receiver.sums("kernel", "kind", "call")

        found = until(lambda: sums().get(("snoopie.cuda.calls", "cuStreamSynchronize")) == 2 and sums())
        assert found["snoopie.cuda.launches", "kernel()"] == 300
        assert found["snoopie.cuda.allocated_bytes", "device"] == 3000
        assert receiver.services() == {"snoopie-watch"}
        watch.end()


def test_a_terminal(program: Program) -> None:
    with Screen("watch", "--pid", str(program.pid), "--live") as screen:
        assert screen.shows("Processes")
        make_calls(program)
        assert screen.shows(str(program.pid), "kernel()", "300 B", "errors")
        screen.press("q")
        assert screen.ended() == (0, "")
    # It goes on.
    program.do("sync 1")
