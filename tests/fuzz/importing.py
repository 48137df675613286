"""What may become of another tool's recording: an error of the family, and nothing left behind; or traces in which
nothing is wrong."""

from __future__ import annotations

import json
import pickle
import zlib
from contextlib import suppress
from datetime import UTC
from pathlib import Path
from random import Random

import numpy as np

import snoopie
from snoopie.cli.import_ import KINDS
from snoopie.errors import SnoopieError
from snoopie.importers import nvidia_smi, torch_memory
from snoopie.importers.torch_frames import own_frame
from snoopie.trace import check as checking
from snoopie.trace.limits import LIMITS
from tests.fuzz import raw, reading, trees
from tests.fuzz.bounds import check_sentence, step
from tests.fuzz.target import Fault

_MARK, _END = b"==> ", b" <==\n"


def check(kind: str, path: Path, folder: Path) -> None:
    """Imports a recording, or the several files that it says it is."""
    size = path.stat().st_size
    source = _unpacked(path, folder / "source")
    seen: set[bytes] = set()
    for number, cut in enumerate((False, True) if KINDS[kind].cut else (None,)):
        out = folder / f"out{number}"
        out.mkdir()
        options = {} if cut is None else {"allow_truncated": cut}
        with step("import", size):
            try:
                imported = KINDS[kind].convert(source, out / "t.zst", **options)
            except SnoopieError as error:
                check_sentence(error)
                if left := list(out.iterdir()):
                    raise Fault(f"{left} was left behind") from error
                continue
        for one in imported.paths:
            with step("check", size):
                found = checking.check(one, LIMITS)
            if found.wrong or found.truncated:
                raise Fault(f"a trace that was imported is wrong: {found.wrong}")
        # One process after the other: several may be of different runs. Mostly both times the same is imported.
        for one in imported.paths:
            content = one.read_bytes()
            if content in seen:
                continue
            seen.add(content)
            trace = snoopie.load(one)
            reading.analyse(trace, size, Random(zlib.crc32(content)))
            if not set(trace.notices["text"]) <= set(imported.notices):
                raise Fault("the trace has other notices than the importer gave")


def check_nvidia_smi(path: Path, folder: Path) -> None:
    """Reads a log of memory in use."""
    with step("read", path.stat().st_size):
        try:
            table = nvidia_smi.read(path, UTC)
        except SnoopieError as error:
            return check_sentence(error)
    if (table["used"] < 0).any() or (np.diff(table["time"]) < 0).any() or (table["index"] < -1).any():
        raise Fault("the log has what cannot be")
    return None


def check_snapshot(path: Path, folder: Path) -> None:
    """Reads a snapshot of PyTorch's allocator, which may be given as JSON."""
    with suppress(ValueError, RecursionError):
        path.write_bytes(pickle.dumps(json.loads(path.read_bytes())))
    with step("read", path.stat().st_size):
        try:
            table, stacks = torch_memory.read(path)
        except SnoopieError as error:
            return check_sentence(error)
    if list(table.columns) != list(torch_memory.COLUMNS) or not table["stack"].between(-1, len(stacks) - 1).all():
        raise Fault("a tensor has a stack that is none")
    for stack in stacks:
        file, line, function = own_frame(stack)
        if not (line == 0 and file == "") and (file, line, function) not in stack:
            raise Fault("a frame that is in no stack made a tensor")
    return None


def mutate_snapshot(data: bytes, random: Random) -> bytes:
    """JSON as JSON, a pickle as bytes."""
    return trees.mutate_json(data, random) if data.startswith(b"{") else raw.mutate(data, random)


def _unpacked(path: Path, folder: Path) -> Path:
    data = path.read_bytes()
    if not data.startswith(_MARK):
        return path
    folder.mkdir()
    for part in data[len(_MARK) :].split(_MARK):
        name, _, content = part.partition(_END)
        safe = "".join(letter for letter in name.decode("ascii", "ignore")[:100] if letter.isalnum() or letter in "._-")
        if safe.strip("."):
            (folder / safe).write_bytes(content)
    return folder
