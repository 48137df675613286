"""Lines of two versions of a program against what is known to have become of each."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

import snoopie
from tests.plain import plain_edits, plain_limits
from tests.plain.comparing import check_table, check_times, falls
from tests.plain.drawing import seeds, some, written
from tests.plain.plain_comparison import compared
from tests.plain.plain_limits import Limit, check_rows


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
    which = "1 file has another path" if len(moved) == 1 else f"{len(moved)} files have other paths"
    assert [sentence for sentence in both.remarks() if "path" in sentence] == (
        [f"{which} in B than in A: matched by the paths' ends."] if moved else []
    )
    for file in made.files:
        if file.matched:
            rows = list(both.file_lines(file.a).itertuples(index=False, name=None))
            assert rows == plain_edits.rows_of(file)


@some
@given(seeds)
def test_least_times_of_lines(seed: int) -> None:
    made = plain_edits.make(seed)
    both = snoopie.compare(written(made.a, seed), written(made.b, seed))
    check_times(both.times("line"), ["file", "line", "line_b"], compared(*plain_edits.least_times(made)))


@some
@given(seeds, st.sampled_from(("increase", "decrease")))
def test_limits_on_lines(seed: int, direction: str) -> None:
    made = plain_edits.make(seed)
    both = snoopie.compare(written(made.a, seed), written(made.b, seed))
    moved = {(f"bytes of {file}:{line}", str(line_b)): row
             for (file, line, line_b), row in plain_edits.lines(made).items()}  # fmt: skip
    a, b = ({name: row[side] for name, row in moved.items() if row["only"] != other} for side, other in ("aB", "bA"))
    limit = plain_limits.with_amount(Limit("bytes/line", "bytes", a, b), Random(seed))
    check_rows(both.exceeded(**{direction: [limit.text]}), limit, direction, "line")


def test_random_versions_differ() -> None:
    files = [file for seed in range(30) for file in plain_edits.make(seed).files]
    rows = [row for file in files if file.matched for row in plain_edits.rows_of(file)]
    assert {row[-1] for row in rows} == {"", "A", "B"}
    assert any(row[0] and row[2] and row[0] != row[2] and row[4] and row[5] for row in rows)
    assert any(file.a != file.b for file in files) and any(not file.matched for file in files)
