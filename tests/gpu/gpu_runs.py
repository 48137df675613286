"""Building the programs of apps/ and running them, with and without the collector."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import gpu_machine
import pytest
from gpu_traffic import APPS

from snoopie.cli.settings import BY_VARIABLE
from tests.support.ports import free_port

if TYPE_CHECKING:
    from snoopie import Trace

# Which GPUs each of several processes sees.
View = Literal["all", "turned", "own"]

TIMEOUT = 120
# Libraries bring hundreds of device functions, and each of several processes may have them disassembled.
LIBRARY_TIMEOUT = 180
CANNOT_RUN = 77

# Build variant → what make is told.
VARIANTS = {
    "": (),
    "-nolines": ("LINEINFO=0",),
    "-shared": ("CUDART=shared",),
    "-rdc": ("RDC=1",),
    "-per-thread": ("STREAM=per-thread",),
}

# What programs need beside CUDA: the Python package, and how pip names it.
NEEDS = {
    "nccl_single": ("nvidia.nccl", "nvidia-nccl-cu13"),
    "nccl_ranks": ("nvidia.nccl", "nvidia-nccl-cu13"),
    "nccl_bus": ("nvidia.nccl", "nvidia-nccl-cu13"),
    "nccl_late": ("nvidia.nccl", "nvidia-nccl-cu13"),
    "nvshmem_ops": ("nvidia.nvshmem", "nvidia-nvshmem-cu13"),
    "halo": ("nvidia.nvshmem", "nvidia-nvshmem-cu13"),
    "allreduce.py": ("torch", "torch"),
    "compiled.py": ("torch", "torch"),
    "gemm.py": ("torch", "torch"),
    "profiled.py": ("torch", "torch"),
    "shards.py": ("jax", "jax[cuda13]"),
    "symmetric_memory.py": ("torch", "torch"),
    "train.py": ("torch", "torch"),
}

# Variables of the user's shell that would change what the tests see. Where disassembly is kept changes only the time.
SETTINGS = {*BY_VARIABLE, "LD_PRELOAD", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "SNOOPIE_TENSORS"} - {
    "SNOOPIE_CACHE"
}

# Settings of the collector in every run that does not say others, by options of pytest.
DEFAULTS: dict[str, str] = {}

LIBRARIES = {
    # NVLink multicast can put switches that others share out of service: no library may try it.
    "NCCL_NVLS_ENABLE": "0",
    "NVSHMEM_DISABLE_NVLS": "1",
    "TORCH_SYMM_MEM_DISABLE_MULTICAST": "1",
    # Processes of one host find each other without a network, and nothing but the GPUs' links carries their data.
    "NCCL_SOCKET_IFNAME": "lo",
    "NCCL_IB_DISABLE": "1",
    "NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME": "lo",
    "NVSHMEM_REMOTE_TRANSPORT": "none",
    "NVSHMEM_DISABLE_NCCL": "1",
    "MASTER_ADDR": "127.0.0.1",
}


@functools.cache
def build(program: str, variant: str = "") -> Path:
    """The program, built for this machine's GPUs. Without a compiler, one that was built before is taken as it is."""
    require(program)
    gpus = gpu_machine.gpus()
    architecture = gpus[0].architecture if gpus else 90
    path = APPS / "build" / f"sm_{architecture}{variant}" / program
    nvcc, make = gpu_machine.program("nvcc"), shutil.which("make")
    if nvcc is None or make is None:
        if not path.is_file():
            pytest.skip(f"{program} is not built: nvcc and make are needed, or {path} built elsewhere")
        return path
    settings = (f"NVCC={nvcc}", f"ARCH={architecture}", f"PYTHON={sys.executable}", *VARIANTS[variant])
    command = [make, "-C", str(APPS), *settings, program]
    # Another worker of the tests may want the same program, and would start it while the compiler writes it.
    lock = path.with_name(f".{program}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    return path


def require(program: str) -> None:
    """Skips where the library is missing that a program needs."""
    package, name = NEEDS.get(program, ("", ""))
    if package and gpu_machine.package(package) is None:
        pytest.skip(f"{program} needs the Python package {name} in {sys.executable}")


def environment(visible: Sequence[str] | None = None, **settings: str) -> dict[str, str]:
    """The environment of a run without the collector. `visible` are UUIDs of GPUs; None is what the tests may use."""
    base = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    base["PATH"] = gpu_machine.search_path()
    uuids = [gpu.uuid for gpu in gpu_machine.gpus()] if visible is None else visible
    base["CUDA_VISIBLE_DEVICES"] = ",".join(uuids)
    return base | LIBRARIES | settings


def traced_environment(visible: Sequence[str] | None = None, **settings: str) -> dict[str, str]:
    """The environment of a run under the collector."""
    return environment(visible, **{"LD_PRELOAD": str(gpu_machine.tool())} | DEFAULTS | settings)


@dataclass(frozen=True)
class Run:
    """A program that has ended. `folder` was its working directory, and held nothing before."""

    status: int
    stdout: str
    stderr: str
    folder: Path

    @property
    def files(self) -> list[Path]:
        """What it left in its folder."""
        return sorted(self.folder.iterdir())

    @functools.cached_property
    def trace(self) -> Trace:
        """The only trace that it left there."""
        import snoopie

        (path,) = self.files
        return snoopie.load(path)

    @functools.cached_property
    def traces(self) -> Trace:
        """All traces that it and the processes it started left there, as one."""
        import snoopie

        return snoopie.load(self.folder)


def start(
    command: Sequence[object], folder: Path, env: Mapping[str, str], timeout: float = TIMEOUT, **options: Any
) -> Run:
    """Runs a command in a folder to its end."""
    ended = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        **options,
    )
    return Run(ended.returncode, ended.stdout, ended.stderr, folder)


def ranks_command(program: str, *arguments: int) -> list[str]:
    """The command of a program of one process a GPU, to be run in an empty folder."""
    if program.endswith(".py"):
        require(program)
        return [sys.executable, str(APPS / program), *map(str, arguments)]
    return [str(build(program)), "id", *map(str, arguments)]


def start_ranks(
    command: Sequence[object], visible: Sequence[str], folder: Path, env: Mapping[str, str], view: View = "all"
) -> Run:
    """Runs a command as one rank a GPU, as torchrun does it, all in one folder.

    A rank sees `all` GPUs in their order, all `turned` so that they begin with its own, or its `own` only. The output
    is that of rank 0, 1, …; the status the first that is not 0. When one fails, the others have ten seconds.
    """
    ranks = len(visible)
    with contextlib.ExitStack() as stack:
        port = free_port()
        outputs = [stack.enter_context(tempfile.TemporaryFile("w+")) for _ in range(2 * ranks)]
        processes: list[subprocess.Popen[str]] = []
        try:
            for rank in range(ranks):
                places: dict[str, object] = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks, "MASTER_PORT": port}
                if view != "all":
                    seen = [*visible[rank:], *visible[:rank]] if view == "turned" else visible[rank : rank + 1]
                    places |= {"LOCAL_RANK": 0, "CUDA_VISIBLE_DEVICES": ",".join(seen)}
                processes.append(
                    subprocess.Popen(
                        [str(word) for word in command],
                        cwd=folder,
                        env={**env, **{name: str(value) for name, value in places.items()}},
                        stdin=subprocess.DEVNULL,
                        stdout=outputs[2 * rank],
                        stderr=outputs[2 * rank + 1],
                        text=True,
                    )
                )
            end = time.monotonic() + LIBRARY_TIMEOUT
            while None in (statuses := [process.poll() for process in processes]) and time.monotonic() < end:
                if any(statuses):
                    end = min(end, time.monotonic() + 10)
                time.sleep(0.05)
        finally:
            for process in processes:
                process.kill()
                process.wait()
        for output in outputs:
            output.seek(0)
        texts = [output.read() for output in outputs]
        failed = [process.returncode for process in processes if process.returncode]
        return Run(failed[0] if failed else 0, "".join(texts[0::2]), "".join(texts[1::2]), folder)


def no_contradiction(run: Run) -> None:
    """Fails where an access left its GPU that was not to, by its launch's parameters."""
    assert "although the parameters" not in run.stderr, run.stderr


class Runner:
    """Runs programs of apps/; equal runs happen once, because every start of NVBit takes seconds."""

    def __init__(self, new_folder: Callable[[str], Path]) -> None:
        self._new_folder = new_folder
        self._done: dict[Any, Run] = {}

    def native(
        self,
        program: str,
        *arguments: int | str,
        visible: Sequence[str] | None = None,
        variant: str = "",
    ) -> Run:
        """A run without the collector. Skips where the program says that it cannot run on this machine."""
        run = self._once(False, program, arguments, visible, variant, {})
        if run.status == CANNOT_RUN:
            pytest.skip(run.stdout.strip())
        if variant == "-shared" and "error while loading shared libraries" in run.stderr:
            pytest.skip(run.stderr.strip())
        assert run.status == 0, run.stdout + run.stderr
        return run

    def traced(
        self,
        program: str,
        *arguments: int | str,
        visible: Sequence[str] | None = None,
        variant: str = "",
        **settings: str,
    ) -> Run:
        """A run under the collector whose output and status were found to be those of the run without."""
        native = self.native(program, *arguments, visible=visible, variant=variant)
        run = self._once(True, program, arguments, visible, variant, settings)
        assert run.stdout == native.stdout, run.stderr
        assert run.status == native.status, run.stderr
        no_contradiction(run)
        return run

    def ranks(self, program: str, *arguments: int, visible: Sequence[str], view: View = "all", **settings: str) -> Run:
        """One process a GPU under the collector, whose outputs and statuses were found to be those of a run without."""
        native = self._ranks_once(False, program, arguments, visible, view, settings)
        if native.status == CANNOT_RUN:
            pytest.skip(native.stdout.strip())
        assert native.status == 0, native.stdout + native.stderr
        run = self._ranks_once(True, program, arguments, visible, view, settings)
        assert (run.status, run.stdout) == (native.status, native.stdout), run.stderr
        no_contradiction(run)
        return run

    def _ranks_once(
        self,
        collector: bool,
        program: str,
        arguments: tuple[int, ...],
        visible: Sequence[str],
        view: View,
        settings: dict[str, str],
    ) -> Run:
        key = ("ranks", collector, program, arguments, tuple(visible), view, tuple(sorted(settings.items())))
        if key not in self._done:
            command = ranks_command(program, *arguments)
            env = (traced_environment if collector else environment)(visible, **settings)
            self._done[key] = start_ranks(command, visible, self._new_folder(program), env, view)
        return self._done[key]

    def _once(
        self,
        collector: bool,
        program: str,
        arguments: tuple[int | str, ...],
        visible: Sequence[str] | None,
        variant: str,
        settings: dict[str, str],
    ) -> Run:
        key = (collector, program, arguments, visible and tuple(visible), variant, tuple(sorted(settings.items())))
        if key not in self._done:
            command = [build(program, variant), *map(str, arguments)]
            env = (traced_environment if collector else environment)(visible, **settings)
            timeout = LIBRARY_TIMEOUT if program in NEEDS else TIMEOUT
            self._done[key] = start(command, self._new_folder(program), env, timeout)
        return self._done[key]
