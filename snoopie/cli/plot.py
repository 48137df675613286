"""snoopie plot: a figure for a paper."""

import argparse
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from snoopie.analysis.traffic.reading import INITIATED, READINGS
from snoopie.analysis.traffic.values import VALUES
from snoopie.cli.arguments import add_traces, again, load_traces
from snoopie.cli.filters import add_filters, not_filtered, select
from snoopie.cli.output import print_next, say_written
from snoopie.cli.traffic import print_losses
from snoopie.errors import UsageError
from snoopie.files import check_free, to_standard_output

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DESCRIPTION = """Draw a trace as PNG, SVG or PDF: who reached whom (matrix), what moved when (timeline), the lines that
moved most (lines), memory over time (memory). The same trace gives the same file, and text in it stays text."""

# Options that only some figures have → the figures' own default is taken where one is not given.
_OPTIONS = {
    "matrix": ("value", "reading", "initiated"),
    "timeline": ("reading", "initiated", "bins"),
    "lines": ("value", "top"),
    "memory": (),
}
KINDS = ("png", "svg", "pdf")
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces(parser)
    parser.add_argument("--figure", choices=tuple(_OPTIONS), required=True, help="what to draw")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, required=True,
        help="the picture: x.pdf, x.svg or x.png; - for standard output",
    )  # fmt: skip
    parser.add_argument("--format", choices=KINDS, help="its kind (default: as its name ends; standard output: png)")
    parser.add_argument("--value", choices=VALUES, help="of matrix and lines (default: bytes)")
    parser.add_argument(
        "--reading", choices=READINGS, help="of matrix and timeline: who issued, or where data flowed (default: issued)"
    )
    parser.add_argument(
        "--initiated", choices=INITIATED,
        help="of matrix and timeline: kernels (device), copies of the host, both (default: device, timeline: both)",
    )  # fmt: skip
    parser.add_argument("--top", metavar="N", type=_natural, help="number of lines (default: 15)")
    parser.add_argument("--bins", metavar="N", type=_natural, help="number of steps of the timeline (default: 400)")
    parser.add_argument("--title", default="", help="a title (default: none, as a paper has captions)")
    parser.add_argument("--width", metavar="W", type=_width, help="3.5in, 89mm, 8.9cm or 252pt (default: a column, "
                        "or a page for timeline and memory)")  # fmt: skip
    parser.add_argument("--dpi", metavar="N", type=_dpi, default=300, help="of a PNG (default: 300)")
    parser.add_argument(
        "--force", action="store_true", help="overwrite the picture if it exists; a pipe or a device is written to"
    )
    add_filters(parser)


def _natural(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= 100_000:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1 to 100000")
    return int(text)


def _width(text: str) -> float:
    found = re.fullmatch(r"(\d{1,5}(?:\.\d{1,5})?)(in|cm|mm|pt)?", text, re.ASCII)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text} is not a width: give one such as 3.5in or 89mm")
    return float(found[1]) * _INCHES[found[2] or "in"]


def _dpi(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 50 <= int(text) <= 1200:
        raise argparse.ArgumentTypeError(f"{text} is not a resolution from 50 to 1200 dots per inch")
    return int(text)


def main(arguments: argparse.Namespace) -> int:
    from snoopie.analysis.selection import MEMORY_BY
    from snoopie.figures import picture

    options = _options(arguments)
    kind = arguments.format or ("png" if to_standard_output(arguments.output) else None)
    picture.kind_of(arguments.output, kind)
    check_free(arguments.output, force=arguments.force)
    trace = select(load_traces(arguments), arguments)
    draw: Callable[..., Figure] = getattr(trace, f"plot_{arguments.figure}")
    figure = draw(title=arguments.title, **options)
    picture.write(figure, arguments.output, kind=kind, dpi=arguments.dpi, force=arguments.force)
    width, height = figure.get_size_inches()
    say_written(arguments.output, f"wrote {arguments.output}, {width:.2f} × {height:.2f} inches")
    if arguments.figure == "memory":
        for sentence in not_filtered(arguments, "memory", MEMORY_BY):
            print(f"snoopie: note: {sentence}", file=sys.stderr)
    print_losses(trace)
    print_next("report", *again(arguments), *arguments.traces, "-o", "report.html")
    return 0


def _options(arguments: argparse.Namespace) -> dict[str, object]:
    """The options that were given. UsageError for one that the figure does not have."""
    known = _OPTIONS[arguments.figure]
    given = {name: getattr(arguments, name) for names in _OPTIONS.values() for name in names}
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if name not in known:
            having = " and ".join(figure for figure, names in _OPTIONS.items() if name in names)
            raise UsageError(f"--figure {arguments.figure} has no --{name}", f"it is for {having}")
    return given | ({} if arguments.width is None else {"width": arguments.width})
