"""The clean recording, from CUPTI's records to a trace: the real library under a fake driver and a fake CUPTI."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import snoopie
from snoopie.trace.lacks import Lack
from tests.support.collector import COLLECTOR, make

SOURCES = COLLECTOR / "tests" / "times"
CUDA = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))

# The tests that look elsewhere have a driver of CUDA 12, so that a toolkit of this machine does not come first.
no_older_cupti = pytest.mark.skipif(
    bool(list(Path("/usr/local/cuda").glob("**/libcupti.so.12"))), reason="the CUPTI of /usr/local/cuda would be found"
)

Play = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """snoopie_times.so, program, driver/libcuda.so.1, and a libcupti.so.13 in each of cupti/ and refusing/."""
    folder = tmp_path_factory.mktemp("times")
    make("times", "the clean recording", f"OUT={folder}")

    def compile(target: str, source: str, *options: str) -> None:
        path = folder / target
        path.parent.mkdir(exist_ok=True)
        command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-fPIC", "-I", str(COLLECTOR / "src"), *options]
        done = subprocess.run(
            [*command, str(SOURCES / source), "-o", str(path), "-ldl", "-lpthread"], capture_output=True, text=True
        )
        assert (done.returncode, done.stderr) == (0, "")

    compile("driver/libcuda.so.1", "fake_driver.cpp", "-shared", "-Wl,-soname,libcuda.so.1")
    compile("cupti/libcupti.so.13", "fake_cupti.cpp", "-shared", "-Wl,-soname,libcupti.so.13")
    compile("refusing/libcupti.so.13", "fake_cupti.cpp", "-shared", "-Wl,-soname,libcupti.so.13", "-DREFUSE")
    compile("program", "program.cpp")
    compile("short.so", "short.cpp", "-shared")
    return folder


@pytest.fixture
def play(built: Path, tmp_path: Path) -> Play:
    """play(script, cupti="cupti", …) runs a program whose GPUs do what the script says, in tmp_path."""

    def run(
        script: str, *words: str, cupti: str | None = "cupti", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "script"
        path.write_text(script)
        folders = [built / "driver", *([built / cupti] if cupti else [])]
        # No toolkit and no Python environment of this machine.
        base = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": os.pathsep.join(map(str, folders))}
        return subprocess.run(
            [str(built / "program"), str(path), *words],
            cwd=tmp_path,
            env={**base, "LD_PRELOAD": str(built / "snoopie_times.so"), **environment},
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


# A time of 2026, to which the others are added.
T = 1_790_000_000_000_000_000

WORK = f"""\
call 11 700 {T + 100} {T + 120}
kernel _Z3putPiS_i 0 7 11 {T + 200} {T + 1200} 4 2 1 256 1 1 64
kernel _Z3putPiS_i 1 7 12 {T + 300} {T + 1400} 4 2 1 256 1 1 0
kernel other 0 9 13 {T + 1300} {T + 1350} 1 1 1 32 1 1 0
call 12 701 {T + 150} {T + 160}
copy 1 1 3 4096 0 7 14 {T + 2000} {T + 2100}
copy 8 3 3 512 1 7 15 {T + 2000} {T + 2100}
peer 0 1 8192 0 7 16 {T + 2200} {T + 2300}
memset 100 0
memset 28 1
"""


def test_a_process_begins_when_the_driver_does(play: Play, tmp_path: Path) -> None:
    """Not with its first work: ranks whose work is short would not have run at the same time."""
    done = play(WORK, "time")
    initialized = int(done.stdout.splitlines()[0].removeprefix("initialized at "))
    (path,) = tmp_path.glob("*.zst")
    assert snoopie.load(path).processes["start_ns"].item() <= initialized


def test_kernels_copies_and_their_times(play: Play, tmp_path: Path) -> None:
    done = play(WORK, RANK="3", LOCAL_RANK="1", WORLD_SIZE="8", SNOOPIE_RUN="my-run")
    assert (done.returncode, done.stdout) == (0, "done\n")
    (path,) = tmp_path.glob("*.zst")
    assert re.fullmatch(r"snoopie-program\.\d+\.zst", path.name)
    assert done.stderr.splitlines() == [
        f"snoopie: recording times of kernels and copies on 2 GPUs, without probes, to {path}",
        f"snoopie: recorded the times of 3 launches and of 2 copies in {path}",
    ]
    trace = snoopie.load(path)
    assert trace.complete
    process = trace.processes.iloc[0]
    assert (process["rank"], process["local_rank"], process["ranks"], process["run"]) == (3, 1, 8, 0)
    assert trace.runs["run_id"].tolist() == ["my-run"]
    assert trace.gpus["uuid"].tolist() == [f"GPU-{n}-{n[:4]}-{n[:4]}-{n[:4]}-{n[:4] * 3}" for n in ("10" * 4, "11" * 4)]
    assert trace.gpus["sm"].tolist() == [90, 90]
    assert set(zip(trace.links["issuer"], trace.links["owner"], strict=True)) == {(0, 1), (1, 0)}
    launches = trace.launches.reset_index(drop=True)
    # In the order of their coming; the third had no call.
    assert launches["kernel"].tolist() == ["put(int*, int*, int)"] * 2 + ["other"]
    assert launches["gpu"].tolist() == [0, 1, 0]
    assert launches["stream"].tolist() == [7, 7, 9]
    assert launches["thread"].tolist() == [700, 701, 0]
    assert (launches["time"] - T).tolist() == [100, 150, 1300]
    assert launches[["grid_x", "grid_y", "block_x", "shared_memory"]].to_numpy().tolist() == [
        [4, 2, 256, 64],
        [4, 2, 256, 0],
        [1, 1, 32, 0],
    ]
    assert (trace.spans[["start", "end"]] - T).to_numpy().tolist() == [[200, 1200], [300, 1400], [1300, 1350]]
    copies = trace.copies
    assert copies[["source", "destination", "bytes", "issuer"]].to_numpy().tolist() == [
        [-1, 0, 4096, 0],
        [0, 1, 8192, 0],
    ]
    assert (copies["start"] - T).tolist() == [2000, 2200]
    assert copies["call"].tolist() == ["Memcpy HtoD", "Memcpy PtoP"]
    # Copies count with their own times, so bandwidth has them.
    assert trace.bandwidth(initiated="host")["rate"].tolist() == [8192 / 100e-9, 4096 / 100e-9]


def test_who_launched_what_is_heard_where_nobody_else_listens(play: Play, tmp_path: Path) -> None:
    """In the calls themselves, which costs less than records of them: then there are none."""
    kernel = "0 7 {} %d %d 1 1 1 32 1 1 0"
    kernels = [f"kernel k{n} {kernel.format(n)}" % (T + 100 * n, T + 100 * n + 50) for n in (21, 22, 23)]
    script = f"launch 21\n{kernels[0]}\nlaunch 22\n{kernels[1]}\n{kernels[2]}\ncall 23 700 {T} {T + 1}\nread\n"
    before = time.time_ns()
    done = play(script, FAKE_SUBSCRIBER="none")
    assert (done.returncode, done.stdout) == (0, "done\n")
    (path,) = tmp_path.glob("*.zst")
    trace = snoopie.load(path)
    launches = trace.launches
    assert launches["kernel"].tolist() == ["k21", "k22", "k23"]
    pid = int(trace.processes["pid"].iloc[0])
    # The program has one thread. The third was launched by a call of which nobody told.
    assert launches["thread"].tolist() == [pid, pid, 0]
    first, second, third = launches["time"].tolist()
    assert before <= first <= second <= time.time_ns()
    assert third == T + 2300


# What the program says meanwhile, and the numbers of its launches.
PARTS = [
    "1",
    "begin step",
    "2",
    "record 0",
    "3",
    "record 1",
    "4",
    "end",
    "5",
    "profiler start",
    "6",
    "profiler stop",
    "7",
]


@pytest.mark.parametrize(
    ("capture_range", "expected"),
    [
        ("", [1, 2, 4, 5, 6, 7]),
        ("step", [2, 4]),
        ("step@other", []),
        # snoopie_record(1) starts it, as in the exact recording.
        ("profiler-api", [4, 5, 6]),
    ],
)
def test_launches_outside_of_what_is_to_be_recorded(
    play: Play, tmp_path: Path, capture_range: str, expected: list[int]
) -> None:
    def lines(part: str) -> str:
        if not part.isdigit():
            return part
        # The GPU is late: when it ran does not matter.
        return f"launch {part}\nkernel k{part} 0 7 {part} {T + 10**9} {T + 10**9 + 50} 1 1 1 32 1 1 0\nread"

    script = "\n".join(map(lines, PARTS)) + "\n"
    assert play(script, FAKE_SUBSCRIBER="none", CAPTURE_RANGE=capture_range).returncode == 0
    (path,) = tmp_path.glob("*.zst")
    trace = snoopie.load(path)
    assert trace.launches["kernel"].tolist() == [f"k{number}" for number in expected]
    outside = 7 - len(expected)
    assert (trace.totals["launches_seen"], trace.totals["launches_outside"]) == (7, outside)
    assert f"{outside} launch" in trace.losses()[0]
    assert ("outside of what was to be recorded" in trace.losses()[0]) == (outside > 0)
    path.unlink()
    # Where calls are not heard, it cannot be told.
    assert play(script, CAPTURE_RANGE=capture_range).returncode == 0
    (path,) = tmp_path.glob("*.zst")
    trace = snoopie.load(path)
    assert len(trace.launches) == 7
    assert any("CAPTURE_RANGE was not heeded" in text for text in trace.losses()) == bool(capture_range)


@pytest.mark.parametrize("kind", ["linked", "opened"])
def test_calls_of_nccl(built: Path, nccl_programs: dict[str, list[str]], tmp_path: Path, kind: str) -> None:
    """By their ranges, however the program came to them; also those from before the trace was there."""
    (tmp_path / "script").write_text(WORK + "full\n")
    folders = os.pathsep.join(str(built / name) for name in ("driver", "cupti"))
    environment = {
        "PATH": os.environ["PATH"],
        "LD_LIBRARY_PATH": folders,
        "LD_PRELOAD": str(built / "snoopie_times.so"),
    }
    done = subprocess.run(
        [*nccl_programs[kind], "script"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "done\n")
    (path,) = tmp_path.glob("*.zst")
    trace = snoopie.load(path)
    columns = ["operation", "bytes", "peer", "reduction", "rank", "ranks", "issuer"]
    assert trace.collectives[columns].to_numpy(dtype=object).tolist() == [
        ["AllReduce", 4096, -1, "max", 2, 4, 1],
        ["Send", 32, 3, "", 2, 4, 1],
        ["Recv", 64, 1, "", 2, 4, 1],
        ["AllGather", 1600, -1, "", 2, 4, 1],
        ["Broadcast", 100, 0, "", 2, 4, 1],
    ]
    assert set(trace.collectives["count"]) == {-1}
    assert trace.collectives["group"].nunique() == 4
    assert len(trace.launches) == 3
    assert trace.by_collective()["calls"].sum() == 5


def test_ranges_that_the_program_names(play: Play, tmp_path: Path) -> None:
    assert play(WORK, "ranges").returncode == 0
    (path,) = tmp_path.glob("*.zst")
    ranges = snoopie.load(path).ranges
    # Also what ended before CUPTI had anything to tell, and what never did.
    assert dict(zip(ranges["name"], ranges["end"] > 0, strict=True)) == {"before": True, "around": True, "open": False}
    assert ranges["thread"].nunique() == 1


def test_what_it_lacks_is_said(play: Play, tmp_path: Path) -> None:
    assert play(WORK).returncode == 0
    (path,) = tmp_path.glob("*.zst")
    trace = snoopie.load(path)
    assert trace.lacks(Lack.ACCESSES) == "unknown: what CUPTI recorded does not include which memory kernels access"
    assert "instrumented" not in " ".join(trace.without_device_times())
    assert trace.losses() == [
        "1 copy (512 bytes) within one GPU's or the host's memory crossed no link: without rows.",
        "2 memsets (128 bytes) within one GPU's or the host's memory crossed no link: without rows.",
    ]


def test_dropped_records_are_losses(play: Play, tmp_path: Path) -> None:
    assert play("drop 5\n" + WORK + "full\ndrop 2\n" + WORK).returncode == 0
    (path,) = tmp_path.glob("*.zst")
    trace = snoopie.load(path)
    assert len(trace.launches) == 6
    assert any(text.startswith("CUPTI dropped 7 records because its buffers were full") for text in trace.losses())


def test_buffers_that_go_round_are_zero_again(play: Play, tmp_path: Path) -> None:
    """More than there are, each read before the next is filled: CUPTI ends the program if one is not zero."""
    rounds = 50
    done = play(f"many 20 tiny 0 7 {T} 1000\nread\n" * rounds)
    assert (done.returncode, done.stdout) == (0, "done\n")
    (path,) = tmp_path.glob("*.zst")
    assert len(snoopie.load(path).launches) == 20 * rounds


def test_many_records_in_buffers_that_go_round(play: Play, tmp_path: Path) -> None:
    number = 400_000
    done = play(f"many {number} tiny 0 7 {T} 1000\n")
    assert done.returncode == 0
    (path,) = tmp_path.glob("*.zst")
    trace = snoopie.load(path)
    lost = [int(found[1]) for text in trace.losses() if (found := re.match(r"CUPTI dropped (\d+) records", text))]
    # Each is there or counted, however busy the machine is.
    assert len(trace.launches) + sum(lost) == number
    assert trace.spans["launch"].is_unique


def test_a_kernel_waits_two_buffers_for_its_call(play: Play, tmp_path: Path) -> None:
    kernel = f"kernel late 0 7 11 {T + 200} {T + 1200} 1 1 1 32 1 1 0\n"
    call = f"call 11 700 {T + 100} {T + 120}\n"
    assert play(kernel + "full\n" + call).returncode == 0
    (path,) = tmp_path.glob("*.zst")
    assert (snoopie.load(path).launches["time"] - T).tolist() == [100]
    path.unlink()
    other = "memset 1 0\nfull\n"
    assert play(kernel + "full\n" + 3 * other + call).returncode == 0
    (path,) = tmp_path.glob("*.zst")
    launches = snoopie.load(path).launches
    assert (launches["time"] - T).tolist() == [200]
    assert launches["thread"].tolist() == [0]


def test_a_forked_child_ends_without_a_trace(play: Play, tmp_path: Path) -> None:
    done = play(WORK, "fork")
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.glob("*.zst")
    assert snoopie.load(path).complete


def test_a_program_without_work_leaves_nothing(play: Play, tmp_path: Path) -> None:
    done = play("")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    assert not list(tmp_path.glob("*.zst"))


@no_older_cupti
def test_without_cupti_the_program_runs_and_one_line_says_why(play: Play, tmp_path: Path) -> None:
    done = play(WORK, cupti=None, FAKE_CUDA="12000")
    assert (done.returncode, done.stdout) == (0, "done\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith("snoopie: CUPTI, libcupti.so.12, is neither in the CUDA toolkit")
    assert line.endswith("or pip install nvidia-cuda-cupti; nothing is recorded")


@no_older_cupti
def test_a_cupti_of_the_programs_python_environment(play: Play, built: Path, tmp_path: Path) -> None:
    package = tmp_path / "venv" / "lib" / "python3.12" / "site-packages" / "nvidia" / "cuda_cupti" / "lib"
    package.mkdir(parents=True)
    shutil.copy(built / "cupti" / "libcupti.so.13", package / "libcupti.so.12")
    done = play(WORK, cupti=None, FAKE_CUDA="12000", VIRTUAL_ENV=str(tmp_path / "venv"))
    assert (done.returncode, "refuses" in done.stderr) == (0, False)
    assert "neither" not in done.stderr


def test_a_cupti_of_a_named_toolkit(play: Play, built: Path, tmp_path: Path) -> None:
    folder = tmp_path / "toolkit" / "extras" / "CUPTI" / "lib64"
    folder.mkdir(parents=True)
    shutil.copy(built / "cupti" / "libcupti.so.13", folder)
    assert play(WORK, cupti=None, CUDA_HOME=str(tmp_path / "toolkit")).returncode == 0
    assert len(list(tmp_path.glob("*.zst"))) == 1


def test_a_cupti_that_refuses(play: Play, built: Path, tmp_path: Path) -> None:
    done = play(WORK, cupti="refusing")
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "refusing/libcupti.so.13) refuses: CUPTI_ERROR_NOT_INITIALIZED; end other profilers" in done.stderr
    assert not list(tmp_path.glob("*.zst"))


# It has two: one that takes records, and the trace's, once there are any.
@pytest.mark.parametrize("thread", [1, 2])
def test_a_thread_that_is_refused(play: Play, built: Path, tmp_path: Path, thread: int) -> None:
    preload = f"{built / 'short.so'} {built / 'snoopie_times.so'}"
    done = play(WORK, "ranges", LD_PRELOAD=preload, THREAD_REFUSED=str(thread))
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert done.stderr == (
        "snoopie: the recorder cannot be started: Resource temporarily unavailable; nothing is recorded\n"
    )
    assert list(tmp_path.glob("*.zst")) == []


# The last of each share is beyond all that they allocate.
REFUSED = [*map(str, [*range(1, 60), *range(60, 300, 7), *range(300, 900, 29)]), "1:on", "30:on", "80:on", "200:on"]


@pytest.mark.parametrize("chosen", range(4))
def test_memory_that_its_threads_do_not_get(play: Play, built: Path, tmp_path: Path, chosen: int) -> None:
    preload = f"{built / 'short.so'} {built / 'snoopie_times.so'}"
    whole = 0
    for refused in [*REFUSED[chosen::4], "1000000"]:
        done = play(WORK, "ranges", LD_PRELOAD=preload, ALLOCATION_REFUSED=refused)
        assert (done.returncode, done.stdout) == (0, "done\n"), (refused, done.stderr)
        assert all(line.startswith("snoopie: ") for line in done.stderr.splitlines()), (refused, done.stderr)
        traces = [path for path in tmp_path.glob("*.zst") if path.stat().st_size]
        completed = [snoopie.load(path, allow_truncated=True).complete for path in traces]
        # Where nothing is to be had any more, no sentence is either.
        if completed != [True] and not refused.endswith(":on"):
            assert re.search("nothing is recorded|stopped recording|is incomplete", done.stderr), (refused, done.stderr)
        if completed == [True]:
            assert "is incomplete" not in done.stderr, (refused, done.stderr)
        whole += completed == [True]
        for path in tmp_path.glob("*.zst"):
            path.unlink()
    assert 0 < whole <= len(REFUSED[chosen::4])


def test_a_setting_that_is_not_allowed(play: Play) -> None:
    done = play(WORK, SAMPLE_SIZE="many")
    assert done.returncode == 2
    assert done.stderr.startswith("snoopie: SAMPLE_SIZE=many: use ")


def test_nothing_but_its_entries_is_exported(built: Path) -> None:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", str(built / "snoopie_times.so")], capture_output=True, text=True, check=True
    )
    names = [line.split()[-1] for line in listed.stdout.splitlines()]
    # What the driver and NVTX look up; the rest is for snoopie.h.
    assert [name for name in names if not name.startswith("snoopie_collector_")] == [
        "InitializeInjection",
        "InitializeInjectionNvtx2",
        "InitializeInjectionNvtxExtension",
    ]
    needs = subprocess.run(["ldd", str(built / "snoopie_times.so")], capture_output=True, text=True, check=True)
    assert "libcuda" not in needs.stdout


def test_what_is_declared_of_cupti_is_what_cupti_declares() -> None:
    header = next(
        (path for path in (CUDA / "include", CUDA / "extras/CUPTI/include") if (path / "cupti.h").is_file()), None
    )
    if header is None:
        pytest.skip("needs CUPTI's headers, of the CUDA toolkit")
    command = ["g++", "-std=c++17", "-fsyntax-only", "-I", str(COLLECTOR / "src"), "-I", str(header)]
    done = subprocess.run(
        [*command, "-I", str(CUDA / "include"), str(SOURCES / "layout.cpp")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
