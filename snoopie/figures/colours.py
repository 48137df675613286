"""One colour for each place, the same in the app, in reports and in figures."""

from __future__ import annotations

import seaborn as sns

from snoopie.analysis.memory.curve import KINDS, ORIGINS
from snoopie.analysis.memory.curve import OTHERS as OTHER_KINDS

# Not taken by any GPU, and seen on light and on dark ground: what belongs to none of them.
NEUTRAL = "#8a8f98"
OTHERS = {"host": "#6b7280", "unknown": "#a3a8b2", "multicast": "#5b6b8c"}


def of_gpus(count: int) -> list[str]:
    """A colour for each GPU by its number: colour-blind people can distinguish up to 10, then they differ by hue."""
    palette = sns.color_palette("colorblind", count) if count <= 10 else sns.husl_palette(count, s=0.75, l=0.6)
    return [str(colour) for colour in palette.as_hex()]


def of_kernels(count: int) -> list[str]:
    """A colour for each kernel, which is no GPU's: those are stronger."""
    palette = sns.color_palette("Set2", count) if count <= 8 else sns.husl_palette(count, s=0.55, l=0.75)
    return [str(colour) for colour in palette.as_hex()]


def of_amounts() -> list[str]:
    """Light to dark in one hue."""
    return [str(colour) for colour in sns.color_palette("crest", 9).as_hex()]


def of_kinds() -> dict[str, str]:
    """A colour for each kind of memory."""
    # Origins of memory stand in the place of kinds, never beside them.
    kinds = (*KINDS, OTHER_KINDS, *ORIGINS)
    return dict(zip(kinds, map(str, sns.color_palette("colorblind", len(kinds)).as_hex()), strict=True))


# Told apart by colour-blind people too.
LESS, MORE = "#0173b2", "#de8f05"


def of_changes() -> list[str]:
    """From much less through no change to much more."""
    return [str(colour) for colour in sns.blend_palette([LESS, "#f0f0f0", MORE], 9).as_hex()]
