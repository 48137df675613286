"""What all public methods have in common: arguments are checked, by what annotations allow, and tables show themselves.

So each method refuses a wrong value in one sentence, and does not have to say so itself. Names of what a trace has, and
words of which there is a list, are checked where they are looked up.
"""

from __future__ import annotations

import collections.abc
import inspect
import os
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
import pandas as pd

from snoopie.api.notebook import shown
from snoopie.errors import UsageError

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_Class = TypeVar("_Class", bound=type)
# Whether a value is allowed.
_Check = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """The least that an amount can be."""

    least: int


Positive = Annotated[int, AtLeast(1)]
Natural = Annotated[int, AtLeast(0)]

_WORDS = {int: "a whole number", float: "a number", bool: "True or False", str: "text", os.PathLike: "a path"}
# Containers whose elements can be looked at without using them up.
_KEPT = (list, tuple, set, frozenset, np.ndarray, pd.Series, pd.Index)


def checked(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """The function, which now raises UsageError for arguments that its annotations do not allow."""

    @wraps(function)
    def wrapper(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
        in_order, by_name = _checks(function)
        for place, value in enumerate(arguments):
            name, check, allowed = in_order[min(place, len(in_order) - 1)] if in_order else ("", None, "")
            if check is not None and not check(value):
                raise _refused(name, value, allowed)
        for name, value in options.items():
            check, allowed = by_name.get(name, (None, ""))
            if check is not None and not check(value):
                raise _refused(name, value, allowed)
        return function(*arguments, **options)

    return wrapper


def checked_methods(of: _Class) -> _Class:
    """The class, whose public methods are now `checked`, and whose tables show themselves."""
    for name, member in list(vars(of).items()):
        # A place's label is asked for again and again.
        if name.startswith("_") or name == "label" or not inspect.isfunction(member):
            continue
        method = checked(member) if len(inspect.signature(member).parameters) > 1 else member
        setattr(of, name, _showing(method) if member.__annotations__.get("return") == "pd.DataFrame" else method)
    return of


def _showing(method: Callable[_Parameters, pd.DataFrame]) -> Callable[_Parameters, pd.DataFrame]:
    @wraps(method)
    def wrapper(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> pd.DataFrame:
        return shown(method(*arguments, **options))

    return wrapper


def _refused(name: str, value: object, allowed: str) -> UsageError:
    shown = repr(value)
    return UsageError(
        f"{name.rstrip('_')} cannot be {shown if len(shown) <= 80 else type(value).__name__}", f"give {allowed}"
    )


@cache
def _checks(
    function: Callable[..., Any],
) -> tuple[list[tuple[str, _Check | None, str]], dict[str, tuple[_Check | None, str]]]:
    """The checks of a function's arguments: in their order (the last may stand for more), and by their names."""
    parameters = inspect.signature(function).parameters
    found = {name: _of_annotation(function, name) for name in parameters}
    in_order = [
        (name, *found[name])
        for name, parameter in parameters.items()
        if parameter.kind not in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD)
    ]
    return in_order, {
        name: found[name] for name, parameter in parameters.items() if parameter.kind != parameter.VAR_POSITIONAL
    }


def _of_annotation(function: Callable[..., Any], name: str) -> tuple[_Check | None, str]:
    if name not in function.__annotations__:
        return None, ""
    one = types.SimpleNamespace(__annotations__={name: function.__annotations__[name]})
    try:
        hint = get_type_hints(one, globalns=function.__globals__, include_extras=True)[name]
    except (NameError, TypeError):
        # Only type checkers know it, because it takes long to import.
        return None, ""
    return _check(hint), _allowed(hint)


def _check(hint: Any) -> _Check | None:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is int:
        return lambda value: isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if hint is float:
        return lambda value: isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if hint is bool:
        return lambda value: isinstance(value, (bool, np.bool_))
    if hint is None or hint is type(None):
        return lambda value: value is None
    if hint is object or hint is Any:
        return None
    if origin is Annotated:
        check, least = _check(arguments[0]), arguments[1].least
        return lambda value: check is None or (check(value) and value >= least)
    if origin is Literal:
        return lambda value: isinstance(value, str)
    if origin in (Union, types.UnionType):
        checks = [_check(one) for one in arguments]
        return lambda value: any(check is None or check(value) for check in checks)
    if origin is tuple:
        each = [_check(one) for one in arguments]
        return lambda value: (
            isinstance(value, (tuple, list))
            and len(value) == len(each)
            and all(check is None or check(one) for check, one in zip(each, value, strict=True))
        )
    if origin in (collections.abc.Iterable, collections.abc.Collection):
        return _of_elements(origin, _check(arguments[0]))
    kind = origin or hint
    return lambda value: isinstance(value, kind)


def _of_elements(kind: type, check: _Check | None) -> _Check:
    def allowed(value: Any) -> bool:
        # Text is a collection of letters, which nobody means.
        if isinstance(value, (str, bytes)) or not isinstance(value, kind):
            return False
        if isinstance(value, np.ndarray) and value.ndim != 1:
            return False
        return not isinstance(value, _KEPT) or check is None or all(map(check, value))

    return allowed


def _allowed(hint: Any) -> str:
    """What is allowed, in words."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return f"{_allowed(arguments[0])} of at least {arguments[1].least}"
    if origin is Literal:
        return f"one of {', '.join(arguments)}"
    if origin in (Union, types.UnionType):
        words = list(dict.fromkeys(_allowed(one) for one in arguments if one is not type(None)))
        return " or ".join([*words, *["None"] * (type(None) in arguments)])
    if origin is tuple:
        return f"{len(arguments)} numbers, as in (0, 10)"
    if origin in (collections.abc.Iterable, collections.abc.Collection):
        return "a list of " + {int: "whole numbers", str: "names"}.get(arguments[0], "them")
    return _WORDS.get(origin or hint, f"a {getattr(origin or hint, '__name__', hint)}")
