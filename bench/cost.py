"""What the collector costs the kernels:  python bench/cost.py [--quick]

Needs two GPUs that reach each other's memory, nvcc and make, the collector (nvbit_tool/mem_multigpu.so, or SNOOPIE_TOOL
names another) and NVBit (NVBIT_PATH); for the all-reduces also the Python package nvidia-nccl-cu13, for the training
PyTorch. A program that needs four GPUs is left out where there are fewer. Nothing else should use these GPUs meanwhile.
cost_plan.py declares what is measured; the programs are in kernels/ and training/, the control is in control/.
Each process checks its own result.

Processes run one after another, in rounds. A round runs every cell of the tables once, so that a slow change of the
machine affects all cells alike. A full run has three rounds, as far as --minutes allows; --quick has one. Both write
docs/performance.md. A part (--only, --columns) is only printed, unless --out names a file. The exit status is 1 if a
program failed.

    python bench/cost.py --only stencil,put --columns native,control,counts
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import functools
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
CONTROL = HERE / "control" / "control.so"
SCRIPTS = HERE / "training"
sys.path[:0] = [str(HERE), str(ROOT)]

import cost_report  # noqa: E402
from cost_plan import COLUMNS, PROGRAMS, Column, Program  # noqa: E402
from cost_report import Results, Sample  # noqa: E402

import snoopie  # noqa: E402
from snoopie import SnoopieError  # noqa: E402
from snoopie.cli.places import TIMES  # noqa: E402
from snoopie.cli.settings import BY_VARIABLE  # noqa: E402

REPETITIONS = 9
ROUNDS = 3
# Of one process. NCCL's functions can take long to disassemble, and a model to compile.
TIMEOUT = 300
CANNOT_RUN = 77

# Variables of the user's shell that would change what is measured.
SETTINGS = {*BY_VARIABLE, "LD_PRELOAD", "CUDA_INJECTION64_PATH"}
# Nothing but the GPUs' links carries NCCL's data; multicast can put switches that others share out of service.
NCCL = {"NCCL_NVLS_ENABLE": "0", "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1"}


class CannotRunError(Exception):
    """A program cannot run on this machine, in one sentence."""


class FailedError(Exception):
    """A process ended with an error or a wrong result, in one sentence."""


# --- one process ---


@dataclasses.dataclass(frozen=True)
class Setup:
    """Where things are, and how much is measured."""

    programs: Path
    """Folder of the executables."""
    scripts: Path
    """Folder of the programs in Python."""
    tools: Mapping[str, Path]
    folder: Path
    """For traces and the cache of disassembly."""
    gpus: Sequence[str]
    """As CUDA_VISIBLE_DEVICES names them: all that a program may be given."""
    repetitions: int = REPETITIONS

    def command(self, program: Program, column: Column) -> list[str]:
        launches = program.sampled_launches if column.sampled else program.launches
        mapping = ["--mapping"] if program.local and not column.alone else []
        executable, *first = program.command
        started = (
            [sys.executable, str(self.scripts / executable)] if program.script else [str(self.programs / executable)]
        )
        return [*started, *first, str(self.repetitions), str(launches), *mapping]

    def environment(self, program: Program, column: Column, traces: Path) -> dict[str, str]:
        gpus = self.gpus[: 1 if column.alone else program.gpus]
        tool = {"LD_PRELOAD": str(self.tools[column.tool])} if column.tool else {}
        # A cache for each: programs share kernels, and every one of them starts cold once.
        own = {"SNOOPIE_OUTPUT": str(traces / "%p.zst"), "SNOOPIE_CACHE": str(self.folder / "cache" / program.name)}
        return {**environment(), "CUDA_VISIBLE_DEVICES": ",".join(gpus), **tool, **own, **column.settings}


def environment() -> dict[str, str]:
    """The user's, without what would change what is measured, and with what NCCL must be told."""
    return {name: value for name, value in os.environ.items() if name not in SETTINGS} | NCCL


def last_words(ended: subprocess.CompletedProcess[str]) -> str:
    """The end of what it has said on stderr, in a line."""
    return " ".join(ended.stderr.split()[-60:])


def last_object(output: str) -> Any:
    """The last line of JSON that a program prints; None where there is none."""
    lines = [line for line in output.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else None


def parse_output(output: str) -> dict[str, Any]:
    """The figures that a program prints as its last line of JSON. ValueError where there are none."""
    figures = last_object(output)
    if not isinstance(figures, dict) or not {"right", "launches", "first_ms", "first_end", "ms"} <= figures.keys():
        raise ValueError("no line of figures")
    return figures


def measure(setup: Setup, program: Program, column: Column, *, cold: bool) -> Sample:
    """Runs a program once. CannotRunError, FailedError."""
    if program.gpus and len(setup.gpus) < program.gpus:
        raise CannotRunError(f"{program.name} needs {program.gpus} GPUs, {len(setup.gpus)} are visible")
    traces = setup.folder / "traces"
    shutil.rmtree(traces, ignore_errors=True)
    traces.mkdir()
    name = f"{program.name}, {column.heading}"
    begin = time.monotonic_ns()
    try:
        ended = run(setup.command(program, column), setup.environment(program, column, traces), setup.folder)
    except FileNotFoundError:
        raise CannotRunError(f"{program.name} is not built: {needs(program)}") from None
    except subprocess.TimeoutExpired:
        raise FailedError(f"{name}: not finished after {TIMEOUT} s") from None
    process = (time.monotonic_ns() - begin) * 1e-9
    if ended.returncode == CANNOT_RUN:
        raise CannotRunError(f"{program.name} cannot run here: {' '.join(ended.stdout.split())}")
    try:
        figures = parse_output(ended.stdout)
    except ValueError:
        raise FailedError(f"{name}: ended with status {ended.returncode}: {last_words(ended)}") from None
    if not figures["right"] or ended.returncode != 0:
        raise FailedError(f"{name}: wrong result, status {ended.returncode}: {last_words(ended)}")
    sample = Sample(
        program=program.name,
        column=column.name,
        kernel=[ms * 1e3 / figures["launches"] for ms in figures["ms"]],
        first=figures["first_ms"],
        start=(figures["first_end"] - begin) * 1e-9,
        process=process,
        cold=cold,
    )
    if column.tool in ("", "control"):
        return sample
    written = sum(trace.stat().st_size for trace in traces.iterdir())
    if not written:
        raise FailedError(f"{name}: no trace was written: {last_words(ended)}")
    try:
        # PyTorch kills the processes that compile for it: their traces, if they have any, lack the footer.
        found = totals(traces, allow_truncated=program.script)
    except SnoopieError as error:
        raise FailedError(f"{name}: {error}") from None
    return dataclasses.replace(sample, trace_bytes=written, totals=found)


def run(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end, or for TIMEOUT seconds: then it and all that it started are killed."""
    with subprocess.Popen(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=TIMEOUT)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def needs(program: Program) -> str:
    if program.command[0] == "all_reduce":
        return "it needs NCCL, from the Python package nvidia-nccl-cu13"
    return "make -C bench/kernels"


def totals(traces: Path, *, allow_truncated: bool = False) -> dict[str, int]:
    """Of the footer of a trace, or the sums over all in a folder."""
    return snoopie.load(traces, allow_truncated=allow_truncated).totals


# --- all of them ---


def one_round(setup: Setup, results: Results, programs: Sequence[Program], columns: Sequence[Column]) -> Iterator[None]:
    """Runs each program once for each column, as far as they did not fail before, and adds to `results`."""
    for program in programs:
        for column in columns:
            cell = (program.name, column.name)
            if program.name in results.left_out or cell in results.failures or not column.runs(program):
                continue
            cold = column.instruments and not any(s.cold for s in results.samples if s.program == program.name)
            try:
                sample = measure(setup, program, column, cold=cold)
            except CannotRunError as error:
                results.left_out[program.name] = str(error)
                say(str(error))
            except FailedError as error:
                results.failures[cell] = str(error)
                say(str(error))
            else:
                results.samples.append(sample)
                say(
                    f"{program.name:16} {column.name:12} {cost_report.spread(sample.kernel):>28} µs,"
                    f" started in {sample.start:.2f} s, {sample.process:.2f} s in all"
                )
            yield


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# --- the machine ---


def of_gpus(*facts: str) -> list[list[str]]:
    """What nvidia-smi says now of each GPU of this machine."""
    command = ["nvidia-smi", f"--query-gpu={','.join(facts)}", "--format=csv,noheader"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        raise SystemExit("no NVIDIA GPU was found: nvidia-smi lists none") from None
    rows = [[part.strip() for part in line.split(",")] for line in listed.splitlines()]
    return [row for row in rows if len(row) == len(facts)]


@functools.cache
def gpus() -> list[dict[str, str]]:
    """Name, architecture (as nvcc writes it) and driver of the GPUs of this machine."""
    rows = of_gpus("name", "compute_cap", "driver_version")
    return [{"name": name, "arch": capability.replace(".", ""), "driver": driver} for name, capability, driver in rows]


def visible_gpus() -> list[str]:
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return named.split(",") if named else [str(place) for place in range(len(gpus()))]


def release(command: Sequence[str], before: str = "") -> str:
    """The word after `before`, or else the first, in what a command prints; "?" where it cannot be had."""
    try:
        text = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    except OSError:
        return "?"
    after = (text.partition(before)[2] if before else text).split()
    return after[0].strip('",') if after else "?"


def machine() -> dict[str, str]:
    header = Path(os.environ.get("NVBIT_PATH", "/opt/nvbit/core")) / "nvbit.h"
    nvbit = header.read_text(errors="replace").partition("#define NVBIT_VERSION")[2] if header.is_file() else ""
    return {
        "gpus": f"{len(visible_gpus())} {gpus()[0]['name']}",
        "driver": gpus()[0]["driver"],
        "cuda": release(["nvcc", "--version"], "release"),
        "nvbit": (nvbit.split() or ["?"])[0].strip('"'),
        "snoopie": snoopie.__version__,
        # With "-dirty" where the code is not, or not only, the commit's.
        "commit": release(["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--exclude=*"]),
        "python": platform.python_version(),
    }


def describe(machine: Mapping[str, str]) -> str:
    commit = "" if machine["commit"] == "?" else f" ({machine['commit']})"
    return (
        f"{machine['gpus']}, driver {machine['driver']}, CUDA {machine['cuda']}, NVBit {machine['nvbit']}, "
        f"Snoopie {machine['snoopie']}{commit}"
    )


def make(folder: Path, *words: str) -> None:
    """SystemExit, with what it said, where it fails."""
    made = subprocess.run(["make", "-C", str(folder), *words], capture_output=True, text=True)
    if made.returncode != 0:
        raise SystemExit(f"make -C {folder} failed:\n{made.stdout}{made.stderr}")


def build() -> Path:
    """Makes the programs and the control as far as needed; the folder of the programs."""
    arch = gpus()[0]["arch"]
    nvbit = os.environ.get("NVBIT_PATH")
    for folder, settings in (
        (HERE / "kernels", (f"PYTHON={sys.executable}",)),
        (HERE / "control", (f"NVBIT_PATH={nvbit}",) if nvbit else ()),
    ):
        make(folder, f"-j{os.cpu_count() or 1}", f"ARCH={arch}", *settings)
    return HERE / "kernels" / "build" / f"sm_{arch}"


def collector() -> Path:
    tool = Path(os.environ.get("SNOOPIE_TOOL") or ROOT / "nvbit_tool" / "mem_multigpu.so").resolve()
    if not tool.is_file():
        raise SystemExit(f"no collector at {tool}: build it (make -C nvbit_tool) or name one in SNOOPIE_TOOL")
    return tool


def chosen(text: str | None, known: Mapping[str, Any], what: str) -> list[Any]:
    """What a list separated by commas names, all without one."""
    names = list(known) if text is None else [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"{unknown[0]} is no {what}; there are {', '.join(known)}")
    return [value for name, value in known.items() if name in names]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=str(__doc__).splitlines()[0],
        epilog=f"Programs: {', '.join(PROGRAMS)}. Columns: {', '.join(COLUMNS)}.",
    )
    parser.add_argument("--quick", action="store_true", help="one round")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"processes for each cell ({ROUNDS})")
    parser.add_argument("--minutes", type=float, default=12, help="no further process of a second or later round (12)")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help=f"in a process ({REPETITIONS})")
    parser.add_argument("--only", metavar="PROGRAM,…", help="only these programs")
    parser.add_argument("--columns", metavar="COLUMN,…", help="only these columns")
    parser.add_argument("--out", type=Path, help="document whose section is written (docs/performance.md)")
    parser.add_argument("--json", type=Path, help="file for all single figures")
    options = parser.parse_args(arguments)
    programs = chosen(options.only, PROGRAMS, "program")
    columns = chosen(options.columns, COLUMNS, "column")
    begin = time.monotonic()
    end = begin + 60 * options.minutes

    found = machine()
    whole = options.only is None and options.columns is None
    out = options.out or (ROOT / "docs" / "performance.md" if whole else None)
    tools = {"collector": collector(), "control": CONTROL, "times": collector().with_name(TIMES)}
    results = Results()
    text = ""
    with tempfile.TemporaryDirectory(prefix="snoopie-cost-") as folder:
        setup = Setup(build(), SCRIPTS, tools, Path(folder), visible_gpus(), options.repetitions)
        say(f"built after {time.monotonic() - begin:.0f} s")
        for turn in range(1 if options.quick else options.rounds):
            for _ in one_round(setup, results, programs, columns):
                if turn > 0 and time.monotonic() > end:
                    break
            # After each round, lest a run that is ended early be lost.
            text = report(found, results, options.json, out)
            say(f"{time.monotonic() - begin:.0f} s after the start")
            if time.monotonic() > end:
                break
    if out:
        text = f"{cost_report.targets(results)}\nwritten to {out}"
    print(text)
    return 1 if results.failures else 0


def report(machine: Mapping[str, str], results: Results, raw: Path | None, document: Path | None) -> str:
    """Writes the figures so far to the files that are named; the section of the document."""
    text = cost_report.section(results, describe(machine), datetime.date.today().isoformat())
    if raw:
        samples = [dataclasses.asdict(sample) for sample in results.samples]
        missing = {"left_out": list(results.left_out.values()), "failures": list(results.failures.values())}
        raw.write_text(json.dumps({"machine": dict(machine), "samples": samples, **missing}, indent=1) + "\n")
    if document:
        before = document.read_text() if document.is_file() else ""
        document.write_text(cost_report.with_section(before, text))
    return text


if __name__ == "__main__":
    sys.exit(main())
