"""What the command line imports before it has work to do, and who says which packages are missing."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import snoopie
from snoopie import cli
from snoopie.extras import APP

ROOT = Path(__file__).resolve().parents[3]
# What takes long to import.
SLOW = {"matplotlib", "numpy", "pandas", "pyarrow", "streamlit", "zstandard"}
# Import names of packages that have another.
NAMES = {"streamlit-aggrid": "st_aggrid", "streamlit-agraph": "streamlit_agraph"}


def python(code: str, *words: object) -> subprocess.CompletedProcess[str]:
    """Runs Python, where `sys.argv[1:]` are the words."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )


def requirements(extra: str) -> set[str]:
    """The packages that an extra brings, as they are imported."""
    lines = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"][extra]
    names = {line.partition(">")[0] for line in lines}
    return {NAMES.get(name, name) for name in names}


def test_help_and_version_import_nothing_slow() -> None:
    # One after another, so that the first that imports something is named.
    code = """
import contextlib, io, sys
from snoopie import cli
for words in ["--version"], ["--help"], *([name, "--help"] for name in cli.COMMANDS):
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
        cli.main(words)
    print(*words, *sys.modules)
"""
    lines = python(code).stdout.splitlines()
    assert len(lines) == 2 + len(cli.COMMANDS)
    for line in lines:
        first, second, *modules = line.split()
        assert SLOW & set(modules) == set(), (first, second)


def test_run_starts_the_program_before_it_imports_anything_slow(tmp_path: Path) -> None:
    code = """
import sys
from snoopie import cli
from snoopie.cli import process, tool
def run(program, command, environment):
    print(*sys.modules)
    return 3
process.run = run
tool.check_machine = lambda *_: None
tool.search_path = lambda environment: environment["PATH"]
sys.exit(cli.main(sys.argv[1:]))
"""
    library = tmp_path / "mem_multigpu.so"
    library.touch()
    done = python(code, "run", "-k", "k*", "-o", f"{tmp_path}/", "--tool", library, "--", sys.executable)
    assert done.returncode == 3, done.stderr
    assert SLOW & set(done.stdout.split()) == set()
    assert "snoopie.cli.run" in done.stdout.split()


def test_the_package_has_its_names_from_the_beginning() -> None:
    code = """
import sys, snoopie
assert "pandas" not in sys.modules
assert {*snoopie.__all__} <= {*dir(snoopie)}
from snoopie import *
print(load is snoopie.load, Trace.__module__, "pandas" in sys.modules)
"""
    assert python(code).stdout == "True snoopie.api.trace True\n"
    with pytest.raises(AttributeError, match="no attribute 'laod'"):
        snoopie.laod  # type: ignore[attr-defined]  # noqa: B018
    assert pickle.loads(pickle.dumps(snoopie.Trace)) is snoopie.Trace


# What a core without extras says


def without(extra: str) -> str:
    """Code that has Python find none of the packages of an extra, and then runs a command."""
    return f"""
import sys
sys.modules.update(dict.fromkeys({sorted(requirements(extra))!r}))
from snoopie import cli
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("app", ["view"]),
        ("plot", ["plot", "--figure", "matrix", "-o", "x.pdf"]),
        ("plot", ["report", "-o", "x.html"]),
        ("plot", ["report", "--interactive", "-o", "x.html"]),
        ("plot", ["memory", "--plot", "x.png"]),
        ("dask", ["stats", "--scheduler", "tcp://localhost:1"]),
    ],
)
def test_a_missing_package_is_one_sentence(extra: str, words: list[str], ring_path: Path) -> None:
    done = python(without(extra), *words, ring_path)
    assert done.returncode != 0
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("snoopie: ")
    assert line.endswith(f" not installed; pip install 'snoopie[{extra}]'")
    named = set(line.partition(" needs ")[2].replace(",", " ").split()) & requirements(extra)
    assert named
    # All that the app needs is named at once.
    assert extra != "app" or named == requirements("app") == set(APP)


def test_next_is_a_command_that_works(ring_path: Path) -> None:
    done = python(without("app"), "stats", ring_path)
    assert done.stderr.splitlines()[-1] == f"Next: pip install 'snoopie[app]' && snoopie view {ring_path}"


def test_the_core_alone_reads_queries_and_exports(ring_path: Path, tmp_path: Path) -> None:
    extras = set().union(*(requirements(extra) for extra in ("app", "plot", "dask")))
    trace = str(ring_path)
    commands = [[name, trace] for name in ("info", "stats", "findings", "calls", "memory", "summary")]
    commands += [["diff", trace, trace], ["export", trace, "--format", "parquet", "-o", str(tmp_path / "tables")]]
    # In one interpreter: no command can bring another what Python finds nowhere.
    code = f"""
import sys
sys.modules.update(dict.fromkeys({sorted(extras)!r}))
from snoopie import cli
for words in {commands!r}:
    print("ended", *words[:1], cli.main(words), file=sys.stderr)
"""
    done = python(code)
    ended = [line for line in done.stderr.splitlines() if line.startswith("ended")]
    assert ended == [f"ended {words[0]} 0" for words in commands], done.stderr
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


def test_figures_of_the_interface_say_what_is_missing(ring_path: Path) -> None:
    code = f"""
import sys
sys.modules.update(dict.fromkeys({sorted(requirements("plot"))!r}))
import snoopie
try:
    snoopie.load(sys.argv[1]).plot_matrix()
except snoopie.SnoopieError as error:
    print(error)
"""
    assert python(code, ring_path).stdout == (
        "a figure needs matplotlib and seaborn, which are not installed; pip install 'snoopie[plot]'\n"
    )
