"""How random traces are drawn, and written for a test. SNOOPIE_FUZZ_EXAMPLES=N makes it N traces a test."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import snoopie
from snoopie.api.trace import Trace
from tests.support.encoder import TraceBuilder

some = settings(
    max_examples=int(os.environ.get("SNOOPIE_FUZZ_EXAMPLES", "8")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize="SNOOPIE_FUZZ_EXAMPLES" not in os.environ,
)
seeds = st.integers(0, 2**32)


def few_rows(seed: int) -> int | None:
    """How many rows a block has: few for odd seeds."""
    return seed % 7 + 1 if seed % 2 else None


def written(builder: TraceBuilder, seed: int) -> Trace:
    """The trace of one process."""
    return loaded([builder], seed)


def loaded(builders: Sequence[TraceBuilder], seed: int, *, all_runs: bool = False) -> Trace:
    """The trace of several processes."""
    with tempfile.TemporaryDirectory() as folder:
        _write(builders, Path(folder), seed)
        return snoopie.load(folder, all_runs=all_runs)


def loaded_with_times(exact: Sequence[TraceBuilder], clean: Sequence[TraceBuilder], seed: int) -> Trace:
    """The same with a clean recording."""
    with tempfile.TemporaryDirectory() as folder:
        places = Path(folder) / "exact", Path(folder) / "clean"
        for place, builders in zip(places, (exact, clean), strict=True):
            place.mkdir()
            _write(builders, place, seed)
        return snoopie.load(places[0], times=places[1])


def _write(builders: Sequence[TraceBuilder], folder: Path, seed: int) -> None:
    for number, builder in enumerate(builders):
        builder.write(folder / f"{number}.zst", block_rows=few_rows(seed))
