"""What people opened in the pages of this server: an address may name it, so that it is there after a reload.

An address opens nothing by itself: whoever is sent one by somebody else sees nothing that nobody here asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import streamlit as st

_MOST = 100


@st.cache_resource(show_spinner=False)
def _known() -> dict[str, tuple[str, ...]]:
    """By the name that an address has for it, the latest last."""
    return {}


def remember(paths: Sequence[str]) -> str:
    """Keeps that somebody opened these traces; returns what an address calls them."""
    name = sha256("\0".join(paths).encode(errors="surrogateescape")).hexdigest()[:12]
    known = _known()
    known.pop(name, None)
    known[name] = tuple(paths)
    for oldest in list(known)[:-_MOST]:
        known.pop(oldest, None)
    return name


def paths(name: str) -> tuple[str, ...]:
    """The traces that an address calls so; () for none."""
    return _known().get(name, ())


def latest() -> list[tuple[str, ...]]:
    """All that was opened, the latest first."""
    return list(reversed(_known().values()))
