"""What a trace does not show against plain loops over random runs."""

from __future__ import annotations

from random import Random

from hypothesis import given

from tests.plain import plain_losses, plain_run
from tests.plain.comparing import check_table
from tests.plain.drawing import seeds, some


@some
@given(seeds)
def test_losses(seed: int) -> None:
    run = plain_run.make(seed)
    totals = plain_losses.add_totals(run, Random(seed))
    of_settings = plain_losses.add_settings(run, Random(seed))
    said = run.load(seed).losses()
    for begins in of_settings:
        assert sum(sentence.startswith(begins) for sentence in said) == 1, (begins, said)
    every = plain_losses.sentences(run, totals)
    assert len(said) == len(of_settings) + sum(map(bool, every.values())), (said, of_settings)
    for what, begins in every.items():
        own = [sentence for sentence in said if what in sentence]
        assert len(own) == bool(begins) and all(sentence.startswith(begins) for sentence in own), (what, begins, said)


@some
@given(seeds)
def test_not_measured(seed: int) -> None:
    run = plain_run.make(seed)
    check_table(run.load(seed).not_measured(), ["site"], plain_losses.not_measured(run), most="accesses")


@some
@given(seeds)
def test_sampling(seed: int) -> None:
    # Of every third run some launches were measured.
    run = plain_run.make(3 * seed)
    trace = run.load(seed)
    rows = trace.sampling[["process", "kernel", "gpu", "launches", "measured"]].itertuples(index=False, name=None)
    assert sorted(rows) == sorted(run.sampling)
    assert trace.estimated == run.sampled


def test_random_runs_have_losses() -> None:
    runs = [plain_run.make(seed) for seed in range(60)]
    said = [plain_losses.sentences(run, plain_losses.add_totals(run, Random(seed))) for seed, run in enumerate(runs)]
    assert all({bool(sentences[what]) for sentences in said} == {True, False} for what in said[0])
    assert any(row["accesses"] for run in runs for row in plain_losses.not_measured(run).values())
    assert any(not row["accesses"] for run in runs for row in plain_losses.not_measured(run).values())
    settings = [plain_losses.add_settings(run, Random(seed)) for seed, run in enumerate(runs)]
    assert len({begins.split(" ")[-1] for own in settings for begins in own}) > 15
