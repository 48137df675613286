"""PyTorch's history of its caching allocator → tensors.

The allocator hands out parts of large segments, so the driver sees segments and not tensors. The history knows better:
`torch.cuda.memory._record_memory_history()` before, `torch.cuda.memory._dump_snapshot("x.pickle")` after, which
`snoopie run --tensors` does for an unmodified program.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from snoopie.errors import NotATraceError, UsageError
from snoopie.importers.pickles import PlainUnpickler
from snoopie.importers.torch_frames import Frame, own_frame
from snoopie.joined.tables import Tables

COLUMNS = ("address", "bytes", "gpu", "allocated", "freed", "stack")

_FRAME = {"file": "str", "line": "int64", "function": "str"}
_MOST_FRAMES = 256


def read(path: Path) -> tuple[pd.DataFrame, list[tuple[Frame, ...]]]:
    """The tensors in a snapshot, and the distinct stacks that made them, each innermost frame first.

    Tensors are tensor | COLUMNS: address, bytes, gpu (as the process numbers them), allocated and freed (host ns, to
    the µs; 0 = before the history began, or never) and the place of its stack in the list, -1 unknown. NotATraceError
    where the file is no such snapshot.
    """
    try:
        with path.open("rb") as file:
            snapshot = PlainUnpickler(file).load()
    except OSError as error:
        raise NotATraceError(f"{path} cannot be read ({error.strerror})", "give a snapshot of PyTorch") from None
    except Exception as error:
        # A damaged pickle raises nearly anything.
        raise NotATraceError(
            f"{path} is not a memory snapshot of PyTorch ({' '.join(str(error).split())[:100]})",
            'give what torch.cuda.memory._dump_snapshot("….pickle") wrote',
        ) from None
    try:
        if any("time_us" not in event for event in _events(snapshot) if event["action"] == "alloc"):
            raise NotATraceError(
                f"{path} does not say when tensors were allocated, so none can be told from the next at its address",
                "record it with PyTorch 2.2 or newer",
            )
        return _tensors(snapshot)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
        raise NotATraceError(
            f"{path} has no allocator history that this version of Snoopie can read",
            "record it with torch.cuda.memory._record_memory_history() of PyTorch 2.2 or newer",
        ) from None


def tensors(tables: Tables, snapshot: Path | None) -> pd.DataFrame:
    """tensor | process address bytes gpu (place) allocated freed file line function, of all processes with a snapshot.

    ``snapshot`` is a file, or a folder of those that `snoopie run --tensors` wrote; None: beside each trace.
    NotATraceError where there is none.
    """
    processes = tables.processes
    pids = processes["pid"].tolist()
    if snapshot is not None and not snapshot.is_dir():
        if len(pids) > 1:
            raise UsageError("a snapshot covers one process, and the trace has several", "name their folder")
        paths = {pids[0]: snapshot}
    else:
        folders = [source.path.parent if snapshot is None else snapshot for source in tables.sources]
        found = {pid: _beside(folder, pid) for folder, pid in zip(folders, pids, strict=True)}
        paths = {pid: path for pid, path in found.items() if path is not None}
    if not paths:
        where = "beside the trace" if snapshot is None else f"in {snapshot}"
        raise NotATraceError(
            f"there is no history of PyTorch's allocator {where}",
            "record with snoopie run --tensors, or name what torch.cuda.memory._dump_snapshot wrote",
        )
    parts, offset = [], 0
    for place, (number, pid) in enumerate(zip(processes.index.tolist(), pids, strict=True)):
        if pid not in paths:
            continue
        table, stacks = read(paths[pid])
        own = [own_frame(stack) for stack in stacks] + [("", 0, "")]
        made = {
            name: pd.Series([own[stack][part] for stack in table["stack"]], table.index, dtype=kind)
            for part, (name, kind) in enumerate(_FRAME.items())
        }
        table = table.drop(columns="stack").assign(
            process=number, gpu=tables.owner(place, table["gpu"].to_numpy()), **made
        )
        table.index = pd.RangeIndex(offset + 1, offset + 1 + len(table), name="tensor")
        offset += len(table)
        parts.append(table[["process", *COLUMNS[:-1], *_FRAME]])
    return pd.concat(parts)


def _beside(folder: Path, pid: int) -> Path | None:
    return next(iter(sorted(folder.glob(f"snoopie-tensors.*.{pid}.pickle"))), None)


def _tensors(snapshot: Any) -> tuple[pd.DataFrame, list[tuple[Frame, ...]]]:
    stacks: dict[tuple[Frame, ...], int] = {}
    rows: list[list[int]] = []

    # Events share their stacks in memory, as the pickle has it: each is read once.
    known: dict[int, int] = {}

    def stack(frames: Any) -> int:
        if id(frames) not in known:
            own = tuple(_frame(frame) for frame in (frames or [])[:_MOST_FRAMES])
            known[id(frames)] = stacks.setdefault(own, len(stacks)) if own else -1
        return known[id(frames)]

    live: dict[tuple[int, int], int] = {}
    for gpu, events in enumerate(snapshot["device_traces"]):
        for event in events:
            # Others need not have an address: that the GPU ran out of memory has none.
            if event["action"] == "alloc":
                live[gpu, int(event["addr"])] = len(rows)
                moment = 1000 * int(event["time_us"])
                rows.append([int(event["addr"]), int(event["size"]), gpu, moment, 0, stack(event.get("frames"))])
            elif event["action"] == "free_completed":
                place = live.pop((gpu, int(event["addr"])), None)
                if place is not None:
                    rows[place][4] = 1000 * int(event["time_us"])
    for gpu, address, size, frames in _blocks(snapshot):
        # Older than the history, which keeps only the latest events.
        if (gpu, address) not in live:
            rows.append([address, size, gpu, 0, 0, stack(frames)])
    table = np.array(rows, dtype=object).reshape(len(rows), len(COLUMNS))
    columns = {
        name: table[:, place].astype(np.uint64 if name == "address" else np.int64) for place, name in enumerate(COLUMNS)
    }
    tensors = pd.DataFrame(columns)
    tensors.index = pd.RangeIndex(1, len(tensors) + 1, name="tensor")
    return tensors, list(stacks)


def _events(snapshot: Any) -> Iterator[Any]:
    return itertools.chain.from_iterable(snapshot["device_traces"])


def _frame(frame: Any) -> Frame:
    line = int(frame["line"])
    if not 0 <= line < 1 << 31:
        raise ValueError
    return _text(frame["filename"]), line, _text(frame["name"])


def _text(value: Any) -> str:
    # Lists that hold one another again and again are short as they are, and endless written out.
    if not isinstance(value, str):
        raise TypeError
    return value


def _blocks(snapshot: Any) -> Iterator[tuple[int, int, int, Any]]:
    """gpu, address, size and frames of what was allocated when the snapshot was made."""
    for segment in snapshot["segments"]:
        address = int(segment["address"])
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                size = int(block.get("requested_size", block["size"]))
                yield int(segment["device"]), int(block.get("address", address)), size, block.get("frames")
            address += int(block["size"])
