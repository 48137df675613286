"""Work by several threads, in order and in bounded memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from snoopie.trace import parallel


@pytest.fixture(params=[1, 2, 5])
def cores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    number = int(request.param)
    monkeypatch.setattr(parallel, "cores", lambda: number)
    return number


def test_results_keep_the_order_of_the_items(cores: int) -> None:
    def slow_at_first(item: int) -> int:
        time.sleep(0.02 if item % 5 == 0 else 0)
        return item * item

    assert list(parallel.ordered(slow_at_first, range(40))) == [item * item for item in range(40)]
    assert list(parallel.ordered(slow_at_first, [])) == []


def test_threads_work_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 3)
    # Nobody passes before three have come.
    barrier = threading.Barrier(3, timeout=30)
    assert len(list(parallel.ordered(lambda _: barrier.wait(), range(9)))) == 9


def test_the_first_error_in_order_is_raised(cores: int) -> None:
    def fails(item: int) -> int:
        time.sleep(0 if item == 7 else 0.01)
        if item in (3, 7):
            raise ValueError(str(item))
        return item

    results = parallel.ordered(fails, range(20))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match=r"^3$"):
        next(results)


def test_no_more_items_are_taken_than_the_threads_need(cores: int) -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(1000):
            taken.append(item)
            yield item

    results = parallel.ordered(lambda item: item, items())
    for expected in range(10):
        assert next(results) == expected
        assert len(taken) <= expected + cores + 1
    results.close()
    assert len(taken) <= 10 + cores


def test_nothing_runs_on_when_nobody_wants_the_rest(cores: int) -> None:
    results = parallel.ordered(lambda item: item, range(1000))
    next(results)
    results.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("snoopie")]
