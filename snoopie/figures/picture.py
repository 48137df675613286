"""What all figures have in common: their look, how they are written, and how a notebook shows them."""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from snoopie.errors import UsageError
from snoopie.files import whole_file
from snoopie.words.text import cut, one_line

SUFFIXES = (".png", ".svg", ".pdf")
# Inches.
_NARROWEST, _WIDEST = 2.0, 40.0
DPI = 300
# Text and lines, and nothing else, have this colour: a page may show it in its own.
INK = "#1f2329"
FAINT = "#c9ccd1"
# The typeface is the user's (matplotlib's font.family). Text stays text, in fonts that publishers take; what names hold
# is no formula; the same picture is the same file.
_STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.5,
    "text.parse_math": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "snoopie",
    "pdf.fonttype": 42,
}
# When it was made is left out.
_METADATA: dict[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class Picture(Figure):
    """A matplotlib figure that `savefig` writes in one look, without a date, and that a notebook shows by itself."""

    def __init__(self, width: float, height: float, **options: Any) -> None:
        """Width and height in inches. UsageError for a width that no page has."""
        if not _NARROWEST <= width <= _WIDEST:
            raise UsageError(
                f"a figure cannot be {width:g} inches wide", f"use {_NARROWEST:g} to {_WIDEST:g}, as in 3.5in or 89mm"
            )
        super().__init__(figsize=(width, height), **{"layout": "constrained"} | options)

    def savefig(self, fname: Any, **options: Any) -> None:
        """As matplotlib's, in the look of all figures, and without a date."""
        suffix = Path(fname).suffix[1:].lower() if isinstance(fname, (str, Path)) else ""
        kind = str(options.get("format") or suffix or mpl.rcParams["savefig.format"])
        metadata = _METADATA.get(kind, {}) | dict(options.pop("metadata", None) or {})
        with look(), warnings.catch_warnings():
            # Letters that a font lacks are drawn as boxes.
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            super().savefig(fname, metadata=metadata, **options)

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        content = io.BytesIO()
        # Twice as fine as it is shown, for sharp screens.
        self.savefig(content, format="png", dpi=192, facecolor="white")
        width, height = self.get_size_inches()
        return content.getvalue(), {"width": round(96 * width), "height": round(96 * height)}


def look() -> AbstractContextManager[None]:
    """In it, figures are made and written in the look of all figures."""
    return mpl.rc_context(_STYLE)


def in_look(draw: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """A function that draws in the look of all figures."""

    @wraps(draw)
    def drawn(*arguments: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
        with look():
            return draw(*arguments, **options)

    return drawn


def kind_of(path: Path, kind: str | None = None) -> str:
    """png, svg or pdf, as the name says where nobody does. UsageError for a name that says no kind of picture."""
    if kind is None and path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"a picture cannot be written as {path.name}", f"end its name in {', '.join(SUFFIXES)}")
    return kind or path.suffix[1:].lower()


def write(figure: Figure, path: Path, *, kind: str | None = None, dpi: float = DPI, force: bool = False) -> None:
    """Writes it as PNG (of so many ``dpi``), SVG or PDF, as ``kind`` or the name says.

    UsageError for another suffix, SnoopieError if the file exists (unless ``force``) or cannot be written.
    """
    kind = kind_of(path, kind)
    with whole_file(path, force=force) as unfinished:
        figure.savefig(unfinished, format=kind, dpi=dpi)


def inline_svg(figure: Figure, label: str) -> str:
    """The figure as an <svg> element of a page, on its background and with its text colour, read out as ``label``."""
    content = io.StringIO()
    figure.savefig(content, format="svg", transparent=True)
    drawing = content.getvalue()
    drawing = drawing[drawing.index("<svg") :]
    drawing = re.sub(r"<metadata>.*?</metadata>", "", drawing, count=1, flags=re.DOTALL)
    # Groups of several figures on a page would have the same names; what is referred to is named by its content.
    drawing = re.sub(r'<g id="[^"]*"', "<g", drawing).replace(INK, "currentColor")
    return drawing.replace("<svg", f'<svg role="img" aria-label="{html.escape(label)}"', 1)


def printable(text: str, most: int = 60) -> str:
    """A name from a trace on one line of at most so many letters, its end kept, without letters that XML forbids."""
    return cut(one_line(text), most, keep_end=True)


def say_nothing(axes: Axes, why: str) -> None:
    """An empty picture says why it is empty."""
    axes.set_axis_off()
    axes.text(0.5, 0.5, why, ha="center", va="center", transform=axes.transAxes)
