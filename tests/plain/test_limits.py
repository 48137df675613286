"""What grew or shrank by more than it may, against plain loops over random runs."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import snoopie
from snoopie.api.comparison import Comparison
from snoopie.errors import SnoopieError
from tests.plain import plain_limits, plain_run
from tests.plain.drawing import seeds, some
from tests.plain.plain_limits import check_rows
from tests.plain.plain_run import Run
from tests.plain.plain_traffic import VALUES

directions = st.sampled_from(("increase", "decrease"))


def made(seed: int) -> tuple[Run, Run, Comparison]:
    a, b = plain_run.make(seed), plain_run.make(seed + 1)
    return a, b, snoopie.compare(a.load(seed), b.load(seed + 1))


def told(both: Comparison, direction: str, *limits: str) -> list[str]:
    return both.exceeded(**{direction: limits})


@some
@given(seeds, directions)
def test_of_all(seed: int, direction: str) -> None:
    a, b, both = made(seed)
    random = Random(seed)
    expected, limits = [], []
    for metric in plain_limits.METRICS:
        limit = plain_limits.with_amount(plain_limits.on_all(a, b, metric), random)
        if limit.a:
            limits.append(limit.text)
            expected += [limit.sentence(name, direction) for name in limit.exceeding(direction)]
        else:
            with pytest.raises(SnoopieError, match=f"{metric} is unknown for [AB]"):
                told(both, direction, limit.text)
    assert told(both, direction, *limits) == expected


@some
@given(seeds, directions, st.sampled_from(plain_limits.KEYS), st.sampled_from([*VALUES, "launches"]))
def test_of_each(seed: int, direction: str, key: str, metric: str) -> None:
    a, b, both = made(seed)
    metric = "accesses" if metric == "launches" and key != "kernel" else metric
    limit = plain_limits.with_amount(plain_limits.on_each(a, b, metric, key), Random(seed))
    check_rows(told(both, direction, limit.text), limit, direction, key)


@some
@given(seeds, directions)
def test_of_parts(seed: int, direction: str) -> None:
    a, b, both = made(seed)
    random = Random(seed)
    limits = []
    if a.traffic or b.traffic:
        limits += [plain_limits.on_part(a, b, random) for _ in range(3)]
    if a.launches or b.launches:
        limits.append(plain_limits.on_launches(a, b, random))
    for limit in limits:
        plain_limits.with_amount(limit, random)
        expected = [limit.sentence(name, direction) for name in limit.exceeding(direction)]
        assert told(both, direction, limit.text) == expected
    with pytest.raises(SnoopieError):
        told(both, direction, 'bytes(kernel="absent"):0')


def test_random_limits_are_exceeded_or_not() -> None:
    found = set()
    for seed in range(40):
        a, b = plain_run.make(seed), plain_run.make(seed + 1)
        for key in plain_limits.KEYS:
            limit = plain_limits.with_amount(plain_limits.on_each(a, b, "bytes", key), Random(seed))
            found.add((key, limit.share, bool(limit.exceeding("increase"))))
    assert len(found) == 4 * len(plain_limits.KEYS)
