"""Building the programs of apps/ and running them, with and without the collector."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gpu_machine
import pytest
from gpu_traffic import APPS

if TYPE_CHECKING:
    from snoopie import Trace

TIMEOUT = 120
CANNOT_RUN = 77

# Build variant → what make is told.
VARIANTS = {
    "": (),
    "-nolines": ("LINEINFO=0",),
    "-shared": ("CUDART=shared",),
    "-rdc": ("RDC=1",),
    "-per-thread": ("STREAM=per-thread",),
}

# Settings of the user's shell that would change what the tests see.
SETTINGS = (
    *("KERNEL_NAME", "BLOCKS", "CODE_ATTRIBUTION", "SAMPLE_SIZE", "SNOOPIE_OUTPUT"),
    *("LD_PRELOAD", "CUDA_INJECTION64_PATH"),
)


@functools.cache
def build(program: str, variant: str = "") -> Path:
    """The program, built for this machine's GPUs. Without a compiler, one that was built before is taken as it is."""
    gpus = gpu_machine.gpus()
    architecture = gpus[0].architecture if gpus else 90
    path = APPS / "build" / f"sm_{architecture}{variant}" / program
    nvcc, make = gpu_machine.program("nvcc"), shutil.which("make")
    if nvcc is None or make is None:
        if not path.is_file():
            pytest.skip(f"{program} is not built: nvcc and make are needed, or {path} built elsewhere")
        return path
    command = [make, "-C", str(APPS), f"NVCC={nvcc}", f"ARCH={architecture}", *VARIANTS[variant], program]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
    return path


def environment(visible: Sequence[str] | None = None, **settings: str) -> dict[str, str]:
    """The environment of a run without the collector. `visible` are UUIDs of GPUs; None is what the tests may use."""
    base = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    base["PATH"] = gpu_machine.search_path()
    uuids = [gpu.uuid for gpu in gpu_machine.gpus()] if visible is None else visible
    base["CUDA_VISIBLE_DEVICES"] = ",".join(uuids)
    return base | settings


def traced_environment(visible: Sequence[str] | None = None, **settings: str) -> dict[str, str]:
    """The environment of a run under the collector."""
    return environment(visible, **{"LD_PRELOAD": str(gpu_machine.tool())} | settings)


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


def start(command: Sequence[object], folder: Path, env: Mapping[str, str], **options: Any) -> Run:
    """Runs a command in a folder to its end."""
    ended = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        **options,
    )
    return Run(ended.returncode, ended.stdout, ended.stderr, folder)


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
        return run

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
            self._done[key] = start(command, self._new_folder(program), env)
        return self._done[key]
