"""steps.py fsdp|ddp REPETITIONS LAUNCHES: training steps of a small transformer on all visible GPUs, one process each.

    fsdp    its layers sharded (fully_shard)
    ddp     a replica a GPU, its gradients summed, and compiled by torch.compile, anew in each run

Under torchrun it is the one rank that it is told to be. A launch is one step. As the programs in ../kernels, it takes
one first, then warms up with one repetition and measures REPETITIONS of LAUNCHES, and prints a line of figures; the
time is rank 0's.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

# Exit status of a program that cannot run on this machine, as opposed to one that failed.
CANNOT_RUN = 77

try:
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel
except ImportError as error:
    print(f"PyTorch is needed, with FSDP: {error}")
    sys.exit(CANNOT_RUN)

WIDTH, HEADS, LAYERS = 1024, 16, 6
SEQUENCES, TOKENS = 8, 512


def sharded(network: nn.Sequential, gpu: int) -> nn.Module:
    for layer in network:
        fully_shard(layer)
    fully_shard(network)
    return network


def replicated(network: nn.Sequential, gpu: int) -> nn.Module:
    model: nn.Module = torch.compile(DistributedDataParallel(network, device_ids=[gpu]))
    return model


KINDS: dict[str, Callable[[nn.Sequential, int], nn.Module]] = {"fsdp": sharded, "ddp": replicated}


class Training:
    """One rank of it, on the GPU of its number; the process group is its own."""

    def __init__(self, rank: int, ranks: int, kind: str, meeting: str) -> None:
        torch.cuda.set_device(rank)
        device = torch.device("cuda", rank)
        dist.init_process_group("nccl", init_method=meeting, rank=rank, world_size=ranks, device_id=device)
        torch.set_float32_matmul_precision("high")
        torch.manual_seed(1)
        layers = (
            nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(LAYERS)
        )
        self.rank, self.ranks = rank, ranks
        self.model = KINDS[kind](nn.Sequential(*layers).to(device), rank)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        torch.manual_seed(2 + rank)
        self.values, self.targets = (torch.randn(SEQUENCES, TOKENS, WIDTH, device=device) for _ in range(2))

    def step(self) -> torch.Tensor:
        """Its loss."""
        self.optimizer.zero_grad()
        loss = (self.model(self.values) - self.targets).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def timed(self, steps: int) -> tuple[float, torch.Tensor]:
        """Milliseconds of all, and the last loss."""
        begin = time.monotonic_ns()
        for _ in range(steps):
            loss = self.step()
        torch.cuda.synchronize()
        return (time.monotonic_ns() - begin) * 1e-6, loss

    def end(self, first_loss: torch.Tensor, last_loss: torch.Tensor, figures: dict[str, Any]) -> None:
        """Says how it went: rank 0 in a line of figures, every other that went wrong by its exit status."""
        right = bool(last_loss < first_loss) and alike(self.model)
        rights: list[bool] = [False] * self.ranks
        dist.all_gather_object(rights, right)
        dist.destroy_process_group()
        if self.rank == 0:
            print(json.dumps({"right": all(rights), **figures}), flush=True)
        if not all(rights):
            what = "right" if right else "the loss does not fall, or the ranks differ in their weights"
            sys.exit(f"rank {self.rank}: {what}")


def train(rank: int, ranks: int, meeting: str, kind: str, repetitions: int, launches: int) -> None:
    training = Training(rank, ranks, kind, meeting)
    first_ms, first_loss = training.timed(1)
    first_end = time.monotonic_ns()
    training.timed(launches)
    ms, losses = zip(*(training.timed(launches) for _ in range(repetitions)), strict=True)
    figures = {"launches": launches, "first_ms": first_ms, "first_end": first_end, "ms": ms}
    training.end(first_loss, losses[-1], figures)


def alike(model: nn.Module) -> bool:
    """Whether all ranks have the same weights."""
    weights = (p.full_tensor() if hasattr(p, "full_tensor") else p for p in model.parameters())
    own = torch.stack([weight.detach().double().sum() for weight in weights])
    least, most = own.clone(), own.clone()
    dist.all_reduce(least, dist.ReduceOp.MIN)
    dist.all_reduce(most, dist.ReduceOp.MAX)
    return bool((least == most).all())


def main() -> int:
    if len(sys.argv) != 4 or sys.argv[1] not in KINDS or not all(word.isdigit() and int(word) for word in sys.argv[2:]):
        print(f"usage: steps.py {'|'.join(KINDS)} REPETITIONS LAUNCHES    (both from 1)", file=sys.stderr)
        return 2
    return on_all_gpus(train, sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))


def on_all_gpus(work: Callable[..., None], *arguments: Any) -> int:
    """work(rank, ranks, where they meet, *arguments) in a process for each visible GPU, or as the one rank of
    torchrun's; the exit status."""
    ranks = torch.cuda.device_count()
    if ranks < 1:
        print("it needs a GPU, sees none")
        return CANNOT_RUN
    if "RANK" in os.environ:
        work(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), "env://", *arguments)
        return 0
    with tempfile.TemporaryDirectory(prefix="steps-") as folder:
        # What an earlier run compiled would spare this one its share of the time.
        os.environ |= {"TORCHINDUCTOR_CACHE_DIR": f"{folder}/inductor", "TRITON_CACHE_DIR": f"{folder}/triton"}
        torch.multiprocessing.spawn(work, (ranks, f"file://{folder}/store", *arguments), nprocs=ranks, join=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
