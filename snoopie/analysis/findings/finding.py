"""What a finding is, and the rule that made it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import pandas as pd

from snoopie.analysis.findings.thresholds import Threshold

if TYPE_CHECKING:
    from snoopie.analysis.findings.facts import Facts

# Whether a rule needs single accesses, which take a while to go through, or sums alone.
Basis = Literal["counts", "records"]
Severity = Literal["high", "medium", "low"]

# Of what the rule counts, this share or more is involved.
SEVERITIES: tuple[tuple[Severity, float], ...] = (("high", 0.25), ("medium", 0.05), ("low", 0.0))


@dataclass(frozen=True, slots=True)
class Evidence:
    """Where the app shows it: a view, and what is to be chosen there."""

    view: str
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at. The names of ``numbers`` are keys of `numbers.UNITS`.

    ``bytes`` are involved, which are ``share`` of what the rule looks at. The remedy spares the links at most
    ``spared`` of them; 0 where they do not cross the links.
    """

    title: str
    numbers: Mapping[str, float]
    bytes: int
    share: float
    evidence: Evidence
    spared: int = 0
    file: str = ""
    line: int = 0
    kernel: str = ""
    site: int = 0
    issuer: str = ""
    owner: str = ""
    object: int = 0
    process: int = -1

    @property
    def severity(self) -> Severity:
        return next(name for name, least in SEVERITIES if self.share >= least)


@dataclass(frozen=True, slots=True)
class Rule:
    """What is looked for. ``about`` explains it; the first of the thresholds is its own, the others say how little is
    no finding. One that ``compares`` GPUs or ranks is for whole traces: a filter would make any pair one-sided."""

    name: str
    title: str
    about: str
    thresholds: tuple[Threshold, ...]
    remedy: str
    basis: Basis
    find: Callable[[Facts], Iterable[Finding]]
    compares: bool = False

    @property
    def threshold(self) -> str:
        """The thresholds in one sentence."""
        return "; ".join(map(str, self.thresholds))


_COLUMNS = "rule severity title file line kernel site issuer owner object process bytes share saved numbers threshold"
COLUMNS = [*_COLUMNS.split(), "remedy", "estimated", "basis", "view", "query", "code"]


def table(found: Iterable[tuple[Rule, Finding]], saved: Iterable[float], estimated: bool) -> pd.DataFrame:
    """One row a finding, with COLUMNS, that first which could save most time (``saved``: ns, NaN not known)."""
    rows = [
        {
            "rule": rule.name,
            **{name: getattr(finding, name) for name in COLUMNS[1:13]},
            "saved": time,
            "numbers": dict(finding.numbers),
            "threshold": rule.threshold,
            "remedy": rule.remedy,
            "estimated": estimated,
            "basis": rule.basis,
            "view": finding.evidence.view,
            "query": dict(finding.evidence.query),
            "code": "",  # the rules know no text
        }
        for (rule, finding), time in zip(found, saved, strict=True)
    ]
    result = pd.DataFrame(rows, columns=COLUMNS).astype({"saved": "float64"})
    return ranked(result)


def ranked(found: pd.DataFrame) -> pd.DataFrame:
    """Findings of `table`, or of several, in its order."""
    return found.sort_values(["saved", "share", "bytes"], ascending=False, kind="stable", ignore_index=True)
