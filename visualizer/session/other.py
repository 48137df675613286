"""The trace that the open one is compared with: which it is, and what the two say of one another.

Its name stands in the address. An address opens nothing by itself: it may only name what the command line named, or,
by the name that `opened` gave it and that cannot be guessed, what somebody opened in a page of this server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from glob import escape
from os.path import exists
from typing import Any, Concatenate, ParamSpec, TypeVar

import streamlit as st

import snoopie
from visualizer.session import address, opened, recents, state
from visualizer.session.filters import FILTERS, Filters
from visualizer.session.question import KEYS, Scope

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")

# What is the same in both traces because it has the same name. A process, a time, the number of a launch is not.
_BY_NAME = frozenset({"kernels", "operations", "issuers", "owners", "ranges"})
_REFUSED = "other_refused"
_TRUNCATED = "other_truncated"
# The key in the address.
KEY = "with"


def known() -> list[str]:
    """What may be compared with: named on the command line, or opened in a page, also of the user's app before."""
    before = [*opened.latest(), *(recents.latest() if state.arguments().own else [])]
    there = [paths[0] for paths in before if len(paths) == 1 and exists(paths[0])]
    return list(dict.fromkeys([*state.arguments().compare, *there]))


def keep() -> tuple[str, ...]:
    """The paths of the other trace, () where none is chosen; by default the first that the command line names."""
    command = state.arguments().compare
    given = st.query_params.get_all(KEY)
    if given and given[-1] and not _paths(given[-1]):
        st.session_state[_REFUSED] = given[-1]
    chosen = address.keep_text(KEY, next(iter(command), ""), lambda name: not name or bool(_paths(name)))
    return _paths(chosen) if chosen else ()


def _paths(name: str) -> tuple[str, ...]:
    """What a name in an address stands for; () for what nobody here asked for."""
    return (name,) if name in (*state.arguments().compare, *state.paths()) else opened.paths(name)


def refused() -> str | None:
    """What the address named and is not opened, because nobody here asked for it."""
    name: str | None = st.session_state.get(_REFUSED)
    return name


def choose(name: str) -> None:
    """Compares with another trace, by the name that a person gave; "" for none."""
    st.session_state[KEY] = name if name in ("", *state.arguments().compare) else opened.remember([name])
    st.session_state.pop(_REFUSED, None)
    st.session_state.pop(_TRUNCATED, None)


def accept_truncated() -> None:
    """From now on reads what is whole of it."""
    st.session_state[_TRUNCATED] = True


def read(paths: Sequence[str]) -> None:
    """Reads the other trace, for `ask`. Raises the errors of `snoopie.load`."""
    allow = state.arguments().allow_truncated or bool(st.session_state.get(_TRUNCATED))
    st.session_state["other"] = (state.read_other(paths, allow), allow)


def applied() -> Filters:
    """The filters that hold for both traces."""
    chosen = state.filters()
    return replace(chosen, **{name: () for name in FILTERS if name not in _BY_NAME})


def left_out() -> bool:
    """Whether there are filters that cannot hold for both."""
    return applied() != state.filters()


def ask(
    method: Callable[Concatenate[snoopie.Comparison, _Arguments], _Answer],
    *args: _Arguments.args,
    **options: _Arguments.kwargs,
) -> _Answer:
    """The answer of a method of the `snoopie.Comparison` of the two, kept for the next time."""
    known: _Answer = _answer(*_both(), method, args, options)
    return known


def _both() -> tuple[Scope, Scope]:
    identity, allow = st.session_state["other"]
    chosen = applied()
    present = set(state.read(Scope(identity, allow)).launches["kernel"])
    # What B does not have is no pattern, as a name that holds a * would be.
    kernels = tuple(name if name in present else escape(name) for name in chosen.kernels)
    return state.scope(chosen), Scope(identity, allow, replace(chosen, kernels=kernels))


@st.cache_data(max_entries=256, show_spinner="Comparing …", hash_funcs=KEYS)
def _answer(
    a: Scope, b: Scope, method: Callable[..., Any], args: tuple[object, ...], options: dict[str, object]
) -> Any:
    return method(_comparison(a, b), *args, **options)


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=KEYS)
def _comparison(a: Scope, b: Scope) -> snoopie.Comparison:
    return snoopie.compare(state.read(a), state.read(b))
