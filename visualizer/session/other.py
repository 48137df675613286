"""The trace that the open one is compared with: which it is, and what the two say of one another.

Its name stands in the address. An address opens nothing by itself: it may only name what the command line named, or
what somebody opened in a page of this server.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from glob import escape
from types import FunctionType
from typing import Any, Concatenate, ParamSpec, TypeVar

import streamlit as st

import snoopie
from visualizer.session import address, opened, state
from visualizer.session.filters import FILTERS, Filters
from visualizer.session.question import Scope, full_name

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")

# What is the same in both traces because it has the same name. A process, a time, the number of a launch is not.
_BY_NAME = frozenset({"kernels", "operations", "issuers", "owners", "ranges"})
_ASKED = "others_asked"
_REFUSED = "other_refused"
_TRUNCATED = "other_truncated"
# The key in the address.
KEY = "with"


def known() -> list[str]:
    """What may be compared with: named on the command line, or opened in a page."""
    before = [paths[0] for paths in opened.latest() if len(paths) == 1]
    return list(dict.fromkeys([*state.arguments().compare, *before]))


def keep() -> str:
    """The name of the other trace, "" where none is chosen; by default the first that the command line names."""
    given = st.query_params.get_all(KEY)
    allowed = ["", *known(), *state.paths(), *st.session_state.get(_ASKED, ())]
    # After a reload. An address that somebody sends opens nothing that nobody here has asked for.
    allowed += [path for path in given[-1:] if opened.has(path)]
    if given and given[-1] not in allowed:
        st.session_state[_REFUSED] = given[-1]
    return address.keep_one(KEY, allowed, next(iter(state.arguments().compare), ""))


def refused() -> str | None:
    """What the address named and is not opened, because nobody here asked for it."""
    name: str | None = st.session_state.get(_REFUSED)
    return name


def choose(name: str) -> None:
    """Compares with another trace, by the name that a person gave; "" for none."""
    st.session_state[_ASKED] = [*st.session_state.get(_ASKED, ()), name]
    st.session_state[KEY] = name
    st.session_state.pop(_REFUSED, None)
    st.session_state.pop(_TRUNCATED, None)


def accept_truncated() -> None:
    """From now on reads what is whole of it."""
    st.session_state[_TRUNCATED] = True


def read(name: str) -> None:
    """Reads the other trace, for `ask`. Raises the errors of `snoopie.load`."""
    allow = state.arguments().allow_truncated or bool(st.session_state.get(_TRUNCATED))
    st.session_state["other"] = (state.read_other([name], allow), allow)
    opened.remember([name])


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


@st.cache_data(max_entries=256, show_spinner="Comparing …", hash_funcs={FunctionType: full_name})
def _answer(
    a: Scope, b: Scope, method: Callable[..., Any], args: tuple[object, ...], options: dict[str, object]
) -> Any:
    return method(_comparison(a, b), *args, **options)


@st.cache_resource(max_entries=8, show_spinner=False)
def _comparison(a: Scope, b: Scope) -> snoopie.Comparison:
    return snoopie.compare(state.read(a), state.read(b))
