"""What the user of `snoopie view` opened before, also when it ran before: a file of theirs alone.

Kept and shown only where the app is one user's (`Arguments.own`): where others share the server, nobody sees what
somebody else opened.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import streamlit as st

_MOST = 20
# Nobody's file of so many names is longer.
_LONGEST = 1 << 20
_KEPT = "recent_kept"


def keep(paths: Sequence[str]) -> None:
    """Notes that these traces were opened, once a session. A state folder that cannot be written to keeps nothing."""
    opened = tuple(str(Path(path).expanduser().absolute()) for path in paths)
    if st.session_state.get(_KEPT) == opened:
        return
    st.session_state[_KEPT] = opened
    others = [before for before in _read() if before != opened]
    with suppress(OSError):
        _write([opened, *others][:_MOST])


def latest() -> list[tuple[str, ...]]:
    """What was opened and is still there, the latest first."""
    return [paths for paths in _read() if all(map(os.path.exists, paths))]


def _file() -> Path:
    home = os.environ.get("XDG_STATE_HOME", "")
    # One that is not absolute is to be ignored, says the XDG specification.
    state = Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "state"
    return state / "snoopie" / "recent.json"


def _read() -> list[tuple[str, ...]]:
    try:
        with _file().open("rb") as file:
            known = json.loads(file.read(_LONGEST))
    except (OSError, ValueError, RuntimeError, RecursionError):
        return []
    if not isinstance(known, list):
        return []
    return [
        tuple(paths)
        for paths in known[:_MOST]
        if isinstance(paths, list) and paths and all(isinstance(path, str) and "\0" not in path for path in paths)
    ]


def _write(known: Sequence[tuple[str, ...]]) -> None:
    """In one step: another app of the user's may read it, or write its own."""
    file = _file()
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # A file that only its user can read.
    handle, name = tempfile.mkstemp(dir=file.parent)
    try:
        with open(handle, "w", encoding="utf-8") as made:
            json.dump(known, made)
        os.replace(name, file)
    except OSError:
        os.unlink(name)
        raise
