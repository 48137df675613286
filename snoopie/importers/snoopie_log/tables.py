"""What a log and the files beside it say → the tables of a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from snoopie.importers.snoopie_log.fields import Ints
from snoopie.importers.snoopie_log.log import Log, owners
from snoopie.importers.snoopie_log.opcode import decode
from snoopie.importers.snoopie_log.side_files import Frame, SideFiles, Stack
from snoopie.trace import wire
from snoopie.trace.writer import HOST, UNKNOWN, TraceWriter

OBJECT_KINDS = ("device", "host", "unknown")
KERNEL = "(unknown kernel)"
_OPERATIONS = ("load", "store", "atomic", "reduction")


def write_tables(writer: TraceWriter, log: Log, files: SideFiles) -> tuple[dict[str, int], int]:
    """Writes all tables but notices; returns the footer's totals, and how many addresses have several objects."""
    stacks = _Stacks(writer)
    allocated = stacks.write(files.allocated, lambda pc: files.allocators.get(pc, Frame(pc)))
    contexts = stacks.write(files.contexts, lambda site: files.callers.get(site, Frame(site)))
    sites = _write_sites(writer, log, files)
    objects, ambiguous = _write_objects(writer, log, files, allocated)
    writer.write(
        "launches", id=np.arange(1, len(log.launches) + 1),
        # Of logs that name kernels these stand for contexts.
        function=np.array([context + 1 if log.kernels else 1 for _, context in log.launches], np.int64),
        gpu=np.array([issuer for issuer, _ in log.launches], np.int64),
        stack=np.array([0 if log.kernels else contexts.get(context, 0) for _, context in log.launches], np.int64),
    )  # fmt: skip
    log.accesses.write(writer, sites, objects)
    copy_bytes = _write_copies(writer, log, contexts)
    return {
        "accesses": log.accesses.rows,
        "copies": writer.rows("copies"),
        "copy_bytes": copy_bytes,
        "records_written": writer.rows("records") + writer.rows("scattered"),
        "records_dropped": 0,
    }, ambiguous


class _Stacks:
    """Frames and stacks; what stacks have in common is written once."""

    def __init__(self, writer: TraceWriter) -> None:
        self._writer = writer
        self._frames: dict[Frame, int] = {}
        self._stacks: dict[tuple[int, int], int] = {}

    def write(self, stacks: Mapping[int, Stack], frame: Callable[[int], Frame]) -> dict[int, int]:
        """Writes the stacks of some numbers; returns the id of each, 0 for an empty one."""
        before, first = len(self._frames), len(self._stacks)
        found = {}
        for number, stack in stacks.items():
            caller = 0
            for place in reversed(stack):
                key = self._frames.setdefault(frame(place), len(self._frames) + 1), caller
                caller = self._stacks.setdefault(key, len(self._stacks) + 1)
            found[number] = caller
        self._write_frames(list(self._frames)[before:], before)
        fresh = np.array(list(self._stacks)[first:], np.int64).reshape(-1, 2)
        ids = np.arange(first + 1, len(self._stacks) + 1)
        self._writer.write("stacks", id=ids, frame=fresh[:, 0], caller=fresh[:, 1])
        return found

    def _write_frames(self, frames: list[Frame], before: int) -> None:
        writer = self._writer
        ids = np.arange(before + 1, before + 1 + len(frames))
        writer.write("frames", id=ids, address=np.array([frame.address for frame in frames], np.uint64))
        named = np.array([bool(frame.function or frame.file or frame.line) for frame in frames], np.bool_)
        known = [frame for frame in frames if frame.function or frame.file or frame.line]
        writer.write(
            "symbols", frame=ids[named], function=writer.intern_all(frame.function for frame in known),
            file=writer.intern_all(frame.file for frame in known),
            line=np.array([frame.line for frame in known], np.int64),
        )  # fmt: skip


def _write_sites(writer: TraceWriter, log: Log, files: SideFiles) -> Ints:
    """Writes lines and sites: one for each opcode and source line, whatever index the line has on each device.

    Returns the id for each of the log's sites.
    """
    lines: dict[tuple[str, int], int] = {}
    places: list[tuple[int, str, str, int]] = []
    for site in log.sites:
        file, line = files.lines.get(site.index, ("", 0))
        line = site.line if site.line > 0 else line
        if line:
            lines.setdefault((file, line), len(lines) + 1)
        places.append((site.kernel, site.opcode, file, line))
    # The sites of a function have consecutive ids.
    keys = {key: number for number, key in enumerate(sorted(dict.fromkeys(places), key=lambda key: key[0]), start=1)}
    ids = [keys[key] for key in places]
    writer.write(
        "lines", id=np.arange(1, len(lines) + 1), file=writer.intern_all(file for file, _ in lines),
        line=np.array([line for _, line in lines], np.int64),
    )  # fmt: skip
    kernels = np.array([kernel for kernel, *_ in keys], np.int64)
    named = [name or KERNEL for name in log.kernels or [KERNEL]]
    held = np.bincount(kernels, minlength=len(named))
    writer.write(
        "functions", id=np.arange(1, len(named) + 1), name=writer.intern_all(named), kernel=1,
        has_lines=int(bool(lines)), first_site=np.where(held > 0, np.cumsum(held) - held + 1, 0), sites=held,
    )  # fmt: skip
    opcodes = [decode(opcode) for _, opcode, _, _ in keys]
    names = writer.intern_all(opcode for _, opcode, _, _ in keys)
    writer.write(
        "sites", id=np.arange(1, len(keys) + 1), function=kernels + 1, sass=names, opcode=names,
        operation=np.array([_OPERATIONS.index(known.operation) if known else 0 for known in opcodes], np.int64),
        width=np.array([known.width if known else 0 for known in opcodes], np.int64),
        wire_unit=np.array([known.wire_unit if known else wire.READ for known in opcodes], np.int64),
        measured=np.array([known is not None for known in opcodes]).astype(np.uint8),
        line=np.array([lines.get((file, line), 0) for _, _, file, line in keys], np.int64),
    )  # fmt: skip
    return np.array(ids, np.int64)


def _write_objects(writer: TraceWriter, log: Log, files: SideFiles, stacks: Mapping[int, int]) -> tuple[Ints, int]:
    """Writes objects; returns the id for each of the log's bases, 0 for none, and how many could be several."""
    ranges = files.ranges
    owner = owners(np.array([place.device for place in ranges], np.int64))
    kind = np.where(owner == HOST, OBJECT_KINDS.index("host"), OBJECT_KINDS.index("device"))
    kind[owner == UNKNOWN] = OBJECT_KINDS.index("unknown")
    writer.write(
        "objects", id=np.arange(1, len(ranges) + 1), address=np.array([place.base for place in ranges], np.uint64),
        bytes=np.array([place.bytes for place in ranges], np.int64), owner=owner, kind=kind,
        stack=np.array([stacks.get(place.site, 0) for place in ranges], np.int64),
        call=writer.intern_all(_call(files, place.site) for place in ranges),
        name=writer.intern_all(files.names.get(place.site, "") for place in ranges),
    )  # fmt: skip
    found: dict[tuple[int, int], list[int]] = {}
    for number, (place, code) in enumerate(zip(ranges, owner.tolist(), strict=True), start=1):
        found.setdefault((place.base, code), []).append(number)
    bases = owners(np.array([device for _, device in log.bases], np.int64)).tolist()
    held = [found.get((base, code), [0]) for (base, _), code in zip(log.bases, bases, strict=True)]
    return np.array([numbers[-1] for numbers in held], np.int64), sum(len(numbers) > 1 for numbers in held)


def _call(files: SideFiles, site: int) -> str:
    """The innermost frame of an allocation, if it is a call of CUDA."""
    stack = files.allocated.get(site, ())
    function = files.allocators.get(stack[0], Frame(0)).function if stack else ""
    return function.partition("(")[0] if function.startswith("cu") else ""


def _write_copies(writer: TraceWriter, log: Log, contexts: Mapping[int, int]) -> int:
    """Writes the copies whose ends lie apart; returns the sum of their bytes."""
    total = 0
    calls = writer.intern_all(log.calls)
    for copies in log.copies.read():
        source, destination = copies["source"], copies["destination"]
        apart = (source != destination) | (source == UNKNOWN)
        log.local_copies += int((~apart).sum())
        rows = {name: values[apart] for name, values in copies.items()}
        # Between a GPU and the host it is the GPU that copies; between two GPUs it may be either.
        gpu = np.where(
            rows["source"] == HOST, rows["destination"], np.where(rows["destination"] == HOST, rows["source"], UNKNOWN)
        )
        first = writer.rows("copies") + 1
        writer.write(
            "copies", id=np.arange(first, first + len(gpu)), kind=0, call=calls[rows["call"]], gpu=gpu,
            stack=np.array([contexts.get(context, 0) for context in rows["context"].tolist()], np.int64),
            **{name: rows[name] for name in ("source", "destination", "destination_address", "bytes")},
        )  # fmt: skip
        total += int(rows["bytes"].sum())
    return total
