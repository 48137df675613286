"""Findings: rules that look for expensive traffic between GPUs, each with its numbers, threshold and remedy.

One module a rule, or a pair of them; their thresholds are all in `thresholds`.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from snoopie.analysis.findings import (
    atomics,
    hot_owner,
    mailbox,
    misplaced,
    one_sided,
    reread,
    saving,
    scattered,
    staged,
    unequal,
)
from snoopie.analysis.findings.facts import Facts
from snoopie.analysis.findings.finding import Basis, Rule, table

RULES: tuple[Rule, ...] = (
    scattered.STORES,
    scattered.LOADS,
    reread.RULE,
    atomics.RULE,
    one_sided.RULE,
    hot_owner.RULE,
    staged.RULE,
    mailbox.RULE,
    misplaced.RULE,
    unequal.RULE,
)
BASES: tuple[Basis, ...] = ("counts", "records")


def findings(facts: Facts, bases: Sequence[Basis], *, estimated: bool, whole: bool) -> pd.DataFrame:
    """`finding.table` of what the rules of some bases find in a trace, or, if that is not ``whole``, in a view."""
    rules = [rule for rule in RULES if rule.basis in bases and (whole or not rule.compares)]
    found = [(rule, finding) for rule in rules for finding in rule.find(facts)]
    return table(found, saving.times(facts, [finding for _, finding in found]), estimated)
