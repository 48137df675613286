"""The picture of the two words that everything else is said with."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_TERMS = Path(__file__).resolve().parents[1] / "look" / "terms.svg"


def show() -> None:
    """Issuer and owner, as a picture and a sentence."""
    st.image(str(_TERMS), width=640)
    st.caption(
        "The issuer executes the instruction; the owner has the memory. A store sends bytes, a load fetches them."
    )


def offer() -> None:
    """The same behind a button, where the words are first met."""
    with st.popover("What issuer and owner mean", icon=":material/help:"):
        show()
