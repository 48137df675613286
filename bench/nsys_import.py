"""How fast a report of Nsight Systems is imported, on one core:  python bench/nsys_import.py [--rows N]

Makes exports as nsys does (two thirds calls; kernels, copies and memsets that refer to them), one several times as
large as the other, and imports each in a process of its own. Beside the rate stands that of only fetching the same
cells with sqlite3, so that a slow machine is told from a slow importer, and the peak memory. The exit status is 1 where
that is more than MOST times as much for the larger one.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.nsys_export import Export, global_pid, global_tid  # noqa: E402

GROWTH = 4
MOST = 1.25
_PID, _THREADS = 4711, 4
# Of each round of calls: a launch, an asynchronous copy, a memset and three that start nothing.
_NAMES = ("cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "cudaMemsetAsync_v3020", "cudaStreamSynchronize_v3020",
          "cudaEventRecord_v3020", "cudaGetLastError_v3020")  # fmt: skip
_COLUMNS = {
    "CUPTI_ACTIVITY_KIND_RUNTIME": "start end eventClass globalTid correlationId nameId returnValue callchainId",
    "CUPTI_ACTIVITY_KIND_KERNEL": "start end deviceId streamId correlationId globalPid demangledName shortName "
    "mangledName gridX gridY gridZ blockX blockY blockZ dynamicSharedMemory",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "start end deviceId streamId correlationId globalPid bytes copyKind srcDeviceId "
    "dstDeviceId",
    "CUPTI_ACTIVITY_KIND_MEMSET": "start end deviceId streamId correlationId globalPid bytes",
}


def make(path: Path, rows: int) -> None:
    """An export of about so many rows."""
    export = Export("2024")
    names = [export.string(name) for name in _NAMES]
    kernels = [export.string(f"kernel_{number}(float*)") for number in range(100)]
    export.kernel("first", 1, 2, 0)
    export.copy(1, 1, 1, 2, 0)
    export.add("CUPTI_ACTIVITY_KIND_MEMSET", start=1, end=2, deviceId=0, globalPid=global_pid(_PID), bytes=1)
    export.call("first", 1, 2)
    export.write(path)
    rounds = rows // 9
    pid = global_pid(_PID)

    def calls() -> Iterator[tuple[int | None, ...]]:
        for number in range(rounds):
            thread = global_tid(_PID, number % _THREADS + 1)
            for place, name in enumerate(names):
                start = 10_000 * number + 1_500 * place
                yield start, start + 1_200, 0, thread, 6 * number + place + 1, name, 0, None

    def work(place: int, *more: int) -> Iterator[tuple[int, ...]]:
        for number in range(rounds):
            start = 10_000 * number + 1_500 * place + 5_000
            yield start, start + 900, number % 2, 7, 6 * number + place + 1, pid, *more

    launched = (
        (*row, kernels[row[4] % 100], kernels[row[4] % 100], kernels[row[4] % 100], 8, 1, 1, 256, 1, 1, 0)
        for row in work(0)
    )
    contents = (calls(), launched, ((*row, 4096, 1, None, None) for row in work(1)), work(2, 4096))
    with closing(sqlite3.connect(path)) as connection:
        for (table, columns), content in zip(_COLUMNS.items(), contents, strict=True):
            marks = ", ".join("?" * len(columns.split()))
            connection.executemany(f"INSERT INTO {table} ({_quoted(columns)}) VALUES ({marks})", content)
        connection.commit()


def measure(what: str, path: Path) -> dict[str, float]:
    """Seconds and rows of one import, or of fetching what it needs; and this process's largest memory."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    if what == "import":
        from snoopie.importers.nsys import import_nsys

        before = _peak()
        start = time.process_time()
        import_nsys(path, path.with_suffix(".zst"), force=True)
    else:
        before = _peak()
        start = time.process_time()
        with closing(sqlite3.connect(path)) as connection:
            for table, columns in _COLUMNS.items():
                cursor = connection.execute(f"SELECT {_quoted(columns)} FROM {table}")
                while cursor.fetchmany(1 << 15):
                    pass
    return {"seconds": time.process_time() - start, "peak": _peak(), "before": before}


def _quoted(columns: str) -> str:
    return ", ".join(f'"{name}"' for name in columns.split())


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500_000, help="of the smaller export")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure[0], Path(arguments.measure[1]))))
        return 0
    peaks = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in (arguments.rows, GROWTH * arguments.rows):
            path = Path(folder) / f"{rows}.sqlite"
            make(path, rows)
            found = {
                what: json.loads(
                    subprocess.check_output([sys.executable, __file__, "--measure", what, str(path)], text=True)
                )
                for what in ("fetch", "import")
            }
            peaks.append(found["import"]["peak"])
            fetch, done = found["fetch"]["seconds"], found["import"]["seconds"]
            print(
                f"{rows:>12,} rows, {path.stat().st_size / 1e6:,.0f} MB: {rows / done / 1e6:.2f} M rows/s imported, "
                f"{rows / fetch / 1e6:.2f} M rows/s only fetched ({done / fetch:.2f} times as long); peak "
                f"{found['import']['peak'] / 2**20:,.0f} MiB, {found['import']['before'] / 2**20:,.0f} before"
            )
    return int(peaks[1] > MOST * peaks[0])


if __name__ == "__main__":
    sys.exit(main())
