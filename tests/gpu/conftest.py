"""Fixtures of the GPU tests: python -m pytest tests/gpu

They need two GPUs that reach each other, some of them only one, the collector (nvbit_tool/mem_multigpu.so, or
SNOOPIE_TOOL names another) and the CUDA toolkit (on PATH or in CUDA_HOME); those of NCCL, NVSHMEM and PyTorch need
their Python packages. Where something is missing they are skipped with the reason. The programs of apps/ are built on
the way; where there is no nvcc, those in apps/build are taken as they are.
"""

from __future__ import annotations

import os
from pathlib import Path

import gpu_coverage
import gpu_machine
import gpu_runs
import pytest
from gpu_runs import Runner
from gpu_traffic import HOST, Far


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--probes", choices=("live", "full", "check"), help="what runs that do not say have as PROBES")
    parser.addoption("--coverage", type=Path, metavar="FILE", help="write what was verified: docs/coverage.md")


def pytest_configure(config: pytest.Config) -> None:
    if probes := config.getoption("--probes", default=None):
        gpu_runs.DEFAULTS["PROBES"] = probes


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    path = config.getoption("--coverage", default=None)
    if path is None:
        return
    outcomes: dict[str, str] = {}
    for outcome, reports in terminalreporter.stats.items():
        for report in reports:
            if outcome in ("passed", "failed", "error", "skipped") and isinstance(report, pytest.TestReport):
                outcomes[report.nodeid] = "failed" if outcome == "error" else outcome
    gpu_coverage.write(path, outcomes)
    terminalreporter.write_line(f"wrote {path}")


@pytest.fixture(scope="session")
def machine() -> None:
    """Needs a GPU, the collector and what NVBit needs."""
    if reason := gpu_machine.lacking():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def runner(machine: None, tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """Runs programs of apps/, each different run once in the session."""
    return Runner(lambda program: tmp_path_factory.mktemp(program))


@pytest.fixture(scope="session", params=[1, HOST], ids=["peer", "host"])
def far(request: pytest.FixtureRequest, machine: None) -> Far:
    """For programs that run kernels on GPU 0 only: another GPU's memory, and the host's, for which one is enough."""
    return Far(first(1), HOST) if request.param == HOST else Far(first(2), 1)


@pytest.fixture(scope="session")
def few(machine: None) -> tuple[str, ...]:
    """UUIDs of the first two GPUs, or of the only one."""
    return first(min(2, len(gpu_machine.gpus())))


def first(count: int) -> tuple[str, ...]:
    """UUIDs of the first GPUs. Skips where there are not so many."""
    gpus = gpu_machine.gpus()
    if len(gpus) < count:
        pytest.skip(f"needs at least {count} NVIDIA GPUs, found {len(gpus)}")
    return tuple(gpu.uuid for gpu in gpus[:count])


@pytest.fixture(scope="session", params=["two", "all"] if len(gpu_machine.gpus()) > 2 else ["two"])
def visible(request: pytest.FixtureRequest, machine: None) -> tuple[str, ...]:
    """UUIDs of the GPUs that a program sees, in this order: the first two, or all."""
    return first(len(gpu_machine.gpus()) if request.param == "all" else 2)


@pytest.fixture(scope="session")
def pair(machine: None) -> tuple[str, ...]:
    """UUIDs of the first two GPUs."""
    return first(2)


@pytest.fixture(scope="session")
def alone() -> None:
    """Needs GPUs that nobody else uses: for their times, for what the driver reports of all processes, and because a
    watch of all cuts their call stacks."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        pytest.skip("other tests use the GPUs at the same time: run it without -n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder to run in."""
    path = tmp_path / "run"
    path.mkdir()
    return path
