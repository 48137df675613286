"""minutes.py MINUTES STEPS: training steps of FSDP for so long, on all visible GPUs, one process each.

The ranks stop together, where rank 0 sees that the time is up. Prints a line of figures, of rank 0: "pid", its process,
and "groups", of each STEPS steps when the first began and when its GPU had ended the last, in ns of the host's clock.
"""

from __future__ import annotations

import os
import sys
import time

import steps


def train(rank: int, ranks: int, meeting: str, minutes: float, length: int) -> None:
    training = steps.Training(rank, ranks, "fsdp", meeting)
    first_loss = training.timed(1)[1]
    up = steps.torch.zeros(1, device=training.values.device)
    groups: list[tuple[int, int]] = []
    until = time.monotonic() + 60 * minutes
    while not up:
        begin = time.time_ns()
        last_loss = training.timed(length)[1]
        groups.append((begin, time.time_ns()))
        up.fill_(time.monotonic() >= until)
        steps.dist.broadcast(up, 0)
    training.end(first_loss, last_loss, {"pid": os.getpid(), "groups": groups})


if __name__ == "__main__":
    sys.exit(steps.on_all_gpus(train, float(sys.argv[1]), int(sys.argv[2])))
