"""The pytest fixture `snoopie_expect`. pytest loads this file in every run: it imports nothing before it is used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from snoopie.analysis.expectations.verdict import Verdicts
    from snoopie.api.trace import Trace


class Expect(Protocol):
    """What the fixture is, for annotations."""

    def __call__(
        self,
        trace: Trace | str | os.PathLike[str],
        *expressions: str,
        allow_gaps: bool = False,
        allow_truncated: bool = False,
        **names: Any,
    ) -> Verdicts: ...


@pytest.fixture
def snoopie_expect() -> Expect:
    """Fails the test, with the numbers, unless a trace has the traffic that is expected (docs/expect.md):

    snoopie_expect("trace.zst", "bytes(GPU 0 -> GPU 1) == 3*N*4", "pairs == ring", N=4096)
    """

    def expect(
        trace: Trace | str | os.PathLike[str],
        *expressions: str,
        allow_gaps: bool = False,
        allow_truncated: bool = False,
        **names: Any,
    ) -> Verdicts:
        __tracebackhide__ = True
        import snoopie

        try:
            if not isinstance(trace, snoopie.Trace):
                trace = snoopie.load(trace, allow_truncated=allow_truncated)
            return trace.expect(*expressions, allow_gaps=allow_gaps, **names)
        except (AssertionError, snoopie.SnoopieError) as error:
            problem = str(error)
        # Out here, so that the report shows the test and not how the problem was found.
        pytest.fail(problem)

    return expect
