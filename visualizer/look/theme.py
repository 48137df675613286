"""One look for all views, light and dark: margins, the scale of heatmaps, how text from a trace is made harmless."""

from __future__ import annotations

import re
from pathlib import Path

import streamlit as st

from snoopie.figures import colours
from snoopie.words.text import cut, visible

# From this share of the largest amount on, its colour is dark on light ground.
_DARK = 0.45


# Text of less weight, on light and on dark ground.
_FAINT = "#5d6066", "#b4b7bd"


def is_dark() -> bool:
    """Whether the browser shows the dark theme: for what is drawn beyond the reach of Streamlit's own."""
    return st.context.theme.type == "dark"


def use_the_space() -> None:
    """Smaller margins than Streamlit leaves around a page: tables and pictures need the room. It is seen what the
    keyboard is on."""
    st.html(
        "<style>.stMainBlockContainer { padding: 3rem 2.5rem 4rem; } "
        ":is(a, button, [role=radio], [tabindex]):focus-visible { outline: 2px solid #0173b2; outline-offset: 2px; } "
        # Streamlit's own grey is too pale to be read by everybody.
        f"[data-testid=stCaptionContainer] {{ opacity: 1; color: {_FAINT[is_dark()]}; }} "
        "[data-testid=stCaptionContainer] :not(a) { color: inherit; } "
        # As high as what it stands for, in most cases: a chooser with its label.
        "[data-testid=stSkeleton] { min-height: 64px; } "
        # Two pictures beside one another need more room than Streamlit wants for columns.
        "@media (max-width: 1100px) { .st-key-two_pictures [data-testid=stColumn] { min-width: 100%; } } "
        "@media print { [data-testid=stSidebar], [data-testid=stHeader] { display: none; } }</style>"
    )


def heat() -> list[str]:
    """The colours of amounts, least first: the largest is the furthest from the ground."""
    palette = colours.of_amounts()
    return palette[::-1] if is_dark() else palette


def heat_scale() -> list[tuple[float, str]]:
    """The same, as Plotly takes them."""
    palette = heat()
    return [(place / (len(palette) - 1), colour) for place, colour in enumerate(palette)]


# Letters of a text: more than any name that a program really has.
_LONGEST = 10_000


def on_heat(share: float) -> str:
    """The colour of what is written on the colour of an amount, by its share of the largest."""
    dark = share > _DARK if not is_dark() else share < 1 - _DARK
    return "#ffffff" if dark else "#1f2430"


# Streamlit's own, which tables in frames have to be told of.
FONT = '"Source Sans", sans-serif'
_FONTS = Path(st.__file__).parent / "static" / "static" / "media"


def font_faces() -> dict[str, dict[str, str]]:
    """The page's font for what stands in a frame of its own, as its style sheet has it."""
    files = sorted(_FONTS.glob("SourceSansVF-Upright*.woff2"))
    if not files:
        return {}
    base = st.get_option("server.baseUrlPath").strip("/")
    address = "/".join(["", *filter(None, [base]), "static", "media", files[0].name])
    return {"@font-face": {"font-family": '"Source Sans"', "src": f'url("{address}")', "font-weight": "200 900"}}


_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def plain(text: str) -> str:
    """The text as it stands, where Streamlit would read Markdown: names in a trace are not to be trusted."""
    return _PUNCTUATION.sub(r"\\\1", visible(cut(" ".join(text.split()), _LONGEST)))
