"""Elements of the app that no package has: each a Python function beside its JavaScript and its style sheet.

What they are given is data, never markup: their scripts put every text into the page as text.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from visualizer.session import address

_HERE = Path(__file__).resolve().parent


def component(name: str, *others: str) -> Callable[..., Any]:
    """The component of NAME.js in this folder, and of NAME.css where it is seen, for `st.components.v2`.

    ``others``: further scripts, whose functions it uses, and their style sheets. Streamlit sends one of each a
    component.
    """
    files = (*others, name)
    script = "\n".join((_HERE / f"{file}.js").read_text(encoding="utf-8") for file in files)
    looks = [look for file in ("room", *files) if (look := _HERE / f"{file}.css").exists()]
    is_seen = looks[-1].stem == name
    style = "\n".join(look.read_text(encoding="utf-8") for look in looks) if is_seen else None
    mount: Callable[..., Any] = st.components.v2.component(
        f"snoopie_{name}", html='<div class="root"></div>', css=style, js=script
    )
    return mount


def event(key: str, name: str) -> Any:
    """What a component sent, in the callback of that event; None where nothing of that name."""
    address.hold()
    return getattr(st.session_state.get(key), name, None)
