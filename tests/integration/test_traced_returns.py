"""Call stacks of a program whose driver another program traces: the kernel holds the callers' addresses meanwhile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import snoopie
from tests.support import watched
from tests.support.collector import COLLECTOR, make
from tests.support.watched import Watch

DRIVER = """
unsigned (*inside)(void);
int cuInit(unsigned flags) { (void)flags; return 0; }
int cuMemAlloc_v2(unsigned long *address, unsigned long bytes) {
    *address = bytes;
    return (int)inside() * 2;
}
"""
SCRIPT = """
import ctypes, sys
driver, probe = ctypes.CDLL(sys.argv[1]), ctypes.CDLL(sys.argv[2])
assert probe.begin(sys.argv[3].encode()) == 0
ctypes.c_void_p.in_dll(driver, "inside").value = ctypes.cast(probe.capture, ctypes.c_void_p).value
def allocates():
    return driver.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), 1) // 2
for _ in range(2):
    print("ready", flush=True)
    input()
    print(allocates(), flush=True)
assert probe.end() == 0
"""

pytestmark = [watched.where_possible, pytest.mark.usefixtures("watch_built", "nothing_left")]


def test_stacks_end_where_returns_are_traced(tmp_path: Path) -> None:
    (tmp_path / "driver.c").write_text(DRIVER)
    (tmp_path / "script.py").write_text(SCRIPT)
    driver, probe, written = tmp_path / "libcuda.so.1", COLLECTOR / "build" / "stack_probe.so", tmp_path / "stacks.zst"
    subprocess.run(["gcc", "-g", "-O2", "-shared", "-fPIC", "-o", driver, tmp_path / "driver.c"], check=True)
    make("stack_probe", "the library that asks for its stack")
    with subprocess.Popen(
        [sys.executable, tmp_path / "script.py", driver, probe, written],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as program:  # fmt: skip
        assert program.stdin is not None and program.stdout is not None

        def allocated() -> int:
            assert program.stdout.readline() == "ready\n"
            program.stdin.write("\n")
            program.stdin.flush()
            return int(program.stdout.readline())

        alone = allocated()
        watch = Watch("--pid", str(program.pid), "-o", f"{tmp_path}/watched/")
        traced = allocated()
        watch.end()
    assert program.returncode == 0
    trace = snoopie.load(written)
    whole, cut = trace.stack(alone), trace.stack(traced)
    assert whole["function"].isin(["capture", "allocates", "<module>"]).sum() == 3
    # Python's frames are known from the interpreter; no frame is made of the kernel's address.
    assert cut.loc[cut["python"], "function"].tolist() == ["allocates", "<module>"]
    assert not cut["module"].str.contains("ffi").any() and whole["module"].str.contains("ffi").any()
    assert not cut["function"].str.startswith("0x7f").any()
    (notice,) = trace.notices["text"]
    assert notice.startswith("another program, such as snoopie watch or bpftrace, traces the returns of functions")
