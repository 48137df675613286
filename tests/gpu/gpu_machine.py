"""What this machine has of what the GPU tests need: GPUs, the collector, NVIDIA's disassemblers."""

from __future__ import annotations

import functools
import importlib.util
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).resolve().parent
CHECKOUT = TESTS.parents[1]


@dataclass(frozen=True)
class Gpu:
    """One GPU: its UUID, and its architecture as nvcc writes it (90 for an H200)."""

    uuid: str
    architecture: int


@functools.cache
def gpus() -> tuple[Gpu, ...]:
    """The GPUs that the tests may use, in the order of CUDA_VISIBLE_DEVICES where it is set."""
    command = ["nvidia-smi", "--query-gpu=uuid,compute_cap", "--format=csv,noheader"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        return ()
    if listed.returncode != 0:
        return ()
    rows = [[part.strip() for part in line.split(",")] for line in listed.stdout.splitlines() if "," in line]
    found = [Gpu(uuid, int(capability.replace(".", ""))) for uuid, capability in rows]
    chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is None:
        return tuple(found)
    by_name = {str(number): gpu for number, gpu in enumerate(found)} | {gpu.uuid: gpu for gpu in found}
    return tuple(by_name[name.strip()] for name in chosen.split(",") if name.strip() in by_name)


def tool() -> Path:
    """Where the collector's library should be."""
    return Path(os.environ.get("SNOOPIE_TOOL") or CHECKOUT / "nvbit_tool" / "mem_multigpu.so").resolve()


def collector() -> Path:
    """What it opens."""
    return tool().with_name("libsnoopie_collector.so")


def search_path() -> str:
    """PATH with the CUDA toolkit's folders at its end."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    return os.pathsep.join([os.environ.get("PATH", os.defpath), *(f"{home}/bin" for home in homes if home)])


def program(name: str) -> str | None:
    """Full path of a program of the CUDA toolkit."""
    return shutil.which(name, path=search_path())


@functools.cache
def package(name: str) -> Path | None:
    """Folder of a Python package that brings a library, such as nvidia.nccl; None where it is not installed."""
    try:
        found = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None
    folders = list(found.submodule_search_locations or ()) if found else []
    return Path(folders[0]) if folders else None


@functools.cache
def lacking() -> str | None:
    """Why the GPU tests cannot run here; None where they can, if only those for which one GPU is enough."""
    if not gpus():
        return "needs an NVIDIA GPU, found none"
    if not (tool().is_file() and collector().is_file()):
        return f"no collector at {tool()}: build it (make -C nvbit_tool, needs NVBit) or name one in SNOOPIE_TOOL"
    absent = [name for name in ("nvdisasm", "cuobjdump") if program(name) is None]
    if absent:
        return f"NVBit needs {' and '.join(absent)}: install the CUDA toolkit, or set CUDA_HOME"
    return None
