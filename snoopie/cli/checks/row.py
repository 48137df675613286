"""One line of `snoopie doctor`."""

from dataclasses import dataclass
from enum import StrEnum

from snoopie.errors import SnoopieError


class State(StrEnum):
    """How good it is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Row:
    """What was looked at, how good it is, what was found, and what to do about it (one sentence; "" if nothing)."""

    name: str
    state: State
    found: str
    remedy: str = ""


def ok(name: str, found: str) -> Row:
    """Nothing to do."""
    return Row(name, State.OK, found)


def warning(name: str, found: str, remedy: str) -> Row:
    """A run works, but less well than it could, or not for everybody."""
    return Row(name, State.WARNING, found, remedy)


def problem(name: str, found: str, remedy: str) -> Row:
    """A run cannot work."""
    return Row(name, State.PROBLEM, found, remedy)


def refusal(name: str, error: SnoopieError) -> Row:
    """A run would be refused with this error."""
    return problem(name, error.problem, error.remedy)
