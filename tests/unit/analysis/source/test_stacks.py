"""Call stacks: the frames of one, labels of many."""

from __future__ import annotations

import time
from pathlib import Path

import pandas as pd
import pytest

import snoopie
from snoopie.errors import CorruptError, UsageError
from tests.support import hostile
from tests.support.call_stacks import Program
from tests.support.encoder import TraceBuilder


def test_the_frames_of_a_stack(tmp_path: Path) -> None:
    program = Program()
    malloc = program.frame("/home/u/app", ("cudaMalloc", "", 0))
    make = program.frame("/home/u/app", ("make", "/home/u/a.h", 3), ("main", "/home/u/a.cu", 9), code="make(n);")
    step = program.frame("", ("Net.step", "/home/u/net.py", 5), code="x = f(y)")
    hidden = program.frame("/opt/lib/libx.so.1")
    lost = program.builder.add("frames", address=0xFFFF_8000_0000_1234)
    stack = program.stack(malloc, make, step, hidden, make, lost)
    trace = program.load(tmp_path)
    columns = ["frame", "level", "function", "file", "line", "code", "module", "python"]
    assert trace.stack(stack).columns.tolist() == columns
    assert trace.stack(stack).to_numpy(dtype=object).tolist() == [
        [malloc, 0, "cudaMalloc", "", 0, "", "/home/u/app", False],
        [make, 0, "make", "/home/u/a.h", 3, "make(n);", "/home/u/app", False],
        [make, 1, "main", "/home/u/a.cu", 9, "make(n);", "/home/u/app", False],
        [step, 0, "Net.step", "/home/u/net.py", 5, "x = f(y)", "", True],
        [hidden, 0, "libx.so.1+0x4000", "", 0, "", "/opt/lib/libx.so.1", False],
        [make, 0, "make", "/home/u/a.h", 3, "make(n);", "/home/u/app", False],
        [make, 1, "main", "/home/u/a.cu", 9, "make(n);", "/home/u/app", False],
        [lost, 0, "0xffff800000001234", "", 0, "", "", False],
    ]
    assert trace.stack(0).empty
    assert trace.stack(0).columns.tolist() == columns
    with pytest.raises(UsageError, match="no stack 99"):
        trace.stack(99)


OWN = ("train_step", "/home/u/train.py", 12)


@pytest.mark.parametrize(
    ("module", "symbol"),
    [
        ("/usr/lib/libcuda.so.1", ("cuMemAlloc_v2", "", 0)),
        ("/usr/lib/libcudart.so.13", ("cudaMalloc", "", 0)),
        ("/home/u/app", ("cudaMalloc", "", 0)),
        (
            "/home/u/app",
            ("__cudaLaunchKernel", "/usr/local/cuda-13.0/targets/x86_64-linux/include/crt/host_runtime.h", 216),
        ),
        ("/home/u/app", ("cudaError cudaMalloc<float>(float**, unsigned long)", "", 0)),
        ("/usr/lib/libnccl.so.2", ("ncclAllReduce", "/build/nccl/src/collectives.cc", 9)),
        ("/v/site-packages/torch/lib/libtorch_cuda.so", ("at::native::add(at::Tensor)", "/pytorch/add.cpp", 4)),
        ("/v/site-packages/torch/lib/libc10_cuda.so", ("c10::cuda::alloc()", "/pytorch/c10/a.cpp", 4)),
        ("/usr/lib/libc.so.6", ("start_thread", "./nptl/pthread_create.c", 442)),
        ("/home/u/app", ("std::vector<int>::push_back(int)", "/usr/include/c++/12/bits/stl_vector.h", 3)),
        ("/home/u/libnothing.so", None),
        ("", ("Module._call_impl", "/v/lib/python3.12/site-packages/torch/nn/modules/module.py", 1751)),
        ("", ("Thread.run", "/usr/lib/python3.11/threading.py", 982)),
        ("", ("_find_and_load", "<frozen importlib._bootstrap>", 1176)),
        ("", ("__init__", "<string>", 3)),
        ("", ("forward", "<eval_with_key>.3", 4)),
        ("", ("call", "/tmp/torchinductor_u/z3/cz3vcpgktv5m.py", 662)),
        ("", ("run", "C:\\v\\Lib\\site-packages\\torch\\nn\\linear.py", 9)),
    ],
)
def test_the_label_is_the_users_own_place(tmp_path: Path, module: str, symbol: tuple[str, str, int] | None) -> None:
    program = Program()
    foreign = program.frame(module, *([symbol] if symbol else []))
    own, main = program.frame("", OWN), program.frame("", ("main", "/home/u/main.py", 2))
    stack = program.stack(foreign, own, main)
    assert program.load(tmp_path).stack_label([stack]).tolist() == ["train.py:12 train_step"]


@pytest.mark.parametrize(
    ("function", "file"),
    [
        ("<module>", "<stdin>"),
        ("<module>", "<string>"),
        ("step", "<ipython-input-3-b54>"),
        ("step", "<python-input-0>"),
        ("<module>", "<doctest halo[2]>"),
    ],
)
def test_what_was_typed_is_the_users_own(tmp_path: Path, function: str, file: str) -> None:
    program = Program()
    library = program.frame("", ("Module._call_impl", "/v/lib/python3.12/site-packages/torch/nn/modules/module.py", 7))
    stack = program.stack(library, program.frame("", (function, file, 2)))
    assert program.load(tmp_path).stack_label([stack]).tolist() == [f"{file}:2 {function}"]


def test_labels_without_own_code(tmp_path: Path) -> None:
    program = Program()
    malloc = program.frame("/home/u/app", ("cudaMalloc", "", 0))
    library = program.frame("/opt/lib/libx.so")
    libc = program.frame("/usr/lib/libc.so.6", ("start_thread", "", 0))
    inlined = program.frame(
        "/home/u/app",
        ("std::exchange<int>(int&, int)", "/usr/include/c++/12/utility", 90),
        ("void halo<float>(float*, int)", "/home/u/halo.cu", 7),
        ("main", "/home/u/halo.cu", 40),
    )
    stacks = [
        program.stack(malloc, library, libc),
        program.stack(malloc),
        program.stack(malloc, inlined, libc),
    ]
    labels = program.load(tmp_path).stack_label([*stacks, 0])
    assert labels.tolist() == ["libx.so+0x2000", "cudaMalloc", "halo.cu:7 halo<float>", ""]


def test_labels_of_a_column_keep_its_index(tmp_path: Path) -> None:
    program = Program()
    stack = program.stack(program.frame("", OWN))
    column = pd.Series([0, stack, 77], index=[5, 3, 9])
    labels = program.load(tmp_path).stack_label(column)
    assert labels.index.tolist() == [5, 3, 9]
    assert labels.tolist() == ["", "train.py:12 train_step", ""]


def test_a_trace_without_stacks(ring_path: Path) -> None:
    trace = snoopie.load(ring_path)
    assert trace.stack(0).empty
    assert trace.stack_label(trace.launches["stack"]).unique().tolist() == [""]
    assert trace.stack_label([]).tolist() == []


def test_many_launches_cost_little(tmp_path: Path) -> None:
    program = Program()
    stacks = []
    for number in range(50):
        frames = [program.frame("", (f"f{number}", "/home/u/a.py", depth)) for depth in range(40)]
        stacks.append(program.stack(program.frame("/usr/lib/libcuda.so.1"), *frames))
    trace = program.load(tmp_path)
    column = pd.Series(stacks * 2000)
    trace.stack_label(column)
    begin = time.process_time()
    labels = trace.stack_label(column)
    assert time.process_time() - begin < 0.5
    assert labels.nunique() == 50


def test_stacks_of_several_processes(tmp_path: Path) -> None:
    for pid in (1, 2):
        program = Program()
        program.builder.header["process"]["pid"] = pid
        program.stack(program.frame("", (f"process_{pid}", "/home/u/a.py", pid)))
        program.builder.write(tmp_path / f"{pid}.zst")
    trace = snoopie.load(tmp_path)
    assert trace.stack_label(trace.stacks.index).tolist() == ["a.py:1 process_1", "a.py:2 process_2"]


def test_a_circle_is_refused(tmp_path: Path) -> None:
    program = Program()
    frame = program.frame("", OWN)
    program.builder.add("stacks", frame=frame, caller=2)
    program.builder.add("stacks", frame=frame, caller=1)
    with pytest.raises(CorruptError, match="circle"):
        program.load(tmp_path)


def test_a_python_function_may_have_a_kernels_name(tmp_path: Path) -> None:
    program = Program()
    program.builder.function("add")
    stack = program.stack(
        program.frame("", ("add", "/home/u/add.py", 7)), program.frame("", ("main", "/home/u/m.py", 1))
    )
    trace = program.load(tmp_path)
    assert trace.stack_label([stack]).tolist() == ["add.py:7 add"]


def test_what_the_compiler_makes_of_a_launch_is_nobodys_own(tmp_path: Path) -> None:
    program = Program()
    stub = program.frame("/home/u/app", ("__device_stub__Z5relaxPKfPfiii", "", 0))
    stack = program.stack(stub, program.frame("/home/u/app", ("main", "", 0)))
    assert program.load(tmp_path).stack_label([stack]).tolist() == ["main"]


def test_a_spelled_stack_has_an_end(tmp_path: Path) -> None:
    loaded = snoopie.load(hostile.write(tmp_path, ["stacks-of-objects"])["stacks-of-objects"])
    (spelled,) = set(loaded.memory_events()["call_stack"])
    *frames, rest = spelled.split(" -> ")
    assert (len(frames), rest) == (256, "…")
    whole = loaded.stack(int(loaded.objects["stack"].iloc[0]))
    assert frames[0].startswith(f"{whole['function'][0]}(")


def test_no_stack_is_spelled_where_there_are_no_frames(tmp_path: Path) -> None:
    builder = TraceBuilder(1)
    builder.allocation("device", 4096, 0, 0)
    assert snoopie.load(builder.write(tmp_path / "t.zst")).memory_events()["call_stack"].tolist() == [""]
