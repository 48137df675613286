"""Reports of running processes, asked for and joined: who waits for whom, and where collectives do not match.

A process under the collector listens on an abstract Unix socket named after it. The kernel says who asks and who
answers: only processes of the same user are believed.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snoopie.errors import SnoopieError, UsageError
from snoopie.joined.ranks import ranks_of

VERSION = 1
_SOCKET = "snoopie-hang-"
# The collector waits 5 s for its GPUs.
_PATIENCE = 15.0
_MOST_BYTES = 64 << 20
_MOST_PROCESSES = 4096
_MOST_STORES = 3
_HOST, _UNKNOWN = -1, -2
# What a report holds, and of what type.
_REPORT = {
    "pid": int, "host": str, "program": str, "ranks": dict, "trace": str, "waits_recorded": bool, "answered": bool,
    "gpus": list, "kernels": list, "last_kernel": str, "last_milliseconds": int, "calls": list, "stores": list,
}  # fmt: skip
_STORE = {"place": str, "gpu": int, "owner": int, "accesses": int}
_CALL = {
    "operation": str, "type": str, "count": int, "communicator": str, "sequence": int, "rank": int, "ranks": int,
    "peer": int,
}  # fmt: skip
_KERNEL = {"launch": int, "kernel": str, "gpu": int, "milliseconds": int, "collectives": list, "waits": list}
_WAIT = {
    "place": str, "instruction": str, "warps": int, "blocks": int, "first_block": int, "milliseconds": int,
    "address": str, "owner": int, "object": int, "object_bytes": int, "offset": int, "stores": list,
}  # fmt: skip


@dataclass(frozen=True)
class Process:
    """What one process said."""

    report: dict[str, Any]

    @property
    def pid(self) -> int:
        return int(self.report["pid"])

    @property
    def program(self) -> str:
        return str(self.report["program"])

    @property
    def rank(self) -> int:
        """-1 where no launcher gave it one."""
        return ranks_of(self.report["ranks"]).rank

    @property
    def name(self) -> str:
        return f"rank {self.rank}" if self.rank >= 0 else f"process {self.pid}"

    def uuid(self, gpu: int) -> str:
        """Of a GPU by its place; "" for what is none."""
        gpus = self.report["gpus"]
        return str(gpus[gpu]) if 0 <= gpu < len(gpus) else ""

    def gpu(self, place: int) -> str:
        """A GPU, or other memory, for people."""
        if place < 0:
            return "the host" if place == _HOST else "an unknown owner"
        return f"GPU {place}"

    def stores_to(self, wait: Mapping[str, Any], processes: Iterable[Process]) -> tuple[list[str], bool]:
        """Who stored to what is polled, the most often first, and whether it is known to be the very allocation. Of
        other processes it is known whose memory they stored to, and no more."""
        if wait["stores"]:
            return [f"{store['place']} on {self.gpu(store['gpu'])}" for store in wait["stores"][:_MOST_STORES]], True
        owner = self.uuid(wait["owner"])
        if not owner:
            return [], False
        found = [
            (store["accesses"], f"{store['place']} on {process.gpu(store['gpu'])} of {process.name}")
            for process in processes
            for store in process.report["stores"]
            if process.uuid(store["owner"]) == owner and process.uuid(store["gpu"]) != owner
        ]
        return [text for _, text in sorted(found, key=lambda one: (-one[0], one[1]))[:_MOST_STORES]], False


def listening(pids: Sequence[int]) -> list[int]:
    """The processes of this host that can be asked: these and those that they have started, or all of the user's.

    SnoopieError where there is none.
    """
    every = sorted(_sockets())
    if not pids:
        if not every:
            raise SnoopieError(
                "no program runs under the collector on this host", "start it with snoopie run, or name its PID as root"
            )
        return every[:_MOST_PROCESSES]
    for pid in pids:
        if not Path(f"/proc/{pid}").exists():
            raise UsageError(f"there is no process {pid}", "name a process of this host, in the same container")
    chosen = [pid for pid in every if any(above in pids for above in _ancestry(pid))]
    if not chosen:
        which = f"process {pids[0]}" if len(pids) == 1 else "these processes"
        raise SnoopieError(
            f"{which} and what was started by it does not run under the collector, or uses no GPU yet",
            "start the program with snoopie run",
        )
    return chosen[:_MOST_PROCESSES]


def asked(pids: Sequence[int]) -> list[Process]:
    """What they say, by rank; those that end meanwhile say nothing. SnoopieError where none of them answers."""
    with ThreadPoolExecutor(max_workers=min(32, len(pids))) as pool:
        answers = list(pool.map(_ask, pids))
    processes = [Process(answer) for answer in answers if answer is not None]
    if not processes:
        raise SnoopieError("no process answered", "look whether they still run; only their user and root may ask")
    return sorted(processes, key=lambda process: (process.rank, process.pid))


def remarks(processes: Sequence[Process]) -> list[str]:
    """What does not match between processes: collectives of one communicator, by their numbers."""
    by_communicator: dict[str, list[tuple[Process, dict[str, Any]]]] = {}
    for process in processes:
        for call in process.report["calls"]:
            by_communicator.setdefault(call["communicator"], []).append((process, call))
    found = []
    for communicator, calls in by_communicator.items():
        ordered = sorted(calls, key=lambda one: one[1]["rank"])
        numbers = {call["sequence"] for _, call in ordered}
        if len(numbers) > 1:
            last = max(numbers)
            ahead = [call["rank"] for _, call in ordered if call["sequence"] == last]
            for process, call in ordered:
                if call["sequence"] != last and not _is_one_sided(call):
                    found.append(
                        f"communicator {communicator}: rank {call['rank']} (process {process.pid}) has made "
                        f"{call['sequence']} calls, the last {_call(call)}; {_ranks(ahead)} "
                        f"{'has' if len(ahead) == 1 else 'have'} made {last}"
                    )
            continue
        kinds: dict[str, list[int]] = {}
        for _, call in ordered:
            if not _is_one_sided(call):
                kinds.setdefault(_call(call), []).append(call["rank"])
        if len(kinds) > 1:
            said = "; ".join(f"{_ranks(ranks)}: {kind}" for kind, ranks in kinds.items())
            found.append(f"communicator {communicator}, call {numbers.pop()}: the ranks' collectives differ: {said}")
    return found


def _call(call: Mapping[str, Any]) -> str:
    root = f" of root {call['peer']}" if call["peer"] >= 0 else ""
    return f"{call['operation']}{root} of {call['count']:,} {call['type']}"


def _is_one_sided(call: Mapping[str, Any]) -> bool:
    # Ranks make as many of these as they have partners.
    return call["operation"] in ("Send", "Recv")


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"


# --- Processes and their sockets ---


def _sockets() -> set[int]:
    """The processes that listen: abstract sockets are listed with an @ before their names."""
    try:
        lines = Path("/proc/net/unix").read_text("utf-8", "replace").splitlines()[1:]
    except OSError:
        return set()
    names = {line.rsplit(" ", 1)[-1] for line in lines}
    numbers = {name.removeprefix(f"@{_SOCKET}") for name in names if name.startswith(f"@{_SOCKET}")}
    pids = {int(number) for number in numbers if number.isascii() and number.isdigit() and len(number) < 10}
    return {pid for pid in pids if _is_mine(pid)}


def _is_mine(pid: int) -> bool:
    try:
        return os.geteuid() in (0, Path(f"/proc/{pid}").stat().st_uid)
    except OSError:
        return False


def _ancestry(pid: int) -> list[int]:
    found = []
    while pid > 1 and pid not in found:
        found.append(pid)
        try:
            # What stands in brackets is the program's name, which can hold anything.
            pid = int(Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
    return found


def _ask(pid: int) -> dict[str, Any] | None:
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_PATIENCE)
            connection.connect(f"\0{_SOCKET}{pid}")
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            _, user, _ = struct.unpack("3i", credentials)
            if user not in (os.geteuid(), 0) and os.geteuid() != 0:
                return None
            parts, size = [], 0
            while part := connection.recv(1 << 16):
                parts.append(part)
                size += len(part)
                if size > _MOST_BYTES:
                    return None
    except OSError:
        return None
    return parsed(b"".join(parts))


def parsed(answer: bytes) -> dict[str, Any] | None:
    """A report; None for what is none. SnoopieError for one of another version."""
    try:
        report = json.loads(answer)
    except (ValueError, RecursionError):
        return None
    if not isinstance(report, dict):
        return None
    if report.get("report") != VERSION:
        raise SnoopieError(
            "the collector that the program runs with is of another version", "use the snoopie that started it"
        )
    whole = _has(report, _REPORT)
    whole = whole and all(_has(call, _CALL) for call in report["calls"])
    whole = whole and all(_has(store, _STORE) for store in report["stores"])
    whole = whole and all(isinstance(name, str) for name in [*report["gpus"], *report["ranks"].values()])
    for kernel in report["kernels"] if whole else ():
        whole = whole and _has(kernel, _KERNEL) and all(_has(call, _CALL) for call in kernel["collectives"])
        for wait in kernel["waits"] if whole else ():
            whole = whole and _has(wait, _WAIT) and _is_address(wait["address"])
            whole = whole and all(_has(store, _STORE) for store in wait["stores"])
    return report if whole else None


def _has(value: Any, members: Mapping[str, type]) -> bool:
    return isinstance(value, dict) and all(type(value.get(name)) is kind for name, kind in members.items())


def _is_address(text: str) -> bool:
    digits = text.removeprefix("0x")
    return 0 < len(digits) <= 16 and all(digit in "0123456789abcdef" for digit in digits)
