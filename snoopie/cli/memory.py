"""snoopie memory: where the memory went."""

from __future__ import annotations

import argparse
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snoopie.cli.arguments import add_traces, again, load_traces
from snoopie.cli.filters import add_filters, not_filtered, places, select
from snoopie.cli.formats import add_formats, add_top, print_csv, print_first, print_json, print_markdown, top
from snoopie.cli.output import in_shell_words, json_rows, print_next, print_table
from snoopie.cli.traffic import print_losses
from snoopie.errors import UsageError
from snoopie.files import check_free, to_standard_output
from snoopie.trace.lacks import Lack
from snoopie.words import units
from snoopie.words.text import visible

if TYPE_CHECKING:
    import pandas as pd

    from snoopie.api.trace import Trace

DESCRIPTION = (
    "Memory use over time by device and kind, allocations at the peak by call stack, and leaks. Each process and "
    "device separately, unless --total is given."
)
# Rows of each list, where --top does not say otherwise.
_ROWS = 20
_PARTS = ("usage", "watermark", "leaks")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_traces(parser)
    parser.add_argument(
        "--usage", action="store_true", help=("memory use over time by kind, and as reported by the driver")
    )
    parser.add_argument("--watermark", action="store_true", help="allocations at the peak, by call stack")
    parser.add_argument("--leaks", action="store_true", help="allocations never freed, by call stack")
    parser.add_argument(
        "--events", action="store_true", help="each allocation and free with its call stack, a line each, as TSV"
    )
    parser.add_argument(
        "--by-origin", action="store_true",
        help="usage by who allocated, not by kind: valid (the call stack is known), driver (a driver call without "
        "a stack), invalid (no call is known)",
    )  # fmt: skip
    parser.add_argument(
        "--profile", action="store_true",
        help="first run a program: snoopie memory --profile -- PROGRAM [ARGUMENT …], under nsys where it is installed, "
        "else under the collector; then draw its memory",
    )  # fmt: skip
    parser.add_argument("--total", action="store_true", help="peak and picture of all processes and devices together")
    parser.add_argument("--nvidia-smi", metavar="LOG", type=Path, help="draw what nvidia-smi logged during the run")
    parser.add_argument(
        "--plot",
        metavar="FILE",
        type=Path,
        help="draw usage over time as .png, .svg or .pdf; - for standard output, as PNG and alone",
    )
    parser.add_argument("--force", action="store_true", help="overwrite the picture if it exists")
    add_top(parser, _ROWS)
    add_formats(parser)
    add_filters(parser)


def main(arguments: argparse.Namespace) -> int:
    from snoopie.analysis.selection import MEMORY_BY

    if arguments.profile:
        return _profile(arguments)
    if arguments.nvidia_smi and not arguments.plot and not arguments.json:
        raise UsageError("--nvidia-smi is for the picture", "add --plot FILE, or --json")
    parts = [part for part in _PARTS if getattr(arguments, part)] or list(_PARTS)
    if (arguments.csv or arguments.markdown) and len(parts) > 1:
        raise UsageError("CSV and Markdown have one list", "add --usage, --watermark or --leaks")
    if arguments.plot:
        _check_picture(arguments)
    trace = select(load_traces(arguments), arguments)
    if arguments.events:
        return _events(trace, arguments)
    logged = _logged(trace, arguments) if arguments.nvidia_smi else None
    if arguments.plot:
        _plot(trace, arguments, logged)
    if arguments.plot and to_standard_output(arguments.plot):
        print_losses(trace)
        return 0
    if arguments.json:
        print_json(_as_json(trace, parts, arguments, logged))
        return 0
    if arguments.csv or arguments.markdown:
        table = top(_table(trace, parts[0], arguments), arguments)
        print_csv(table) if arguments.csv else print_markdown(table)
        return 0
    for number, part in enumerate(parts):
        if number:
            print()
        _PRINT[part](trace, arguments)
    sys.stdout.flush()
    for sentence in not_filtered(arguments, "memory", MEMORY_BY):
        print(f"snoopie: note: {sentence}", file=sys.stderr)
    print_losses(trace)
    if not trace.complete:
        print(
            "snoopie: a trace is incomplete: memory that it shows as not freed may have been freed later",
            file=sys.stderr,
        )
    if arguments.plot:
        print(f"wrote {arguments.plot}", file=sys.stderr)
    else:
        print_next("memory", *again(arguments), *arguments.traces, "--plot", "memory.png")
    return 0


def _profile(arguments: argparse.Namespace) -> int:
    """Runs a program, and then shows and draws its memory, whatever its status, which is returned unless it is 0."""
    from snoopie.cli import process, profiled

    if arguments.nvidia_smi:
        raise UsageError("--nvidia-smi is of a run that is over", "add it to `snoopie memory` of the folder afterwards")
    if arguments.plot and to_standard_output(arguments.plot):
        raise UsageError("the program writes to standard output itself", "name a file with --plot")
    if arguments.plot:
        _check_picture(arguments)
    try:
        status, folder, traces = profiled.run(arguments.traces)
    except process.ProgramError as error:
        print(f"snoopie: {in_shell_words(str(error))}", file=sys.stderr)
        return error.status
    if not traces:
        return status or 1
    arguments.profile, arguments.traces, arguments.all_runs = False, [str(path) for path in traces], True
    if not (arguments.plot or arguments.json or arguments.csv or arguments.markdown or arguments.events):
        arguments.plot = folder / "memory.png"
    shown = main(arguments)
    return 128 - status if status < 0 else status or shown


# --- what is printed ---


def _print_usage(trace: Trace, arguments: argparse.Namespace) -> None:
    first = int(trace.processes["start_ns"].min())
    kinds = trace.memory_by_kind(by_origin=arguments.by_origin)
    if unknown := _unknown(trace):
        print(f"Memory by kind: {unknown}")
    else:
        print("Memory by kind; times are after the program's start")
    shown = ["process", "device", "kind", "counted", "peak", "peak_after", "left", "objects"]
    table = kinds.assign(peak_after=kinds["peak_time"] - first)
    if trace.lacks(Lack.FREES):
        # What there was at once, and at the end, is at most what was allocated in all.
        table = table.assign(peak=-1, peak_after=-1, left=-1, allocated_bytes=kinds["left"])
        shown = ["process", "device", "kind", "counted", "allocated_bytes", "objects", "peak", "left"]
    if len(table) or not unknown:
        print_first(table[shown], arguments)
    agreement = trace.memory_agreement()
    if (agreement["own"] >= 0).any() and not (agreement["used"] >= 0).any():
        print("\nMemory in use by the program, as the tool that recorded it says")
        last = agreement[agreement["own"] >= 0].groupby(["process", "device"]).tail(1)
        print_table(last[["process", "device", "own"]])
    if len(agreement) and (agreement["used"] >= 0).any():
        print()
        print("Memory in use as reported by the driver: change since the first sample, and what was allocated then")
        print_table(_driver_table(agreement, first))


def _driver_table(agreement: pd.DataFrame, first: int) -> pd.DataFrame:
    import pandas as pd

    known = agreement[agreement["used"] >= 0]
    groups = known.groupby(["process", "device"])
    peaks = known.loc[groups["used"].idxmax()].assign(sample="peak")
    rows = pd.concat([peaks, groups.tail(1).assign(sample="last")]).sort_values(["process", "device"], kind="stable")
    rows = rows.assign(after=rows["time"] - first)
    return rows[["process", "device", "sample", "after", "used", "used_change", "allocated_by_all"]]


def _print_watermark(trace: Trace, arguments: argparse.Namespace) -> None:
    from snoopie.analysis.memory import usage

    table = trace.memory_watermark(total=arguments.total)
    first = int(trace.processes["start_ns"].min())
    if len(table) == 0:
        print(f"Peak: {unknown}" if (unknown := trace.lacks(Lack.ALLOCATIONS)) else "No memory was allocated")
    elif unknown := trace.lacks(Lack.FREES):
        print(f"Peak: {unknown}; below is all that was allocated")
    for number, ((_, process, device), live) in enumerate(table.groupby(["peak", "process", "device"], sort=False)):
        if number:
            print()
        peak, time = int(live["peak"].iloc[0]), int(live["time"].iloc[0]) - first
        whose = (
            "all processes and devices"
            if process == usage.ALL
            else f"process {process} on {device}"
            if len(trace.processes) > 1
            else device
        )
        if trace.lacks(Lack.FREES):
            print(f"Allocated in {whose}: {units.bytes(peak)}")
        else:
            print(f"Peak of {whose}: {units.bytes(peak)} after {units.duration(time)}")
        print_first(live[["source", "call", "kind", "objects", "bytes"]], arguments)


def _print_leaks(trace: Trace, arguments: argparse.Namespace) -> None:
    from snoopie.analysis.memory import usage

    table = trace.leaks()
    if unknown := _unknown(trace):
        print(f"Leaks: {unknown}")
    elif not (table["state"] == usage.NEVER_FREED).any() and trace.complete:
        print("No leaks: every allocation was freed, or lives until the program's end by design")
    for number, state in enumerate(dict.fromkeys(table["state"])):
        some = table[table["state"] == state]
        if number:
            print()
        size = (
            units.bytes(int(some["bytes"].sum())) if some["process"].nunique() * some["device"].nunique() == 1 else ""
        )
        print(f"{state[0].upper()}{state[1:]}{f': {size}' if size else ''}")
        print_first(some[["process", "device", "source", "call", "kind", "objects", "bytes"]], arguments)


def _unknown(trace: Trace) -> str:
    """Why it is not known what memory there was, or which of it was freed; "" where it is."""
    return trace.lacks(Lack.ALLOCATIONS) or trace.lacks(Lack.FREES)


_PRINT = {"usage": _print_usage, "watermark": _print_watermark, "leaks": _print_leaks}


# --- for programs and documents ---


# The columns that the scripts for Nsight Systems have, and ours.
_EVENT = {
    "pid": "PID", "address": "address", "time": "start_time", "bytes": "bytes", "kind": "memkind",
    "operation": "mem_op_type", "name": "var_name", "call_stack": "call_stack", "device": "device", "origin": "origin",
}  # fmt: skip


def _events(trace: Trace, arguments: argparse.Namespace) -> int:
    """Prints each allocation and free, in columns between tabs."""
    from snoopie.exporters.formulas import guarded

    table = top(trace.memory_events(), arguments)
    print("\t".join(_EVENT.values()))
    table = table.assign(address=[hex(address) for address in table["address"].tolist()])
    # Many rows have the same names and stacks, and a stack is long.
    once = cache(lambda text: guarded(visible(text)))
    for row in table[list(_EVENT)].itertuples(index=False):
        print("\t".join(once(value) if isinstance(value, str) else str(value) for value in row))
    sys.stdout.flush()
    print_losses(trace)
    return 0


def _table(trace: Trace, part: str, arguments: argparse.Namespace) -> pd.DataFrame:
    if part == "usage":
        return trace.memory_usage(by_origin=arguments.by_origin)
    return trace.memory_watermark(total=arguments.total) if part == "watermark" else trace.leaks()


def _as_json(
    trace: Trace, parts: list[str], arguments: argparse.Namespace, logged: pd.DataFrame | None
) -> dict[str, Any]:
    from snoopie.analysis.memory import usage

    result: dict[str, Any] = {"complete": trace.complete, "start_ns": int(trace.processes["start_ns"].min())}
    result["unknown"] = trace.unknown()
    for part in parts:
        rows = json_rows(top(_table(trace, part, arguments), arguments))
        result[part] = [row | {"process": None} if row["process"] == usage.ALL else row for row in rows]
        if part == "usage":
            result["agreement"] = json_rows(trace.memory_agreement())
    if logged is not None:
        result["nvidia_smi"] = json_rows(logged)
    return result


# --- the picture ---


def _check_picture(arguments: argparse.Namespace) -> None:
    # What draws takes a second to import: without a picture, it is not needed.
    from snoopie.figures import picture

    if to_standard_output(arguments.plot) and (
        arguments.json or arguments.csv or arguments.markdown or arguments.events
    ):
        raise UsageError("the picture is all that goes to standard output", "name a file with --plot")
    picture.kind_of(arguments.plot, _kind(arguments.plot))
    check_free(arguments.plot, force=arguments.force)


def _kind(path: Path) -> str | None:
    """The kind of a picture where no suffix says it."""
    return "png" if to_standard_output(path) else None


def _plot(trace: Trace, arguments: argparse.Namespace, logged: pd.DataFrame | None) -> None:
    from snoopie.figures import memory as chart
    from snoopie.figures import picture

    usage = trace.memory_usage(by_origin=arguments.by_origin)
    if arguments.total:
        panels = chart.total(usage, trace.processes)
    else:
        agreement = trace.memory_agreement()
        panels = chart.panels(usage, agreement, trace.processes, logged)
    figure = chart.draw(panels, int(trace.processes["start_ns"].min()))
    picture.write(figure, arguments.plot, kind=_kind(arguments.plot), force=arguments.force)


def _logged(trace: Trace, arguments: argparse.Namespace) -> pd.DataFrame:
    """What nvidia-smi logged of the owners that were chosen. UsageError where it was not while the program ran."""
    owners = arguments.owner or [None]
    # A log of one GPU may not say which: it is then the one that was chosen.
    logged = trace.nvidia_smi(arguments.nvidia_smi, owners[0] if len(owners) == 1 else None)
    if len(owners) > 1:
        chosen = {trace.label(place) for place in places(trace, owners)}
        logged = logged[logged["device"].isin(chosen)]
    _check_times(trace, logged)
    return logged


def _check_times(trace: Trace, logged: pd.DataFrame) -> None:
    first = int(trace.processes["start_ns"].min())
    last = int(max(trace.processes["end_ns"].max(), trace.memory_use["time"].max() if len(trace.memory_use) else first))
    if int(logged["time"].min()) > max(first, last) or int(logged["time"].max()) < first:
        raise UsageError(
            "the log of nvidia-smi was not recorded while the program ran",
            "its times are local: if it is from another time zone, set TZ to that",
        )
