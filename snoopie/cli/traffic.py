"""Who moved how much, as a table for people."""

import sys
from collections.abc import Callable
from typing import TextIO

import pandas as pd

from snoopie.analysis import units
from snoopie.api import Trace
from snoopie.cli.output import in_shell_words, print_table

# What `stats --by` sums up: keyword → the trace's table.
TABLES: dict[str, Callable[[Trace], pd.DataFrame]] = {
    "pair": lambda trace: trace.by_pair(),
    "kernel": lambda trace: trace.by_kernel(),
    "line": lambda trace: trace.by_line(),
    "site": lambda trace: trace.by_site(),
}
_KEYS = {
    "pair": ["issuer", "owner"],
    "kernel": ["kernel", "launches"],
    "line": ["source", "kernel"],
    "site": ["site", "source", "kernel", "operation", "width", "sass"],
}
_AMOUNTS = ["accesses", "bytes", "share", "wire_bytes", "wire_efficiency"]
_UNKNOWN_SOURCE = "(source line unknown)"


def print_traffic(trace: Trace, by: str, reading: str = "issued", stream: TextIO | None = None) -> None:
    """Print the traffic by one key, most bytes first, and its total."""
    stream = stream or sys.stdout
    flow = by == "pair" and reading == "flow"
    table = trace.by_pair(reading="flow") if flow else TABLES[by](trace)
    total = trace.summary()
    if table.empty:
        print("no access to another GPU's memory was measured", file=stream)
        return
    # Of the table, not of the accesses: a flow counts an atomic in both directions.
    table["share"] = table["bytes"] / max(int(table["bytes"].sum()), 1)
    if "file" in table:
        table["source"] = sources(table)
    keys = ["from", "to"] if flow else _KEYS[by]
    print_table(table[[*keys, *_AMOUNTS]], stream)
    print(
        f"{total['accesses']:,} accesses, {units.bytes(total['bytes'])}, "
        f"{units.bytes(total['wire_bytes'])} on the wire ({units.percent(total['wire_efficiency'])} efficiency)",
        file=stream,
    )


def sources(table: pd.DataFrame) -> list[str]:
    """`file:line` of each row."""
    places = zip(table["file"], table["line"], strict=True)
    return [f"{file}:{line}" if line else _UNKNOWN_SOURCE for file, line in places]


def print_losses(trace: Trace, stream: TextIO | None = None) -> None:
    """Print, one a line, what the trace does not hold; nothing where nothing is missing."""
    for sentence in trace.losses():
        print(f"snoopie: note: {in_shell_words(sentence)}", file=stream or sys.stderr)
