"""One colour for each place, the same in the app, in reports and in figures.

The palettes are seaborn's, written down here: the first page of the app would wait for its import, and for that of
matplotlib. It is asked only for more colours than these.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

from snoopie.analysis.memory.curve import KINDS, ORIGINS
from snoopie.analysis.memory.curve import OTHERS as OTHER_KINDS

# Not taken by any GPU, and seen on light and on dark ground: what belongs to none of them.
NEUTRAL = "#8a8f98"
OTHERS = {"host": "#6b7280", "unknown": "#a3a8b2", "multicast": "#5b6b8c"}

_COLORBLIND = (
    "#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc", "#ca9161", "#fbafe4", "#949494", "#ece133", "#56b4e9",
)  # fmt: skip
_SET2 = ("#66c2a5", "#fc8d62", "#8da0cb", "#e78ac3", "#a6d854", "#ffd92f", "#e5c494", "#b3b3b3")
_CREST = ("#89bf91", "#6db290", "#57a490", "#44948f", "#33858d", "#24768b", "#1c6689", "#215584", "#28437b")
# From the first of _COLORBLIND through grey to the second.
_CHANGES = ("#0173b2", "#3d92c2", "#79b2d1", "#b5d1e1", "#f0f0ef", "#ebd7b4", "#e7bf79", "#e2a73e", "#de8f05")
# Told apart by colour-blind people too.
LESS, MORE = _CHANGES[0], _CHANGES[-1]


def of_gpus(count: int) -> list[str]:
    """A colour for each GPU by its number: colour-blind people can distinguish up to 10, then they differ by hue."""
    return list(_COLORBLIND[:count]) if count <= len(_COLORBLIND) else _hues(count, 0.75, 0.6)


def of_kernels(count: int) -> list[str]:
    """A colour for each kernel, which is no GPU's: those are stronger."""
    return list(_SET2[:count]) if count <= len(_SET2) else _hues(count, 0.55, 0.75)


def _hues(count: int, saturation: float, lightness: float) -> list[str]:
    import seaborn as sns

    return [str(colour) for colour in sns.husl_palette(count, s=saturation, l=lightness).as_hex()]


def of_amounts() -> list[str]:
    """Light to dark in one hue."""
    return list(_CREST)


def shades(colour: str, count: int) -> list[str]:
    """A colour, and lighter ones of its hue: what belongs to one place, told apart."""
    return [at((colour, "#ffffff"), 0.7 * number / count) for number in range(count)]


def at(palette: Sequence[str], share: float) -> str:
    """The colour of a share, 0 to 1, between those of a palette."""
    place = min(max(share, 0.0), 1.0) * (len(palette) - 1)
    below = min(int(place), len(palette) - 2)
    ends = zip(_parts(palette[below]), _parts(palette[below + 1]), strict=True)
    return "#" + "".join(f"{round(low + (place - below) * (high - low)):02x}" for low, high in ends)


def ink_on(colour: str) -> str:
    """Black or white, whichever is easier to read on a colour: the contrast of one of them is 4.5 to 1 on any."""
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in _parts(colour, 255)]
    return "#000000" if 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179 else "#ffffff"


def _parts(colour: str, most: int = 1) -> list[float]:
    """Red, green and blue of "#rrggbb", by the most that they can be."""
    return [int(colour[start : start + 2], 16) / most for start in (1, 3, 5)]


def of_kinds() -> dict[str, str]:
    """A colour for each kind of memory."""
    # Origins of memory stand in the place of kinds, never beside them.
    return dict(zip((*KINDS, OTHER_KINDS, *ORIGINS), cycle(_COLORBLIND), strict=False))


def of_changes() -> list[str]:
    """From much less through no change to much more."""
    return list(_CHANGES)
