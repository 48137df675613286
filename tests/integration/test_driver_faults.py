"""The whole collector on a driver of the host, nvbit_tool/tests/driver, of which one call after another fails.

The program is told the same, and is left in the same state, whatever the collector's own calls are answered; the trace
counts what happened, or says that it does not. With SNOOPIE_FAULTS=all every call fails once, with three errors, alone
and with all that follow; else a few of them. The address and undefined-behaviour sanitizers look on.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest

import snoopie
from tests.support import host_driver

OUT_OF_MEMORY, DEINITIALIZED, NO_DEVICE, NOT_SUPPORTED = 2, 4, 100, 801
ALL = os.environ.get("SNOOPIE_FAULTS") == "all"
# More than the collector makes in this program.
MOST_CALLS = 2000
AT_ONCE = 32
NAMES = [
    *sorted(
        re.findall(r"^DRIVER\(\s*(\w+),", (host_driver.COLLECTOR / "tests/driver/driver.cpp").read_text(), re.MULTILINE)
    ),
    "nvbit_load_tool_module",
    "nvbit_find_function_by_name",
    "nvbit_launch_kernel",
]
UNKNOWN = -2
# What the program tells of the collector, among what that says: bytes that it holds, and the modules that it read for
# one kernel.
FIGURE = re.compile(r"(?:taken|modules): \d+")
# What is called only after something else has failed, and what that is.
AFTER = dict.fromkeys(("cuStreamDestroy_v2", "cuMemFree_v2", "cuMemFreeHost"), "cuMemsetD8Async:1:2,")
# What gives a thread back to the program. Where the driver takes it never again, nobody can.
GIVING_BACK = {"cuCtxPopCurrent_v2", "cuThreadExchangeStreamCaptureMode"}


@dataclass
class Outcome:
    """What came of a run: of the program, and of its trace."""

    fault: str
    happened: bool
    status: int
    said: list[str]
    taken: int
    modules: int
    complaints: list[str]
    counts: dict[tuple[int, int], int] | None
    complete: bool
    losses: list[str]


@pytest.fixture(scope="module")
def program() -> Path:
    return host_driver.built()


def run(program: Path, folder: Path, fault: str, *around: str, **settings: str) -> Outcome:
    """`around`: a command that runs another."""
    name = "-".join([*fault.split(":"), *around[-1:]]).replace(" ", "") or "none"
    trace, said = folder / f"{name}.zst", folder / f"{name}.said"
    done = subprocess.run(
        [*around, str(program)],
        env={
            "PATH": os.environ["PATH"],
            "ASAN_OPTIONS": "detect_leaks=0",
            "SNOOPIE_OUTPUT": str(trace),
            "SNOOPIE_FAULT": fault,
            "SNOOPIE_FAULT_SAID": str(said),
            "SOURCE": "0",
            "CODE_CONTEXT": "0",
            **settings,
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    errors = done.stderr.splitlines()
    figures = {name: int(figure) for name, figure in (line.split(": ") for line in errors if FIGURE.fullmatch(line))}
    counts, complete, losses = None, False, []
    if trace.exists() and trace.stat().st_size > 0:
        read = snoopie.load(trace, allow_truncated=True)
        complete = read.complete
        sums = read.counts.groupby(["issuer", "owner"])["accesses"].sum()
        counts = {(int(issuer), int(owner)): int(accesses) for (issuer, owner), accesses in sums.items()}
        losses = read.losses()
    return Outcome(
        fault,
        said.exists(),
        done.returncode,
        done.stdout.splitlines(),
        figures.get("taken", -1),
        figures.get("modules", -1),
        [line for line in errors if not FIGURE.fullmatch(line)],
        counts,
        complete,
        losses,
    )


def answers(outcome: Outcome, calls_alone: bool) -> list[str]:
    """What the program printed: the results of its calls, and the state of its thread."""
    return [line for line in outcome.said if not calls_alone or re.fullmatch(r"\w+ \d+", line)]


def check(outcome: Outcome, whole: Outcome) -> None:
    fault = outcome.fault
    forever = fault.startswith("any:") and fault.endswith(":on")
    assert outcome.status == whole.status, (fault, outcome.complaints)
    assert answers(outcome, forever) == answers(whole, forever), (fault, outcome.complaints)
    assert all(line.startswith("snoopie: ") for line in outcome.complaints), (fault, outcome.complaints)
    # What the collector could not use it has given back, unless that is what failed.
    if not fault.startswith("any:") and not re.search("cuMem(Release|Unmap|AddressFree|Free)", fault):
        assert 0 <= outcome.taken <= whole.taken, fault
    if outcome.counts is None:
        assert [line.endswith("nothing is recorded") for line in outcome.complaints] == [True], fault
        return
    assert outcome.complete, (fault, outcome.complaints)
    assert whole.counts is not None
    if outcome.counts != whole.counts:
        assert set(outcome.losses) - set(whole.losses), (fault, outcome.counts)
    for where, accesses in outcome.counts.items():
        assert accesses <= whole.counts.get(where, 0) or where[1] == UNKNOWN, (fault, outcome.counts)
    assert sum(outcome.counts.values()) <= sum(whole.counts.values()), (fault, outcome.counts)


def first_call(name: str, error: int) -> str:
    return f"{AFTER.get(name, '')}{name}:1:{error}"


def chosen(error: int) -> Iterator[str]:
    """Faults of some calls: each function from the first on, and single ones here and there."""
    yield from (first_call(name, error) + (":on" if name not in GIVING_BACK else "") for name in NAMES)
    for i, number in enumerate(range(1, 600, 23)):
        yield f"any:{number}:{(OUT_OF_MEMORY, NOT_SUPPORTED, DEINITIALIZED)[i % 3]}"


def check_all(program: Path, folder: Path, faults: Iterator[str], **settings: str) -> int:
    """Checks them until none of those that run at a time happens any more; returns how many did."""
    whole = run(program, folder, "", **settings)
    assert whole.status == 7
    assert whole.counts == {(0, 1): 7842, (1, 0): 20}
    happened = 0
    with ThreadPoolExecutor(4) as pool:
        while batch := [fault for _, fault in zip(range(AT_ONCE), faults, strict=False)]:
            outcomes = list(pool.map(lambda fault: run(program, folder, fault, **settings), batch))
            for outcome in outcomes:
                check(outcome, whole)
                happened += outcome.happened
            if not any(outcome.happened for outcome in outcomes):
                break
    return happened


# A driver that lacks a function, as those of virtual GPUs do, has none of its calls succeed.
@pytest.mark.parametrize(("records", "waits", "error"), [("0", "off", OUT_OF_MEMORY), ("1", "on", NOT_SUPPORTED)])
def test_some_calls_of_the_collector_that_fail(
    program: Path, tmp_path: Path, records: str, waits: str, error: int
) -> None:
    settings = {"SAMPLE_SIZE": records, "WAITS": waits, "END_CONTEXTS": "1"}
    assert check_all(program, tmp_path, chosen(error), **settings) > 50


@pytest.mark.skipif(not ALL, reason="takes an hour: SNOOPIE_FAULTS=all")
@pytest.mark.parametrize("records", ["0", "1"])
@pytest.mark.parametrize("error", [OUT_OF_MEMORY, NOT_SUPPORTED, DEINITIALIZED, NO_DEVICE])
def test_every_function_that_fails(program: Path, tmp_path: Path, error: int, records: str) -> None:
    once = (first_call(name, error) for name in NAMES)
    on = (first_call(name, error) + ":on" for name in NAMES if name not in GIVING_BACK)
    settings = {"SAMPLE_SIZE": records, "END_CONTEXTS": "1", "SOURCE": "1", "CODE_CONTEXT": "1"}
    assert check_all(program, tmp_path, chain(once, on), **settings) > 90


@pytest.mark.skipif(not ALL, reason="takes an hour: SNOOPIE_FAULTS=all")
@pytest.mark.parametrize("onward", ["", ":on"])
@pytest.mark.parametrize("error", [OUT_OF_MEMORY, NOT_SUPPORTED, DEINITIALIZED])
def test_every_call_of_the_collector_that_fails(program: Path, tmp_path: Path, error: int, onward: str) -> None:
    faults = (f"any:{number}:{error}{onward}" for number in range(1, MOST_CALLS))
    assert check_all(program, tmp_path, faults, SAMPLE_SIZE="0", END_CONTEXTS="1") > 300


@pytest.mark.parametrize("name", ["cuStreamCreate", "cuMemHostAlloc", "cuMemsetD8Async", "cuMemcpyHtoDAsync_v2"])
def test_memory_of_probes_that_cannot_be_used_is_given_back(program: Path, tmp_path: Path, name: str) -> None:
    outcome = run(program, tmp_path, f"{name}:1:{OUT_OF_MEMORY}:on", SAMPLE_SIZE="1", WAITS="on")
    assert outcome.happened
    assert (outcome.taken, outcome.counts) == (0, {})


def test_the_program_has_the_collector_call_each_function(program: Path, tmp_path: Path) -> None:
    settings = {"SAMPLE_SIZE": "1", "END_CONTEXTS": "1"}
    with ThreadPoolExecutor(4) as pool:
        outcomes = pool.map(lambda name: run(program, tmp_path, first_call(name, OUT_OF_MEMORY), **settings), NAMES)
        assert [outcome.fault for outcome in outcomes if not outcome.happened] == []


# --- What the program launches ---


@pytest.fixture
def recorded(program: Path, tmp_path: Path) -> snoopie.Trace:
    """With a graph that was launched three times, whose one kernel has another handle there than when it was captured.
    The second launch runs it before NVBit tells of it."""
    run(program, tmp_path, "", SAMPLE_SIZE="0", CODE_CONTEXT="1")
    return snoopie.load(tmp_path / "none.zst")


def test_each_launch_of_a_graph_has_its_own_counts(recorded: snoopie.Trace) -> None:
    kernels = recorded.counts["launch"].map(recorded.launches["kernel"])
    # Rows come as launches are found to have ended, those of another stream at any time.
    counts = recorded.counts[kernels == "in_graph"].sort_values("launch")
    assert counts["accesses"].tolist() == [30, 40, 50]


def test_calls_are_taken_out_of_the_code_of_single_launches(recorded: snoopie.Trace) -> None:
    launches = recorded.launches[recorded.launches["kernel"].str.startswith("ring(")]
    # The last four are of code that was loaded into its place, or on the other GPU: their kernel's first ones.
    assert launches["code"].tolist() == [
        "full",
        "full",
        "partial",
        "original",
        "partial",
        "full",
        "full",
        "full",
        "full",
    ]
    accesses = recorded.counts.groupby("launch")["accesses"].sum()
    assert [int(accesses.get(launch, 0)) for launch in launches.index] == [200, 600, 400, 0, 600, 1400, 1600, 0, 0]


def test_a_graphs_kernel_has_the_stack_of_its_capture(recorded: snoopie.Trace) -> None:
    stacks = recorded.launches.groupby("kernel")["stack"].unique()
    captured, other = (set(recorded.stack(int(stack))["function"]) for stack in [*stacks["in_graph"], *stacks["store"]])
    assert "__libc_start_main" in other
    assert captured and "__libc_start_main" not in captured


# --- When blocks moved ---


def test_moments_of_all_accesses(program: Path, tmp_path: Path) -> None:
    """Each launch has cells of its own, as many as its blocks need, and they are zero again for the next."""
    whole = run(program, tmp_path, "", SAMPLE_SIZE="0", WAITS="on", END_CONTEXTS="1")
    assert (whole.status, whole.counts) == (7, {(0, 1): 7842, (1, 0): 20})
    trace = snoopie.load(tmp_path / "none.zst")
    keys = ["launch", "site"]
    assert trace.moves.groupby(keys)["accesses"].sum().equals(trace.counts.groupby(keys)["accesses"].sum())
    assert (trace.moves["first"] <= trace.moves["last"]).all()
    large = trace.launches.index[trace.launches["grid_x"] == 100]
    assert len(large) == 9
    before = 0
    for launch in large:
        own = trace.moves[trace.moves["launch"] == launch]
        assert own["block"].tolist() == list(range(100))
        assert set(own["blocks"]) == set(own["accesses"]) == {1}
        # The clock ticks once an access.
        assert (
            own["first"].tolist() == own["last"].tolist() == list(range(own["first"].iloc[0], own["last"].iloc[-1] + 1))
        )
        assert own["first"].iloc[0] > before
        before = own["last"].iloc[-1]


# --- What it reads ---


def test_a_librarys_code_is_read_once_for_all_gpus(program: Path, tmp_path: Path) -> None:
    assert run(program, tmp_path, "", SAMPLE_SIZE="0").modules == 1


# --- Limits of the system ---


def with_and_without(
    program: Path, folder: Path, *around: str, plain: dict[str, str] | None = None, **fault: str
) -> tuple[Outcome, Outcome]:
    """The outcomes with the settings ``plain`` alone, and also ``around`` it and under the ``fault``, of which the
    program is to notice nothing."""
    settings = plain or {}
    (folder / "whole").mkdir(parents=True)
    whole = run(program, folder / "whole", "", **settings)
    outcome = run(program, folder, "", *around, **settings, **fault)
    assert (outcome.status, outcome.said) == (whole.status, whole.said)
    return whole, outcome


def check_is_part(outcome: Outcome, whole: Outcome) -> None:
    assert whole.counts is not None
    for where, accesses in (outcome.counts or {}).items():
        assert accesses <= whole.counts[where]


# One after another of what its threads allocate, and all from one on.
@pytest.mark.parametrize(
    "refused", ["1", "2", "3", "6", "14", "30", "70", "150", "320", "500", "640", "700", "1:on", "40:on", "600:on"]
)
def test_memory_that_threads_of_the_collector_do_not_get(program: Path, tmp_path: Path, refused: str) -> None:
    settings = {"SAMPLE_SIZE": "1", "WAITS": "on", "END_CONTEXTS": "1"}
    whole, outcome = with_and_without(program, tmp_path, plain=settings, ALLOCATION_REFUSED=refused)
    if outcome.complete:
        assert outcome.counts == whole.counts
    else:
        assert outcome.complaints[-1].endswith(" is incomplete: out of memory")
        check_is_part(outcome, whole)


def test_contexts_that_another_thread_ends(program: Path, tmp_path: Path) -> None:
    outcomes = []
    for by in ("main", "thread"):
        (tmp_path / by).mkdir()
        outcomes.append(run(program, tmp_path / by, "", END_CONTEXTS=by))
    alone, other = outcomes
    assert (other.status, other.said, other.counts) == (alone.status, alone.said, alone.counts)
    assert (other.complete, other.losses) == (True, alone.losses)


# In the collector's calls of it, and in its own code. Contexts that end then take memory that the collector looked at.
@pytest.mark.parametrize(
    "place",
    [
        *("context:1", "context:2", "event:1", "event:9", "event:60", "event:100"),
        *("nvbit_get_func_name:1", "nvbit_get_related_functions:2", "nvbit_dump_cubin:1", "nvbit_get_instrs:1"),
        *("nvbit_get_instrs:2", "nvbit_insert_call:2", "nvbit_enable_instrumented:1", "nvbit_enable_instrumented:4"),
        *("nvbit_set_at_launch:3", "nvbit_load_tool_module:1", "nvbit_launch_kernel:1"),
    ],
)
def test_nvbit_ends(program: Path, tmp_path: Path, place: str) -> None:
    settings = {"SAMPLE_SIZE": "1", "WAITS": "on", "END_CONTEXTS": "1"}
    whole, outcome = with_and_without(program, tmp_path, plain=settings, NVBIT_ENDS=place)
    assert not outcome.complete
    check_is_part(outcome, whole)
    (complaint,) = [line for line in outcome.complaints if not line.startswith("snoopie: recording ")]
    begun = "stopped recording to" if place != "context:1" else "nothing is recorded: "
    assert complaint.startswith(f"snoopie: {begun}"), complaint
    assert "NVBit, which instruments kernels, could not go on" in complaint


def test_another_tool_has_the_drivers_events(program: Path, tmp_path: Path) -> None:
    _, outcome = with_and_without(program, tmp_path, plain={"END_CONTEXTS": "1"}, ANOTHER_TOOL="1")
    (complaint,) = outcome.complaints
    assert complaint.startswith("snoopie: nothing is recorded: another tool, such as Nsight Compute")
    assert list(tmp_path.glob("*.zst")) == []


def test_few_addresses(program: Path, tmp_path: Path) -> None:
    whole, outcome = with_and_without(program, tmp_path, plain={"END_CONTEXTS": "1"}, ADDRESS_ROOM="16000")
    (complaint,) = outcome.complaints
    assert re.fullmatch(
        r"snoopie: nothing is recorded: the limit on addresses \(ulimit -v\) leaves 1[56]\d{3} MiB, "
        "and 8192 are needed for each of 2 GPUs",
        complaint,
    )
    assert list(tmp_path.glob("*.zst")) == []
    _, outcome = with_and_without(program, tmp_path / "enough", plain={"END_CONTEXTS": "1"}, ADDRESS_ROOM="20000")
    assert outcome.counts == whole.counts


# Nothing of the collector's runs then.
@pytest.mark.parametrize("way", ["_exit", "exec"])
def test_a_program_that_leaves_without_its_end(program: Path, tmp_path: Path, way: str) -> None:
    whole, outcome = with_and_without(program, tmp_path, LEAVE=way)
    assert not outcome.complete
    check_is_part(outcome, whole)
    assert not outcome.counts or "its end is missing" in outcome.losses[0]


# NVBit is then between a call's entry and its exit, which never comes.
@pytest.mark.parametrize("way", ["exit in a call", "exit in a thread"])
def test_a_program_that_ends_within_a_call(program: Path, tmp_path: Path, way: str) -> None:
    whole, outcome = with_and_without(program, tmp_path, LEAVE=way)
    assert outcome.counts == whole.counts
    assert outcome.complete


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can take a program's files away")
def test_without_proc_and_any_file_of_the_system(program: Path, tmp_path: Path) -> None:
    settings = {"SAMPLE_SIZE": "1", "WAITS": "on", "END_CONTEXTS": "1"}
    whole, outcome = with_and_without(program, tmp_path, plain=settings, ROOT=str(tmp_path), SNOOPIE_OUTPUT="/none.zst")
    assert outcome.counts == whole.counts
    assert outcome.complete


# The sanitizers need a dozen themselves.
def test_few_descriptors(program: Path, tmp_path: Path) -> None:
    whole, outcome = with_and_without(program, tmp_path, "prlimit", "--nofile=16")
    assert outcome.counts == whole.counts
    assert outcome.complete


# Those of the writer, the drain, the memory in use, the sums of calls and the answers to `snoopie hang`.
@pytest.mark.parametrize("thread", range(1, 6))
def test_a_thread_of_the_collectors_that_is_refused(program: Path, tmp_path: Path, thread: int) -> None:
    _, outcome = with_and_without(program, tmp_path, plain={"END_CONTEXTS": "1"}, THREAD_REFUSED=str(thread))
    (complaint,) = outcome.complaints
    assert complaint == (
        "snoopie: the collector cannot be started: Resource temporarily unavailable; nothing is recorded"
    )
    assert list(tmp_path.glob("*.zst")) == []


# Root has no such limit, but it has a value.
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("prlimit") is None, reason="others would have to reach the limit")
@pytest.mark.parametrize(("most", "recorded"), [(1, False), (6, False), (79, False), (80, True), (200, True)])
def test_few_threads_are_left(program: Path, tmp_path: Path, most: int, recorded: bool) -> None:
    settings = {"END_CONTEXTS": "1"}
    limits = {"THREADS_AT_ONCE": str(most)}
    whole, outcome = with_and_without(program, tmp_path, "prlimit", "--nproc=20", plain=settings, **limits)
    if recorded:
        assert (outcome.counts, outcome.complete) == (whole.counts, True)
        return
    (complaint,) = outcome.complaints
    assert complaint == (
        "snoopie: nothing is recorded: the limit on processes and threads (ulimit -u) leaves fewer than 80"
    )
    assert list(tmp_path.glob("*.zst")) == []


def test_a_limit_on_the_size_of_files(program: Path, tmp_path: Path) -> None:
    # NVBit's copy of a module is a file, too: without it accesses would be packed, which this NVBit cannot carry out.
    settings = {"SAMPLE_SIZE": "0", "END_CONTEXTS": "1", "PACKING": "1"}
    whole = run(program, tmp_path, "", **settings)
    incomplete = 0
    for blocks in (0, 1, 2, 4, 8, 64):
        # A file that is too large raises a signal, too, which is not to end the program.
        outcome = run(program, tmp_path, "", "sh", "-c", f'ulimit -f {blocks} && exec "$0"', **settings)
        assert (outcome.status, outcome.said) == (whole.status, whole.said), (blocks, outcome.complaints)
        assert all(line.startswith("snoopie: ") for line in outcome.complaints), (blocks, outcome.complaints)
        if outcome.counts != whole.counts:
            incomplete += 1
            assert sum("is incomplete: File too large" in line for line in outcome.complaints) == 1, blocks
    assert 0 < incomplete < 6
