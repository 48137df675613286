"""Lines of two versions of a program against what is known to have become of each."""

from __future__ import annotations

from hypothesis import given

import snoopie
from tests.plain import plain_edits
from tests.plain.comparing import check_table, falls
from tests.plain.drawing import seeds, some, written


@some
@given(seeds)
def test_lines(seed: int) -> None:
    made = plain_edits.make(seed)
    both = snoopie.compare(written(made.a, seed), written(made.b, seed))
    table = both.by_line()
    assert set(table["kernel"]) <= {"step()"}
    check_table(table.drop(columns="kernel"), ["file", "line", "line_b"], plain_edits.lines(made), most="")
    assert falls(table["change"].abs().tolist())
    moved = [(file.a, file.b) for file in made.files if file.matched and file.a != file.b]
    assert list(both.files().itertuples(index=False, name=None)) == sorted(moved)
    for file in made.files:
        if file.matched:
            rows = list(both.file_lines(file.a).itertuples(index=False, name=None))
            assert rows == plain_edits.rows_of(file)


def test_random_versions_differ() -> None:
    files = [file for seed in range(30) for file in plain_edits.make(seed).files]
    rows = [row for file in files if file.matched for row in plain_edits.rows_of(file)]
    assert {row[-1] for row in rows} == {"", "A", "B"}
    assert any(row[0] and row[2] and row[0] != row[2] and row[4] and row[5] for row in rows)
    assert any(file.a != file.b for file in files) and any(not file.matched for file in files)
