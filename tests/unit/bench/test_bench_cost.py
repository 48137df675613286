"""bench/cost.py, with scripts in place of the programs on GPUs: what it runs, reads, and writes of that."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "bench"))

import cost  # noqa: E402
import cost_report  # noqa: E402
from cost_plan import COLUMNS, PROGRAMS, TARGETS  # noqa: E402
from cost_report import Results, Sample  # noqa: E402

# A program whose launch takes 10 µs, 100 under the control, 40 where all kernels are selected. It notes how it was run.
PROGRAM = """
import json, os, shutil, sys, time
names = ("KERNEL_NAME", "SAMPLE_SIZE", "LAUNCH_SAMPLE", "WAITS", "CUDA_VISIBLE_DEVICES", "SNOOPIE_CACHE")
settings = {name: os.environ.get(name) for name in names}
tool = os.environ.get("LD_PRELOAD", "")
with open(LOG, "a") as log:
    log.write(json.dumps({"arguments": sys.argv[1:], "tool": tool, **settings}) + "\\n")
if tool in (COLLECTOR, TIMES):
    shutil.copy(TRACE, os.environ["SNOOPIE_OUTPUT"])
numbers = [word for word in sys.argv[1:] if word.isdigit()]
repetitions, launches = map(int, numbers)
us = 100 if tool == CONTROL else 40 if settings["KERNEL_NAME"] == "all" else 10
ms = [us * launches / 1000] * repetitions
print("a line before")
print(json.dumps({"right": RIGHT, "launches": launches, "first_ms": 1.5, "first_end": time.monotonic_ns(), "ms": ms}))
sys.exit(STATUS)
"""


class Machine:
    """A folder of programs, all alike, with two libraries that every process has anyway in place of the tools."""

    def __init__(self, folder: Path, trace: Path) -> None:
        self.folder, self.trace = folder, trace
        (folder / "programs").mkdir()
        (folder / "run").mkdir()
        maps = Path("/proc/self/maps").read_text().splitlines()
        libc = next(line.split(maxsplit=5)[5] for line in maps if "/libc." in line or "/libc-" in line)
        tools = {name: folder / f"{name}.so" for name in ("collector", "control", "times")}
        for tool in tools.values():
            tool.symlink_to(libc)
        programs = folder / "programs"
        self.setup = cost.Setup(programs, programs, tools, folder / "run", ["4", "7"], repetitions=3)

    def program(self, name: str, *, right: bool = True, status: int = 0, code: str = PROGRAM) -> None:
        path = self.setup.programs / name
        values = {"LOG": str(self.folder / "log"), "TRACE": str(self.trace), "RIGHT": right, "STATUS": status}
        tools = {name.upper(): str(path) for name, path in self.setup.tools.items()}
        defined = "".join(f"{name} = {value!r}\n" for name, value in (values | tools).items())
        path.write_text(f"#!{sys.executable}\n{defined}{code}")
        path.chmod(0o755)

    def measure(self, *programs: str, columns: tuple[str, ...] = tuple(COLUMNS), rounds: int = 1) -> Results:
        results = Results()
        for _ in range(rounds):
            for _ in cost.one_round(
                self.setup, results, [PROGRAMS[name] for name in programs], [COLUMNS[name] for name in columns]
            ):
                pass
        return results

    @property
    def log(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in (self.folder / "log").read_text().splitlines()]


@pytest.fixture
def machine(tmp_path: Path, ring_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    # Of the user's shell: nothing of it may reach the programs.
    for name, value in {"KERNEL_NAME": "mine", "SAMPLE_SIZE": "7", "LAUNCH_SAMPLE": "7", "LD_PRELOAD": ""}.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "machine"
    folder.mkdir()
    return Machine(folder, ring_path)


def sample(program: str, column: str, *kernel: float, start: float = 1, cold: bool = False) -> Sample:
    return Sample(program, column, list(kernel), first=1, start=start, process=2, cold=cold)


def test_each_column_runs_the_program_as_it_says(machine: Machine) -> None:
    machine.program("stencil")
    results = machine.measure("stencil")
    assert not results.failures
    assert not results.left_out
    assert [s.column for s in results.samples] == [name for name, column in COLUMNS.items() if not column.named]
    tools = {str(path): name for name, path in machine.setup.tools.items()} | {"": ""}
    ran = [
        (
            " ".join(str(word) for word in one["arguments"]),  # type: ignore[attr-defined]
            tools[str(one["tool"])],
            *(one[name] for name in ("KERNEL_NAME", "SAMPLE_SIZE", "LAUNCH_SAMPLE", "WAITS", "CUDA_VISIBLE_DEVICES")),
        )
        for one in machine.log
    ]
    assert ran == [
        ("3 1 --mapping", "", None, None, None, None, "4,7"),
        ("3 1 --mapping", "collector", "none_such", None, None, None, "4,7"),
        ("3 1 --mapping", "control", None, None, None, None, "4,7"),
        ("3 1 --mapping", "collector", "all", "0", None, None, "4,7"),
        ("3 1 --mapping", "collector", "all", "0", None, "on", "4,7"),
        ("3 1 --mapping", "collector", "all", "1", None, None, "4,7"),
        ("3 1 --mapping", "collector", "all", "100", None, None, "4,7"),
        ("3 100 --mapping", "collector", "all", "1", "100", None, "4,7"),
        ("3 1", "", None, None, None, None, "4"),
        ("3 1", "collector", "all", "1", None, None, "4"),
    ]


def test_times_are_of_one_launch_and_the_trace_is_read(machine: Machine) -> None:
    machine.program("ring")
    results = machine.measure("ring", columns=("native", "counts", "alone"), rounds=2)
    # The ring needs its peer: it is never alone.
    assert [s.column for s in results.samples] == ["native", "counts"] * 2
    assert [s.cold for s in results.samples] == [False, True, False, False]
    native, counts = results.samples[:2]
    assert native.kernel == pytest.approx([10] * 3)
    assert counts.kernel == pytest.approx([40] * 3)
    assert results.ratio("ring", "counts", "native") == pytest.approx(4)
    assert native.trace_bytes is None
    assert counts.trace_bytes == machine.trace.stat().st_size
    assert counts.totals == cost.totals(machine.trace)
    assert 0 < native.start <= native.process


def test_the_control_is_left_out_where_it_would_take_minutes(machine: Machine) -> None:
    machine.program("all_reduce")
    assert [s.column for s in machine.measure("all_reduce", columns=("native", "control")).samples] == ["native"]


def test_a_script_has_all_gpus_and_the_columns_that_it_names(machine: Machine) -> None:
    machine.program("steps.py")
    machine.setup = dataclasses.replace(machine.setup, gpus=["4", "7", "8"])
    results = machine.measure("fsdp")
    assert not results.failures
    assert [s.column for s in results.samples] == ["native", "loaded", "nvbit", "clean", "counts", "counts_nccl"]
    assert [one["arguments"] for one in machine.log] == [["fsdp", "3", "5"]] * 6
    assert [one["KERNEL_NAME"] for one in machine.log] == [None, "none_such", None, None, "all", "nccl"]
    assert [bool(s.trace_bytes) for s in results.samples] == [False, True, False, True, True, True]
    assert {one["CUDA_VISIBLE_DEVICES"] for one in machine.log} == {"4,7,8"}


def test_each_program_has_its_gpus_and_a_cache_of_its_own(machine: Machine) -> None:
    machine.program("all_reduce")
    machine.setup = dataclasses.replace(machine.setup, gpus=["1", "2", "3", "4", "5"])
    results = machine.measure("all_reduce", "all_reduce_4", columns=("counts", "records"))
    assert [one["CUDA_VISIBLE_DEVICES"] for one in machine.log] == ["1,2", "1,2", "1,2,3,4", "1,2,3,4"]
    first, second, third, _ = (one["SNOOPIE_CACHE"] for one in machine.log)
    assert first == second != third
    assert [s.cold for s in results.samples] == [True, False, True, False]


def test_a_program_without_enough_gpus_is_left_out(machine: Machine) -> None:
    machine.program("all_reduce")
    results = machine.measure("all_reduce_4")
    assert results.left_out == {"all_reduce_4": "all_reduce_4 needs 4 GPUs, 2 are visible"}
    assert not results.samples


def test_the_traces_of_several_processes_are_one_measurement(machine: Machine, two_process_folder: Path) -> None:
    written = 'os.environ["SNOOPIE_OUTPUT"]'
    copied = f"shutil.copytree({str(two_process_folder)!r}, os.path.dirname({written}), dirs_exist_ok=True)"
    machine.program("ring", code=PROGRAM.replace(f"shutil.copy(TRACE, {written})", copied))
    (counts,) = machine.measure("ring", columns=("counts",)).samples
    traces = list(two_process_folder.iterdir())
    assert len(traces) == 2
    assert counts.trace_bytes == sum(trace.stat().st_size for trace in traces)
    assert counts.totals["accesses"] == sum(cost.totals(trace)["accesses"] for trace in traces)


def test_what_cannot_run_is_left_out_with_its_own_sentence(machine: Machine) -> None:
    machine.program("stencil", code="import sys; print('stencil: needs two GPUs,\\n sees 1'); sys.exit(77)")
    results = machine.measure("stencil", "all_reduce", rounds=2)
    assert not results.samples
    assert not results.failures
    assert results.left_out == {
        "stencil": "stencil cannot run here: stencil: needs two GPUs, sees 1",
        "all_reduce": "all_reduce is not built: it needs NCCL, from the Python package nvidia-nccl-cu13",
    }


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"right": False, "status": 1}, "stencil, native: wrong result, status 1: "),
        ({"status": 5}, "stencil, native: wrong result, status 5: "),
        ({"code": "import sys; sys.exit('no\\nmemory')"}, "stencil, native: ended with status 1: no memory"),
        ({"code": "print('{}')"}, "stencil, native: ended with status 0: "),
        ({"code": "print('{nothing')"}, "stencil, native: ended with status 0: "),
    ],
)
def test_a_failure_is_one_sentence_and_not_repeated(
    machine: Machine, options: dict[str, object], sentence: str
) -> None:
    machine.program("stencil", **options)  # type: ignore[arg-type]
    results = machine.measure("stencil", columns=("native",), rounds=2)
    assert results.failures == {("stencil", "native"): sentence}
    assert not results.samples


def test_a_collector_that_writes_nothing_is_a_failure(machine: Machine) -> None:
    machine.program("stencil", code=PROGRAM.replace("shutil.copy", "print"))
    results = machine.measure("stencil", columns=("native", "counts"))
    assert [s.column for s in results.samples] == ["native"]
    assert results.failures[("stencil", "counts")].startswith("stencil, counts: no trace was written")


def test_a_trace_that_cannot_be_read_is_a_failure(machine: Machine, tmp_path: Path) -> None:
    machine.trace = tmp_path / "cut.zst"
    machine.trace.write_bytes(b"not a trace")
    machine.program("stencil")
    failures = machine.measure("stencil", columns=("counts",)).failures
    assert list(failures) == [("stencil", "counts")]
    assert "is not a Snoopie trace" in failures["stencil", "counts"]


def test_a_program_that_hangs_ends_with_all_that_it_started(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its child holds the ends of the pipes too.
    machine.program("ring", code="import subprocess; subprocess.run(['sleep', '60'])")
    monkeypatch.setattr(cost, "TIMEOUT", 1)
    begin = time.monotonic()
    results = machine.measure("ring", columns=("native",))
    assert results.failures == {("ring", "native"): "ring, native: not finished after 1 s"}
    assert time.monotonic() - begin < 30


def test_training_without_pytorch_cannot_run(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('nothing here')")
    ended = subprocess.run(
        [sys.executable, cost.SCRIPTS / "steps.py", "ddp", "1", "1"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == cost.CANNOT_RUN
    assert ended.stdout == "PyTorch is needed, with FSDP: nothing here\n"


def test_a_commit_is_named_and_whether_the_code_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "gpus", lambda: [{"name": "H200", "arch": "90", "driver": "580.1"}])
    monkeypatch.setattr(cost, "ROOT", tmp_path)
    assert cost.machine()["commit"] == "?"

    def git(*words: str) -> str:
        named = ["-c", "user.name=a", "-c", "user.email=a@b"]
        return subprocess.run(
            ["git", "-C", tmp_path, *named, *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    git("init", "-q")
    code = tmp_path / "code"
    code.write_text("1")
    git("add", "code")
    git("commit", "-qm", "one")
    git("tag", "-am", "tags are no commits", "v1")
    commit = git("rev-parse", "--short", "HEAD")
    assert cost.machine()["commit"] == commit
    code.write_text("2")
    assert cost.machine()["commit"] == f"{commit}-dirty"


def test_targets_compare_medians() -> None:
    results = Results(
        [
            sample("stencil", "native", 60, 65, 1000),
            sample("stencil", "loaded", 66, 66, 66),
            sample("stencil", "control", 2400),
            sample("stencil", "counts", 1200),
            sample("stencil", "counts", 1300),
            sample("stencil", "records", 65 * 19.8 / 0.065 / 20),
            sample("put", "native", 186),
            sample("put", "records", 6750 / 5),
            sample("launch_calls", "loaded", 4, 5),
            sample("launch_calls", "timed", 6, 6.5),
            sample("launch_calls", "untimed", 10),
            sample("launch_calls", "counts", 13.5),
        ]
    )
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in cost_report.targets(results).splitlines()]
    assert rows[2:] == [
        ["stencil: tool loaded / native", "1.015", "≤ 1.02", "met"],
        ["stencil: counts / control", "0.521", "≤ 0.5", "**not met**"],
        ["stencil: counts / native", "19.231", "≤ 1.05", "**not met**"],
        ["launch_calls: tool loaded + times beyond tool loaded", "+1.75 µs", "≤ +3 µs", "met"],
        ["launch_calls: counts beyond counts without times", "+3.50 µs", "≤ +3 µs", "**not met**"],
        ["put: counts + records, against the predecessor", "5.0", "≥ 6", "**not met**"],
        ["stencil: counts + records, against the predecessor", "20.0", "≥ 15", "met"],
    ]


def test_targets_of_whole_processes() -> None:
    def process(program: str, column: str, seconds: float, *, cold: bool = False) -> Sample:
        return Sample(program, column, [1], first=1, start=1, process=seconds, cold=cold)

    results = Results(
        [
            process("all_reduce_4", "native", 2),
            process("all_reduce_4", "loaded", 50),
            process("all_reduce_4", "counts", 4.5, cold=True),
            process("all_reduce_4", "counts", 3),
            process("all_reduce_4", "records", 5),
            process("ddp", "native", 10),
            process("ddp", "counts", 16, cold=True),
        ]
    )
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in cost_report.targets(results).splitlines()]
    assert [row for row in rows if "process" in row[0]] == [
        ["all_reduce_4, whole process: instrumented, cold, beyond native", "+2.50 s", "≤ +3 s", "met"],
        ["all_reduce_4, whole process: instrumented, warm, beyond native", "+2.00 s", "≤ +1.5 s", "**not met**"],
        ["ddp, whole process: counts / native", "1.600", "≤ 1.5", "**not met**"],
    ]


def test_every_target_is_of_columns_that_its_program_runs() -> None:
    for target in TARGETS:
        program = PROGRAMS[target.program]
        assert COLUMNS[target.column].runs(program)
        assert COLUMNS[target.base].runs(program)


def test_start_up_is_beyond_the_native_and_tells_cold_from_warm() -> None:
    results = Results(
        [
            sample("put", "native", 1, start=0.8),
            sample("put", "native", 1, start=1.0),
            sample("put", "native", 1, start=1.1),
            sample("put", "loaded", 1, start=1.5),
            sample("put", "counts", 1, start=9, cold=True),
            sample("put", "counts", 1, start=3),
            sample("put", "records", 1, start=4),
        ]
    )
    assert cost_report.starts(results).splitlines()[2] == "| put | 1.00 | +0.50 | – | +8.00 | +2.50 |"


def test_traces_show_the_median_process_and_the_share_dropped() -> None:
    totals = {
        "launches_seen": 22,
        "launches_measured": 11,
        "accesses": 5000,
        "records_written": 900,
        "records_dropped": 100,
    }
    traced = [
        Sample("put", "records", [1], 1, 1, 1, trace_bytes=size, totals=totals | {"accesses": size})
        for size in (1, 5_000_000, 2048)
    ]
    assert cost_report.traces(Results(traced)).splitlines()[2:] == [
        "| put | counts + records | 22 | 11 | 2,048 | 900 | 100 | 10.0% | 2.00 KiB |"
    ]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([0.0123], "0.0123"),
        ([2.5, 2.4, 2.6], "2.50 (2.40–2.60)"),
        ([99.94], "99.9"),
        ([99.96], "100"),
        ([19800.4], "19800"),
        ([], "–"),
    ],
)
def test_spread(values: list[float], text: str) -> None:
    assert cost_report.spread(values) == text


def test_the_section_replaces_the_one_before_and_nothing_else() -> None:
    first = cost_report.with_section("", "one\n")
    assert first.startswith("# Performance\n\n")
    around = first.replace("# Performance\n", "# Performance\n\n## The trace\n\nmine\n") + "\n## Last\n"
    second = cost_report.with_section(around, "two\n")
    assert second == around.replace("one\n", "two\n")
    assert cost_report.with_section("# Other\n", "one\n") == "# Other\n\n" + first.removeprefix("# Performance\n\n")


@pytest.mark.parametrize("options", [["--only", "stencil,nothing"], ["--columns", "nothing"]])
def test_an_unknown_name_is_refused(options: list[str]) -> None:
    with pytest.raises(SystemExit, match=r"^nothing is no (program|column); there are "):
        cost.main(options)


@pytest.fixture
def without_gpus(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The whole program on the stand-ins."""
    for name in {program.command[0] for program in PROGRAMS.values()} - {"all_reduce"}:
        machine.program(name)
    monkeypatch.setattr(cost, "gpus", lambda: [{"name": "H200", "arch": "90", "driver": "580.1"}] * 2)
    monkeypatch.setattr(cost, "build", lambda: machine.setup.programs)
    monkeypatch.setattr(cost, "collector", lambda: machine.setup.tools["collector"])
    monkeypatch.setattr(cost, "TIMES", machine.setup.tools["times"].name)
    monkeypatch.setattr(cost, "SCRIPTS", machine.setup.scripts)
    monkeypatch.setattr(cost, "CONTROL", machine.setup.tools["control"])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return lambda *options: cost.main([str(option) for option in options])


def test_a_whole_run_writes_the_document_and_the_figures(
    without_gpus: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document, raw = tmp_path / "performance.md", tmp_path / "raw.json"
    document.write_text("# Performance\n\nOther words.\n")
    assert without_gpus("--quick", "--repetitions", 7, "--out", document, "--json", raw) == 0
    written = document.read_text()
    assert written.startswith("# Performance\n\nOther words.\n")
    shown, _, last = capsys.readouterr().out.rpartition("\nwritten to ")
    assert shown in written
    assert last == f"{document}\n"
    assert "2 H200, driver 580.1" in written
    assert "1 process per cell" in written
    assert "at least 7 repetitions" in written
    assert "| stencil: counts / control | 0.400 | ≤ 0.5 | met |" in written
    assert "- all_reduce is not built" in written
    assert "- all_reduce_4 needs 4 GPUs, 2 are visible" in written
    figures = json.loads(raw.read_text())
    cells = [(s["program"], s["column"]) for s in figures["samples"]]
    assert len(set(cells)) == len(cells) == 4 * 10 + 6 * 8 + 5 + 3 * 5 + 3 + 6 + 3
    assert all(len(s["kernel"]) == 7 for s in figures["samples"])


def test_later_rounds_end_with_the_time_given(without_gpus: Callable[..., int], tmp_path: Path) -> None:
    raw = tmp_path / "raw.json"
    part = ("--only", "put,get", "--columns", "native,loaded", "--json", raw)
    assert without_gpus(*part, "--minutes", 0) == 0
    assert len(json.loads(raw.read_text())["samples"]) == 4
    assert without_gpus(*part, "--rounds", 2) == 0
    assert len(json.loads(raw.read_text())["samples"]) == 8


def test_a_failure_is_in_the_status(without_gpus: Callable[..., int], machine: Machine) -> None:
    machine.program("gemm", right=False, status=1)
    assert without_gpus("--quick", "--only", "gemm", "--columns", "native") == 1


def test_a_part_leaves_the_document_alone(without_gpus: Callable[..., int]) -> None:
    document = ROOT / "docs" / "performance.md"
    before = os.stat(document).st_mtime_ns if document.exists() else None
    assert without_gpus("--quick", "--only", "put", "--columns", "native") == 0
    assert (os.stat(document).st_mtime_ns if document.exists() else None) == before
