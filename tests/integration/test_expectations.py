"""Expectations on the samples, by the arithmetic of their README."""

from __future__ import annotations

from pathlib import Path

import pytest

import snoopie

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"


@pytest.mark.parametrize(
    ("sample", "expectations", "names"),
    [
        (
            "ring-4gpu.zst",
            [
                "pairs == ring",
                "bytes(kernel=put) == 4*STEPS*N*4",
                "bytes(GPU 0 -> GPU 1) == 1575936 and accesses(3 -> 0) == 7704",
                "launches(kernel=put) == 4*STEPS",
                "accesses(kernel=bump, reduction) == 96",
            ],
            {"N": 65536, "STEPS": 3},
        ),
        (
            "jacobi-2gpu.zst",
            [
                "pairs == {0->1, 1->0}",
                "bytes(GPU 0 -> GPU 1) == STEPS*(N-2)*4",
                "bytes(from=GPU 1, to=GPU 0) == STEPS*(N-2)*4B",
                "launches(kernel=sweep) == 2*STEPS and launches(kernel=residual) == 2",
                "pairs(copied) == none and copies(host -> GPU 0) > 0",
            ],
            {"N": 2048, "STEPS": 20},
        ),
        (
            "allreduce-4gpu",
            ['bytes(rank=0, 0 -> 1, kernel="nccl*") == 2064720', 'pairs(kernel="nccl*") >= ring'],
            {},
        ),
    ],
)
def test_samples(sample: str, expectations: list[str], names: dict[str, int]) -> None:
    trace = snoopie.load(SAMPLES / sample)
    verdicts = trace.judge(*expectations, **names)
    assert verdicts, verdicts
    # The opposite of each fails: they are not true of everything.
    opposites = trace.judge(*(f"not ({text})" for text in expectations), **names)
    assert [verdict.outcome for verdict in opposites] == ["fails"] * len(expectations)
