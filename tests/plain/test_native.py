"""Exact bytes over native times against plain loops over random programs that were recorded twice."""

from __future__ import annotations

from collections import Counter

from hypothesis import assume, given
from hypothesis import strategies as st

import snoopie
from snoopie.api.native import NativeBy
from tests.plain import plain_arrivals, plain_native
from tests.plain.comparing import check_table, check_times, falls, rows
from tests.plain.drawing import seeds, some
from tests.plain.plain_comparison import compared


@some
@given(seeds)
def test_matching(seed: int) -> None:
    made = plain_native.make(seed)
    trace, matched = made.load(seed), plain_native.matching(made)
    table = trace.native_times()
    found = dict(zip(table.index.tolist(), rows(table), strict=True))
    assert found == plain_native.times(made)
    said = {row[:2]: row[2] for row in rows(trace.native_matching())}
    assert said == plain_native.outcomes(made)
    losses = trace.native_losses()
    for reason, number in Counter(matched.exact.values()).items():
        (sentence,) = [text for text in losses if text.endswith(f": {reason}.")]
        assert sentence.startswith(f"{number} launch{'' if number == 1 else 'es'} ha")
    left = sum(reason != plain_native.NOT_MEASURED for reason in matched.clean.values())
    assert any(text.startswith(f"{left} launch") and "matched none" in text for text in losses) == bool(left)
    alike = [text for text in losses if "streams that run the same" in text]
    assert [int(text.split()[0]) for text in alike] == ([matched.told_apart] if matched.told_apart else [])


@some
@given(seeds, st.sampled_from(("kernel", "line", "pair", "launch")))
def test_native_by(seed: int, by: NativeBy) -> None:
    made = plain_native.make(seed)
    keys = {"kernel": ["kernel"], "line": ["file", "line"], "pair": ["issuer", "owner"], "launch": ["launch"]}[by]
    check_table(made.load(seed).native_by(by), keys, plain_native.by(made, by), most="native_bytes")


@some
@given(seeds)
def test_overlap(seed: int) -> None:
    made = plain_native.make(seed)
    check_table(made.load(seed).native_overlap(), ["gpu"], plain_native.overlap(made), most="")


@some
@given(seeds)
def test_comparison_of_native_times(seed: int) -> None:
    made = [plain_native.make(seed + number) for number in range(2)]
    both = snoopie.compare(*(one.load(seed) for one in made))
    assert both.has_native
    a, b = (
        {key: row["native_time"] for key, row in plain_native.by(one, "kernel").items() if row["native_time"]}
        for one in made
    )
    check_times(both.times("kernel"), ["kernel"], compared(a, b))


@some
@given(seeds)
def test_arrivals(seed: int) -> None:
    made = plain_arrivals.make(seed)
    assume(any(builder.rows["spans"] for builder in made.clean))
    table = made.load(seed).native_arrivals()
    assert sorted(rows(table)) == sorted(plain_arrivals.by_rank(made))
    assert falls(table["waited_for"])


def test_random_programs_are_matched_or_not() -> None:
    several = [plain_native.make(seed) for seed in range(60)]
    outcomes = {outcome for made in several for outcome in plain_native.outcomes(made)}
    reasons = {getattr(plain_native, name) for name in ("PROCESS", "GPU", "KERNEL", "SAMPLED", "STREAM", "COUNT")}
    assert {("exact", reason) for reason in reasons} <= outcomes
    assert ("clean", "their kernel was not measured in the exact recording") in outcomes
    assert any(plain_native.matching(made).told_apart for made in several)
    rows = [row for made in several for row in plain_native.by(made, "line").values()]
    assert {row["link_share"] is None for row in rows} == {True, False}
    assert all(any(row[name] for made in several for row in plain_native.overlap(made).values())
               for name in ("communication", "overlapped", "computation", "not_known"))  # fmt: skip
    came = [row for seed in range(60) for row in plain_arrivals.by_rank(plain_arrivals.make(seed))]
    assert any(row[2] > 1 for row in came) and any(not row[2] and row[3] for row in came)
