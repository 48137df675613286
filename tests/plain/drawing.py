"""How random traces are drawn, and written for a test. SNOOPIE_FUZZ_EXAMPLES=N makes it N traces a test."""

from __future__ import annotations

import os
import tempfile
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


def written(builder: TraceBuilder, seed: int) -> Trace:
    """The trace of one process, with few rows in a block for odd seeds."""
    with tempfile.TemporaryDirectory() as folder:
        return snoopie.load(builder.write(Path(folder) / "t.zst", block_rows=seed % 7 + 1 if seed % 2 else None))
