"""Kernel names, short."""

from __future__ import annotations

import pytest

from snoopie.words.names import short_name


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("put(float*, int)", "put"),
        ("void n::k<int, (int)4>(float*)", "n::k<int, (int)4>"),
        ("(anonymous namespace)::k(int)", "(anonymous namespace)::k"),
        (
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
        ),
        ("k", "k"),
        ("", ""),
    ],
)
def test_short_name(name: str, short: str) -> None:
    assert short_name(name) == short
