"""Programs that make known calls, watched from outside: every number is that of arithmetic."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import snoopie
from snoopie import cli
from snoopie.trace.lacks import Lack
from tests.support import watched
from tests.support.metrics import until
from tests.support.watched import Program, Watch

pytestmark = [watched.where_possible, pytest.mark.usefixtures("watch_built", "nothing_left")]


def recorded(watch: Watch, folder: Path) -> dict[int, snoopie.Trace]:
    """The traces by process."""
    watch.end()
    return read(folder)


def read(folder: Path) -> dict[int, snoopie.Trace]:
    paths = watched.traces(folder)
    assert all(cli.main(["check", str(path)]) == 0 for path in paths)
    return {int(path.stem.split(".")[1]): snoopie.load(path) for path in paths}


def calls(trace: snoopie.Trace) -> dict[str, tuple[int, int, int]]:
    """Call → calls, errors, bytes."""
    table = trace.call_totals.groupby("call", observed=True)[["calls", "errors", "bytes"]].sum()
    return {
        str(name): tuple(int(value) for value in row) for name, row in zip(table.index, table.to_numpy(), strict=True)
    }


def kernels(trace: snoopie.Trace) -> dict[str, int]:
    """Kernel → launches."""
    return {str(name): int(number) for name, number in trace.launches.groupby("kernel", observed=True).size().items()}


def stacks(trace: snoopie.Trace) -> dict[str, tuple[int, int]]:
    """Function that allocated → objects and bytes of what was never freed."""
    leaks = trace.leaks()
    leaks = leaks[leaks["state"] == "never freed"]
    return {
        str(source).rpartition(" ")[2]: (int(rows["objects"].sum()), int(rows["bytes"].sum()))
        for source, rows in leaks.groupby("source", observed=True)
    }


def int3(
    program: Program, function: str, library: Path = watched.STUB / "libcuda.so.1", file: Path | None = None
) -> bool:
    """Whether there is a breakpoint where the function begins in the memory of the program. ``file``: the library as it
    is seen from here."""
    symbols = subprocess.run(["nm", file or library], capture_output=True, text=True, check=True).stdout
    address = int(next(line.split()[0] for line in symbols.splitlines() if line.endswith(f" {function}")), 16)
    maps = Path(f"/proc/{program.pid}/maps").read_text().splitlines()
    start = int(next(line for line in maps if line.endswith(str(library))).split("-")[0], 16)
    with open(f"/proc/{program.pid}/mem", "rb") as memory:
        memory.seek(start + address)
        return memory.read(1) == b"\xcc"


def breakpoint_in(program: Program, library: Path) -> bool:
    return int3(program, "cuLaunchKernel", library)


ASKED = "cuCtxGetDevice"
# After so many questions they are no longer listened to, as watch/src/questions.c says.
ENOUGH = 20000


def gpus(trace: snoopie.Trace) -> dict[tuple[str, str], int]:
    """Kernel and GPU → launches."""
    names = [gpu["name"] or str(number) for number, gpu in enumerate(trace.gpus.to_dict("records"))]
    numbers = trace.launches.groupby(["kernel", "gpu"], observed=True).size()
    return {(str(kernel), names[gpu]): int(number) for (kernel, gpu), number in numbers.items()}


def bpftool(*command: str) -> Any:
    """What it says of the kernel's tables."""
    program = shutil.which("bpftool") or "/usr/sbin/bpftool"
    return json.loads(subprocess.run([program, "-j", "map", *command], capture_output=True, check=True).stdout)


@pytest.mark.parametrize("addresses", ["", "1"], ids=["symbols", "cuGetProcAddress"])
def test_every_total_from_the_beginning(tmp_path: Path, addresses: str) -> None:
    # Another program has the driver already, so that it is known before the program starts.
    with Program() as other:
        other.do("sync 1")
        watch = Watch("--all", "-o", f"{tmp_path}/")
        with Program(**({"ADDRESSES": "1"} if addresses else {})) as program:
            for command in (
                "device 1",
                "alloc 3 4096",
                "other_alloc 2 1000",
                "host 4 512",
                "managed 1 256",
                "pool 2 128",
                "pitch 1 100",
                "physical 2 2097152",
                "free 6",
                "launch _Z6kernelPfi 1000",
                "launch plain 7",
                "htod 5 64",
                "dtoh 2 32",
                "dtod 4 16",
                "unified 3 8",
                "peer 2 1024",
                "copy2d 2 10",
                "set 3 400",
                "sync 2",
                "fail 2",
                "badfree 1",
                "threads 8 launch _Z6threadv 500",
                "threads 4 churn 300 512",
                "fork 3 launch _Z5childv 20",
            ):
                program.do(command)
        traces = recorded(watch, tmp_path)
    trace = traces.pop(program.pid)
    found = calls(trace)
    assert found["cuMemAlloc_v2"] == (3 + 2 + 2 + 4 * 300, 2, 3 * 4096 + 2 * 1000 + 4 * 300 * 512)
    assert found["cuMemHostAlloc"] == (4, 0, 4 * 512)
    assert found["cuMemAllocManaged"] == (1, 0, 256)
    assert found["cuMemAllocAsync_ptsz"] == (2, 0, 256)
    assert found["cuMemAllocPitch_v2"] == (1, 0, 512 * 10)
    assert found["cuMemCreate"] == (2, 0, 2 * 2097152)
    assert found["cuMemMap"][0] == found["cuMemUnmap"][0] == 2
    assert found["cuMemFree_v2"] == (1 + 1 + 1 + 4 * 300, 1, 0)
    assert found["cuLaunchKernel"] == (1000 + 7 + 8 * 500, 0, 0)
    assert found["cuMemcpyHtoD_v2"] == (5, 0, 320)
    assert found["cuMemcpyDtoH_v2"] == (2, 0, 64)
    assert found["cuMemcpyDtoDAsync_v2"] == (4, 0, 64)
    assert found["cuMemcpyAsync"] == (3, 0, 24)
    assert found["cuMemcpyPeerAsync"] == (2, 0, 2048)
    assert found["cuMemcpy2D_v2"] == (2, 0, 60)
    assert found["cuMemsetD32_v2"] == (3, 0, 1200)
    assert found["cuStreamSynchronize"][0] == 2
    # Those whose ends are known go where they went, not where the call may go.
    directions = trace.call_totals.groupby(["call", "direction"], observed=True)["calls"].sum()
    assert directions["cuMemcpyAsync", "host to device"] == 3
    assert directions["cuMemcpyPeerAsync", "peer"] == 2
    assert directions["cuMemcpy2D_v2", "host to device"] == 2
    assert kernels(trace) == {"kernel(float*, int)": 1000, "plain": 7, "thread()": 4000}
    assert set(trace.launches["gpu"][trace.launches["kernel"] == "plain"]) == {1}
    assert set(trace.launches["gpu"][trace.launches["kernel"] == "thread()"]) == {0}
    first = trace.launches.iloc[0]
    shape = [int(first[f"{what}_{axis}"]) for what in ("grid", "block") for axis in "xyz"]
    assert (shape, int(first["shared_memory"]), int(first["stream"])) == ([7, 2, 1, 64, 2, 1], 128, 0x51)
    # Three of each process.
    assert [calls(child)["cuLaunchKernel"] for child in traces.values() if "cuLaunchKernel" in calls(child)] == 3 * [
        (20, 0, 0)
    ]
    assert stacks(trace) == {"one_place": (3, 3 * 4096), "another_place": (2, 2000), "run": (4, 4 * 512)}
    errors = trace.call_errors.groupby(["call", "code"], observed=True)["calls"].sum()
    assert errors.to_dict() == {("cuMemAlloc_v2", 2): 2, ("cuMemFree_v2", 1): 1}
    assert trace.lacks(Lack.ACCESSES)
    lasted = trace.call_times[trace.call_times["call"] == "cuStreamSynchronize"]
    # A millisecond each.
    assert lasted["calls"].sum() == 2
    assert lasted["log2"].min() >= 19


def test_attached_in_the_middle_and_detached(program: Program, tmp_path: Path) -> None:
    program.do("alloc 3 4096")
    program.do("launch _Z5earlyv 10")
    assert not int3(program, "cuLaunchKernel")
    watch = Watch("--pid", str(program.pid), "-o", str(tmp_path / "x.zst"))
    assert int3(program, "cuLaunchKernel")
    program.do("launch _Z5earlyv 5")
    program.do("launch _Z4latev 6")
    program.do("alloc 2 64")
    program.do("free 4")
    said = watch.end()
    assert not int3(program, "cuLaunchKernel")
    # It goes on.
    program.do("launch _Z4latev 100")
    trace = snoopie.load(tmp_path / "x.zst")
    assert calls(trace)["cuLaunchKernel"] == (11, 0, 0)
    assert calls(trace)["cuMemFree_v2"] == (4, 0, 0)
    # The first name is found where the second, which is known, has proved to be.
    assert kernels(trace) == {"early()": 5, "late()": 6}
    assert len(trace.objects) == 2
    assert stacks(trace) == {}
    assert "allocated before the watch began: 2." in said
    assert "went on when the watch ended" in said


def test_names_that_a_program_asked_for_before(program: Program, tmp_path: Path) -> None:
    for number, known in enumerate((["_Z3onev"], ["_Z3onev", "_Z3twov"])):
        for name in known:
            program.do(f"launch {name} 1")
        path = tmp_path / f"{number}.zst"
        watch = Watch("--pid", str(program.pid), "-o", str(path))
        for name in known:
            program.do(f"launch {name} 3")
        said = watch.end()
        names = kernels(snoopie.load(path))
        # One string in memory could be anything. Two at the same place are names.
        if len(known) == 1:
            assert [name.startswith("(a kernel named before the watch") for name in names] == [True]
            assert "Kernels without a known name" in said
        else:
            assert names == {"one()": 3, "two()": 3}
            assert "name from the program's memory" in said


def test_leaks_have_the_lines_that_allocated(program: Program, tmp_path: Path) -> None:
    watch = Watch("--pid", str(program.pid), "-o", f"{tmp_path}/")
    program.do("alloc 5 100")
    program.kill()
    watch.ended()
    (trace,) = read(tmp_path).values()
    (source,) = set(trace.leaks().loc[lambda leaks: leaks["state"] == "never freed", "source"])
    code = (watched.WATCH / "tests" / "program.c").read_text().splitlines()
    place, _, function = source.partition(" ")
    name, _, line = place.partition(":")
    assert (name, function) == ("program.c", "one_place")
    assert "mem_alloc(" in code[int(line) - 1]
    (stack,) = set(trace.objects["stack"])
    frames = trace.stack(int(stack))
    assert "main" in frames.loc[frames["file"].str.endswith("program.c"), "function"].tolist()
    # A library without lines has its functions still.
    assert frames["line"].min() == 0


@pytest.mark.parametrize("waited", [True, False], ids=["gone", "zombie"])
def test_ends_with_the_process_that_it_watches(program: Program, tmp_path: Path, waited: bool) -> None:
    watch = Watch("--pid", str(program.pid), "-o", f"{tmp_path}/")
    program.do("alloc 5 100")
    program.kill(waited=waited)
    watch.ended()
    (trace,) = read(tmp_path).values()
    assert stacks(trace) == {"one_place": (5, 500)}


def test_no_probe_outlives_a_watcher_that_is_killed(program: Program) -> None:
    watcher = subprocess.Popen([watched.PROGRAM, "--pid", str(program.pid)], stdout=subprocess.PIPE)
    until(lambda: int3(program, "cuLaunchKernel"))
    program.do("launch _Z1kv 100")
    watcher.kill()
    watcher.communicate(timeout=60)
    until(lambda: not int3(program, "cuLaunchKernel"))
    program.do("launch _Z1kv 100")


def test_the_kernel_part_ends_with_the_command(program: Program) -> None:
    watch = Watch("--pid", str(program.pid), "-o", "/nowhere/x.zst")
    assert int3(program, "cuLaunchKernel")
    watch.process.kill()
    watch.process.communicate(timeout=60)
    until(lambda: not int3(program, "cuLaunchKernel"))


def test_what_was_told_before_the_kernel_part_was_killed(program: Program, tmp_path: Path) -> None:
    from snoopie.watch.session import Session
    from snoopie.watch.watcher import Watcher

    session = Session()
    begun = False

    def ticked(_: Session) -> None:
        nonlocal begun
        if not begun:
            program.do("launch _Z1kv 100")
            program.do("alloc 4 100")
            begun = True
        elif sum(int(recorder.sums.calls["calls"].sum()) for recorder in session.recorders) >= 104:
            os.kill(watcher.pid, signal.SIGKILL)

    session.listeners.append(ticked)
    with Watcher(watched.PROGRAM, ["--pid", str(program.pid)]) as watcher:
        session.take(watcher.frames())
    assert not watcher.whole
    assert "was ended by SIGKILL" in session.notes[-1]
    (recorder,) = session.recorders
    path = tmp_path / "x.zst"
    # What is there at the end was not told.
    recorder.finish(path, {"id": "x", "of": "run"}, None, session.now, session.lost, True)
    trace = snoopie.load(path)
    assert calls(trace)["cuLaunchKernel"] == (100, 0, 0)
    assert stacks(trace) == {"one_place": (4, 400)}
    until(lambda: not int3(program, "cuLaunchKernel"))


def test_a_full_buffer_is_counted_and_sums_stay_exact(program: Program, tmp_path: Path) -> None:
    program.do("alloc 3 4096")
    watch = Watch("--pid", str(program.pid), "--buffer", "4KiB", "-o", str(tmp_path / "x.zst"))
    for _ in range(3):
        program.do("threads 8 launch _Z1kv 1000")
    program.do("threads 4 churn 300 64")
    program.do("alloc 40 100")
    said = watch.end()
    trace = snoopie.load(tmp_path / "x.zst")
    assert calls(trace)["cuLaunchKernel"] == (24000, 0, 0)
    assert calls(trace)["cuMemAlloc_v2"] == (1240, 0, 1200 * 64 + 4000)
    # What leaks is exact even where its calls were lost.
    assert stacks(trace) == {"one_place": (40, 4000)}
    lost = int(re.search(r"([\d,]+) single calls of all watched programs were lost", said)[1].replace(",", ""))
    assert lost + len(trace.launches) >= 24000
    assert lost > 0


def test_fifty_processes(tmp_path: Path) -> None:
    programs = [Program() for _ in range(50)]
    try:
        programs[0].do("sync 1")
        watch = Watch("--all", "-o", f"{tmp_path}/")
        for number, program in enumerate(programs):
            program.begin(f"launch _Z1kv {number + 1}")
        for program in programs:
            program.answer()
        traces = recorded(watch, tmp_path)
    finally:
        for program in programs:
            program.end()
    assert len(traces) == 50
    for number, program in enumerate(programs):
        assert calls(traces[program.pid])["cuLaunchKernel"] == (number + 1, 0, 0)
    # All of one watch are one run.
    whole = snoopie.load(tmp_path)
    assert len(whole.runs) == 1
    assert calls(whole)["cuLaunchKernel"] == (50 * 51 // 2, 0, 0)


def test_a_driver_that_comes_later(tmp_path: Path) -> None:
    """As with a container that starts while everything is watched: another file, found when it is mapped."""
    own = tmp_path / "own"
    shutil.copytree(watched.STUB, own)
    watch = Watch("--all", "-o", f"{tmp_path}/")
    with Program(own) as program:
        program.do("sync 1")
        until(lambda: breakpoint_in(program, own / "libcuda.so.1"))
        program.do("launch _Z1kv 10")
        traces = recorded(watch, tmp_path)
    assert calls(traces[program.pid])["cuLaunchKernel"] == (10, 0, 0)


def test_a_driver_that_only_a_container_has(tmp_path: Path) -> None:
    """Of another mount namespace, where what is watched from here has another file or none under the path."""
    own = tmp_path / "own"
    own.mkdir()
    enter = f'mount -t tmpfs none {own} && cp {watched.STUB}/* {own} && exec "$@"'
    if subprocess.run(["unshare", "-m", "true"]).returncode != 0:
        pytest.skip("no mount namespace can be made here")
    watch = Watch("--all", "-o", f"{tmp_path}/")
    with Program(own, "unshare", "-m", "sh", "-c", enter, "sh") as program:
        program.do("sync 1")
        assert not (own / "libcuda.so.1").exists()
        seen_there = Path(f"/proc/{program.pid}/root{own}/libcuda.so.1")
        until(lambda: int3(program, "cuLaunchKernel", own / "libcuda.so.1", file=seen_there))
        program.do("launch _Z1kv 10")
        program.do("alloc 2 100")
        traces = recorded(watch, tmp_path)
        trace = traces[program.pid]
        assert calls(trace)["cuLaunchKernel"] == (10, 0, 0)
        assert kernels(trace) == {"k()": 10}
        # Stacks are of its files too.
        assert set(stacks(trace)) == {"one_place"}


def test_an_address_that_is_not_exported(tmp_path: Path) -> None:
    with Program() as other:
        other.do("sync 1")
        watch = Watch("--all", "-o", f"{tmp_path}/")
        with Program(ADDRESSES="1", STUB_HIDES_FREE="1") as program:
            program.do("sync 1")
            until(lambda: int3(program, "hidden_free"))
            program.do("alloc 3 64")
            program.do("free 3")
        said = watch.end()
    trace = read(tmp_path)[program.pid]
    assert calls(trace)["cuMemFree_v2"] == (3, 0, 0)
    assert "does not export, such as one of cuMemFree_v2" in said


def test_a_cgroup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from snoopie.watch.watcher import cgroup_root

    container = uuid.uuid4().hex * 2  # no other run's, nor of one that was killed
    folder = cgroup_root() / f"snoopie-test-{os.getpid()}"
    inner = folder / f"docker-{container}.scope"
    try:
        inner.mkdir(parents=True)
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error.strerror}")
    try:
        with Program() as inside, Program() as outside:
            (inner / "cgroup.procs").write_text(str(inside.pid))
            for one in (inside, outside):
                one.do("sync 1")
            for options in (["--cgroup", str(folder)], ["--container", container[:12]]):
                out = tmp_path / options[0]
                watch = Watch(*options, "-o", f"{out}/")
                inside.do("launch _Z1kv 3")
                outside.do("launch _Z1kv 4")
                traces = recorded(watch, out)
                assert {pid: calls(trace)["cuLaunchKernel"][0] for pid, trace in traces.items()} == {inside.pid: 3}
                assert cli.main(["info", str(next(iter(watched.traces(out))))]) == 0
                assert container[:12] in capsys.readouterr().out
    finally:
        until(lambda: not (inner / "cgroup.procs").read_text())
        inner.rmdir()
        folder.rmdir()


def test_every_call(program: Program, tmp_path: Path) -> None:
    for options, counted in ([], 0), (["--every-call"], 5):
        path = tmp_path / f"{counted}.zst"
        watch = Watch("--pid", str(program.pid), *options, "-o", str(path))
        program.do("count 5")
        program.do(f"ask {ENOUGH}")
        program.do("launch _Z1kv 2")
        # Whoever counts all calls listens to all questions.
        until(lambda options=options: int3(program, ASKED) == bool(options))
        program.do("ask 5")
        watch.end()
        found = calls(snoopie.load(path))
        assert found.get("cuDeviceGetCount", (0, 0, 0)) == (counted, 0, 0)
        assert (found[ASKED][0] == ENOUGH + 5) if options else (ASKED not in found)
        assert found["cuLaunchKernel"] == (2, 0, 0)


def test_questions_are_heard_while_a_gpu_is_unknown(program: Program, tmp_path: Path) -> None:
    """Programs that run ask which GPU is current at every call. That is followed until it is known, and no longer."""
    program.do("device 1")
    program.do("other 0")
    watch = Watch("--pid", str(program.pid), "-o", str(tmp_path / "x.zst"))
    assert int3(program, ASKED)
    program.do("ask 1")
    program.do("launch _Z4mainv 10")
    # It may be asked seldom: it is heard nevertheless.
    assert int3(program, ASKED)
    program.do(f"ask {ENOUGH}")
    until(lambda: not int3(program, ASKED))
    assert int3(program, "cuLaunchKernel")
    program.do("ask 1000")
    program.do("launch _Z4mainv 7")
    # What this thread made current before the watch, nobody has said.
    program.do("in_other launch _Z5otherv 5")
    until(lambda: int3(program, ASKED))
    program.do("in_other ask 1")
    program.do("in_other launch _Z5otherv 6")
    # Contexts that are asked about are known to all threads.
    for device in (0, 1):
        program.do(f"device {device}")
        program.do("ask 1")
    program.do(f"ask {ENOUGH}")
    until(lambda: not int3(program, ASKED))
    program.do("in_other launch _Z5otherv 8")
    program.do("launch _Z4mainv 9")
    # Threads that begin make the context of GPU 0 current, which says enough.
    program.do("threads 3 launch _Z6threadv 4")
    watch.end()
    trace = snoopie.load(tmp_path / "x.zst")
    found = calls(trace)
    assert found["cuLaunchKernel"] == (10 + 7 + 9 + 5 + 6 + 8 + 12, 0, 0)
    assert ASKED not in found
    assert gpus(trace) == {
        ("main()", "1"): 26,
        ("other()", "not known"): 5,
        ("other()", "0"): 14,
        ("thread()", "0"): 12,
    }


def test_the_gpu_of_each_context_on_a_stack(program: Program, tmp_path: Path) -> None:
    """What was current before the watch has no known handle, and is current again after a pop."""
    program.do("device 1")
    watch = Watch("--pid", str(program.pid), "-o", str(tmp_path / "x.zst"))
    program.do("ask 1")
    program.do("launch _Z5belowv 3")
    program.do("push 0")
    program.do("ask 1")
    program.do("launch _Z5abovev 4")
    program.do("pop")
    program.do("launch _Z5belowv 5")
    program.do("push 0")
    program.do("launch _Z5abovev 6")
    watch.end()
    trace = snoopie.load(tmp_path / "x.zst")
    assert gpus(trace) == {("below()", "1"): 8, ("above()", "0"): 10}


def test_questions_that_nobody_asks_are_not_heard_for_ever(program: Program, tmp_path: Path) -> None:
    program.do("other 0")
    watch = Watch("--pid", str(program.pid), "-o", str(tmp_path / "x.zst"))
    launched = 0

    def launch_until(probed: bool) -> None:
        nonlocal launched
        while int3(program, ASKED) != probed:
            program.do("in_other launch _Z5otherv 100")
            program.do("ask 1000")
            launched += 100

    # The thread that is unknown never asks; the other one does all the time, and pays for that only now and then.
    for probed in (False, True, False):
        launch_until(probed)
    watch.end()
    trace = snoopie.load(tmp_path / "x.zst")
    assert calls(trace)["cuLaunchKernel"] == (launched, 0, 0)
    assert gpus(trace) == {("other()", "not known"): launched}


def test_a_question_that_is_not_answered_when_its_probe_goes(tmp_path: Path) -> None:
    held = tmp_path / "held"
    held.touch()

    def flights(pid: int) -> int:
        """Calls of a process that the kernel part remembers."""
        ids = [str(table["id"]) for table in bpftool("list") if table["name"] == "flights"]
        keys = [row["key"] for table in ids for row in bpftool("dump", "id", table)]
        # The number of the process is the upper half of the thread's.
        return sum(1 for key in keys if int.from_bytes(bytes(int(byte, 16) for byte in key[4:8]), "little") == pid)

    with Program() as program, Program(STUB_HOLDS=str(held)) as waiting:
        for one in (program, waiting):
            one.do("sync 1")
        watch = Watch("--all", "-o", f"{tmp_path}/")
        waiting.begin("ask 1")
        until(lambda: flights(waiting.pid) == 1)
        program.do(f"ask {ENOUGH}")
        until(lambda: not int3(program, ASKED))
        until(lambda: flights(waiting.pid) == 0)
        held.unlink()
        waiting.answer()
        # The kernel has led its return astray and back.
        waiting.do("launch _Z1kv 3")
        traces = recorded(watch, tmp_path)
    assert calls(traces[waiting.pid]) == {"cuLaunchKernel": (3, 0, 0), "cuModuleGetFunction": (1, 0, 0)}


def test_probes_of_older_kernels(program: Program, tmp_path: Path) -> None:
    from snoopie.watch.session import Session
    from snoopie.watch.watcher import Watcher

    session = Session()

    def steps() -> Iterator[None]:
        """From one tick to the next."""
        program.do("launch _Z1kv 500")
        program.do("threads 4 churn 50 64")
        program.do(f"ask {ENOUGH}")
        while int3(program, ASKED):
            yield
        # On a GPU that is not known.
        program.do("launch _Z1kv 500")
        while not int3(program, ASKED):
            yield
        watcher.end()

    done = steps()
    session.listeners.append(lambda _: next(done, None))
    with Watcher(watched.PROGRAM, ["--one-by-one", "--pid", str(program.pid)]) as watcher:
        session.take(watcher.frames())
    assert watcher.whole
    assert session.notes == []
    (recorder,) = session.recorders
    path = tmp_path / "x.zst"
    recorder.finish(path, {"id": "x", "of": "run"}, session.live_of(recorder), session.now, session.lost, True)
    found = calls(snoopie.load(path))
    assert found["cuLaunchKernel"] == (1000, 0, 0)
    assert found["cuMemAlloc_v2"] == (200, 0, 200 * 64)
    assert found["cuMemFree_v2"] == (200, 0, 0)
    assert ASKED not in found
    assert not int3(program, "cuLaunchKernel")
    assert not int3(program, ASKED)


def test_sums_alone(program: Program, tmp_path: Path) -> None:
    watch = Watch("--pid", str(program.pid), "--totals", "-o", str(tmp_path / "x.zst"))
    program.do("launch _Z1kv 1000")
    program.do("alloc 4 100")
    program.do("free 1")
    watch.end()
    trace = snoopie.load(tmp_path / "x.zst")
    assert calls(trace)["cuLaunchKernel"] == (1000, 0, 0)
    assert len(trace.launches) == 0
    assert stacks(trace) == {"one_place": (3, 300)}


def test_more_threads_than_tables_have_rows(program: Program, tmp_path: Path) -> None:
    """Sums are by thread. Those of threads that have ended are added up, so that they stay exact for good."""
    watch = Watch("--pid", str(program.pid), "--totals", "-o", str(tmp_path / "x.zst"))
    for _ in range(45):
        program.do("threads 400 launch _Z1kv 3")
    program.do("threads 100 fail 2")
    program.do("launch _Z1kv 3")
    watch.end()
    trace = snoopie.load(tmp_path / "x.zst")
    assert not [notice for notice in trace.notices["text"] if "could not be kept" in notice]
    assert calls(trace)["cuLaunchKernel"] == (45 * 400 * 3 + 3, 0, 0)
    assert calls(trace)["cuMemAlloc_v2"] == (200, 200, 0)
    assert trace.call_errors["calls"].sum() == 200
    launches = trace.call_totals[trace.call_totals["call"] == "cuLaunchKernel"]
    assert (launches["thread"] == 0).any()
    assert set(launches["kernel"]) == {"k()"}
    # Those of a thread that has not ended, and the shortest and longest of all, are there too.
    assert (launches["thread"] > 0).any()
    assert (launches["least"] <= launches["most"]).all()
    lasted = trace.call_times[trace.call_times["call"] == "cuLaunchKernel"]
    assert lasted["calls"].sum() == 45 * 400 * 3 + 3


def test_thousands_a_second_with_stacks(program: Program, tmp_path: Path) -> None:
    watch = Watch("--pid", str(program.pid), "--stacks", "--for", "20s", "-o", str(tmp_path / "x.zst"))
    for _ in range(10):
        program.do("threads 4 launch _Z1kv 1000")
    watch.end()
    trace = snoopie.load(tmp_path / "x.zst")
    assert len(trace.launches) == 40000
    assert (trace.launches["stack"] > 0).all()
