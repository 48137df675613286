"""What NCCL's Inspector writes: a JSON object a collective or a send or receive, one after another."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Mapping
from typing import Any

from snoopie.errors import CorruptError, NotATraceError, TruncatedError
from snoopie.importers import Progress
from snoopie.importers.activity.collective import Collective
from snoopie.importers.activity.values import whole
from snoopie.importers.amounts import LIMIT
from snoopie.importers.nccl.calls import Call, Process
from snoopie.importers.text import TextFile
from snoopie.importers.words import counted

TOOL = "NCCL Inspector"
# The message is that of one rank; of these the larger buffer has one of each.
_OF_EACH = ("AllGather", "ReduceScatter", "AlltoAll", "AllToAll", "Gather", "Scatter")
# Records of what is no call: of the network's proxy, of NCCL's functions, groups, launches and plugins.
_OTHERS = {
    "proxy_trace", "proxy_op", "proxy_step", "proxy_ctrl",
    "group", "group_api", "coll_api", "p2p_api", "kernel_launch", "net_plugin",
}  # fmt: skip
_LONGEST = 16 << 20
_EVERY = 1 << 14
_DECODER = json.JSONDecoder(strict=False)


def read(text: TextFile, progress: Progress) -> tuple[list[Process], list[str]]:
    """The processes in a file, in the order in which they come, and sentences on what it does not say."""
    processes: dict[tuple[str, int], Process] = {}
    # The ranks of a process in each communicator: one rank is one GPU.
    ranks: dict[tuple[str, int], dict[int, set[int]]] = {}
    worlds: dict[tuple[str, int], tuple[int, int]] = {}
    dropped: dict[tuple[str, ...], int] = {}
    wrong = others = undated = 0
    dump = _Dump()
    for number, record in enumerate(_records(text), start=1):
        if not number % _EVERY:
            progress(text.path.name, number)
        if not isinstance(record, dict):
            wrong += 1
            continue
        if "dump_stats" in record:
            _add_dropped(record, dropped)
            dump = _Dump.begun_by(record)
            continue
        record = dump.completed(record)
        if not _OTHERS.isdisjoint(record):
            others += 1
            continue
        found = _call(record)
        if found is None:
            wrong += 1
            continue
        host, pid, call, dated = found
        key = host, pid
        processes.setdefault(key, Process(host=host, pid=pid)).calls.append(call)
        ranks.setdefault(key, {}).setdefault(call.what.communicator, set()).add(call.what.rank)
        # The largest communicator is the one of the run.
        worlds[key] = max(worlds.get(key, (0, 0)), (call.what.ranks, call.what.rank))
        undated += not dated
    if not processes:
        what = "no collective, send or receive" if others else "no record"
        raise NotATraceError(f"{text.path} has {what} of {TOOL}", "give a file of its NCCL_INSPECTOR_DUMP_DIR")
    for key, process in processes.items():
        if all(len(own) == 1 for own in ranks[key].values()):
            process.world, process.rank = worlds[key]
            process.gpu = f"nccl-{process.host}-{process.pid}"
    sentences = [text.cut] if text.cut else []
    sentences += [
        f"{TOOL} records NCCL alone, not copies, kernels or other calls, and messages only from a size on "
        "(NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES).",
        f"{TOOL} does not record the types and numbers of elements, only bytes.",
        f"{TOOL} does not record GPUs: each process has one, named by host and process, unless it has several ranks.",
    ]
    sentences += counted(
        (
            ("Calls without a time (NCCL_INSPECTOR_DUMP_VERBOSE=1 records it), shown when they were dumped", undated),
            ("Records that make no sense, skipped", wrong),
            ("Records of the network's proxy, of NCCL's functions or of launches, not in this trace", others),
            (
                f"Calls that {TOOL} had no room for (NCCL_INSPECTOR_DUMP_COLL_RING_SIZE and "
                "NCCL_INSPECTOR_DUMP_P2P_RING_SIZE are what it has), not in this trace",
                sum(dropped.values()),
            ),
        )
    )  # fmt: skip
    return list(processes.values()), sentences


class _Dump:
    """Records of a communicator that were written together. From format 4.3 on only the marker before them says whose
    they are, and how many."""

    def __init__(self, head: Mapping[str, Any] | None = None, records: int = 0) -> None:
        self._head, self._left = head or {}, records

    @classmethod
    def begun_by(cls, marker: Mapping[str, Any]) -> _Dump:
        said = marker["dump_stats"]
        numbers = (
            [whole(said.get(f"{kind}_records")) for kind in ("coll", "p2p", "proxy")] if isinstance(said, dict) else []
        )
        head = {name: marker[name] for name in ("header", "metadata") if name in marker}
        return cls(head, sum(number for number in numbers if number is not None and number > 0))

    def completed(self, record: Mapping[str, Any]) -> Mapping[str, Any]:
        """The record, with what its marker says where it says nothing itself."""
        if "header" in record:
            return record
        self._left -= 1
        return {**self._head, **record} if self._left >= 0 else record


def _add_dropped(record: Mapping[str, Any], dropped: dict[tuple[str, ...], int]) -> None:
    """Notes how many calls a rank of a communicator has dropped so far: each record says it of all until then."""
    head, about, said = record.get("header"), record.get("metadata"), record["dump_stats"]
    head, about = (part if isinstance(part, dict) else {} for part in (head, about))
    who = tuple(str(part) for part in (about.get("hostname"), about.get("pid"), head.get("id"), head.get("rank")))
    for name in ("coll_dropped_total", "p2p_dropped_total"):
        number = whole(said.get(name)) if isinstance(said, dict) else None
        if number is not None and 0 < number < LIMIT:
            dropped[*who, name] = max(number, dropped.get((*who, name), 0))


def _call(record: Mapping[str, Any]) -> tuple[str, int, Call, bool] | None:
    """host, pid, the call, and whether its time is known."""
    head, about = record.get("header"), record.get("metadata")
    kind = "p2p" if "p2p_perf" in record else "coll"
    facts = record.get(f"{kind}_perf")
    if not (isinstance(head, dict) and isinstance(about, dict) and isinstance(facts, dict)):
        return None
    name, peer = facts.get(kind), whole(facts.get("p2p_peer"))
    size, rank, ranks = whole(facts.get(f"{kind}_msg_size_bytes")), whole(head.get("rank")), whole(head.get("n_ranks"))
    handle, dumped, pid = whole(head.get("id")), _time(about.get("dump_timestamp_us")), whole(about.get("pid"))
    if (
        not isinstance(name, str) or size is None or rank is None or ranks is None or handle is None or not dumped
        or not 0 <= rank < ranks < 1 << 31 or not 0 <= size < LIMIT // ranks or not 0 <= handle < 1 << 64
    ):  # fmt: skip
        return None
    times = facts.get("event_trace_ts")
    times = times if isinstance(times, dict) else {}
    start, end = _time(times.get(f"{kind}_start_ts")), _time(times.get(f"{kind}_stop_ts"))
    began, ended = _on_gpu(times.get("kernel_events") or _channels(facts.get("events")))
    host = about.get("hostname")
    call = Call(
        Collective(
            operation=name, reduction="", type="", count=-1, bytes=size * (ranks if name in _OF_EACH else 1),
            peer=peer if peer is not None and 0 <= peer < 1 << 31 else -1, communicator=handle, rank=rank, ranks=ranks,
        ),
        start or dumped, max(start or dumped, end), began, ended,
    )  # fmt: skip
    return host if isinstance(host, str) else "", pid if pid and 0 < pid < 1 << 31 else 0, call, bool(start)


def _channels(events: Any) -> list[Any]:
    """The times of channels where they are among the call's events, as some of the plugin's versions write them."""
    return [event.get("event_trace_ts") for event in _objects(events) if event.get("event_type") == "KernelCh"]


def _on_gpu(events: Any) -> tuple[int, int]:
    """From the first channel's start to the last one's stop; 0 where one of them is not known."""
    channels = _objects(events)
    starts = [_time(event.get("kernel_start_ts")) for event in channels]
    stops = [_time(event.get("kernel_stop_ts")) for event in channels]
    if not channels or not all(starts) or not all(stops) or max(stops) < min(starts):
        return 0, 0
    return min(starts), max(stops)


def _objects(values: Any) -> list[dict[str, Any]]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _time(value: Any) -> int:
    """µs as ns; 0 for what is none."""
    number = whole(value)
    return 1000 * number if number is not None and 0 < number < LIMIT // 1000 else 0


def _records(text: TextFile) -> Iterator[Any]:
    """The JSON values of a text, one after another, on one line each or on several."""
    decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
    buffer, number = "", 0
    for data in text.data():
        buffer += decoder.decode(data)
        at = 0
        while True:
            while at < len(buffer) and buffer[at] in " \t\r\n,":
                at += 1
            try:
                record, at = _DECODER.raw_decode(buffer, at)
            except (ValueError, RecursionError):
                break
            number += 1
            yield record
        buffer = buffer[at:]
        if len(buffer) > _LONGEST:
            break
    if rest := (buffer + decoder.decode(b"", True)).strip(" \t\r\n,"):
        cut = rest.startswith("{") and len(buffer) <= _LONGEST
        what = f"ends too early, after {number:,} records" if cut else f"is no valid JSON after {number:,} records"
        if not number and not cut:
            raise NotATraceError(f"{text.path} has no record of {TOOL}", "give a file of its NCCL_INSPECTOR_DUMP_DIR")
        if not text.allow_truncated:
            error = TruncatedError if cut else CorruptError
            raise error(f"{text.path} {what}", "import the complete records with --allow-truncated")
        text.cut = f"{text.path.name} {what}; only what comes before is in this trace."
