"""One look for all views, light and dark: margins, the scale of heatmaps, how text from a trace is made harmless."""

from __future__ import annotations

import re
from pathlib import Path

import streamlit as st

from snoopie.figures import colours
from snoopie.words.text import cut, visible

_PAGE = Path(__file__).with_name("page.css")
# Text of less weight, on light and on dark ground.
_FAINT = "#5d6066", "#b4b7bd"


def is_dark() -> bool:
    """Whether the browser shows the dark theme: for what is drawn beyond the reach of Streamlit's own."""
    return st.context.theme.type == "dark"


def faint() -> str:
    """The colour of text of less weight. Streamlit's own grey is too pale to be read by everybody."""
    return _FAINT[is_dark()]


def use() -> None:
    """The look of all pages: their style, of which the server sends most before (see `visualizer.server.early`)."""
    st.html(_PAGE)
    st.html(
        f"<style>[data-testid=stCaptionContainer] {{ opacity: 1; color: {faint()}; }} "
        "[data-testid=stCaptionContainer] :not(a) { color: inherit; }</style>"
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
    return colours.ink_on(colours.at(heat(), share))


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
