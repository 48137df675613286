"""turns.py LIBRARY ROUNDS STEPS KINDS…: training steps of FSDP, natively and with CUPTI attached in turns.

LIBRARY is ../control/attach.so; each of KINDS is a set of CUPTI's kinds of records, bit by bit (0: none, launches are
only heard), or "none", for which nothing is attached. A round takes each KINDS once, natively between them. Prints a
line of figures, milliseconds of rank 0: "attached" has [KINDS, groups of STEPS steps] in order, and "native" the groups
before each and after the last.
"""

from __future__ import annotations

import ctypes
import itertools
import random
import sys
from typing import Any

import steps

NATIVE, ATTACHED = 3, 6
"""Groups in a row."""


def loaded(path: str) -> ctypes.CDLL:
    library = ctypes.CDLL(path)
    library.records_taken.restype = library.launches_heard.restype = ctypes.c_uint64
    major = int(steps.torch.version.cuda.split(".")[0])
    if library.find_cupti(sys.executable.encode(), major) != 0:
        sys.exit(steps.CANNOT_RUN)
    return library


def take_turns(rank: int, ranks: int, meeting: str, path: str, rounds: int, length: int, kinds: list[str]) -> None:
    training = steps.Training(rank, ranks, "fsdp", meeting)
    library = loaded(path)
    first_loss = training.timed(1)[1]
    training.timed(length)

    def groups(number: int) -> list[float]:
        # What attaching and detaching leaves behind is no step's.
        training.timed(1)
        return [training.timed(length)[0] for _ in range(number)]

    def together() -> None:
        steps.dist.barrier()
        steps.torch.cuda.synchronize()

    native, attached = [], []
    # In another order each round, the same in all ranks: none always follows the same one.
    order = random.Random(7)
    for kind in itertools.chain.from_iterable(order.sample(kinds, len(kinds)) for _ in range(rounds)):
        native.append(groups(NATIVE))
        together()
        if kind != "none" and library.attach(int(kind)) != 0:
            sys.exit(f"rank {rank}: CUPTI could not be attached")
        attached.append((kind, groups(ATTACHED)))
        together()
        if kind != "none" and library.detach() != 0:
            sys.exit(f"rank {rank}: CUPTI could not be detached")
    native.append(groups(NATIVE))
    figures: dict[str, Any] = {"native": native, "attached": attached}
    figures |= {"records": library.records_taken(), "heard": library.launches_heard()}
    training.end(first_loss, training.timed(1)[1], figures)


def main() -> int:
    if len(sys.argv) < 5 or not all(word.isdigit() and int(word) for word in sys.argv[2:4]):
        print("usage: turns.py LIBRARY ROUNDS STEPS KINDS…    (rounds and steps from 1)", file=sys.stderr)
        return 2
    return steps.on_all_gpus(take_turns, sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])


if __name__ == "__main__":
    sys.exit(main())
