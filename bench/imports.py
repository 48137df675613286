"""How fast other tools' texts are imported, and whether memory grows with them: CPU time on one core, and MiB.

Each text is made twice, the second four times as long. Of the longer one: rows a second; how many times as long its
import takes as a loop of Python that splits its lines at commas, in the same run, so that other machines and other
work on this one matter little; and what it needs of memory, also as a multiple of the shorter one. Prints a table; the
exit status is 1 where one of the two ratios is above its limit.

    python bench/imports.py [--rows N] [FORMAT …]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

# How many times as long as the loop: 300,000 rows a second on a core where that does 7 million.
MOST_TIMES = 24.0
# How much more memory four times the rows may need.
MOST_GROWTH = 1.25
_DEPS = "dep1:0 dep2:0 dep3:0 dep4:0 dep5:0"


def _rtg(rows: int) -> Iterator[str]:
    for row in range(rows // 4):
        at = 10**15 + row * 10_000
        name = f"void step<float, {row % 50}>(float*, int)"
        yield f"HIP: pid:12 tid:140302773952640 hipLaunchKernel [{name}] ret=0 @{at} +{2000 + row % 700}"
        yield (
            f"HSA: pid:12 tid:140302773952640 dispatch queue:0 agent:9417 signal:3 name:'{name}' tick:{at + 500} "
            f"id:{row} workgroup:{{64,1,1}} grid:{{6400,1,1}}"
        )
        yield (
            f"HSA: pid:12 tid:140302773952641 dispatch queue:0 agent:9417 signal:3 name:'{name}' start:{at + 4000} "
            f"stop:{at + 9000} id:{row}"
        )
        yield f"HSA: pid:12 tid:140302773952641 copy agent:9417 signal:9 start:{at} stop:{at + 1000} {_DEPS}"


def _hcc(rows: int) -> Iterator[str]:
    for row in range(rows // 2):
        at = 83_831_226_310_426 + row * 30_000
        kernel, copied = f"step<{row % 50}>", "DeviceToHost_async_fast"
        yield f"profile:  kernel;\t{kernel:>40};\t  11.2 us;\t{at};\t{at + 11_200};\t#0.0.{row};"
        yield (
            f"profile:    copy;\t{copied:>40};\t  13.1 us;\t{at + 15_000};\t{at + 28_100};\t#0.1.{row};"
            "\t4004 bytes;\t0.0 MB;\t0.3 GB/s;"
        )


def _alnair(rows: int) -> Iterator[str]:
    for row in range(rows):
        at = 1_663_174_512_512_732_618 + row * 5_000
        yield f"name:cudaMemcpyAsync, start:{at}, burst:{row % 900}, bytes:{row % 4096}, kind:{row % 4}"


def _csv(rows: int) -> Iterator[str]:
    for row in range(rows):
        address = 0x7FA571B00504 + 4 * (row % 32) + 128 * (row // 32 % 4096)
        yield f"STG.E,0x{address:016x},{row // 32},1,0,125,1586,1,1,0x00007fa571a00000,4"


def _single(rows: int) -> Iterator[str]:
    """Each line an access of its own, or a copy."""
    for row in range(rows // 2):
        address = 0x7FA571B00504 + 4 * (row * 7919 % 1_000_003)
        yield f"LDG.E,0x{address:016x},{row},1,0,125,1586,1,1,0x00007fa571a00000,4"
        yield f"cuMemcpyDtoDAsync_v2,0x{address:016x},-1,0,1,-1,-1,1,-1,0x0000000000000000,{row % 4096}"


def _json(rows: int) -> Iterator[str]:
    for row in range(rows):
        address = 0x7FA571B00504 + 4 * (row % 32) + 128 * (row // 32 % 4096)
        yield (
            f'{{"op": "STG.E", "kernel_name": "jacobi(float*, int)", "addr": "0x{address:016x}",'
            '"object_allocation_pc": "0x000055d500401a2f", "object_variable_name": "a_new", '
            f'"malloc_index_in_object": 0, "element_index_in_malloc": {row}, '
            '"object_allocation_file_name": "jacobi.cu", "object_allocation_func_name": "main", '
            '"object_allocation_line_num": 300, "object_allocation_device_id": 0, '
            f'"thread_index": {row // 32}, "lane_id": {row % 32}, "running_device_id": 1, "mem_device_id": 0, '
            '"code_line_index": "1586", "code_line_filename": "jacobi.cu", "code_line_dirname": "/home/u/src", '
            '"code_line_linenum": 125, "code_line_estimated_status": 1}'
        )


TEXTS: dict[str, tuple[str, Callable[[int], Iterator[str]]]] = {
    "rtg": ("rtg", _rtg),
    "hcc": ("hcc", _hcc),
    "alnair": ("alnair", _alnair),
    "snoopie-log": ("snoopie-log", _csv),
    "snoopie-log single": ("snoopie-log", _single),
    "snoopie-log JSON": ("snoopie-log", _json),
}


def _measured(kind: str, text: Path, out: Path) -> tuple[float, float]:
    """Seconds and MiB of one import, in a process of its own on one core."""
    command = [sys.executable, "-m", "snoopie", "import", kind, str(text), "-o", str(out), "--force"]
    core = {min(os.sched_getaffinity(0))}
    child = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, core)
    )
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"the import of {text} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def _loop(text: Path) -> float:
    """Seconds that it takes to split all lines."""
    began = time.process_time()
    with text.open() as file:
        for line in file:
            line.split(",")
    return time.process_time() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000, help="of the longer text (default: 2,000,000)")
    parser.add_argument("formats", metavar="FORMAT", nargs="*", choices=[*TEXTS, []], help=f"of {', '.join(TEXTS)}")
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    missed = False
    print(f"{'format':<20}{'rows/s':>10}{'times':>8}{'MiB':>8}{'growth':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.formats or TEXTS:
            kind, lines = TEXTS[name]
            found = []
            for rows in (arguments.rows // 4, arguments.rows):
                text = Path(folder) / "snoopie_log_7.txt"
                with text.open("w") as file:
                    file.writelines(f"{line}\n" for line in lines(rows))
                found.append(_measured(kind, text, Path(folder) / "t.zst"))
            (_, small), (seconds, large) = found
            rate, times, growth = arguments.rows / seconds, seconds / _loop(text), large / small
            missed |= times > MOST_TIMES or growth > MOST_GROWTH
            print(f"{name:<20}{rate:>10,.0f}{times:>8.1f}{large:>8.0f}{growth:>8.2f}", flush=True)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
