"""Tables of a trace that nobody changes by accident."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

import pandas as pd


class table:
    """A property that is a table: built when first asked for, and handed out as a copy that shares its memory.

    With pandas 3 such a copy takes memory of its own only where it is written to (copy on write), so that the trace
    keeps what it has, and a table of gigabytes costs nothing. With pandas 2, columns can be added, replaced and
    dropped, but what is written into a column is in the trace, unless ``pd.options.mode.copy_on_write`` is on.
    """

    def __init__(self, build: Callable[[Any], pd.DataFrame]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, trace: None, owner: type | None = None) -> table: ...

    @overload
    def __get__(self, trace: object, owner: type | None = None) -> pd.DataFrame: ...

    def __get__(self, trace: object | None, owner: type | None = None) -> table | pd.DataFrame:
        if trace is None:
            return self
        kept = trace.__dict__
        if self._name not in kept:
            kept[self._name] = self._build(trace)
        built: pd.DataFrame = kept[self._name]
        return built.copy(deep=False)

    def __set__(self, trace: object, value: object) -> None:
        raise AttributeError(f"{self._name} of a trace cannot be replaced")
