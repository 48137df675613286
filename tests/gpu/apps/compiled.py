"""compiled.py triton|inductor|nvrtc N: a kernel compiled while the program runs stores N floats to the host's memory.

triton    a kernel in Triton
inductor  one that torch.compile makes of an expression
nvrtc     one in CUDA C++, by CuPy
"""

import sys

import cupy
import torch
import triton
import triton.language as tl


class OnTheHost:
    """N floats of pinned memory, as what a GPU's libraries take for memory of a GPU."""

    def __init__(self, n: int) -> None:
        self.values = torch.zeros(n).pin_memory()
        self.__cuda_array_interface__ = {
            "shape": (n,), "typestr": "<f4", "data": (self.values.data_ptr(), False), "version": 3,
        }  # fmt: skip


@triton.jit
def put(to, values, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(to + i, 2 * tl.load(values + i, mask=i < n), mask=i < n)  # remote: put


def by_triton(to: OnTheHost, values: torch.Tensor) -> None:
    n = len(values)
    put[(n // 1024,)](to.values, values, n, BLOCK=1024)  # launched: triton


def by_inductor(to: OnTheHost, values: torch.Tensor) -> None:
    def double(out: torch.Tensor, values: torch.Tensor) -> None:
        out.copy_(2 * values)  # made of: inductor

    torch.compile(double)(torch.as_tensor(to, device="cuda"), values)  # launched: inductor


CODE = """
extern "C" __global__ void twice(float* to, const float* values) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = 2 * values[i];
}
"""


def by_nvrtc(to: OnTheHost, values: torch.Tensor) -> None:
    twice = cupy.RawKernel(CODE, "twice", options=("-lineinfo",))
    n = len(values)
    twice((n // 1024,), (1024,), (cupy.asarray(to), cupy.asarray(values)))  # launched: nvrtc
    cupy.cuda.Device().synchronize()


WAYS = {"triton": by_triton, "inductor": by_inductor, "nvrtc": by_nvrtc}


def main() -> int:
    way, n = WAYS[sys.argv[1]], int(sys.argv[2])
    values = torch.arange(n, device="cuda") % 251 + 1.0
    to = OnTheHost(n)
    way(to, values)
    torch.cuda.synchronize()
    right = torch.equal(to.values, 2 * values.cpu())
    print("PASS" if right else "FAIL")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
