"""One look for all views: a colour for each GPU, the scale of heatmaps, how text from a trace is made harmless."""

from __future__ import annotations

import re

import seaborn as sns

# Not taken by any GPU: what belongs to none of them.
NEUTRAL = "#8a8f98"
OTHERS = {"host": "#31333f", "unknown": "#b4b8c0", "multicast": "#5b6b8c"}


def gpu_colours(count: int) -> list[str]:
    """A colour for each GPU, the same in all views: told apart by colour-blind people up to 10, then by hue."""
    palette = sns.color_palette("colorblind", count) if count <= 10 else sns.husl_palette(count, s=0.75, l=0.6)
    return [str(colour) for colour in palette.as_hex()]


def heat_scale() -> list[tuple[float, str]]:
    """Light to dark in one hue, for amounts."""
    palette = [str(colour) for colour in sns.color_palette("crest", 9).as_hex()]
    return [(place / (len(palette) - 1), colour) for place, colour in enumerate(palette)]


_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def plain(text: str) -> str:
    """The text as it stands, where Streamlit would read Markdown: names in a trace are not to be trusted."""
    return _PUNCTUATION.sub(r"\\\1", " ".join(text.split()))
