"""What is chosen in a view also stands in its address, so that the address shows a colleague the same.

The keepers below go before the widget of the same key. An address that says something new (a link was followed, or the
page was opened with it) goes before what was chosen here; else the choice stays, and is written into the address.

Who does two things in quick succession tells the app with the second the address of before the first, whose answer is
still under way. So where something was done on a page, what it has kept holds: the address is no news.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TypeVar
from urllib.parse import parse_qs

import streamlit as st

Value = TypeVar("Value")

_WRITTEN = "address_written"
# All that was ever kept.
_KEPT = "address_kept"
# The values as the last run left them, and the keys of those that hold whatever the address says.
_LEFT, _HELD = "address_left", "address_held"
_PAGE, _HOLDS = "address_page", "address_holds"


def begin(page: str) -> None:
    """Once in each run, before what a page keeps: whether this run is due to an address, or to what was done."""
    session = st.session_state
    left = session.get(_LEFT, {})
    changed = any(key in session and session[key] != value for key, value in left.items())
    holds = session.pop(_HOLDS, False) or changed
    session[_HELD] = set(left) if holds and session.get(_PAGE) == page else set()
    session[_PAGE] = page


def hold() -> None:
    """The run that comes next is not due to an address: what this page has kept holds."""
    st.session_state[_HOLDS] = True


def keep(
    key: str,
    default: Value,
    read: Callable[[list[str]], Value | None],
    write: Callable[[Value], list[str]],
    valid: Callable[[Value], bool] = lambda _: True,
) -> Value:
    """The choice ``key``, now in the session's state and in the address, which leaves the default out.

    ``read`` makes a value of the address's words, or None where they are none; ``write`` is its inverse. What is not
    ``valid`` (any more) gives way to the default.
    """
    written: dict[str, list[str]] = st.session_state.setdefault(_WRITTEN, {})
    st.session_state.setdefault(_KEPT, set()).add(key)
    given = st.query_params.get_all(key)
    left: dict[str, Value] = st.session_state.setdefault(_LEFT, {})
    held: set[str] = st.session_state.setdefault(_HELD, set())
    value: Value | None = st.session_state.get(key)
    if given and given != written.get(key) and key not in held:
        value = read(given)
    elif value is None and key in written:
        # Another page was shown since, and Streamlit forgot the widget.
        value = read(written[key])
    if value is None or not valid(value):
        value = default
    # Assigned in every run: Streamlit forgets the state of a widget that a page does not show.
    st.session_state[key] = left[key] = value
    held.add(key)
    if value == default:
        written.pop(key, None)
        if given:
            del st.query_params[key]
    else:
        written[key] = write(value)
        if given != written[key]:
            st.query_params[key] = written[key]
    return value


def keep_text(key: str, default: str = "", valid: Callable[[str], bool] = lambda _: True) -> str:
    """A text."""
    return keep(key, default, lambda words: words[-1], lambda value: [value], valid)


def keep_one(key: str, options: Sequence[str], default: str | None = None) -> str:
    """One of the options; the default is the first."""
    return keep_text(key, options[0] if default is None else default, lambda value: value in options)


def keep_number(key: str, options: Container[int], default: int) -> int:
    """One of the numbers."""
    return keep(key, default, number, lambda value: [str(value)], lambda value: value in options)


def keep_positive(key: str, default: int) -> int:
    """A whole number from 1 to 2^31 - 1, whether or not anything has it now."""
    return keep_number(key, range(1, 1 << 31), default)


def keep_some(key: str, options: Sequence[str]) -> list[str]:
    """Some of the options; none is the default."""
    none: list[str] = []
    chosen = keep(key, none, lambda words: [word for word in words if word in options], lambda value: list(value))
    return chosen


def arrive(search: str) -> None:
    """A person went back or forth to an address ("?…"): what it does not say is as it was at first.

    All is read anew: what the browser tells of a choice may be of the page that was just left.
    """
    reread(*st.session_state.get(_KEPT, ()))
    st.query_params.from_dict(parse_qs(search.removeprefix("?"), keep_blank_values=True))


def forget(*keys: str) -> None:
    """Back to the defaults."""
    reread(*keys)
    for key in keys:
        if key in st.query_params:
            del st.query_params[key]


def reset(*keys: str) -> None:
    """Back to the defaults, but for what the address newly says."""
    written = st.session_state.get(_WRITTEN, {})
    for key in keys:
        _drop(key)
        if key in written and written.pop(key) == st.query_params.get_all(key):
            del st.query_params[key]


def reread(*keys: str) -> None:
    """Drops what was chosen: what the address says is new."""
    for key in keys:
        _drop(key)
        st.session_state.get(_WRITTEN, {}).pop(key, None)


def _drop(key: str) -> None:
    st.session_state.pop(key, None)
    st.session_state.get(_LEFT, {}).pop(key, None)
    st.session_state.get(_HELD, set()).discard(key)


def number(words: Sequence[str]) -> int | None:
    """The last of some words as a whole number below 10^18, None where it is none."""
    word = words[-1]
    return int(word) if word.isascii() and word.isdigit() and len(word) < 19 else None
