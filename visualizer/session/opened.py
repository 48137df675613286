"""What a session has opened: an address names it, so that it is there after a reload.

An address opens nothing by itself, and its names cannot be guessed: a session sees what it opened, or was sent the
address of.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import streamlit as st

_MOST = 1000
# The key of this session's, by their names in addresses, the latest last.
_OWN = "opened_here"


@st.cache_resource(show_spinner=False)
def _known() -> dict[str, tuple[str, ...]]:
    """Of all sessions, by the names that addresses have for them, the latest last."""
    return {}


def _own() -> dict[str, tuple[str, ...]]:
    own: dict[str, tuple[str, ...]] = st.session_state.setdefault(_OWN, {})
    return own


def _keep(known: dict[str, tuple[str, ...]], name: str, opened: tuple[str, ...]) -> None:
    known.pop(name, None)
    known[name] = opened
    for oldest in list(known)[:-_MOST]:
        known.pop(oldest, None)


def remember(paths: Sequence[str]) -> str:
    """Keeps that the session opened these traces; returns what an address calls them."""
    opened = tuple(paths)
    name = next((name for name, own in _own().items() if own == opened), None) or secrets.token_hex(8)
    _keep(_own(), name, opened)
    _keep(_known(), name, opened)
    return name


def paths(name: str) -> tuple[str, ...]:
    """The traces that an address calls so, from now on the session's own; () for none."""
    opened = _known().get(name, ())
    if opened:
        _own().setdefault(name, opened)
    return opened


def latest() -> list[tuple[str, ...]]:
    """All that the session opened, the latest first."""
    return list(reversed(_own().values()))
