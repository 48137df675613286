"""Call stacks and their labels against plain loops over random ones."""

from __future__ import annotations

from hypothesis import given

from tests.plain import plain_stacks
from tests.plain.drawing import seeds, some, written
from tests.plain.plain_stacks import CUDA, LIBRARY, OWN, PLACES, UNFILED

COLUMNS = ["frame", "level", "function", "file", "line", "module", "python"]


@some
@given(seeds)
def test_stacks_and_labels(seed: int) -> None:
    known = plain_stacks.make(seed)
    trace = written(known.program.builder, seed)
    numbers = [0, *known.stacks]
    for number in numbers:
        rows = trace.stack(number)[COLUMNS].itertuples(index=False, name=None)
        assert list(rows) == plain_stacks.rows(known, number)
    column = [*numbers, *reversed(numbers)]
    assert trace.stack_label(column).tolist() == [plain_stacks.label(known, number) for number in column]


def test_random_stacks_have_labels_of_all_kinds() -> None:
    every = [(known, number) for known in map(plain_stacks.make, range(60)) for number in known.stacks]
    labels = {plain_stacks.label(known, number) for known, number in every}
    for rank in (OWN, UNFILED, LIBRARY, CUDA):
        assert labels & {place.label for place in PLACES if place.rank == rank and place.label}
    assert any("+0x" in label for label in labels)
    assert any(len(set(known.stacks[number])) < len(known.stacks[number]) for known, number in every)
