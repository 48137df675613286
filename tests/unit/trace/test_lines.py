"""Which line stands for an instruction: the program's own, not the header of the toolkit that it calls into."""

from __future__ import annotations

import pandas as pd
import pytest

from snoopie.trace.lines import is_toolkit, own_lines

ATOMIC = "/usr/local/cuda-13.0/bin/../targets/x86_64-linux/include/device_atomic_functions.hpp"


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (ATOMIC, True),
        ("/usr/local/cuda/include/cuda_pipeline.h", True),
        ("/opt/nvidia/hpc_sdk/cuda/13.0/include/cub/block.cuh", True),
        ("/home/u/.venv/lib/python3.12/site-packages/nvidia/cu13/include/cuda_fp16.hpp", True),
        ("/opt/nvshmem-3.4.5/include/non_abi/device/common/nvshmemi_common_device.cuh", True),
        ("/usr/include/nvshmem_12/device/nvshmem_defines.h", True),
        ("/home/u/nvshmem_halo/include/halo.cuh", False),
        ("/home/u/ring.cu", False),
        ("/home/u/include/helper.h", False),
        ("/home/u/cuda_code/src/kernel.cu", False),
        ("", False),
    ],
)
def test_is_toolkit(file: str, expected: bool) -> None:
    assert is_toolkit(file) is expected


def test_own_lines() -> None:
    lines = pd.DataFrame(
        {
            "file": ["/home/u/ring.cu", ATOMIC, ATOMIC, ATOMIC, "/home/u/store.h"],
            "inlined_at": [0, 10, 20, 0, 10],
        },
        index=pd.Index([10, 20, 30, 40, 50]),
    )
    # One header in a file, two headers deep, nothing but a header, the program's own header.
    assert own_lines(lines).tolist() == [0, 0, 0, 3, 4]
