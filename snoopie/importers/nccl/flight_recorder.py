"""Dumps of PyTorch's flight recorder: the latest collectives that a rank called, as a pickle or as JSON.

That of torchcomms writes the same, with names of its own.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from snoopie.errors import NotATraceError, SnoopieError
from snoopie.importers.activity.collective import Collective, identity
from snoopie.importers.activity.torch_names import BY_OUTPUT, OPERATIONS, TYPES
from snoopie.importers.activity.values import whole
from snoopie.importers.amounts import LIMIT
from snoopie.importers.nccl.calls import Call, Process
from snoopie.importers.pickles import PlainUnpickler
from snoopie.importers.words import counted

TOOL = "PyTorch's flight recorder"
_RANK = re.compile(r"(\d{1,9})(?:\.\w+)*$")
_NAME = re.compile(r"(?:\w+:)?(\w+)(?: \d+(?:->|<-)(\d+))?.*", re.DOTALL)
_NO_COLLECTIVE = ("split", "new_window", "batch_op_issue")
"""What torchcomms records among the collectives: that a group was split, and the like."""
_NUMBER = re.compile(r"\d{1,9}")


def read(path: Path, run: str) -> tuple[Process, list[str]]:
    """What a dump holds, and sentences on what it does not say. GPUs are those of the ``run``: it names no host."""
    dump = _load(path)
    entries = dump.get("entries") if isinstance(dump, dict) else None
    if not isinstance(entries, list):
        raise NotATraceError(
            f"{path} is no dump of {TOOL}", "give what TORCH_NCCL_DUMP_ON_TIMEOUT=1 wrote, nccl_trace_rank_0"
        )
    named = _RANK.search(path.name)
    if named is None:
        raise SnoopieError(
            f"{path} does not say its rank", "name it as PyTorch did, with its rank at the end: nccl_trace_rank_0"
        )
    rank = int(named[1])
    groups = _groups(dump)
    world = next((len(ranks) for desc, ranks in groups.values() if desc == "default_pg"), None)
    process = Process(rank=rank, world=world, gpu=f"nccl-{run}-rank{rank}")
    unknown = waiting = others = 0
    for entry in entries:
        name = _named(entry) if isinstance(entry, dict) else None
        if name is not None and name[1] in _NO_COLLECTIVE:
            others += 1
            continue
        call = _call(entry, name, rank, groups) if name is not None else None
        if call is None:
            unknown += 1
            continue
        process.calls.append(call)
        waiting += entry.get("state") in ("scheduled", "started")
    sentences = [
        f"{TOOL} keeps only the latest collectives of a rank; it does not record copies, kernels or other calls.",
        f"{TOOL} does not record when calls returned, nor when the GPU worked on them: each is shown when it was made.",
        f"{TOOL} does not record GPUs: each rank's is named by its rank.",
    ]
    sentences += counted(
        (
            ("Collectives that had not completed when the dump was made", waiting),
            ("Calls that are no collective, left out", others),
            ("Collectives whose size, type or group the dump does not say, left out", unknown),
        )
    )
    return process, sentences


def _load(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            start = file.read(1)
            file.seek(0)
            return json.load(file) if start in b"{[ \n" and start else PlainUnpickler(file).load()
    except OSError as error:
        raise NotATraceError(f"{path} cannot be read ({error.strerror})", "give the path of a file") from None
    except Exception as error:
        # A damaged pickle raises nearly anything.
        reason = " ".join(str(error).split())[:100]
        raise NotATraceError(f"{path} is no dump of {TOOL} ({reason})", "give a nccl_trace_rank_<rank>") from None


def _groups(dump: Mapping[str, Any]) -> dict[str, tuple[str, list[int]]]:
    """Description and ranks of each process group, by its name."""
    found = {}
    config = dump.get("pg_config")
    for name, facts in config.items() if isinstance(config, dict) else ():
        ranks = facts.get("ranks") if isinstance(facts, dict) else None
        listed = _NUMBER.findall(ranks) if isinstance(ranks, str) else ranks if isinstance(ranks, list) else []
        members = [whole(one) for one in listed]
        found[str(name)] = (
            str(facts.get("desc")) if isinstance(facts, dict) else "",
            [one for one in members if one is not None],
        )
    return found


def _named(entry: Mapping[str, Any]) -> re.Match[str] | None:
    """What an entry is called: its operation, and the rank it is sent to or got from."""
    name = entry.get("profiling_name")
    return _NAME.fullmatch(name) if isinstance(name, str) else None


def _call(
    entry: Mapping[str, Any], name: re.Match[str], rank: int, groups: Mapping[str, tuple[str, list[int]]]
) -> Call | None:
    time = whole(entry.get("time_created_ns"))
    group = entry.get("process_group")
    own = str(group[0]) if isinstance(group, list | tuple) and group else str(group)
    _, members = groups.get(own, ("", []))
    given, got = (_tensors(entry, side) for side in ("input", "output"))
    if time is None or not 0 < time < LIMIT or rank not in members or given is None or got is None:
        return None
    operation = OPERATIONS.get(name[1], name[1])
    elements, size, kind = got if operation in BY_OUTPUT else given
    peer = whole(name[2]) if operation in ("Send", "Recv") and name[2] else None
    return Call(
        Collective(
            operation=operation, reduction="", type=kind or got[2] or given[2], count=elements,
            bytes=max(size, got[1], given[1]), peer=peer if peer is not None and peer < 1 << 31 else -1,
            communicator=identity(f"{own} {members} {len(members)}"), rank=members.index(rank), ranks=len(members),
        ),
        time,
        time,
    )  # fmt: skip


def _tensors(entry: Mapping[str, Any], side: str) -> tuple[int, int, str] | None:
    """Elements, bytes and type of all tensors of one side; None where that is not known."""
    sizes, kinds = entry.get(f"{side}_sizes"), entry.get(f"{side}_dtypes")
    if not isinstance(sizes, list | tuple) or not isinstance(kinds, list | tuple) or len(sizes) != len(kinds):
        return None
    elements = amount = 0
    names = set()
    for extents, kind in zip(sizes, kinds, strict=True):
        known = [whole(extent) for extent in extents] if isinstance(extents, list | tuple) else [None]
        if not isinstance(kind, str) or kind not in TYPES or any(one is None or not 0 <= one < LIMIT for one in known):
            return None
        number = math.prod(one for one in known if one is not None)
        elements += number
        amount += number * TYPES[kind][1]
        names.add(TYPES[kind][0])
    if amount >= LIMIT:
        return None
    return elements, amount, names.pop() if len(names) == 1 else ""
