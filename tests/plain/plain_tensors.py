"""Random histories of PyTorch's allocator, of which every tensor is known."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.plain.plain_objects import GPUS, HEAP, SLOT, SPAN, Objects
from tests.support.encoder import START_NS

Frame = dict[str, Any]
# So many ns are a moment here: the history counts µs.
TICK = 1000
_PART = 300
_OURS: Frame = {"filename": "/home/u/train.py", "line": 12, "name": "step"}
_THEIRS: Frame = {"filename": "/usr/lib/python3.12/site-packages/torch/nn/linear.py", "line": 9, "name": "forward"}
_NOWHERE: Frame = {"filename": "", "line": 0, "name": ""}
# Stacks, and the frame of each that the user would call the tensor's.
_STACKS: tuple[tuple[list[Frame], Frame], ...] = (
    ([], _NOWHERE), ([_OURS], _OURS), ([_THEIRS, _OURS], _OURS), ([_THEIRS], _THEIRS),
    ([_THEIRS, _OURS, _OURS | {"line": 99}], _OURS),
)  # fmt: skip


@dataclass(frozen=True)
class Tensor:
    """A tensor, ``made`` 0 before the history, ``freed`` 0 if never."""

    process: int
    address: int
    size: int
    gpu: int
    made: int
    freed: int
    frame: Frame

    def row(self) -> tuple[Any, ...]:
        """As a row of `Trace.tensors`."""
        where = self.frame["filename"], self.frame["line"], self.frame["name"]
        return (self.process, self.address, self.size, self.gpu, self.made, self.freed, *where)

    def holds(self, address: int, time: int) -> bool:
        return self.made <= time and (not self.freed or self.freed > time) and 0 <= address - self.address < self.size


def make(known: Objects, random: Random, folder: Path) -> list[Tensor]:
    """Writes a history of each process, and says which tensors are in it."""
    found: list[Tensor] = []
    for process in range(len(known.builders)):
        traces: list[list[dict[str, Any]]] = [[] for _ in range(GPUS)]
        blocks: list[list[dict[str, Any]]] = [[] for _ in range(GPUS)]
        for part in range(2 * random.randint(0, 4)):
            gpu, address = random.randrange(GPUS), HEAP + part // 2 * SLOT + part % 2 * _PART
            _place(process, gpu, address, random, found, traces[gpu], blocks[gpu])
        for events in traces:
            # What frees at a moment does so before what is allocated.
            events.sort(key=lambda event: (event["time_us"], event["action"] == "alloc"))
        segments = [
            {"device": gpu, "address": block["address"], "blocks": [block]}
            for gpu in range(GPUS)
            for block in blocks[gpu]
        ]
        content = {"segments": segments, "device_traces": traces}
        (folder / f"snoopie-tensors.node1.{200 + process}.pickle").write_bytes(pickle.dumps(content))
    return found


def _place(
    process: int, gpu: int, address: int, random: Random, found: list[Tensor], events: list[dict[str, Any]],
    blocks: list[dict[str, Any]],
) -> None:  # fmt: skip
    """What one place holds, one after the other."""
    size = random.choice((64, random.randint(1, _PART)))
    frames, own = random.choice(_STACKS)
    if random.random() < 0.3:
        # Older than the history: only the blocks that are in use tell of it.
        found.append(Tensor(process, address, size, gpu, 0, 0, own))
        blocks.append({"address": address, "size": 512, "requested_size": size, "state": "active_allocated",
                       "frames": frames})  # fmt: skip
        return
    state: dict[str, Any] = {"address": address, "size": 512, "state": "inactive"}
    blocks.append(state)
    moment = random.randrange(-5, 5)
    while moment < SPAN and random.random() < 0.8:
        size, (frames, own) = random.randint(1, _PART), random.choice(_STACKS)
        end = random.choice((None, moment + random.randint(1, 10)))
        events.append(_event("alloc", address, size, moment, frames))
        found.append(Tensor(process, address, size, gpu, _ns(moment), 0 if end is None else _ns(end), own))
        if end is None:
            state |= {"requested_size": size, "state": "active_allocated", "frames": frames}
            return
        events.append(_event("free_requested", address, size, moment, []))
        events.append(_event("free_completed", address, size, end, []))
        moment = end + random.choice((0, 0, 3))


def _ns(moment: int) -> int:
    return START_NS + TICK * moment


def _event(action: str, address: int, size: int, moment: int, frames: list[Frame]) -> dict[str, Any]:
    time = _ns(moment) // 1000
    return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": time, "frames": frames}
