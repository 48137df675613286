"""symmetric_memory.py N: N floats in PyTorch's symmetric memory, each rank on the next one's; one process a GPU.

Rank i, on the buffer of rank i + 1, each once:
  put_next    a Triton kernel stores N floats there, in the first half
  torch.add   PyTorch's kernel loads these N floats
  copy_       the host has N floats copied there, to the second half
Run by torchrun, or with RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set.
"""

import os
import sys

# NVLink multicast can put switches that others share out of service.
os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"
os.environ["NCCL_NVLS_ENABLE"] = "0"

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric_memory
import triton
import triton.language as tl


@triton.jit
def put_next(theirs, mine, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(mine + i, mask=i < n)
    tl.store(theirs + i, values, mask=i < n)  # remote: put_next


def wait_for_all() -> None:
    torch.cuda.synchronize()
    dist.barrier()


def main() -> int:
    n = int(sys.argv[1])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    rank, ranks = dist.get_rank(), dist.get_world_size()

    buffer = symmetric_memory.empty(2 * n, dtype=torch.float32, device=device).zero_()
    handle = symmetric_memory.rendezvous(buffer, dist.group.WORLD)
    theirs = handle.get_buffer((rank + 1) % ranks, (2 * n,), torch.float32)
    values = torch.arange(n, device=device) % 251 + 1.0
    mine = values * (rank + 1)
    wait_for_all()

    put_next[(triton.cdiv(n, 1024),)](theirs, mine, n, BLOCK=1024)
    wait_for_all()
    wrong = int((buffer[:n] != values * ((rank - 1) % ranks + 1)).sum())
    # What lies there is this rank's own.
    doubled = torch.add(mine, theirs[:n])
    wrong += int((doubled != 2 * mine).sum())
    theirs[n:].copy_(mine)
    wait_for_all()
    wrong += int((buffer[n:] != values * ((rank - 1) % ranks + 1)).sum())

    print(f"rank {rank} of {ranks}: {wrong} wrong")
    dist.destroy_process_group()
    return 0 if wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
