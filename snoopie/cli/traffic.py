"""Who moved how much, as tables for people."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from snoopie.cli import native
from snoopie.cli.output import in_shell_words, print_table
from snoopie.words import units

if TYPE_CHECKING:
    import pandas as pd

    from snoopie.analysis.traffic.reading import Reading
    from snoopie.api.trace import Trace

# What `stats --by` sums up: keyword → the trace's table.
TABLES: dict[str, Callable[[Trace], pd.DataFrame]] = {
    "pair": lambda trace: trace.by_pair(),
    "kernel": lambda trace: trace.by_kernel(),
    "line": lambda trace: trace.by_line(),
    "site": lambda trace: trace.by_site(),
    "copy": lambda trace: trace.by_copy(),
    "collective": lambda trace: trace.by_collective(),
    "object": lambda trace: trace.by_object(),
    "tensor": lambda trace: trace.by_tensor(),
    "launch": lambda trace: trace.by_launch(),
    "operation": lambda trace: trace.by_operation(),
    "file": lambda trace: trace.by_file(),
    "library": lambda trace: trace.by_library(),
    "stack": lambda trace: trace.by_stack(),
    "process": lambda trace: trace.by_process(),
    "range": lambda trace: trace.by_range(),
}
_AMOUNTS = ["accesses", "bytes", "share", "wire_bytes", "wire_efficiency"]
_SHOWN = {
    "pair": ["issuer", "owner", *_AMOUNTS],
    "kernel": ["kernel", "launches", *_AMOUNTS],
    "sampled kernel": ["kernel", "launches", "measured", *_AMOUNTS],
    "line": ["source", "kernel", *_AMOUNTS],
    "site": ["site", "source", "kernel", "operation", "width", "sass", *_AMOUNTS],
    "copy": ["from", "to", "kind", "call", "copies", "bytes", "share", "host_ns"],
    "collective": ["operation", "reduction", "type", "communicator", "calls", "launches", "call_bytes", *_AMOUNTS],
    "object": ["object", "owner", "kind", "name", "source", "size", *_AMOUNTS, "copied_in", "copied_out"],
    "tensor": ["tensor", "gpu", "size", "source", "function", *_AMOUNTS, "copied_in", "copied_out"],
    "launch": ["launch", "kernel", "issuer", "process", *_AMOUNTS],
    "operation": ["operation", *_AMOUNTS],
    "file": ["file", "lines", *_AMOUNTS],
    "library": ["issuer", "owner", "library", *_AMOUNTS],
    "stack": ["source", "kernel", "launches", *_AMOUNTS],
    "sampled stack": ["source", "kernel", "launches", "measured", *_AMOUNTS],
    "process": ["process", "launches", *_AMOUNTS],
    "range": ["range", "domain", "of", "times", "duration", "launches", *_AMOUNTS, "copies", "copy_bytes"],
    "sampled process": ["process", "launches", "measured", *_AMOUNTS],
}
_NOTHING = {
    "copy": "no copy that the host started was recorded",
    "collective": "no NCCL call was recorded",
}
_UNKNOWN_SOURCE = "(source line unknown)"
_UNKNOWN_OBJECT = "(allocation unknown)"
# Key → its column that can be empty, and what people read there.
_UNKNOWN = {
    "file": ("file", "(source file unknown)"),
    "stack": ("source", "(call stack unknown)"),
    "range": ("range", "(in no range)"),
}


def traffic_table(trace: Trace, by: str, reading: Reading = "issued") -> pd.DataFrame:
    """The traffic by one key of `TABLES`, most bytes first, exact; with native times where the trace has them."""
    # Only pairs have directions: `reading` of others is "issued".
    table = trace.by_pair(reading) if by == "pair" else TABLES[by](trace)
    return native.with_times(trace, table, by) if native.has_times(trace, by, reading) else table


def for_people(trace: Trace, table: pd.DataFrame, by: str, reading: Reading = "issued") -> pd.DataFrame:
    """The columns of a `traffic_table` that are shown, with shares and places in the source."""
    # Of the table, not of the accesses: a flow counts an atomic in both directions. Ranges lie within ranges.
    every = trace.summary()["bytes"] if by == "range" else table["bytes"].sum()
    table = table.assign(share=table["bytes"] / max(int(every), 1))
    if "line" in table:
        table["source"] = sources(table)
    if by in _UNKNOWN:
        column, unknown = _UNKNOWN[by]
        table[column] = table[column].where(table[column] != "", unknown)
    if by == "object":
        # Less than nothing is shown as a dash.
        known = table["object"] > 0
        table["source"] = table["source"].where(known, _UNKNOWN_OBJECT)
        table[["object", "size"]] = table[["object", "size"]].where(known, -1)
    if by == "pair" and reading == "flow":
        return table[["from", "to", *_AMOUNTS]]
    sampled = f"sampled {by}"
    shown = _SHOWN[sampled if trace.estimated and sampled in _SHOWN else by]
    return table[[*shown, *(native.SHOWN if native.has_times(trace, by, reading) else ())]]


def print_traffic(
    trace: Trace, by: str, reading: Reading = "issued", stream: TextIO | None = None, top: int = 0
) -> None:
    """Print the traffic by one key, most bytes first, and its total. ``top``: so many rows, 0 for all."""
    stream = stream or sys.stdout
    table = traffic_table(trace, by, reading)
    if table.empty:
        print(_NOTHING.get(by, "no access by a kernel to another GPU's memory was measured"), file=stream)
        return
    shown = for_people(trace, table, by, reading)
    print_table(shown.head(top) if top else shown, stream)
    if top and len(shown) > top:
        print(f"… and {units.plural(len(shown) - top, 'more row', 'more rows')}: --top 0 shows all", file=stream)
    print(_total(trace, by), file=stream)


def _total(trace: Trace, by: str) -> str:
    total = trace.summary()
    if by == "copy":
        return f"{total['copies']:,} {'copy' if total['copies'] == 1 else 'copies'}, {units.bytes(total['copy_bytes'])}"
    if by == "collective":
        return f"{len(trace.collectives):,} {'call' if len(trace.collectives) == 1 else 'calls'}"
    about = "≈ " if trace.estimated else ""
    return (
        f"{about}{total['accesses']:,} accesses, {about}{units.bytes(total['bytes'])}, "
        f"{'at most ' if _loads(trace) else ''}{about}{units.bytes(total['wire_bytes'])} on the wire, "
        f"wire efficiency {units.efficiency(total['wire_efficiency'])}"
        + (", estimated from a sample of the launches" if trace.estimated else "")
    )


def _loads(trace: Trace) -> bool:
    """Whether anything was read: of that, hits in the L1 cache move nothing."""
    return "load" in set(trace.by_operation()["operation"])


def print_beside_traffic(trace: Trace, stream: TextIO | None = None) -> None:
    """Print what the accesses of kernels do not show, each under its title: copies, collectives, what was missed."""
    from snoopie.analysis import losses

    stream = stream or sys.stdout
    if len(trace.copies):
        print("\nCopies that the host started", file=stream)
        print_traffic(trace, "copy", stream=stream)
    if len(trace.collectives):
        print("\nCollectives, with the traffic of their kernels", file=stream)
        print_traffic(trace, "collective", stream=stream)
    missed = losses.that_ran(trace.not_measured())
    if len(missed):
        print("\nInstructions that ran and were not measured", file=stream)
        print_not_measured(missed, stream)


def print_copies_between_gpus(trace: Trace, stream: TextIO) -> None:
    """Print what the host copied from one GPU to another; nothing where it copied nothing."""
    table = trace.by_copy()
    gpus = set(trace.gpus["label"])
    table = table[table["from"].isin(gpus) & table["to"].isin(gpus) & (table["from"] != table["to"])]
    if table.empty:
        return
    size, copies = int(table["bytes"].sum()), int(table["copies"].sum())
    print("\nCopies between GPUs that the host started", file=stream)
    print_table(table.assign(share=table["bytes"] / max(size, 1))[_SHOWN["copy"]], stream)
    print(f"{units.plural(copies, 'copy', 'copies')}, {units.bytes(size)}", file=stream)


def print_not_measured(ran: pd.DataFrame, stream: TextIO | None = None) -> None:
    """Print the instructions that ran and were not measured, most often run first."""
    # A line can hold many of a kind.
    kinds = ran.assign(source=sources(ran)).groupby(["source", "kernel", "opcode"], sort=False)["accesses"].sum()
    print_table(kinds.sort_values(ascending=False, kind="stable").reset_index(), stream)


def sources(table: pd.DataFrame) -> list[str]:
    """`file:line` of each row."""
    places = zip(table["file"], table["line"], strict=True)
    return [f"{file}:{line}" if line else _UNKNOWN_SOURCE for file, line in places]


def print_losses(trace: Trace, stream: TextIO | None = None) -> None:
    """Print, one a line, what the trace does not hold; nothing where nothing is missing."""
    for sentence in trace.losses():
        print(f"snoopie: note: {in_shell_words(sentence)}", file=stream or sys.stderr)
