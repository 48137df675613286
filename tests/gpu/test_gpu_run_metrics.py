"""snoopie run --prometheus of a real program: while it goes on, metrics have what it has sent by then."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import gpu_machine
import pytest
from gpu_runs import build, environment

import snoopie

pytest.importorskip("prometheus_client", reason="pip install 'snoopie[watch]'")
pytest.importorskip("opentelemetry.proto", reason="pip install 'snoopie[watch]'")

from tests.support.metrics import scrape, until, values
from tests.support.ports import free_port

ROUNDS = 60
# As attached.cu says: 8 warps of 32 lanes with 4 bytes each.
ACCESSES, BYTES = 8 * ROUNDS, 1024 * ROUNDS


def test_traffic_is_there_while_the_program_runs(few: tuple[str, ...], tmp_path: Path) -> None:
    # A single GPU stores to the host. As attached.cu says: bytes of a copy by direction and ends.
    stores = (("0", "1"), ("1", "0")) if len(few) > 1 else (("0", "host"),)
    copies = {("host to device", "host", gpu): 60 for gpu, _ in stores}
    copies |= {("peer", *pair): 40 for pair in stores if "host" not in pair}
    port = free_port()
    command = [sys.executable, "-m", "snoopie", "run", "--tool", str(gpu_machine.tool()), "--prometheus", f":{port}"]
    program = subprocess.Popen(
        [*command, "-o", f"{tmp_path}/", "--", str(build("attached")), str(ROUNDS), "0"], env=environment(few),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert program.stdin is not None and program.stdout is not None
    try:
        if "attached: " in (line := program.stdout.readline()):
            pytest.skip(line)
        program.stdin.write("\n")
        program.stdin.flush()
        assert program.stdout.readline() == "done\n"
        accesses = ("snoopie_cuda_accesses_total", *stores[0], "store")
        # Counts come when launches have ended, sums of calls once a second.
        found = until(
            lambda: (
                now
                if (now := values(scrape(port), "attached")).get(accesses) == ACCESSES
                and now.get(("snoopie_cuda_calls_total", "cuMemcpyPeer")) == ROUNDS
                else None
            )
        )
        assert program.poll() is None
        assert all(found["snoopie_cuda_accessed_bytes_total", *pair, "store"] == BYTES for pair in stores)
        assert all(found["snoopie_cuda_copied_bytes_total", *copy] == size * ROUNDS for copy, size in copies.items())
        said = program.communicate("\n", timeout=120)
    finally:
        program.kill()
    assert (program.returncode, said[0]) == (0, "PASS\n"), said[1]
    (path,) = tmp_path.glob("*.zst")
    trace = snoopie.load(path)
    assert int(trace.counts["bytes"].sum()) == len(stores) * BYTES
