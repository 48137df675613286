"""snoopie hang: what the kernels of running programs wait for, joined over the processes of this host."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from snoopie.cli.formats import add_json, print_json
from snoopie.cli.output import clean
from snoopie.words import units
from snoopie.words.names import brief_name

if TYPE_CHECKING:
    from snoopie.cli.hang_reports import Process

DESCRIPTION = (
    "Ask programs that run under the collector which kernels are under way and what they wait for: the line that "
    "polls, the address and whose it is, which lines have stored there so far, and where their processes are now; of "
    "NCCL's kernels the collective and its number (docs/waits.md). No program is stopped. Lines that poll are known "
    "where the program runs with WAITS=on."
)
_MS = 10**6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pids", metavar="PID", nargs="*", type=_pid,
        help="this process and those that it has started (default: all of yours on this host)",
    )  # fmt: skip
    add_json(parser)


def _pid(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text} is not a process ID")
    return int(text)


def main(arguments: argparse.Namespace) -> int:
    from snoopie.cli.hang_reports import asked, listening, remarks

    processes = asked(listening(arguments.pids))
    said = remarks(processes)
    if arguments.json:
        print_json({"processes": [process.report for process in processes], "remarks": said})
        return 0
    for process in processes:
        print(clean(_heading(process)))
        for line in _lines(process, processes):
            print(f"  {clean(line)}")
    if said:
        print("\nBetween the processes")
        for sentence in said:
            print(f"  {clean(sentence)}")
    sys.stdout.flush()
    return 0


def _heading(process: Process) -> str:
    rank = f"rank {process.rank}, " if process.rank >= 0 else ""
    return f"{rank}process {process.pid} ({process.program})"


def _lines(process: Process, processes: list[Process]) -> list[str]:
    report = process.report
    if not report["answered"]:
        return ["its GPUs did not answer within 5 s: the CUDA driver is busy or hangs"]
    lines = []
    for kernel in report["kernels"]:
        since = units.duration(kernel["milliseconds"] * _MS)
        lines.append(f"kernel {brief_name(kernel['kernel'])} on {process.gpu(kernel['gpu'])}, under way for {since}")
        lines += [f"  carries out {_collective(call)}" for call in kernel["collectives"]]
        for wait in kernel["waits"]:
            lines += [f"  {line}" for line in _wait(process, wait, processes)]
    if not report["kernels"]:
        last = units.duration(report["last_milliseconds"] * _MS)
        name = brief_name(report["last_kernel"])
        lines.append(
            f"no kernel is under way; {name} was launched last, {last} ago" if name else "no kernel was launched"
        )
    elif not report["waits_recorded"]:
        lines.append("where these wait is not known: the program runs without WAITS=on")
    return lines


def _wait(process: Process, wait: dict[str, Any], processes: list[Process]) -> list[str]:
    warps, blocks = units.plural(wait["warps"], "warp", "warps"), units.plural(wait["blocks"], "block", "blocks")
    longest = units.duration(wait["milliseconds"] * _MS)
    first = f"{warps} of {blocks} (first: {wait['first_block']}) at {wait['place']}, the longest for {longest}"
    owner = process.gpu(wait["owner"])
    what = f"{wait['address']} of {owner}" if int(wait["address"], 16) else f"memory of {owner}"
    if wait["object"]:
        what += f": allocation {wait['object']} of {units.bytes(wait['object_bytes'])}, at offset {wait['offset']:#x}"
    stores, exactly = process.stores_to(wait, processes)
    if not stores:
        who = "no store to it is known so far"
    else:
        about = "stored there so far" if exactly else f"stored to other memory of {owner} so far, too"
        who = f"{about}: {', '.join(stores)}"
    return [f"wait: {first}", f"  for {what}", f"  {who}"]


def _collective(call: dict[str, Any]) -> str:
    return (
        f"{call['operation']} of {call['count']:,} {call['type']}: call {call['sequence']} of rank {call['rank']} of "
        f"{call['ranks']} on communicator {call['communicator']}"
    )
