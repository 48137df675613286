"""The memory that nvidia-smi reported: a log of --query-gpu=timestamp,memory.used --format=csv → a table."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from datetime import datetime, tzinfo
from pathlib import Path

import numpy as np
import pandas as pd

from snoopie.errors import EmptyError, SnoopieError

RECORD_IT = "nvidia-smi --query-gpu=timestamp,uuid,memory.used --format=csv --loop-ms=100 > LOG"
_TIME = re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(\.\d{1,6})?")
_UUID = re.compile(r"(GPU|MIG)-[0-9a-fA-F-]+")
_MEMORY = re.compile(r"(\d+)(?: MiB)?")
# What stands for an amount that nvidia-smi could not get, as on GPUs that share the host's memory.
_NONE = re.compile(r"\[?(?:N/A|Not Supported|Unknown Error|Insufficient Permissions|GPU is lost)\]?", re.IGNORECASE)
_BUS = re.compile(r"(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.[0-7])?", re.IGNORECASE)
_NAMES = {
    "timestamp": "time", "index": "index", "uuid": "uuid", "gpu_uuid": "uuid", "pci.bus_id": "pci", "gpu_bus_id": "pci",
    "memory.used": "used",
}  # fmt: skip
# Fewer GPUs than this are in a machine: a number from here on is one of MiB.
_MOST_GPUS = 64


def read(path: Path, zone: tzinfo | None = None) -> pd.DataFrame:
    """time (ns) index (of the GPU, as nvidia-smi numbers them, -1 unknown) uuid pci (as `bus` spells it; "" unknown)
    used (MiB), by time.

    With the header that nvidia-smi writes or without, with units or without, other columns ignored where there is a
    header. Times are local: of ``zone``, or of this machine. Rows without an amount ([N/A]) are left out, and a last
    line without an end, because it may have been cut. Raises a `SnoopieError` for anything else.
    """
    rows = _rows(path)
    places = _places(path, rows)
    if "time" not in places:
        raise _bad(path, "has no column timestamp")
    if "used" not in places:
        raise _bad(path, "has no column memory.used")
    body = rows[1:] if _is_header(rows[0][1]) else rows
    times, indices, uuids, buses, used = [], [], [], [], []
    for number, cells in body:
        if len(cells) != len(rows[0][1]):
            raise _bad(path, f"has {len(cells)} columns in line {number}, not {len(rows[0][1])}")
        if _NONE.fullmatch(cells[places["used"]]):
            continue
        memory = _MEMORY.fullmatch(cells[places["used"]])
        index = cells[places["index"]] if "index" in places else "-1"
        if memory is None or not re.fullmatch(r"-1|\d{1,4}", index) or len(memory[1]) > 12:
            raise _bad(path, f"has no amount of memory in line {number}")
        times.append(_time(path, number, cells[places["time"]], zone))
        indices.append(int(index))
        uuids.append(cells[places["uuid"]] if "uuid" in places else "")
        buses.append(bus(cells[places["pci"]]) if "pci" in places else "")
        used.append(int(memory[1]))
    if body and not used:
        raise EmptyError(
            f"{path} has no amount of memory: nvidia-smi says {body[0][1][places['used']]}",
            "it cannot know the memory of this GPU; leave the log out",
        )
    table = pd.DataFrame(
        {
            "time": np.array(times, np.int64),
            "index": np.array(indices, np.int64),
            "uuid": pd.Series(uuids, dtype="str"),
            "pci": pd.Series(buses, dtype="str"),
            "used": np.array(used, np.int64),
        }
    )
    return table.sort_values("time", kind="stable", ignore_index=True)


def bus(text: str) -> str:
    """The place of a GPU on the PCI bus in one spelling, whatever tool wrote it; "" for what is none."""
    match = _BUS.fullmatch(text.strip())
    return f"{int(match[1] or '0', 16):04x}:{int(match[2], 16):02x}:{int(match[3], 16):02x}" if match else ""


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """The lines that have an end and are not empty: number, cells."""
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise SnoopieError(f"{path} cannot be read ({error.strerror})", "give the path of nvidia-smi's log") from None
    except UnicodeDecodeError:
        raise _bad(path, "is not text") from None
    lines = text[: text.rfind("\n") + 1].splitlines()
    rows = [
        (number, [cell.strip() for cell in cells])
        for number, line in enumerate(lines, start=1)
        for cells in csv.reader([line], skipinitialspace=True)
        if any(cell.strip() for cell in cells)
    ]
    if not rows:
        raise EmptyError(f"{path} has no complete line", f"record one with {RECORD_IT}")
    return rows


def _is_header(cells: Sequence[str]) -> bool:
    return any(_name(cell) in _NAMES for cell in cells)


def _name(cell: str) -> str:
    """The name of a column, without its unit."""
    return cell.partition("[")[0].strip().lower()


def _places(path: Path, rows: Sequence[tuple[int, list[str]]]) -> dict[str, int]:
    """Which column is what: by the header, else by what is in them."""
    cells = rows[0][1]
    if _is_header(cells):
        names = [_name(cell) for cell in cells]
        return {_NAMES[name]: place for place, name in enumerate(names) if name in _NAMES}
    places: dict[str, int] = {}
    numbers = []
    for place, cell in enumerate(cells):
        if _TIME.fullmatch(cell):
            places.setdefault("time", place)
        elif _UUID.fullmatch(cell):
            places.setdefault("uuid", place)
        elif _BUS.fullmatch(cell):
            places.setdefault("pci", place)
        elif _MEMORY.fullmatch(cell) or _NONE.fullmatch(cell):
            numbers.append(place)
    with_unit = [place for place in numbers if cells[place].endswith("MiB")]
    if len(numbers) == 1:
        places["used"] = numbers[0]
    elif len(numbers) == 2:
        # A number and another: the GPU's index and its memory.
        small = [place for place in numbers if place not in with_unit and _all_below(rows, place, _MOST_GPUS)]
        if len(small) != 1 or len(with_unit) > 1:
            raise _bad(path, "does not say which column is memory.used")
        places["index"] = small[0]
        places["used"] = next(place for place in numbers if place != small[0])
    elif numbers:
        raise _bad(path, "does not say which column is memory.used")
    return places


def _all_below(rows: Sequence[tuple[int, list[str]]], place: int, limit: int) -> bool:
    cells = [cells[place] for _, cells in rows if place < len(cells)]
    return all(re.fullmatch(r"\d{1,3}", cell) and int(cell) < limit for cell in cells)


def _time(path: Path, number: int, text: str, zone: tzinfo | None) -> int:
    try:
        if not _TIME.fullmatch(text):
            raise ValueError(text)
        form = "%Y/%m/%d %H:%M:%S.%f" if "." in text else "%Y/%m/%d %H:%M:%S"
        moment = datetime.strptime(text, form).replace(tzinfo=zone)
        time = int(moment.replace(microsecond=0).timestamp()) * 10**9 + moment.microsecond * 1000
        if abs(time) >= 1 << 63:
            raise ValueError(text)
        return time
    except (ValueError, OverflowError, OSError):
        raise _bad(path, f"has no time like 2026/11/21 14:03:07.123 in line {number}") from None


def _bad(path: Path, what: str) -> SnoopieError:
    return SnoopieError(f"{path} is not a readable log of nvidia-smi: it {what}", f"record one with {RECORD_IT}")
