"""How fast a trace of PyTorch's profiler is imported, and in how much memory: events a second of one core, peak MiB.

Without a GPU: python bench/kineto_import.py [MEBIBYTES …]. Each file is made as the profiler lays it out, with the mix
of events of a training step: operators and arrows between events beside kernels and calls. Its size must not show in
the memory: the exit status is 1 where the largest file needs more than MOST times as much as the one before it.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MOST = 1.25
# Of one step: (category, name, arguments); {n} is the correlation id.
_STEP = [
    *[("cpu_op", f"aten::{name}", '"External id": {n}, "Ev Idx": {n}, "Input Dims": [[64, 1024], [1024]]')
      for name in ("linear", "t", "addmm", "empty", "relu")],
    ("cuda_runtime", "cudaLaunchKernel", '"External id": {n}, "cbid": 211, "correlation": {n}'),
    ("kernel", "ampere_sgemm_128x64_tn", '"External id": {n}, "queued": 0, "device": 0, "context": 1, "stream": 7, '
     '"correlation": {n}, "registers per thread": 122, "shared memory": 32768, "blocks per SM": 0.5, '
     '"warps per SM": 2.0, "grid": [8, 8, 1], "block": [128, 1, 1], "est. achieved occupancy %": 12'),
]  # fmt: skip
_EVENT = """\
  {{
    "ph": "X", "cat": "{cat}", "name": "{name}", "pid": {pid}, "tid": {tid},
    "ts": {ts}, "dur": {dur},
    "args": {{
      {args}
    }}
  }}"""
_ARROW = """\
  {{
    "ph": "{ph}", "id": {n}, "pid": {pid}, "tid": {tid}, "ts": {ts},
    "cat": "ac2g", "name": "ac2g"
  }}"""


def make(path: Path, size: int) -> tuple[int, int]:
    """A file of about so many bytes: its events, and those that are imported."""
    events = kept = number = 0
    with path.open("w") as file:
        file.write('{\n  "schemaVersion": 1,\n  "distributedInfo": {"rank": 0, "world_size": 8},\n')
        file.write('  "baseTimeNanoseconds": 1735632360000000000,\n  "traceEvents": [\n')
        while file.tell() < size:
            lines = []
            for _ in range(1000):
                number += 1
                for cat, name, told in _STEP:
                    on_gpu = cat == "kernel"
                    ts = f"{20 * number + 15 * on_gpu}.{number % 1000:03}"
                    place = {"pid": 0 if on_gpu else 4711, "tid": 7 if on_gpu else 4711}
                    lines.append(
                        _EVENT.format(cat=cat, name=name, ts=ts, dur="4.125", args=told.format(n=number), **place)
                    )
                    if cat != "cpu_op":
                        kept += 1
                        lines.append(_ARROW.format(ph="f" if on_gpu else "s", n=number, ts=ts, **place))
            file.write(("" if not events else ",\n") + ",\n".join(lines))
            events += len(lines)
        file.write("\n  ]\n}\n")
    return events, kept


def measure(path: Path) -> dict[str, float]:
    """What importing a file took; in a process of its own, so that its peak is its own."""
    from snoopie.importers.kineto import import_kineto

    start = time.process_time()
    import_kineto(path, path.with_suffix(".zst"), force=True)
    return {
        "seconds": time.process_time() - start,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def main() -> int:
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(Path(sys.argv[2]))))
        return 0
    sizes = [int(word) << 20 for word in sys.argv[1:]] or [256 << 20, 1024 << 20]
    peaks: list[float] = []
    print(f"{'file MiB':>9} {'events':>11} {'kept':>10} {'events/s':>10} {'MB/s':>6} {'peak MiB':>9}")
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / "trace.json"
            events, kept = make(path, size)
            done = subprocess.run(
                [sys.executable, __file__, "--one", str(path)], check=True, capture_output=True, text=True
            )
            took = json.loads(done.stdout.splitlines()[-1])
            peaks.append(took["peak"])
            print(
                f"{path.stat().st_size >> 20:>9,} {events:>11,} {kept:>10,} {events / took['seconds']:>10,.0f} "
                f"{path.stat().st_size / took['seconds'] / 1e6:>6.0f} {took['peak'] / (1 << 20):>9.0f}",
                flush=True,
            )
    return int(len(peaks) > 1 and peaks[-1] > MOST * peaks[-2])


if __name__ == "__main__":
    sys.exit(main())
