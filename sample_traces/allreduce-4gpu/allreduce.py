"""allreduce.py N: all-reduces of N floats, and one all-gather to N, by PyTorch with NCCL; one process a GPU.

Run by torchrun, or with RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set; N is a multiple of the ranks.
"""

import os
import sys

# NVLink multicast can put switches that others share out of service.
os.environ["NCCL_NVLS_ENABLE"] = "0"

import torch
import torch.distributed as dist

REDUCTIONS = 3


def main() -> int:
    n = int(sys.argv[1])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    rank, ranks = dist.get_rank(), dist.get_world_size()

    # Whole numbers below 2^24: their sums are exact.
    values = torch.arange(n, device=device) % 251 + 1.0
    wrong = 0
    for reduction in range(REDUCTIONS):
        summed = values * (rank + 1 + reduction)
        dist.all_reduce(summed)
        factor = sum(other + 1 + reduction for other in range(ranks))
        wrong += int((summed != values * factor).sum())
    gathered = torch.empty(n, device=device)
    dist.all_gather_into_tensor(gathered, values[: n // ranks] * (rank + 1))
    parts = gathered.view(ranks, n // ranks)
    for other in range(ranks):
        wrong += int((parts[other] != values[: n // ranks] * (other + 1)).sum())

    print(f"rank {rank} of {ranks}: {wrong} wrong")
    dist.destroy_process_group()
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
