"""Native times beside exact bytes, as tables for people and programs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TextIO, get_args

from snoopie.cli.output import in_shell_words, json_rows, print_table

if TYPE_CHECKING:
    import pandas as pd

    from snoopie.analysis.traffic.reading import Reading
    from snoopie.api.trace import Trace

# What a table for people gains.
SHOWN = ["native_time", "native_rate", "link_share"]


def has_times(trace: Trace, by: str, reading: Reading = "issued") -> bool:
    """Whether the traffic by this key has native times."""
    from snoopie.api.native import NativeBy

    return trace.clean is not None and by in get_args(NativeBy) and reading == "issued"


def with_times(trace: Trace, table: pd.DataFrame, by: Any) -> pd.DataFrame:
    """A table of the traffic with the columns of `Trace.native_by`, in its own order."""
    native = trace.native_by(by)
    keys = [name for name in native.columns if name in table.columns]
    return table.merge(native, on=keys, how="left")


def print_native(trace: Trace, stream: TextIO | None = None) -> None:
    """Print what the native times say of GPUs and ranks, each under its title."""
    stream = stream or sys.stdout
    overlap = trace.native_overlap()
    if overlap["communication"].any():
        print("\nCommunication and other kernels, in native time", file=stream)
        print_table(overlap, stream)
    arrivals = trace.native_arrivals()
    if len(arrivals):
        print("\nWhom the others waited for in collectives, in native time", file=stream)
        print_table(arrivals, stream)


def print_native_losses(trace: Trace) -> None:
    """Print, one a line, what the native times leave out."""
    for sentence in trace.native_losses():
        print(f"snoopie: note: {in_shell_words(sentence)}", file=sys.stderr)


def as_json(trace: Trace) -> dict[str, Any]:
    """What --json gains where there are native times."""
    return {
        "native": {
            "matching": json_rows(trace.native_matching()),
            "overlap": json_rows(trace.native_overlap()),
            "arrivals": json_rows(trace.native_arrivals()),
            "losses": trace.native_losses(),
        }
    }
