"""docs/coverage.md: every path to another GPU's memory, and what the tests of this folder found of it on this machine.

python -m pytest tests/gpu --coverage docs/coverage.md
"""

from __future__ import annotations

import datetime
import fnmatch
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import gpu_machine

COUNTED = "counted exactly"
LISTED = "listed exactly"
RUNS = "not measured; executions are counted"
UNMEASURED = "not measured, but reported"


class Way(NamedTuple):
    """One path. `tests` are patterns of test ids; without any, nothing verifies it."""

    path: str
    result: str
    tests: tuple[str, ...] = ()
    remark: str = ""


def memory(name: str) -> tuple[str, ...]:
    return (f"*test_gpu_memory.py::test_*[[]*{name}]",)


LAUNCHES = "*test_gpu_launches.py::test_every_kind_of_launch*"

WAYS: Mapping[str, tuple[Way, ...]] = {
    "Memory": (
        Way("cudaMalloc and peer access", COUNTED, (*memory("device"), "*test_gpu_ring.py::*")),
        Way("cudaMallocPitch", COUNTED, memory("pitch")),
        Way("allocations made before a context was first used", COUNTED, memory("early")),
        Way("traffic by object, if it has its 2 MiB pages to itself", COUNTED, ("*test_gpu_objects.py::*",)),
        Way("addresses reused by another owner", COUNTED, (*memory("remapped"), "*test_reused_memory*")),
        Way("default pool (cudaMallocAsync), access granted on the pool", COUNTED, memory("pool")),
        Way("pool created by the program", COUNTED, memory("own_pool")),
        Way("memory freed in stream order while a kernel uses it", COUNTED, memory("freed")),
        Way("VMM mapping (cuMemCreate, cuMemMap)", COUNTED, memory("mapping")),
        Way("VMM range that grows", COUNTED, memory("growing")),
        Way("VMM range with several owners", COUNTED, memory("owners")),
        Way("VMM memory on the host (NUMA node)", COUNTED, memory("numa")),
        Way("graph memory nodes", COUNTED, (*memory("graph"), *memory("captured"))),
        Way(
            "pinned host memory",
            COUNTED,
            tuple(p for n in ("pinned", "mapped", "portable", "combined") for p in memory(n)),
        ),
        Way("registered host memory", COUNTED, memory("registered")),
        Way(
            "managed memory",
            COUNTED,
            tuple(p for n in ("managed_gpu", "managed_host", "prefetched") for p in memory(n)),
            "owner: where the program last placed it (preferred location, prefetch), per 2 MiB; the host until then. "
            "Pages that migrate by themselves are not followed",
        ),
        Way("legacy IPC handles", COUNTED, ("*test_gpu_processes.py::*all*", "*test_gpu_processes.py::*turned*")),
        Way("VMM handles as file descriptors, pools from other processes", COUNTED, ("*test_gpu_processes.py::*",)),
        Way("the same, from GPUs that are hidden from the process", COUNTED, ("*test_gpu_processes.py::*own*",)),
        Way(
            "VMM fabric handles",
            COUNTED,
            (),
            "handled like file descriptors; the machine at hand cannot create such handles",
        ),
        Way("multicast objects", COUNTED, (), "owner: the set of GPUs; built from the driver's documentation"),
        Way("arrays, textures, surfaces", RUNS, ("*test_gpu_textures.py::*",)),
        Way(
            "pageable host memory",
            UNMEASURED,
            ("*test_memory_that_no_call*",),
            "only on GPUs that can access it",
        ),
    ),
    "Instructions": (
        Way(
            "loads, stores, atomics, reductions of 1 to 16 bytes",
            COUNTED,
            ("*test_gpu_mixed.py::*", "*test_gpu_opcodes.py::*"),
        ),
        Way("vector and packed atomics", COUNTED, ("*test_gpu_opcodes.py::*",)),
        Way("accesses of 32 bytes (sm_100)", COUNTED, (), "decoded from listings"),
        Way(
            "asynchronous copies into shared memory (LDGSTS)",
            COUNTED,
            ("*test_gpu_opcodes.py::*", "*test_gpu_mixed.py::*"),
        ),
        Way("bulk copies and reductions (UBLKCP, UBLKRED)", COUNTED, ("*test_gpu_opcodes.py::*",)),
        Way("tensor copies and reductions of tiles (UTMALDG, UTMASTG, UTMAREDG)", COUNTED, ("*test_gpu_tensor.py::*",)),
        Way("tensor maps that the device edits", COUNTED, ("*test_gpu_tensor.py::test_boxes*",)),
        Way("other tensor copies (im2col, gather, scatter)", RUNS),
        Way("multimem instructions", COUNTED, (), "decoded from listings; owner: the set of GPUs"),
        Way("textures and surfaces (TEX, TLD, SULD, SUST, …)", RUNS, ("*test_gpu_textures.py::*",)),
        Way("unknown opcodes", RUNS, (), "tested on listings"),
    ),
    "Launches": (
        Way("cuLaunchKernel, cuLaunchKernelEx, clusters, programmatic launch, cooperative", COUNTED, (LAUNCHES,)),
        Way("per-thread default stream", COUNTED, (LAUNCHES + "per_thread*", "*test_one_host_thread*per_thread*")),
        Way("many host threads on many devices at once", COUNTED, ("*test_one_host_thread*", LAUNCHES)),
        Way(
            "first launches beside running kernels, in every kind of stream",
            COUNTED,
            ("*test_gpu_order.py::test_a_first*",),
            "in a non-blocking stream, the host waits up to 5 s for the default stream; "
            "after that the launch is lost, and reported",
        ),
        Way("1 launch in N (LAUNCH_SAMPLE)", COUNTED, ("*test_gpu_launch_sample.py::*", "*test_code_stays*")),
        Way(
            "code that takes the place of unloaded code, loaded by many host threads at once",
            COUNTED,
            ("*test_code_that_takes_the_place*",),
        ),
        Way("function pointers, virtual functions, recursion", COUNTED, (LAUNCHES,)),
        Way(
            "separately linked recursive functions",
            UNMEASURED,
            (LAUNCHES + "linked*",),
            "NVBit would end the program, so they run their original code",
        ),
        Way("cooperative launch on several devices, launch calls before CUDA 4", COUNTED, (), "deprecated calls"),
        Way(
            "launch in a stream of a GPU other than the current one",
            UNMEASURED,
            (LAUNCHES,),
            "NVBit does not follow it",
        ),
        Way("stream capture", COUNTED, ("*test_a_graph_is_counted*", "*test_every_node*")),
        Way("explicit graphs, child graphs, updated parameters, relaunches", COUNTED, ("*test_every_node*",)),
        Way("whole-graph updates (cudaGraphExecUpdate)", COUNTED, ("*test_every_node*", "*test_branches_of*-update-*")),
        Way("branches of a graph that run side by side", COUNTED, ("*test_branches_of_a_graph_that_run*",)),
        Way("graphs launched in another stream before they have finished", COUNTED, ("*test_branches_of*-streams-*",)),
        Way("graphs with kernels on several GPUs", COUNTED, ("*test_branches_of_a_graph_on_two_gpus*",)),
        Way(
            "graphs with disabled kernel nodes",
            UNMEASURED,
            (),
            "NVBit 1.7.7.1 ends the program; the collector warns first",
        ),
        Way("conditional graph nodes", UNMEASURED),
        Way("kernels launched by kernels", RUNS, ("*test_launches_on_the_device*",)),
        Way("selected thread blocks (BLOCKS)", COUNTED, ("*test_blocks_are_chosen*",)),
    ),
    "Copies by the host": (
        Way("cudaMemcpy, Async, Peer, 2D, 3D, batch, arrays, prefetch", LISTED, ("*test_gpu_copies.py::*",)),
        Way("memcpy nodes of graphs", LISTED, ("*test_gpu_copies.py::*",)),
    ),
    "Libraries": (
        Way("NCCL, one process for all GPUs", COUNTED, ("*test_gpu_nccl.py::*nccl_single*",)),
        Way("NCCL, one process per GPU", COUNTED, ("*test_gpu_nccl.py::*nccl_ranks*", "*test_the_payload*")),
        Way("NCCL under mpirun", COUNTED, ("*test_ranks_that_open_mpi*",)),
        Way("NVSHMEM, device side; growing heap", COUNTED, ("*test_gpu_nvshmem.py::*",)),
        Way(
            "PyTorch torch.distributed",
            COUNTED,
            ("*test_gpu_torch.py::test_traffic*", "*test_gpu_torch.py::test_every*"),
        ),
        Way("PyTorch symmetric memory", COUNTED, ("*test_gpu_torch.py::*symmetric*", "*test_gpu_torch.py::*triton*")),
        Way("JAX, one process for all GPUs", COUNTED, ("*test_gpu_jax.py::*",)),
    ),
}


def verdict(way: Way, outcomes: Mapping[str, str]) -> str:
    """What the outcomes of the tests say of a path."""
    found = {outcome for test, outcome in outcomes.items() if any(fnmatch.fnmatch(test, p) for p in way.tests)}
    if "failed" in found:
        return "**failed**"
    return "yes" if "passed" in found else "not verified"


def _output(*command: str) -> str:
    program = gpu_machine.program(command[0]) or shutil.which(command[0])
    if program is None:
        return ""
    return subprocess.run([program, *command[1:]], capture_output=True, text=True).stdout


def machine() -> str:
    """What the tests ran on."""
    rows = _output("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").splitlines()
    gpus, drivers = zip(*(row.split(", ") for row in rows), strict=True)
    cuda = re.search(r"release ([0-9.]+)", _output("nvcc", "--version"))
    # The collector holds NVBit's version as text, for the header of its traces.
    nvbit = re.search(rb"\x00([0-9]+\.[0-9]+\.[0-9]+\.[0-9]+)\x00", gpu_machine.collector().read_bytes())
    return (
        f"{len(gpus)} × {gpus[0]}, driver {drivers[0]}, CUDA {cuda[1] if cuda else 'unknown'}, "
        f"NVBit {nvbit[1].decode() if nvbit else 'unknown'}, {datetime.date.today()}"
    )


def report(outcomes: Mapping[str, str]) -> str:
    """The document."""
    lines = [
        "# What is covered",
        "",
        "Written by `python -m pytest tests/gpu --coverage docs/coverage.md`. The tests run programs whose traffic is",
        "known by arithmetic, and compare it exactly. **Verified** are the paths whose tests passed on",
        "",
        f"> {machine()}",
        "",
    ]
    for group, ways in WAYS.items():
        lines += [f"## {group}", "", "| path | result | verified | remark |", "|---|---|---|---|"]
        rows = [(way.path, way.result, verdict(way, outcomes), way.remark) for way in ways]
        lines += [f"| {' | '.join(row)} |" for row in rows]
        lines.append("")
    return "\n".join(lines)


def write(path: Path, outcomes: Mapping[str, str]) -> None:
    path.write_text(report(outcomes), "utf-8")
