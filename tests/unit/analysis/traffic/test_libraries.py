"""What is NCCL's, NVSHMEM's and the program's own, by names, inlined lines, heaps and call stacks."""

from __future__ import annotations

from pathlib import Path

import pytest

import snoopie
from snoopie.analysis.traffic.libraries import LIBRARIES
from snoopie.errors import UsageError
from tests.support.encoder import OBJECT_KINDS, START_NS, TraceBuilder

HEADERS = "/opt/venv/lib/python3.12/site-packages/nvidia/nvshmem/include"
NCCL_HEADER = "/usr/include/nccl_device/impl/lsa.h"


def moved(tmp_path: Path, trace: TraceBuilder) -> dict[str, int]:
    """bytes by library."""
    table = snoopie.load(trace.write(tmp_path / "t.zst")).by_library()
    sums: dict[str, int] = table.groupby("library")["bytes"].sum().to_dict()
    return sums


@pytest.mark.parametrize(
    ("kernel", "library"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "NCCL"),
        ("void ncclSymkDevKernel<int>(int)", "NCCL"),
        ("nvshmemi_proxy_quiet(bool)", "NVSHMEM"),
        ("void barrier_on_stream_kernel_threadgroup<(threadgroup_t)3>(int)", "NVSHMEM"),
        # The library is in the arguments of these, or in a name that only looks like one of its own.
        ("train::step(ncclDevComm, float*)", "program"),
        ("void step<nvshmem_team>(int, nvshmem_team)", "program"),
        ("my_nccl_like(int)", "program"),
    ],
)
def test_kernels(tmp_path: Path, kernel: str, library: str) -> None:
    trace = TraceBuilder(2)
    function = trace.function(kernel)
    trace.count(trace.launch(function, 0), trace.site(function, "STG.E", "store", 4), 1, 1, 32, 4)
    assert moved(tmp_path, trace) == {library: 128}


def test_launches_of_a_group_are_nccls(tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    function = trace.function("onRankKernel()")
    site = trace.site(function, "STG.E", "store", 4)
    trace.collective(1, "AllReduce", 1, gpu=0)
    trace.count(trace.launch(function, 0, group=1), site, 1, 2, 64, 8)
    trace.count(trace.launch(function, 0), site, 1, 1, 32, 4)
    assert moved(tmp_path, trace) == {"NCCL": 256, "program": 128}


def test_inlined_and_called_functions(tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    kernel, called = trace.function("step(float*)"), trace.function("void nvshmemi_p<float>(float*, float, int)", "x")
    # A program's own file may be called as it likes.
    own = trace.line("/home/u/nvshmem_app/nvshmem_step.cu", 7)
    put = trace.line(f"{HEADERS}/device/nvshmem_defines.h", 85, "nvshmem_float_p", own)
    intrinsic = trace.line("/usr/local/cuda/include/sm_32.hpp", 125, "__ldg(int const*)", put)
    by_file = trace.line(f"{HEADERS}/non_abi/device/common.cuh", 3, "", own)
    device_api = trace.line(NCCL_HEADER, 30, "", own)
    launch = trace.launch(kernel, 0)
    for accesses, (function, line) in enumerate(
        [(kernel, own), (kernel, put), (kernel, intrinsic), (kernel, by_file), (called, 0), (kernel, device_api)]
    ):
        trace.count(launch, trace.site(function, "STG.E", "store", 4, line=line), 1, 1 << accesses, 1 << accesses, 1)
    assert moved(tmp_path, trace) == {"program": 4, "NVSHMEM": 4 * (2 + 4 + 8 + 16), "NCCL": 4 * 32}


def test_the_symmetric_heap_is_nvshmems(tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    function = trace.function("step()")
    site = trace.site(function, "STG.E", "store", 4)
    made = [
        trace.add("objects", kind=OBJECT_KINDS.index(kind), bytes=4096, owner=1, address=(3 + at) << 21, time=START_NS)
        for at, kind in enumerate(("symmetric", "device"))
    ]
    launch = trace.launch(function, 0)
    for accesses, touched in zip((1, 2), made, strict=True):
        trace.add(
            "counts", launch=launch, site=site, owner=1, accesses=accesses, lanes=accesses, wire_units=1, object=touched
        )
    assert moved(tmp_path, trace) == {"NVSHMEM": 4, "program": 8}


def test_copies_by_their_call_stacks(tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    program, nccl = (
        trace.add("modules", path=trace.string(path), build_id=0) for path in ("/home/u/app", "/usr/lib/libnccl.so.2")
    )
    main, send, put, inside = (
        trace.add("frames", module=module, address=address)
        for module, address in ((program, 1), (nccl, 2), (program, 3), (program, 4))
    )
    trace.add("symbols", frame=put, level=0, function=trace.string("nvshmemx_putmem_on_stream"))
    outer = trace.add("stacks", frame=main, caller=0)
    stacks = [
        0,
        outer,
        trace.add("stacks", frame=send, caller=outer),
        trace.add("stacks", frame=inside, caller=trace.add("stacks", frame=put, caller=outer)),
    ]
    for at, stack in enumerate(stacks):
        trace.copy(0, 1, 1 << at, gpu=0, stack=stack)
    loaded = snoopie.load(trace.write(tmp_path / "t.zst"))
    table = loaded.by_library("flow", "host")
    assert dict(zip(table["library"], table["bytes"], strict=True)) == {"program": 3, "NCCL": 4, "NVSHMEM": 8}
    assert loaded.matrix("bytes", "flow", "host", "NCCL").loc["GPU 0", "GPU 1"] == 4


@pytest.mark.parametrize("reading", ["issued", "flow"])
@pytest.mark.parametrize("initiated", ["device", "host", "both"])
def test_libraries_add_up(mixed_folder: Path, reading: str, initiated: str) -> None:
    trace = snoopie.load(mixed_folder)
    table = trace.by_library(reading, initiated)
    ends = list(table.columns[:2])
    assert list(table.columns[2:3]) == ["library"]
    whole = trace.by_pair(reading, initiated).set_index(ends)["bytes"]
    assert table.groupby(ends)["bytes"].sum().to_dict() == whole.to_dict()
    parts = [trace.matrix("bytes", reading, initiated, library) for library in LIBRARIES]
    assert sum(part.to_numpy() for part in parts).tolist() == (
        trace.matrix("bytes", reading, initiated).to_numpy().tolist()
    )


def test_a_view_follows(mixed_folder: Path) -> None:
    trace = snoopie.load(mixed_folder).select(issuers="GPU 1")
    table = trace.by_library()
    assert set(table["issuer"]) == {"GPU 1"}
    # 32768 for the AllReduce and 8192 for Send and Recv.
    assert table[table["library"] == "NCCL"]["bytes"].tolist() == [40960]
    assert trace.by_pair(library="NCCL")["bytes"].tolist() == [40960]


def test_no_such_library(mixed_folder: Path) -> None:
    with pytest.raises(UsageError, match=r"no library 'MPI'.*NCCL"):
        snoopie.load(mixed_folder).matrix(library="MPI")  # type: ignore[arg-type]
