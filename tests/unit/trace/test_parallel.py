"""Work by several threads, in order and in bounded memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from snoopie.trace import parallel

PATIENCE = 300  # seconds, for a machine that is busy with something else


@pytest.fixture(params=[1, 2, 5])
def cores(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    number = int(request.param)
    monkeypatch.setattr(parallel, "cores", lambda: number)
    return number


def test_results_keep_the_order_of_the_items(cores: int) -> None:
    ended = [threading.Event() for _ in range(40)]

    def slow_at_first(item: int) -> int:
        # Each fifth ends after the one behind it.
        if cores > 1 and item % 5 == 0:
            assert ended[item + 1].wait(PATIENCE)
        ended[item].set()
        return item * item

    assert list(parallel.ordered(slow_at_first, range(40))) == [item * item for item in range(40)]
    assert list(parallel.ordered(slow_at_first, [])) == []


def test_threads_work_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "cores", lambda: 3)
    # Nobody passes before three have come.
    barrier = threading.Barrier(3, timeout=PATIENCE)
    assert len(list(parallel.ordered(lambda _: barrier.wait(), range(9)))) == 9


def test_the_first_error_in_order_is_raised(cores: int) -> None:
    failed = threading.Event()

    def fails(item: int) -> int:
        # So many threads have begun with 7 before 3 is asked for.
        if cores == 5 and item == 3:
            assert failed.wait(PATIENCE)
        if item == 7:
            failed.set()
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
