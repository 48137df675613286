"""The memory that nvidia-smi reported: a log of --query-gpu=timestamp,memory.used --format=csv → a table."""

from __future__ import annotations

import codecs
import csv
import re
from array import array
from collections.abc import Iterator, Sequence
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
# Characters. Real ones have a hundred; csv refuses cells of twice as many with an error of its own.
_LONGEST_LINE = 1 << 16


def read(path: Path, zone: tzinfo | None = None) -> pd.DataFrame:
    """time (ns) index (of the GPU, as nvidia-smi numbers them, -1 unknown) uuid pci (as `bus` spells it; "" unknown)
    used (MiB), by time.

    With the header that nvidia-smi writes or without, with units or without, other columns ignored where there is a
    header. Times are local: of ``zone``, or of this machine. Rows without an amount ([N/A]) are left out, and a last
    line without an end, because it may have been cut. Raises a `SnoopieError` for anything else.
    """
    _, first = next(_rows(path), (0, []))
    if not first:
        raise EmptyError(f"{path} has no complete line", f"record one with {RECORD_IT}")
    places, columns = _places(path, first), len(first)
    found, unknown = _Found(), ""
    for number, cells in _rows(path):
        # A script that calls nvidia-smi again and again has a header each time.
        if _is_header(cells):
            places, columns = _places(path, cells), len(cells)
            continue
        if len(cells) != columns:
            raise _bad(path, f"has {len(cells)} columns in line {number}, not {columns}")
        if _NONE.fullmatch(cells[places["used"]]):
            unknown = unknown or cells[places["used"]]
            continue
        memory = _MEMORY.fullmatch(cells[places["used"]])
        index = cells[places["index"]] if "index" in places else "-1"
        if memory is None or not re.fullmatch(r"-1|\d{1,4}", index) or len(memory[1]) > 12:
            raise _bad(path, f"has no amount of memory in line {number}")
        found.add(
            _time(path, number, cells[places["time"]], zone),
            int(index),
            cells[places["uuid"]] if "uuid" in places else "",
            bus(cells[places["pci"]]) if "pci" in places else "",
            int(memory[1]),
        )
    if unknown and not found.used:
        raise EmptyError(
            f"{path} has no amount of memory: nvidia-smi says {unknown}",
            "it cannot know the memory of this GPU; leave the log out",
        )
    return found.table().sort_values("time", kind="stable", ignore_index=True)


def bus(text: str) -> str:
    """The place of a GPU on the PCI bus in one spelling, whatever tool wrote it; "" for what is none."""
    match = _BUS.fullmatch(text.strip())
    return f"{int(match[1] or '0', 16):04x}:{int(match[2], 16):02x}:{int(match[3], 16):02x}" if match else ""


class _Found:
    """What was read: numbers, and of texts, of which few are different, their places."""

    def __init__(self) -> None:
        self._time, self._index, self.used = array("q"), array("q"), array("q")
        self._uuid, self._pci = array("q"), array("q")
        self._texts: dict[str, int] = {}

    def add(self, time: int, index: int, uuid: str, pci: str, used: int) -> None:
        self._time.append(time)
        self._index.append(index)
        self.used.append(used)
        self._uuid.append(self._texts.setdefault(uuid, len(self._texts)))
        self._pci.append(self._texts.setdefault(pci, len(self._texts)))

    def table(self) -> pd.DataFrame:
        texts = np.array([*self._texts, ""], object)
        return pd.DataFrame(
            {
                "time": np.array(self._time, np.int64),
                "index": np.array(self._index, np.int64),
                "uuid": pd.Series(texts[np.array(self._uuid, np.int64)], dtype="str"),
                "pci": pd.Series(texts[np.array(self._pci, np.int64)], dtype="str"),
                "used": np.array(self.used, np.int64),
            }
        )


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines that have an end and are not empty: number, cells. PowerShell writes them in UTF-16."""
    try:
        with path.open("rb") as head:
            wide = head.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        with path.open(encoding="utf-16" if wide else "utf-8-sig") as file:
            for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE), ""), start=1):
                if not line.endswith("\n"):
                    if len(line) == _LONGEST_LINE:
                        raise _bad(path, f"has no end of line {number} within {_LONGEST_LINE} characters")
                    return
                for cells in csv.reader([line], skipinitialspace=True):
                    if any(cell.strip() for cell in cells):
                        yield number, [cell.strip() for cell in cells]
    except OSError as error:
        raise SnoopieError(f"{path} cannot be read ({error.strerror})", "give the path of nvidia-smi's log") from None
    except UnicodeError:
        raise _bad(path, "is not text") from None


def _is_header(cells: Sequence[str]) -> bool:
    # All its cells begin with a letter; those of a row with a time hardly ever.
    return cells[0][:1].isalpha() and any(_name(cell) in _NAMES for cell in cells)


def _name(cell: str) -> str:
    """The name of a column, without its unit."""
    return cell.partition("[")[0].strip().lower()


def _places(path: Path, cells: Sequence[str]) -> dict[str, int]:
    """Which column is what, by the header, if this row is one, else by what is in them; raises where there is no time
    or no amount."""
    if _is_header(cells):
        names = [_name(cell) for cell in cells]
        places = {_NAMES[name]: place for place, name in enumerate(names) if name in _NAMES}
    else:
        places = _places_without_header(path, cells)
    if "time" not in places:
        raise _bad(path, "has no column timestamp")
    if "used" not in places:
        raise _bad(path, "has no column memory.used")
    return places


def _places_without_header(path: Path, cells: Sequence[str]) -> dict[str, int]:
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
        small = [place for place in numbers if place not in with_unit and _is_index(path, place, places.get("time"))]
        if len(small) != 1 or len(with_unit) > 1:
            raise _unnamed(path)
        places["index"] = small[0]
        places["used"] = next(place for place in numbers if place != small[0])
    elif numbers:
        raise _unnamed(path)
    return places


def _is_index(path: Path, place: int, time: int | None) -> bool:
    """Whether a column can be the GPU's number: it is small, and no GPU was asked twice at one moment, as it is where
    the column is a share in use."""
    seen: set[str] = set()
    moment = ""
    for _, cells in _rows(path):
        if place >= len(cells):
            continue
        if not re.fullmatch(r"\d{1,3}", cells[place]) or int(cells[place]) >= _MOST_GPUS:
            return False
        if time is None or time >= len(cells):
            continue
        if cells[time] != moment:
            moment, seen = cells[time], set()
        if cells[place] in seen:
            return False
        seen.add(cells[place])
    return True


def _time(path: Path, number: int, text: str, zone: tzinfo | None) -> int:
    try:
        if not _TIME.fullmatch(text):
            raise ValueError(text)
        form = "%Y/%m/%d %H:%M:%S.%f" if "." in text else "%Y/%m/%d %H:%M:%S"
        moment = datetime.strptime(text, form).replace(tzinfo=zone)
        time = int(moment.replace(microsecond=0).timestamp()) * 10**9 + moment.microsecond * 1000
        # From 1970, with a day for time zones, to 2116: so that the difference of two fits into 64 bits.
        if not -86_400 * 10**9 <= time < 1 << 62:
            raise ValueError(text)
        return time
    except (ValueError, OverflowError, OSError):
        raise _bad(path, f"has no time like 2026/11/21 14:03:07.123 in line {number}") from None


def _bad(path: Path, what: str) -> SnoopieError:
    return SnoopieError(f"{path} is not a readable log of nvidia-smi: it {what}", f"record one with {RECORD_IT}")


def _unnamed(path: Path) -> SnoopieError:
    return SnoopieError(
        f"{path} does not say which column is memory.used",
        "put the names of its columns above the first line, as nvidia-smi --query-gpu has them: timestamp, memory.used",
    )
