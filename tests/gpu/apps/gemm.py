"""gemm.py N: cuBLAS multiplies two N × N matrices on GPU 0, twice; the second time one of them is in far memory.

That is GPU 1's, or the host's if there is only one GPU.

A kernel of cuBLAS reads that one once for every tile of columns, and nothing else there.
"""

import ctypes
import sys

import torch

TF32 = 3  # CUBLAS_TF32_TENSOR_OP_MATH
NORMAL = 0  # CUBLAS_OP_N


def main() -> int:
    n = int(sys.argv[1])
    torch.manual_seed(1)
    left, right = (torch.randint(-8, 8, (n, n), device="cuda:0").float() for _ in range(2))
    if torch.cuda.device_count() > 1:
        # A copy between them also makes each GPU's memory reachable from the other.
        remote = left.to("cuda:1")
        torch.cuda.synchronize(1)
    else:
        remote = left.cpu().pin_memory()
    expected = (left.double() @ right.double()).float()
    cublas = ctypes.CDLL(f"libcublas.so.{torch.version.cuda.split('.')[0]}")
    handle = ctypes.c_void_p()
    assert cublas.cublasCreate_v2(ctypes.byref(handle)) == 0
    assert cublas.cublasSetMathMode(handle, TF32) == 0
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    for matrix in (left, remote):
        result = torch.empty(n, n, device="cuda:0")
        torch.cuda.synchronize()
        # Columns are cuBLAS's rows: right and left change places.
        status = cublas.cublasSgemm_v2(
            handle, NORMAL, NORMAL, n, n, n, ctypes.byref(one), ctypes.c_void_p(right.data_ptr()), n,
            ctypes.c_void_p(matrix.data_ptr()), n, ctypes.byref(zero), ctypes.c_void_p(result.data_ptr()), n,
        )  # fmt: skip
        torch.cuda.synchronize()
        if status != 0 or not torch.equal(result, expected):
            print(f"gemm: wrong, status {status}")
            return 1
    print(f"gemm: {n} × {n}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
