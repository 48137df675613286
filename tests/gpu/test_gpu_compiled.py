"""compiled.py: kernels made while the program runs have their lines, and their launches the lines of Python."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from gpu_runs import LIBRARY_TIMEOUT, environment, require, start, traced_environment
from gpu_traffic import APPS, HOST, across, kernel_name, nothing_dropped

pytestmark = pytest.mark.timeout(3 * LIBRARY_TIMEOUT)

PROGRAM = APPS / "compiled.py"
N = 1 << 16
# By which way → the kernel, and what the line that stores says.
KERNELS = {
    "triton": ("put", "remote: put"),
    "inductor": (r"triton_poi_fused_\w+", "tl.store("),
    "nvrtc": ("twice", "to[i] = 2 * values[i];"),
}
# CuPy names a temporary file that is gone before it compiles, or no file at all.
CASES = [("triton", "0"), ("inductor", "0"), ("nvrtc", "0"), ("nvrtc", "1")]


def line_of(text: str) -> int:
    (number,) = (number for number, line in enumerate(PROGRAM.read_text().splitlines(), 1) if line.endswith(text))
    return number


@pytest.mark.parametrize(("way", "in_memory"), CASES)
def test_its_lines_and_those_that_launch_it(few: tuple[str, ...], tmp_path: Path, way: str, in_memory: str) -> None:
    require("compiled.py")
    command = [sys.executable, PROGRAM, way, N]
    (tmp_path / "native").mkdir()
    native = start(command, tmp_path / "native", environment(few[:1]), LIBRARY_TIMEOUT)
    if "ModuleNotFoundError" in native.stderr:
        pytest.skip(native.stderr.splitlines()[-1])
    assert (native.status, native.stdout) == (0, "PASS\n"), native.stderr
    folder = tmp_path / "traced"
    folder.mkdir()
    # What CuPy finds in its cache, it does not compile.
    cupy = {"CUPY_CACHE_IN_MEMORY": in_memory, "CUPY_CACHE_DIR": str(tmp_path / "cupy")}
    run = start(command, folder, traced_environment(few[:1], SAMPLE_SIZE="0", **cupy), LIBRARY_TIMEOUT)
    assert (run.status, run.stdout) == (native.status, native.stdout), run.stderr
    trace = run.trace
    nothing_dropped(trace)
    name, text = KERNELS[way]
    stores = across(trace, HOST)
    stores = stores[stores.launch.map(trace.launches["kernel"]).map(kernel_name).str.fullmatch(name)]
    assert set(stores.operation) == {"store"}
    assert stores.bytes.sum() == 4 * N
    ((file, line),) = set(trace.sites.loc[stores.site, ["file", "line"]].itertuples(index=False, name=None))
    assert line > 0
    source = trace.source(file)
    assert source is not None, file
    assert text in source.splitlines()[line - 1]
    (launch,) = set(stores.launch)
    frames = trace.stack(int(trace.launches["stack"][launch]))
    own = frames[frames["file"] == str(PROGRAM)]
    assert line_of(f"# launched: {way}") in own["line"].tolist()
    assert re.search(f"by_{way}", " ".join(own["function"]))
