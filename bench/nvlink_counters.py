"""Compares NVLink's own counters with what a trace predicts:  python bench/nvlink_counters.py

Needs two GPUs linked by NVLink, the collector (nvbit_tool/mem_multigpu.so, or SNOOPIE_TOOL names another), nvcc, and
the Python packages nvidia-ml-py and nvidia-nccl-cu13. Nothing else may use these GPUs at the same time.

The kernels of nvlink/traffic.cu store, load and increment in the other GPU's memory, with 1 to 16 bytes per lane,
coalesced and scattered; NCCL reduces one array over both GPUs. Before and after each, a process reads the counters of
GPU 0 (NVML fields 138 and 139: KiB of payload sent and received over all links). The measured value is the median over
several such processes. The same process under the collector gives the prediction: wire bytes, in the direction of the
data flow. `reread` reads what may be in the L1 cache, so its prediction is a range, from another traced process that
records every access of a part of it. Writes docs/nvlink.md. The exit status is 1 if a measured value is more than 1%
off the prediction.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent

GPUS = 2
LAUNCHES = 32
FLOATS = 1 << 26
NEAR = 0.01
KIB, MIB = 1 << 10, 1 << 20

# GPUs in NVML's order. NVLink multicast can put switches that others share out of service: NCCL may not try it.
ENVIRONMENT = {
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    "NCCL_NVLS_ENABLE": "0",
    "NCCL_SOCKET_IFNAME": "lo",
    "NCCL_ALGO": "Ring",
    "NCCL_PROTO": "Simple",
    "NCCL_P2P_READ_ENABLE": "0",
}
COLLECTOR = {"KERNEL_NAME": "store,load,reread,atomic,reduction,ncclDevKernel*", "SAMPLE_SIZE": "0"}
# One launch of each kernel, and of its blocks, which share no sector, so many that the ring has room for all records.
BLOCKS, RECORDED = 1 << 14, 1 << 11
RECORDER = {
    "KERNEL_NAME": "reread",
    "SAMPLE_SIZE": "1",
    "LAUNCH_SAMPLE": str(LAUNCHES),
    "BLOCKS": f"0-{RECORDED - 1}",
}


@dataclass(frozen=True)
class Case:
    """One line of the table: a kernel of traffic.cu, or one all-reduce of NCCL."""

    operation: str
    bytes: int
    pattern: str
    launches: int = LAUNCHES


def kernels() -> list[Case]:
    """All kernels of traffic.cu."""
    cases = []
    for operation, widths in (("store", (1, 2, 4, 8, 16)), ("load", (1, 2, 4, 8, 16)), ("atomic", (4, 8, 16))):
        cases += [Case(operation, width, pattern) for width in widths for pattern in ("coalesced", "scattered")]
    cases += [Case("reduction", width, pattern) for width in (4, 8, 16) for pattern in ("coalesced", "scattered")]
    return cases + [Case("reread", width, "coalesced") for width in (1, 2, 4, 8, 16)]


ALL_REDUCE = Case("all-reduce", 4, "NCCL, Ring, Simple", 1)


# --- measuring: one process, with and without the collector ---


class Counters:
    """Bytes of payload that GPU 0 sent and received over NVLink since it was started."""

    SENT, RECEIVED = 138, 139  # NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX and _RX
    ALL_LINKS = 0xFFFFFFFF
    LINKS = 18

    def __init__(self) -> None:
        import pynvml

        self._nvml = pynvml
        pynvml.nvmlInit()
        chosen = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0]
        by_uuid = chosen.startswith("GPU-")
        find = pynvml.nvmlDeviceGetHandleByUUID if by_uuid else pynvml.nvmlDeviceGetHandleByIndex
        self._gpu = find(chosen if by_uuid else int(chosen))
        self._scopes = [self.ALL_LINKS] if self._sum([self.ALL_LINKS]) is not None else list(range(self.LINKS))

    def read(self) -> tuple[int, int]:
        # The counters follow a moment behind.
        time.sleep(0.1)
        found = self._sum(self._scopes)
        if found is None:
            raise SystemExit("NVML has no counters of NVLink's payload for this GPU")
        return found

    def _sum(self, scopes: list[int]) -> tuple[int, int] | None:
        sums = {self.SENT: 0, self.RECEIVED: 0}
        values = self._nvml.nvmlDeviceGetFieldValues(self._gpu, [(field, scope) for field in sums for scope in scopes])
        good = [value for value in values if value.nvmlReturn == self._nvml.NVML_SUCCESS]
        for value in good:
            sums[value.fieldId] += value.value.ullVal * KIB
        # A GPU may have fewer links than are asked for.
        return (sums[self.SENT], sums[self.RECEIVED]) if good else None


def checked(good: bool) -> None:
    if not good:
        raise SystemExit("a CUDA call failed")


class AllReduce:
    """NCCL with one process for both GPUs."""

    FLOAT, SUM = 7, 0  # ncclFloat32 and ncclSum

    def __init__(self, traffic: ctypes.CDLL, nccl: str) -> None:
        self._traffic = traffic
        self._nccl = ctypes.CDLL(nccl)
        self._communicators = (ctypes.c_void_p * GPUS)()
        self._call("ncclCommInitAll", self._communicators, GPUS, None)
        self._arrays = [traffic.allocate(gpu, 4 * FLOATS) for gpu in range(GPUS)]
        checked(all(self._arrays))

    def run(self) -> None:
        self._call("ncclGroupStart")
        for array, communicator in zip(self._arrays, self._communicators, strict=True):
            pointer, handle = ctypes.c_void_p(array), ctypes.c_void_p(communicator)
            count = ctypes.c_size_t(FLOATS)
            self._call("ncclAllReduce", pointer, pointer, count, self.FLOAT, self.SUM, handle, None)
        self._call("ncclGroupEnd")
        checked(all(self._traffic.wait(gpu) for gpu in range(GPUS)))

    def _call(self, function: str, *arguments: Any) -> None:
        if status := getattr(self._nccl, function)(*arguments):
            raise SystemExit(f"{function} failed with {status}")


def measure(library: str, nccl: str, output: str) -> None:
    """Runs all cases, and writes [bytes sent, bytes received] of each; nothing moves while the counters are read."""
    traffic = ctypes.CDLL(library)
    for function in (traffic.prepare, traffic.run, traffic.wait):
        function.restype = ctypes.c_bool
    traffic.run.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_bool, ctypes.c_int]
    traffic.allocate.restype = ctypes.c_void_p
    traffic.allocate.argtypes = [ctypes.c_int, ctypes.c_size_t]
    checked(traffic.prepare())
    counters = Counters()
    measured = []
    for case in kernels():
        name, scattered = case.operation.encode(), case.pattern == "scattered"
        before = counters.read()
        checked(traffic.run(name, case.bytes, scattered, case.launches))
        measured.append([after - start for start, after in zip(before, counters.read(), strict=True)])
    all_reduce = AllReduce(traffic, nccl)
    before = counters.read()
    all_reduce.run()
    measured.append([after - start for start, after in zip(before, counters.read(), strict=True)])
    Path(output).write_text(json.dumps(measured))


# --- comparing ---


def package(name: str) -> Path:
    """Folder of a Python package that brings a library."""
    try:
        found = find_spec(name)
    except ModuleNotFoundError:
        found = None
    folders = list(found.submodule_search_locations or ()) if found else []
    if not folders:
        raise SystemExit(f"the Python package {name} is missing: pip install nvidia-nccl-cu13")
    return Path(folders[0])


def build(folder: Path) -> Path:
    """traffic.cu as a library, for the GPUs of this machine."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    library = folder / "libtraffic.so"
    command = [nvcc, "-O3", "-std=c++17", "-arch=native", "-lineinfo", "-Xcompiler", "-fPIC", "-shared"]
    subprocess.run([*command, "-o", library, HERE / "nvlink" / "traffic.cu"], check=True)
    return library


def worker(library: Path, output: Path, **more: str) -> list[tuple[int, int]]:
    """Measures in a process of its own."""
    nccl = package("nvidia.nccl") / "lib" / "libnccl.so.2"
    command = [sys.executable, __file__, "--measure", library, nccl, output]
    subprocess.run([str(word) for word in command], check=True, timeout=600, env=os.environ | ENVIRONMENT | more)
    return [(sent, received) for sent, received in json.loads(output.read_text())]


def predictions(trace: Any, cases: list[Case]) -> Iterator[tuple[int, int]]:
    """Wire bytes that GPU 0 sends and receives in each case.

    The cases' launches follow one another in the trace; those of an all-reduce, one a GPU, are the last.
    """
    launches = trace.launches.sort_values("time").index.tolist()
    for case in cases:
        own = [launches.pop(0) for _ in range(case.launches * (GPUS if case == ALL_REDUCE else 1))]
        flow = trace.select(launches=own).matrix("wire_bytes", reading="flow")
        yield int(flow.loc["GPU 0", "GPU 1"]), int(flow.loc["GPU 1", "GPU 0"])
    if launches:
        raise SystemExit(f"the trace has {len(launches)} launches more than the program made")


def least_received(trace: Any, cases: list[Case]) -> Iterator[int]:
    """Bytes that GPU 0 receives at least in each case of `reread`, from the trace of RECORDER."""
    kernels = trace.launches.sort_values("time")["kernel"].unique().tolist()
    for kernel, case in zip(kernels, cases, strict=True):
        # Launches that were not measured are in the sums, as estimates: all of a kernel are alike.
        (found,) = trace.select(kernels=kernel).wire_bounds("flow").to_dict("records")
        if math.isnan(found["wire_least"]) or not found["per_sm"]:
            raise SystemExit(f"not every load of {case.bytes} bytes was recorded: nothing else may use this machine")
        yield int(found["wire_least"]) * BLOCKS // RECORDED


@dataclass(frozen=True)
class Row:
    """Bytes that GPU 0 sent and received: the limits predicted, and the median and spread of what was measured."""

    case: Case
    least: tuple[int, int]
    most: tuple[int, int]
    runs: list[tuple[int, int]]

    def measured(self, direction: int) -> float:
        return statistics.median(run[direction] for run in self.runs)

    def near(self, direction: int) -> bool:
        """Whether what was measured lies between the limits, or within 1% of them. Nothing is said of nothing."""
        least, most = self.least[direction], self.most[direction]
        return not most or least * (1 - NEAR) <= self.measured(direction) <= most * (1 + NEAR)

    @property
    def right(self) -> bool:
        return any(self.most) and self.near(0) and self.near(1)

    def cells(self) -> list[str]:
        case = self.case
        texts = [case.operation, str(case.bytes), case.pattern]
        for direction in (0, 1):
            least, most, measured = self.least[direction], self.most[direction], self.measured(direction)
            exact = least == most
            texts.append(f"{most / MIB:.2f}" if exact else f"{least / MIB:.2f} to {most / MIB:.2f}")
            texts.append(f"{measured / MIB:.2f}")
            ratio = (f"{measured / most:.4f}" if exact else "within") if most else ""
            texts.append(ratio if self.near(direction) else f"**{ratio if exact else 'outside'}**")
        spread = max(max(run[d] for run in self.runs) - min(run[d] for run in self.runs) for d in (0, 1))
        return [*texts, f"{spread / MIB:.2f}"]


HEADINGS = [
    "operation", "bytes per lane", "pattern", "sent, predicted", "sent, measured", "ratio",
    "received, predicted", "received, measured", "ratio", "spread",
]  # fmt: skip

INTRODUCTION = """# What NVLink's counters say

Written by `bench/nvlink_counters.py`, which explains how it measures. The table shows the payload in MiB that GPU 0
sent to GPU 1 and received from it. **Predicted** is wire bytes: the wire units that the trace counts, in the direction
of the data flow. **Measured** is what NVLink's own counters say: the median of {runs} runs, with their widest spread.
The ratio is measured over predicted, and bold where it is more than 1% off.

NVLink moves what is read in sectors of 32 bytes. What is written moves in units of 16 bytes: stores, reductions, and
atomics both ways. A unit moves whole, however few of its bytes an access touches.

`reread` reads each sector 8 times, of which 7 may hit in the L1 cache. So its prediction is a range, as that of
`Trace.wire_bounds`: at least each sector once per launch and SM, at most all that were read.

GPUs of sm_90 have no atomic instructions of 1 or 2 bytes; in C++, such atomics are loops of loads and 4-byte
compare-and-swaps.

Machine: {machine}. Measured on {date}.

"""


def machine(trace: Any) -> str:
    import pynvml

    pynvml.nvmlInit()
    cuda = pynvml.nvmlSystemGetCudaDriverVersion_v2()
    gpu = trace.gpus.iloc[0]
    return ", ".join(
        [
            f"{GPUS} {gpu['name']} with {gpu['nvlinks']} NVLinks each",
            f"driver {pynvml.nvmlSystemGetDriverVersion()}",
            f"CUDA {cuda // 1000}.{cuda % 1000 // 10}",
            f"NCCL {nccl_version()}",
            f"Snoopie {trace.processes['version'].iloc[0]}",
        ]
    )


def nccl_version() -> str:
    number = ctypes.c_int()
    ctypes.CDLL(str(package("nvidia.nccl") / "lib" / "libnccl.so.2")).ncclGetVersion(ctypes.byref(number))
    return f"{number.value // 10000}.{number.value // 100 % 100}.{number.value % 100}"


def table(rows: list[Row]) -> str:
    lines = [HEADINGS, ["---"] * len(HEADINGS), *(row.cells() for row in rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "nvlink.md", help="file to write")
    parser.add_argument("--runs", type=int, default=3, help="processes that measure")
    parser.add_argument("--measure", nargs=3, metavar=("LIBRARY", "NCCL", "OUTPUT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(*arguments.measure)
        return 0

    sys.path.insert(0, str(ROOT))
    import snoopie

    tool = Path(os.environ.get("SNOOPIE_TOOL") or ROOT / "nvbit_tool" / "mem_multigpu.so").resolve()
    if not tool.is_file():
        raise SystemExit(f"no collector at {tool}: build it (make -C nvbit_tool) or name one in SNOOPIE_TOOL")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library = build(folder)
        runs = [worker(library, folder / "counters.json") for _ in range(arguments.runs)]
        trace_file = folder / "trace.zst"
        traced = {"LD_PRELOAD": str(tool), "SNOOPIE_OUTPUT": str(trace_file)}
        worker(library, folder / "counters.json", **COLLECTOR, **traced)
        trace = snoopie.load(trace_file)
        cases = [*kernels(), ALL_REDUCE]
        most = dict(zip(cases, predictions(trace, cases), strict=True))
        traced["SNOOPIE_OUTPUT"] = str(folder / "records.zst")
        worker(library, folder / "counters.json", **RECORDER, **traced)
        rereads = [case for case in cases if case.operation == "reread"]
        received = least_received(snoopie.load(folder / "records.zst"), rereads)
        least = most | {case: (0, bytes) for case, bytes in zip(rereads, received, strict=True)}
    rows = [Row(case, least[case], most[case], [run[place] for run in runs]) for place, case in enumerate(cases)]
    today = datetime.date.today().isoformat()
    introduction = INTRODUCTION.format(runs=arguments.runs, machine=machine(trace), date=today)
    arguments.output.write_text(introduction + table(rows))
    print(table(rows), end="")
    print(f"written to {arguments.output}")
    return 0 if all(row.right for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
