"""A run while it goes on: `snoopie run --prometheus` and `--otlp`, and `snoopie watch` of its traces."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from snoopie import cli
from snoopie.cli import following
from tests.support import ring
from tests.support.metrics import Receiver, checked, scrape, until, values
from tests.support.ports import free_port
from tests.support.run_bench import PATIENCE, ROOT, Bench
from tests.support.screen import Screen

# Writes the blocks of a trace, as of this process; each after a line on stdin.
WRITES = """
import socket, sys
from tests.support.encoder import TraceBuilder, START_NS
trace = TraceBuilder(2, pid=os.getpid(), host=socket.gethostname())
kernel = trace.function("solve(float*)")
store, load = (trace.site(kernel, *words, 4) for words in (("STG.E", "store"), ("LDG.E", "load")))
for issuer in (0, 1):
    launch = trace.launch(kernel, issuer)
    trace.count(launch, store, 1 - issuer, 10 + issuer, 320, 80)
    trace.count(launch, load, 1 - issuer, 5, 160, 40)
trace.copy(0, 1, 4096, gpu=0)
trace.copy(254, 0, 1000, gpu=0)
trace.allocation("device", 5000, 0, 10)
for call, named, errors, gpu, total in (
    ("cuLaunchKernel", kernel and "solve(float*)", 0, 0, 2000), ("cuLaunchKernel", "solve(float*)", 0, 1, 3000),
    ("cuMemAlloc_v2", "", 1, 0, 10), ("cuStreamSynchronize", "", 0, 1, 5000000),
):
    trace.add("call_totals", call=trace.string(call), kernel=trace.string(named), thread=1, gpu=gpu, calls=3,
              errors=errors, total=total, least=1, most=total, time=START_NS + 1)
trace.add("call_times", call=trace.string("cuLaunchKernel"), thread=1, gpu=0, log2=9, calls=6)
trace.add("call_errors", call=trace.string("cuMemAlloc_v2"), thread=1, gpu=0, code=2,
          name=trace.string("CUDA_ERROR_OUT_OF_MEMORY"), calls=1)
trace.dropped = 17
blocks = trace.blocks()
path = os.environ["SNOOPIE_OUTPUT"].replace("%n", "app").replace("%p", str(os.getpid())).replace("%h", "here")
with open(path, "xb", buffering=0) as file:
    file.write(blocks[0])
    sys.stdin.readline()
    for block in blocks[1:-1]:
        file.write(block)
    sys.stdin.readline()
    file.write(blocks[-1])
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def line(stream: IO[str] | None) -> None:
    assert stream is not None
    stream.write("\n")
    stream.flush()


@contextmanager
def started(bench: Bench, *words: str) -> Iterator[subprocess.Popen[str]]:
    """The run of a program that waits to be told to write its trace, and to end."""
    process = subprocess.Popen(
        bench.command(*words, "--", bench.app(WRITES)), cwd=bench.work, env=bench.environment, text=True,
        stdin=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=PATIENCE)


def test_prometheus_gets_a_run_while_it_goes_on(bench: Bench) -> None:
    port = free_port()
    with started(bench, "--prometheus", f":{port}") as run:
        assert run.stderr is not None
        assert run.stderr.readline() == f"snoopie: metrics are at http://127.0.0.1:{port}/metrics\n"
        assert until(lambda: values(scrape(port), "ring").get(("snoopie_cuda_processes",)) == 1)
        line(run.stdin)
        found = until(
            lambda: ("snoopie_cuda_accesses_total", "0", "1", "store") in (now := values(scrape(port), "ring")) and now
        )
        text = scrape(port)
        expected = {
            ("accesses_total", "0", "1", "store"): 10,
            ("accesses_total", "1", "0", "store"): 11,
            ("accessed_bytes_total", "0", "1", "store"): 1280,
            ("accessed_bytes_total", "1", "0", "load"): 640,
            ("copied_bytes_total", "peer", "0", "1"): 4096,
            ("copied_bytes_total", "host to device", "host", "0"): 1000,
            ("copies_total", "peer", "0", "1"): 1,
            ("calls_total", "cuMemAlloc_v2"): 3,
            ("call_errors_total", "cuMemAlloc_v2", "CUDA_ERROR_OUT_OF_MEMORY"): 1,
            ("allocated_bytes", "device"): 5000,
            ("synchronization_seconds_total",): 0.005,
            ("call_duration_seconds_bucket", "cuLaunchKernel", "1.024e-06"): 6,
            ("call_duration_seconds_sum", "cuLaunchKernel"): 5e-6,
            ("lost_total", "records"): 17,
        }
        found = values(text, "ring")
        assert {key: found.get((f"snoopie_cuda_{key[0]}", *key[1:])) for key in expected} == expected
        assert 'launches_total{container="",gpu="1",kernel="solve(float*)"' in text
        assert re.search(r'snoopie_cuda_gpu_info\{gpu="1",name="NVIDIA H200",pci="[^"]+",uuid="GPU-[^"]+"\} 1\.0', text)
        if shutil.which("promtool"):
            assert checked(text) == (0, "")
        line(run.stdin)
        said = run.stderr.read()
        assert run.wait(PATIENCE) == 0
        assert "Next: snoopie view" in said


def test_opentelemetry_gets_all_of_a_run_that_is_soon_over(bench: Bench) -> None:
    with Receiver() as receiver:
        with started(bench, "--otlp", receiver.url, "--otlp-every", "1h") as run:
            line(run.stdin)
            line(run.stdin)
            assert run.wait(PATIENCE) == 0
        sums = receiver.sums("issuer", "owner", "operation", "kind", "call")
        assert sums["snoopie.cuda.accessed_bytes", "load", "0", "1"] == 640
        # What was there at the end has leaked.
        assert sums["snoopie.cuda.leaked_bytes", "device"] == 5000
        assert ("snoopie.cuda.allocated_bytes", "device") not in sums
        assert receiver.services() == {"snoopie-run"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--prometheus", "9400"], "not an address"),
        (["--token-file", "x"], "--token-file is for --prometheus"),
        (["--prometheus", ":{busy}"], "cannot be listened on"),
        (["--prometheus", ":0", "--token-file", "absent"], "absent cannot be read"),
    ],
)
def test_wrong_words_end_it_before_the_program_runs(bench: Bench, words: list[str], said: str) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        done = bench.run(*(word.format(busy=other.getsockname()[1]) for word in words), "--", bench.app("print('ran')"))
    assert done.returncode in (1, 2)
    assert "ran" not in done.stdout
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_program_does_not_notice_that_its_trace_is_damaged(bench: Bench) -> None:
    app = bench.app(
        "path = os.environ['SNOOPIE_OUTPUT'].replace('%n', 'app').replace('%p', '1').replace('%h', 'h')\n"
        "open(path, 'wb').write(b'something else that is long enough to be read as an entry' * 2)\n"
        "print('done'); raise SystemExit(5)"
    )
    done = bench.run("--prometheus", ":0", "--", app)
    assert (done.returncode, done.stdout) == (5, "done\n")
    assert "snoopie: note: " in done.stderr
    assert "Traceback" not in done.stderr


# --- snoopie watch TRACE ---


def test_a_recording_on_a_terminal(bench: Bench) -> None:
    """`snoopie watch FOLDER` in another terminal, until the run is over."""
    folder = bench.work / "traces"
    with started(bench, "-o", f"{folder}/") as run:
        until(lambda: list(folder.glob("*.zst")))
        line(run.stdin)
        with Screen("watch", "--live", str(folder), environment=bench.environment) as screen:
            assert screen.shows("Accesses by kernels", "solve(float*)", "store", "launches/s", "lost: 17 records")
            line(run.stdin)
            assert run.wait(PATIENCE) == 0
            assert screen.ended() == (0, f"Next: snoopie stats {folder}\n")


def test_q_ends_the_view_and_not_the_run(bench: Bench) -> None:
    folder = bench.work / "traces"
    with started(bench, "-o", f"{folder}/") as run:
        until(lambda: list(folder.glob("*.zst")))
        # With nothing else wanted of a recording, that is what is wanted.
        with Screen("watch", str(folder), environment=bench.environment) as screen:
            assert screen.shows("Processes", "q ends")
            screen.press("q")
            assert screen.ended() == (0, f"Next: snoopie stats --allow-truncated {folder}\n")
        assert run.poll() is None


def test_metrics_of_a_recording(bench: Bench) -> None:
    folder, port = bench.work / "traces", free_port()
    with started(bench, "-o", f"{folder}/") as run:
        until(lambda: list(folder.glob("*.zst")))
        line(run.stdin)
        watch = subprocess.Popen(
            [sys.executable, "-m", "snoopie", "watch", str(folder), "--prometheus", f":{port}"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**bench.environment, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        )  # fmt: skip
        assert watch.stderr is not None
        watch.stderr.readline()
        key = ("snoopie_cuda_accesses_total", "1", "0", "store")
        assert until(lambda: values(scrape(port), "ring").get(key)) == 11
        watch.send_signal(signal.SIGINT)
        out, errors = watch.communicate(timeout=PATIENCE)
        assert (watch.returncode, out) == (0, "")
        assert errors == f"Next: snoopie stats --allow-truncated {folder}\n"
        line(run.stdin)
        assert run.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "it is not said what to watch"),
        (["--all", "{trace}"], "--all is for programs that run already"),
        (["-o", "x", "{trace}"], "--output is for programs that run already"),
        (["{trace}", "--token-file", "x"], "--token-file is for --prometheus"),
    ],
)
def test_what_watch_is_not_told(
    tmp_path: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = ring.write_ring(tmp_path)
    assert cli.main(["watch", *(word.format(trace=trace) for word in words)]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["watch", str(tmp_path / "absent.zst"), "--for", "1s", "--prometheus", ":0"]) == 1
    assert "there is no file" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_may_come_while_the_event_is_in_use(number: signal.Signals) -> None:
    over, unlocked = threading.Event(), threading.Event()

    def end() -> None:
        assert unlocked.wait(60)
        over.set()

    with following._ended_by_signals(end):
        # As the event's own lock, where the signal comes while it is asked.
        signal.raise_signal(number)
        unlocked.set()
        assert over.wait(60)
