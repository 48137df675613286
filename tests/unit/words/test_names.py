"""Kernel names, short."""

from __future__ import annotations

import pytest

from snoopie.words.names import brief_name, short_name


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
        (f"void n::k<{'a<b (c)>, ' * 100}ü>::run(float*)", f"n::k<{'a<b (c)>, ' * 100}ü>::run"),
        (f"void {'ü' * 300}(float*)", "ü" * 300),
        ("k", "k"),
        ("", ""),
    ],
)
def test_short_name(name: str, short: str) -> None:
    assert short_name(name) == short


@pytest.mark.parametrize(
    ("name", "brief"),
    [
        ("void n::k<int, (int)4>(float*)", "n::k<int, (int)4>"),
        (f"void n::k<{', '.join(['double'] * 20)}>(float*)", f"n::k<{', '.join(['double'] * 6)}, …>"),
        (f"void n::k<n::of<int, {', '.join(['double'] * 20)}>, 1>(float*)", "n::k<…>"),
        (f"void n::k<int, n::of<{', '.join(['double'] * 20)}>>(float*)", "n::k<int, …>"),
        (f"void {'n' * 80}<int>(float*)", f"{'n' * 80}<…>"),
        ("k" * 80, "k" * 80),
        (f"n::of<{'k' * 80}>::run(int)", "n::of<…>::run"),
        (f"of<int>::k<{'k' * 80}>()", "of<int>::k<…>"),
        (f"{'k' * 80}>><", f"{'k' * 80}>><"),
    ],
)
def test_brief_name(name: str, brief: str) -> None:
    assert brief_name(name) == brief
