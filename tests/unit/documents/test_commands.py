"""Every command that a document shows is run here, or is one of those that cannot be, with the reason.

Commands are the lines of indented or fenced blocks, and what stands elsewhere as `snoopie …` with arguments.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from snoopie import cli
from snoopie.cli.parsers import parse
from tests.support import native
from tests.support.encoder import START_NS, TraceBuilder

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md")])

# Run as they are, in a folder that has what they name: command → exit status.
RUN = {
    "snoopie stats sample_traces/ring-4gpu.zst --by line": 0,
    "snoopie findings sample_traces/ring-4gpu.zst": 0,
    "snoopie expect sample_traces/ring-4gpu.zst 'pairs == ring'": 0,
    "snoopie diff sample_traces/jacobi-2gpu.zst sample_traces/jacobi-4gpu.zst --by pair": 0,
    "snoopie report sample_traces/jacobi-2gpu.zst -o report.html": 0,
    "snoopie export sample_traces/jacobi-2gpu.zst --format parquet -o tables/": 0,
    "snoopie stats sample_traces/ring-4gpu.zst --by line -k put --issuer 0 --launches 0-5": 0,
    "snoopie view sample_traces/jacobi-2gpu.zst": 0,
    "snoopie view snoopie-app-*": 0,
    "snoopie diff before/ after/ --fail-if-increase bytes:5% --fail-if-increase launches:0"
    " --fail-if-increase leaks:0": 3,
    "snoopie expect trace.zst 'bytes(GPU 0 -> GPU 1) == 3*N*4' 'bytes(line=\"halo.cu:42\") <= 1GiB' 'pairs == ring'"
    " --let N=4096": 3,
    "snoopie expect TRACE 'bytes(GPU 0 -> GPU 1) == 3*N*4' 'pairs == ring' --let N=4096": 3,
    "snoopie view TRACE… --source DIR": 0,
    "snoopie view TRACE…": 0,
    "snoopie stats TRACE… --by line": 0,
    "snoopie stats TRACE… --by line --times CLEAN": 0,
    "snoopie stats exact/ --by line --times clean/": 0,
    "snoopie stats FOLDER": 0,
    "snoopie view FOLDER": 0,
    "snoopie stats TRACE… --by range": 0,
    "snoopie stats trace.zst --by line --range halo": 0,
    "snoopie stats trace.zst --range 'step*' --range halo@app": 0,
    "snoopie findings TRACE…": 0,
    "snoopie findings TRACE": 0,
    "snoopie check TRACE…": 0,
    "snoopie check TRACE": 0,
    "snoopie diff A B --fail-if-increase bytes:5%": 3,
    "snoopie calls TRACE…": 0,
    "snoopie info TRACE…": 0,
    "snoopie info FOLDER": 0,
    "snoopie info --allow-truncated TRACE": 0,
    "snoopie memory TRACE… --plot memory.png": 0,
    "snoopie memory TRACE… --events": 0,
    "snoopie export TRACE… --format parquet -o DIR": 0,
    "snoopie export TRACE… --format sqlite -o x.sqlite": 0,
    "snoopie export TRACE… --format chrome -o x.json": 0,
    "snoopie export TRACE… --format chrome --kernel-names --group process -o x.json": 0,
    "snoopie export TRACE… --format flamegraph -o x.svg": 0,
    "snoopie summary TRACE…": 0,
    "snoopie waits TRACE…": 0,
    "snoopie report TRACE… -o report.html": 0,
    "snoopie report TRACE… --interactive -o report.html": 0,
    "snoopie report sample_traces/halo-4gpu --interactive --source sample_traces/halo-4gpu -o report.html": 0,
    "snoopie plot TRACE… --figure matrix -o x.pdf": 0,
    'eval "$(snoopie completion bash)"': 0,
}

GPU = "traces a program on GPUs: tests/gpu runs such"
BUILD = "compiles with NVBit and nvcc: tests/readme/first_minutes does; tests/unit/cli/test_cli_build.py has the rest"
MPI = "needs a launcher on several hosts"
SLURM = "needs a Slurm cluster"
IMPORT = "needs another tool's recording: tests/unit/importers makes and imports them"
FOLLOWED = "needs a run that goes on: tests/unit/cli/test_cli_following.py"
WATCH = "needs root and a program that calls CUDA: tests/integration/test_watch.py"
DASK = "needs a cluster: tests/unit/api/test_cluster.py starts one"
INSTALL = "installs packages: tests/readme/first_minutes runs it"
CHECKS = "is what runs this test"

# Not run: command → why. What is a command of snoopie is held against its parser all the same.
FUZZ = "runs for hours; tests/fuzz has tests of its own"
NOT_RUN = {
    "python -m tests.fuzz --minutes 60": FUZZ,
    "python -m tests.fuzz --minutes 60 reader nsys": FUZZ,
    "python -m tests.fuzz --minutes 60 --seeds FOLDER nsys": FUZZ,
    "python -m tests.fuzz --seed 11 --first 7 --inputs 1 reader": FUZZ,
    "python -m tests.fuzz --input build/fuzz/reader-11-7.zst reader": FUZZ,
    "python -m tests.fuzz.guided --minutes 60 reader": FUZZ,
    "nvbit_tool/tests/fuzz/run 60": FUZZ,
    "nvbit_tool/tests/fuzz/run 60 cubin line_table": FUZZ,
    "make -C nvbit_tool fuzz INPUTS=100000 SEED=7": FUZZ,
    "python3 -m venv .venv": INSTALL,
    ". .venv/bin/activate": INSTALL,
    "pip install '.[app]'": INSTALL,
    "pip install 'snoopie[dask]'": INSTALL,
    "tests/run": CHECKS,
    "tests/run lint types": CHECKS,
    "tests/run tests/unit -k cli": CHECKS,
    ".venv/bin/pre-commit install": "changes the checkout's git hooks",
    "snoopie build --nvbit /opt/nvbit/core": BUILD,
    "snoopie build --nvbit /opt/nvbit/core --arch 90,100": BUILD,
    "snoopie build --nvbit DIR": BUILD,
    "make -C nvbit_tool -j8 ARCH=80,90 NVBIT_PATH=/opt/nvbit/core": BUILD,
    "sudo make -C nvbit_tool install ARCH=80,90 NVBIT_PATH=/opt/nvbit/core PREFIX=/usr/local": "needs root",
    "snoopie run -- ./app args": GPU,
    "snoopie run --with-times -- ./app args": GPU,
    "LD_PRELOAD=/path/to/snoopie_times.so SNOOPIE_OUTPUT=clean/ ./app args": GPU,
    "snoopie run -o after/ -- ./app args": GPU,
    "snoopie run -o trace.zst -- ./halo 4096": GPU,
    "snoopie run -o 'traces/%h.%p.zst'": GPU,
    "snoopie run -k 'sweep*' -s 0 --launch-sample 10 -- ./app args": GPU,
    "snoopie run --tensors -- python train.py": GPU,
    "snoopie run -k nccl -s 0 -- torchrun --nproc-per-node=4 train.py": GPU,
    "snoopie run -- mpirun -n 4 ./app": GPU,
    "LD_PRELOAD=/path/to/mem_multigpu.so KERNEL_NAME=sweep ./app args": GPU,
    "LD_PRELOAD='/path/to/mem_multigpu.so /path/to/libsnoopie_collector.so' ./app args": GPU,
    "snoopie run -- mpirun -n 16 -x LD_PRELOAD -x SNOOPIE_OUTPUT ./app": MPI,
    "snoopie run -- mpiexec -n 16 -genvall ./app": MPI,
    "mkdir -p traces": SLURM,
    "srun snoopie run -o traces/ -- ./app": SLURM,
    "srun env LD_PRELOAD=\"$SNOOPIE_TOOL\" SNOOPIE_OUTPUT='traces/%n.%h.%p.zst' ./app": SLURM,
    "podman build -f docs/sites/Containerfile --build-context nvbit=/opt/nvbit/core --build-arg ARCH=90 -t snoopie .": (
        "needs a container engine"
    ),
    "dask scheduler --scheduler-file /shared/dask.json": DASK,
    "dask worker --scheduler-file /shared/dask.json": DASK,
    "snoopie stats --by line --scheduler-file /shared/dask.json /shared/run": DASK,
    "snoopie view --scheduler tcp://head:8786 /shared/run": DASK,
    "snoopie import nsys REPORT": IMPORT,
    "snoopie import nsys report.sqlite": IMPORT,
    "snoopie import nsys report.nsys-rep": IMPORT,
    "snoopie import nsys report_pqtdir/": IMPORT,
    "snoopie import nsys ranks/": IMPORT,
    "snoopie import FILE…": IMPORT,
    "snoopie import KIND FILE": IMPORT,
    "snoopie import kineto FILE": IMPORT,
    "snoopie import traces/ -o run.zst": IMPORT,
    "snoopie memory TRACE… --plot memory.png --nvidia-smi LOG": "needs a log of nvidia-smi: tests/unit/analysis/memory",
    "snoopie import snoopie-log FOLDER": IMPORT,
    "snoopie memory --profile -- ./app args": GPU,
    "snoopie hang 4711": "asks a running program: tests/integration/test_hang.py does",
    "snoopie import rtg FILE": IMPORT,
    "snoopie import alnair FOLDER": IMPORT,
    "snoopie view --source-map /build/app=/home/me/app": "is a part of a command: the trace is missing",
    "sudo snoopie watch --pid 4711 --for 30s -o trace.zst": WATCH,
    "snoopie run --prometheus -- ./app": FOLLOWED,
    "snoopie run --prometheus -- torchrun …": FOLLOWED,
    "snoopie watch --live FOLDER": FOLLOWED,
    "snoopie watch --live snoopie-app-20261122-224003-3fa9/": FOLLOWED,
    "sudo snoopie watch --all --prometheus": WATCH,
    "sudo snoopie watch --all --otlp http://collector:4318": WATCH,
    "snoopie watch --all -o traces/": WATCH,
    "snoopie help COMMAND": "stands for a word of its own for each command",
}

# Blocks that are neither commands nor Python, by how they begin.
SHOWN = (
    "nvbit_tool/  records",
    "snoopie: bytes rose",
    "holds:       bytes",
    "containers:",
    '#include "snoopie.h"',
    "snoopie: t.zst has",
    "file  := block",
    '{"format"',
)

BLOCK = re.compile(r"(?:^(?: {4}.*)?\n)+", re.MULTILINE)
FENCED = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(snoopie [^`]*)`")


def blocks(text: str) -> Iterator[str]:
    for match in FENCED.finditer(text):
        yield match[1].strip("\n")
    for match in BLOCK.finditer(FENCED.sub("", text)):
        if match[0].strip():
            yield re.sub("^    ", "", match[0], flags=re.MULTILINE).strip("\n")


def is_python(block: str) -> bool:
    try:
        return any(isinstance(node, ast.Call) for node in ast.walk(ast.parse(block)))
    except SyntaxError:
        return False


def commands(text: str) -> Iterator[str]:
    """The commands of a document, without their remarks."""
    for block in blocks(text):
        if is_python(block) or block.startswith(SHOWN):
            continue
        for line in block.splitlines():
            if command := re.split(r"(?:^|\s+)#", line)[0].strip():
                yield command
    # What has no argument names a command or an option.
    for span in INLINE.findall(text):
        if any(not word.startswith("-") for word in shlex.split(span)[2:]):
            yield span


def found() -> set[str]:
    return {command for document in DOCUMENTS for command in commands(document.read_text("utf-8"))}


def halo(path: Path) -> None:
    """The program of docs/expect.md: four GPUs, of which the last does not send to the first."""
    builder = TraceBuilder(4)
    store = builder.site(builder.function("exchange"), "STG.E", "store", 4, line=builder.line("/home/u/halo.cu", 42))
    for issuer in range(3):
        launch = builder.launch(1, issuer)
        builder.count(launch, store, issuer + 1, 3 * 4096 // 32, 3 * 4096, 3 * 4096 * 4 // 32)
    for name, domain in (("halo", ""), ("halo", "app"), ("step 1", "")):
        named = {"name": builder.string(name), "domain": builder.string(domain) if domain else 0}
        builder.add("ranges", thread=4711, start=START_NS, end=START_NS + 10**6, pushed=1, **named)
    builder.write(path)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the commands name."""
    (tmp_path / "sample_traces").symlink_to(ROOT / "sample_traces")
    samples = ROOT / "sample_traces"
    for name in ("TRACE", "A", "FOLDER", "before", "snoopie-app-20261122-224003-3fa9"):
        (tmp_path / name).mkdir()
        shutil.copy(samples / "jacobi-2gpu.zst", tmp_path / name)
    for name in ("B", "after"):
        (tmp_path / name).mkdir()
        shutil.copy(samples / "jacobi-4gpu.zst", tmp_path / name)
    (tmp_path / "DIR").mkdir()
    halo(tmp_path / "trace.zst")
    work = [native.Rank([[native.Launch("put", moves=True)]])]
    native.write_exact(tmp_path / "exact", work)
    native.write_clean(tmp_path / "clean", work)
    (tmp_path / "CLEAN").symlink_to("clean")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_command_is_known() -> None:
    shown = found()
    assert sorted(shown - RUN.keys() - NOT_RUN.keys()) == [], "neither run nor known to be impossible to run"
    assert sorted((RUN.keys() | NOT_RUN.keys()) - shown) == [], "in no document any more"
    assert not RUN.keys() & NOT_RUN.keys()


def words(command: str) -> list[str]:
    """The arguments of a command of snoopie, which may stand within another."""
    if inner := re.search(r"\$\((.*)\)", command):
        command = inner[1]
    split = shlex.split(command.replace("…", ""))
    return split[split.index("snoopie") + 1 :]


@pytest.mark.parametrize("command", RUN)
def test_what_can_be_run(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _, app: opened.append(app))
    if "expect TRACE" in command:
        shutil.copy(folder / "trace.zst", folder / "TRACE" / "jacobi-2gpu.zst")
    assert (cli.main(words(command)) or 0) == RUN[command], capsys.readouterr().err
    assert "Traceback" not in capsys.readouterr().err
    assert bool(opened) == command.startswith("snoopie view")


@pytest.mark.parametrize("command", [one for one in NOT_RUN if re.search(r"(^|srun )snoopie ", one)])
def test_the_others_are_understood(command: str) -> None:
    if command == "snoopie help COMMAND":
        return
    given = words(command)
    if "part of a command" in NOT_RUN[command]:
        given.append("trace.zst")
    with contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            arguments = parse(cli.COMMANDS, given)
        except SystemExit:
            pytest.fail(said.getvalue())
    assert arguments.name == given[0]


def test_expect_prints_what_its_document_shows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "expect.md").read_text("utf-8")
    command = next(one for one in commands(text) if "trace.zst" in one and one.startswith("snoopie expect"))
    cli.main(words(command))
    assert capsys.readouterr().out.rstrip("\n") == next(one for one in blocks(text) if one.startswith("holds:"))


def test_names_of_commands_and_options_exist() -> None:
    for document in DOCUMENTS:
        for span in INLINE.findall(document.read_text("utf-8")):
            name, *options = shlex.split(span)[1:]
            assert name in cli.COMMANDS or name == "COMMAND", f"{document.name}: {span}"
            if options and all(option.startswith("-") for option in options):
                with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
                    parse(cli.COMMANDS, [name, "--help"])
                assert [option for option in options if option not in said.getvalue()] == [], f"{document.name}: {span}"


def test_what_is_a_command() -> None:
    shell, python, fenced = "    make x  # y", "    import z\n    z.f()", "```sh\nls #\n```"
    text = f"Say `snoopie stats`, or `snoopie stats x`.\n\n{shell}\n\nIn Python:\n\n{python}\n\n{fenced}\n"
    assert list(commands(text)) == ["ls", "make x", "snoopie stats x"]
