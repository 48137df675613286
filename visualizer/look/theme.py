"""One look for all views, light and dark: margins, the scale of heatmaps, how text from a trace is made harmless."""

from __future__ import annotations

import re

import streamlit as st

from snoopie.figures import colours
from snoopie.words.text import visible


def is_dark() -> bool:
    """Whether the browser shows the dark theme: for what is drawn beyond the reach of Streamlit's own."""
    return st.context.theme.type == "dark"


def use_the_space() -> None:
    """Smaller margins than Streamlit leaves around a page: tables and pictures need the room. It is seen what the
    keyboard is on."""
    st.html(
        "<style>.stMainBlockContainer { padding: 3rem 2.5rem 4rem; } "
        ":is(a, button, [role=radio], [tabindex]):focus-visible { outline: 2px solid #0173b2; outline-offset: 2px; } "
        "@media print { [data-testid=stSidebar], [data-testid=stHeader] { display: none; } }</style>"
    )


def heat_scale() -> list[tuple[float, str]]:
    """Light to dark in one hue, for amounts."""
    palette = colours.of_amounts()
    return [(place / (len(palette) - 1), colour) for place, colour in enumerate(palette)]


_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def plain(text: str) -> str:
    """The text as it stands, where Streamlit would read Markdown: names in a trace are not to be trusted."""
    return _PUNCTUATION.sub(r"\\\1", visible(" ".join(text.split())))
