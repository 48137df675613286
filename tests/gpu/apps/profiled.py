"""profiled N: N times, PyTorch adds to a tensor on the GPU what is in memory of the host, while its profiler records.

Says the sum, and how many kernels the profiler saw.
"""

from __future__ import annotations

import sys

import torch
from torch.profiler import ProfilerActivity, profile


def main() -> int:
    launches = int(sys.argv[1])
    ones = torch.ones(1024, device="cuda")
    total = torch.zeros_like(ones)
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for _ in range(launches):
            total += ones
        torch.cuda.synchronize()
    kernels = sum(event.device_type == torch.autograd.DeviceType.CUDA for event in profiler.events())
    print(f"sum {int(total.sum())}, {kernels} kernels")
    return 0


sys.exit(main())
