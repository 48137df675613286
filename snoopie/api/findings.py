"""What rules find in a trace."""

from __future__ import annotations

import pandas as pd

from snoopie.analysis import findings
from snoopie.analysis.findings.facts import Facts, Recorded
from snoopie.analysis.findings.finding import Basis
from snoopie.api.objects import ObjectMethods
from snoopie.api.texts import TextMethods
from snoopie.errors import UsageError


class FindingMethods(ObjectMethods, TextMethods):
    """What rules find."""

    def findings(self, basis: Basis | None = None) -> pd.DataFrame:
        """rule severity (high, medium, low) title file line kernel site issuer owner object process bytes share saved
        (ns) numbers threshold remedy estimated basis view query code: what to look at, that first which could save most
        time: at most ``saved``, which the links need at least for what the remedy spares them; NaN where that is not
        known. docs/findings.md.

        ``code`` is the text of the line, where the trace holds it. ``numbers`` is a dict, name → value. ``bytes`` are
        involved, which are ``share`` of what the rule looks at; severity follows from that. ``file`` … ``process`` are
        those that the finding is about, else "", 0 or -1. ``view`` and ``query`` say where the app shows it.
        ``basis``: only rules that look at counts and copies alone, or those that go through the records. UsageError for
        another. Rules that compare GPUs or ranks are for whole traces, not for views.
        """
        if basis is not None and basis not in findings.BASES:
            raise UsageError(f"findings have no basis {basis!r}", f"use one of {', '.join(findings.BASES)}")
        facts = Facts(
            self._tables,
            self._sums,
            self.copies,
            lambda: Recorded.of(self._reused),
            lambda: self._divided,
            self.stack_label,
            lambda: self._object_names,
        )
        bases = findings.BASES if basis is None else [basis]
        table = findings.findings(facts, bases, estimated=self.estimated, whole=self._selected is None)
        return table.assign(code=pd.Series(self._code(table), table.index, "str"))
