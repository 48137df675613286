"""The ring of tests/support/ring.py as it could be some commits later, built elsewhere and on a machine of five GPUs.

What changed, all of it on GPUs 0 to 3:

- ring_get reads all twice: 64 more accesses, 2048 lanes and wire units, 8192 bytes, 65536 on the wire; 2048 bytes
  a pair
- ring_bump is called ring_count, and moves the same
- ring_scale is new: GPU 0 stores once into GPU 2, from scale.cu:3: 8 accesses, 256 lanes, 32 wire units, 1024 bytes
- the host copies 1 MiB to GPU 0
- nothing frees the first object (2 MiB), and the fifth GPU has one too
"""

from __future__ import annotations

from pathlib import Path

from tests.support import ring
from tests.support.encoder import HOST, TraceBuilder

COUNT = ring.BUMP.replace("ring_bump", "ring_count")
SCALE = "ring_scale(float *)"
BUILT_AT = ("/home/u/ring/", "/build/7/ring/")
SCALE_CU = f"{BUILT_AT[1]}src/scale.cu"

TOTALS = {"accesses": 296, "lanes": 7984, "wire_units": 5248, "bytes": 62656, "wire_bytes": 167936}
# Rows issue, columns own; nothing of GPU 4.
CHANGED_BYTES = [
    [0, 2048, 1024, 0, 0],
    [0, 0, 2048, 0, 0],
    [0, 0, 0, 2048, 0],
    [2048, 0, 0, 0, 0],
    [0, 0, 0, 0, 0],
]


def later_builder() -> TraceBuilder:
    """The trace of one process."""
    trace = ring.ring_builder((0, 1, 2, 3, 4), (0, 1, 2, 3), pid=5005)
    for row in trace.rows["strings"]:
        row["text"] = row["text"].replace(ring.BUMP, COUNT).replace(*BUILT_AT)
    (get,) = (row["id"] for row in trace.rows["sites"] if row["width"] == 4 and row["operation"] == 0)
    for row in trace.rows["counts"]:
        if row["site"] == get:
            row.update({name: 2 * row[name] for name in ("accesses", "lanes", "wire_units")})
    scale = trace.function(SCALE)
    stored = trace.site(scale, "STG.E", "store", 4, line=trace.line(SCALE_CU, 3))
    trace.count(trace.launch(scale, 0), stored, 2, 8, 256, 32)
    trace.copy(HOST, 0, 1 << 20, gpu=0)
    trace.rows["frees"].clear()
    return trace


def write_later(folder: Path, *, name: str = "later.zst") -> Path:
    return later_builder().write(folder / name)
