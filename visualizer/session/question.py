"""What the pages ask: a part of a trace, and a method of it with its arguments.

A question can be kept, compared and sent to another process, and has the type of its answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import snoopie
from visualizer.session.filters import Filters

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")

# Files as they were when they were read: path, size, time of the last change.
Identity = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Scope:
    """The files of a trace, whether they may be cut off, and what of them is looked at."""

    identity: Identity
    allow_truncated: bool
    filters: Filters = field(default_factory=Filters)

    def question(
        self,
        method: Callable[Concatenate[snoopie.Trace, _Arguments], _Answer],
        *args: _Arguments.args,
        **options: _Arguments.kwargs,
    ) -> Question[_Answer]:
        """What a method of the trace (or another function of it that a module has) says in this scope."""
        return Question(self, method, args, tuple(options.items()))


@dataclass(frozen=True)
class Question(Generic[_Answer]):
    """See `Scope.question`."""

    scope: Scope
    method: Callable[..., _Answer]
    args: tuple[object, ...]
    options: tuple[tuple[str, object], ...]

    def answer(self, of: Callable[[Scope], snoopie.Trace]) -> _Answer:
        """The answer of the part of a trace that ``of`` finds for the scope. Raises what the method does."""
        return self.method(of(self.scope), *self.args, **dict(self.options))


def full_name(method: Callable[..., Any]) -> str:
    """What distinguishes a method from others, for caches: they would look for its code otherwise."""
    return f"{method.__module__}.{method.__qualname__}"


def key(question: Question[Any]) -> tuple[str, ...]:
    """What distinguishes a question from others, for caches."""
    scope = question.scope
    return repr(scope), full_name(question.method), repr(question.args), repr(question.options)


# What distinguishes these from others. Streamlit's caches would take every part of them apart, at each look: 0.03 s for
# the names of a thousand files.
KEYS: dict[str | type[Any], Callable[[Any], object]] = {
    Scope: repr,
    Question: key,
    FunctionType: full_name,
    tuple: repr,
}
