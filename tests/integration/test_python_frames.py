"""Python frames in call stacks, as real interpreters have them: a library asks for its stack as a caller of CUDA would.

nvbit_tool/tests/stacks/probe.cpp is that library. Each interpreter runs the same script, whose lines are known.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import snoopie
from tests.support.collector import COLLECTOR, make

SCRIPT = """
import ctypes, json, sys, threading

released, held = ctypes.CDLL(sys.argv[1]), ctypes.PyDLL(sys.argv[1])
released.begin(sys.argv[2].encode())
ids = {}

def inner(library, depth):
    if depth:
        return inner(library, depth - 1)  # deeper
    return library.capture()  # captured

class Thing:
    def method(self, library):
        return inner(  # method
            library,
            1)

def generator(library):
    yield inner(library, 0)  # yielded

ids["released"] = Thing().method(released)  # released
ids["held"] = Thing().method(held)  # held
ids["generator"] = next(generator(released))  # generator
ids["repeated"] = [inner(held, 0) for _ in range(3)]

@ctypes.CFUNCTYPE(ctypes.c_uint32)
def back():
    return released.capture()  # back

ids["through"] = released.capture_through(back)  # through

def wörk_λ𐤀():
    ids["thread"] = held.capture()  # thread

thread = threading.Thread(target=wörk_λ𐤀)
thread.start()
thread.join()

# Code objects that come and go, at the same addresses.
ids["generated"] = []
for number in range(50):
    names = {}
    exec(compile("def f%d(capture):\\n    return capture()" % number, "/nowhere/f%d.py" % number, "exec"), names)
    ids["generated"].append(names["f%d" % number](held.capture))
    del names

def descend(depth):
    return descend(depth - 1) if depth else held.capture()

ids["deep"] = descend(500)
print(json.dumps(ids))
released.end()
"""


def interpreters() -> dict[str, str]:
    """Version → path, of this Python and those on PATH."""
    found: dict[str, str] = {}
    for command in (sys.executable, *(f"python3.{minor}" for minor in (10, 11, 12, 13, 14))):
        path = shutil.which(command)
        ask = [path or "", "-c", "import ctypes, sys; print('%d.%d' % sys.version_info[:2], sys.executable)"]
        asked = path and subprocess.run(ask, capture_output=True, text=True)
        if asked and asked.returncode == 0:
            version, _, executable = asked.stdout.strip().partition(" ")
            found.setdefault(version, executable)
    return found


FOUND = interpreters()
KNOWN = sorted(set(FOUND) - {"3.10"})


@dataclass
class Seen:
    """What an interpreter's run of the script gave."""

    script: Path
    trace: snoopie.Trace
    ids: dict[str, int | list[int]]

    def line(self, marker: str) -> int:
        (number,) = [n for n, line in enumerate(SCRIPT.splitlines(), 1) if line.endswith(f"# {marker}")]
        return number

    def frames(self, name: str) -> list[tuple[str, int]]:
        """(function, line) of the stack's frames of Python, innermost first."""
        stack = self.trace.stack(self.ids[name])  # type: ignore[arg-type]
        own = stack[stack["python"] & (stack["file"] == str(self.script))]
        return [(function, int(line)) for function, line in zip(own["function"], own["line"], strict=True)]


@pytest.fixture(scope="module")
def probe() -> Path:
    make("stack_probe", "the library that asks for its stack")
    return COLLECTOR / "build" / "stack_probe.so"


@pytest.fixture(scope="module")
def run(probe: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Seen]:
    runs: dict[str, Seen] = {}

    def run_version(version: str) -> Seen:
        if version not in runs:
            folder = tmp_path_factory.mktemp("python")
            script, written = folder / "skript_é_€.py", folder / "stacks.zst"
            script.write_text(SCRIPT, "utf-8")
            command = [FOUND[version], str(script), str(probe), str(written)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
            runs[version] = Seen(script, snoopie.load(written), json.loads(done.stdout))
        return runs[version]

    return run_version


@pytest.mark.parametrize("version", KNOWN)
def test_frames_with_the_lock_held_and_released(run: Callable[[str], Seen], version: str) -> None:
    seen = run(version)
    assert seen.trace.notices.empty
    called = [("inner", "captured"), ("inner", "deeper"), ("Thing.method", "method")]
    for name in ("released", "held"):
        expected = [(function, seen.line(marker)) for function, marker in [*called, ("<module>", name)]]
        assert seen.frames(name) == expected


@pytest.mark.parametrize("version", KNOWN)
def test_native_frames_stay_between(run: Callable[[str], Seen], version: str) -> None:
    seen = run(version)
    stack = seen.trace.stack(seen.ids["through"])  # type: ignore[arg-type]
    functions = [f for f in stack["function"] if f in ("capture", "back", "capture_through", "<module>")]
    assert functions == ["capture", "back", "capture_through", "<module>"]
    assert seen.frames("through") == [("back", seen.line("back")), ("<module>", seen.line("through"))]
    modules = stack["module"].str.rpartition("/")[2]
    assert modules.str.contains("_ctypes").any()
    # Nothing of the interpreter itself.
    assert not modules.str.match(r"(?:lib)?python").any()


@pytest.mark.parametrize("version", KNOWN)
def test_generators_and_threads(run: Callable[[str], Seen], version: str) -> None:
    seen = run(version)
    assert seen.frames("generator") == [
        ("inner", seen.line("captured")),
        ("generator", seen.line("yielded")),
        ("<module>", seen.line("generator")),
    ]
    assert seen.frames("thread") == [("wörk_λ𐤀", seen.line("thread"))]
    stack = seen.trace.stack(seen.ids["thread"])  # type: ignore[arg-type]
    assert stack.loc[stack["python"], "function"].tolist()[1:] == [
        "Thread.run",
        "Thread._bootstrap_inner",
        "Thread._bootstrap",
    ]
    assert seen.trace.stack_label([seen.ids["thread"]]).tolist()[0].startswith("probe.cpp:")  # type: ignore[list-item]


@pytest.mark.parametrize("version", KNOWN)
def test_source_text(run: Callable[[str], Seen], version: str) -> None:
    seen = run(version)
    stack = seen.trace.stack(seen.ids["held"])  # type: ignore[arg-type]
    assert stack.loc[stack["python"], "code"].tolist() == [
        "return library.capture()  # captured",
        "return inner(library, depth - 1)  # deeper",
        "return inner(  # method library, 1)",
        'ids["held"] = Thing().method(held)  # held',
    ]


@pytest.mark.parametrize("version", KNOWN)
def test_the_same_place_is_the_same_stack(run: Callable[[str], Seen], version: str) -> None:
    repeated = run(version).ids["repeated"]
    assert isinstance(repeated, list)
    assert len(set(repeated)) == 1


@pytest.mark.parametrize("version", KNOWN)
def test_code_objects_at_the_same_address_are_told_apart(run: Callable[[str], Seen], version: str) -> None:
    seen = run(version)
    generated = seen.ids["generated"]
    assert isinstance(generated, list)
    for number, stack in enumerate(generated):
        frames = seen.trace.stack(stack)
        innermost = frames[frames["python"]].iloc[0]
        assert (innermost["function"], innermost["file"], innermost["line"]) == (
            f"f{number}",
            f"/nowhere/f{number}.py",
            2,
        )


@pytest.mark.parametrize("version", KNOWN)
def test_a_deep_recursion_is_cut(run: Callable[[str], Seen], version: str) -> None:
    frames = run(version).frames("deep")
    assert len(frames) == 256
    assert {function for function, _ in frames} == {"descend"}


def test_another_version_is_named(run: Callable[[str], Seen]) -> None:
    if "3.10" not in FOUND:
        pytest.skip("there is no Python 3.10, of which frames cannot be read")
    seen = run("3.10")
    (text,) = seen.trace.notices["text"]
    assert text.endswith("CPython 3.11 to 3.14 are known")
    assert not seen.trace.stack(seen.ids["held"])["python"].any()  # type: ignore[arg-type]
    assert "capture" in seen.trace.stack(seen.ids["held"])["function"].tolist()  # type: ignore[arg-type]
