"""What a report says of itself: the tool, the machine, the clock, the processes and the GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from snoopie.importers.amounts import LIMIT
from snoopie.importers.nsys.database import ID_BITS, ID_MASK, MISSING, Database, Ints
from snoopie.trace.writer import MOST_GPUS, UNKNOWN

_UUID = re.compile(r"(?:GPU-)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Report:
    """``epoch``: what to add to a time of the report to make it one since the Unix epoch, in ns; 0 where unknown."""

    tool: str
    host: str
    epoch: int

    def host_times(self, times: Ints) -> Ints:
        """Times of the report as host times; 0 means "never" in a trace."""
        return np.maximum(times + self.epoch, 1)


def read_report(database: Database) -> Report:
    """The report's own tables."""
    about = {str(name): str(value) for name, value in database.rows("META_DATA_EXPORT", "name value")}
    version = about.get("EXPORT_PRODUCT_VERSION", "").strip()
    hosts = [
        str(value)
        for name, value in database.rows("TARGET_INFO_SYSTEM_ENV", "name value")
        if str(name).replace(" ", "").casefold() == "hostname"
    ]
    epochs = [epoch for (epoch,) in database.rows("TARGET_INFO_SESSION_START_TIME", "utcEpochNs")]
    known = [epoch for epoch in epochs if isinstance(epoch, int) and 0 < epoch < LIMIT]
    return Report(f"Nsight Systems {version}".strip(), hosts[0] if hosts else "", known[0] if known else 0)


def program(database: Database, process: int) -> str:
    """The name of a process, "" where the report does not say it."""
    for identity, name in database.rows("PROCESSES", "globalPid name"):
        if isinstance(identity, int) and identity >> ID_BITS == process and isinstance(name, str):
            return name
    # Versions without that table name at least the threads; the first has the number of the process.
    for identity, name_id in database.rows("ThreadNames", "globalTid nameId"):
        main = process << ID_BITS | (process & ID_MASK)
        if identity == main and isinstance(name_id, int):
            return database.strings([name_id])[name_id]
    return ""


@dataclass(frozen=True, slots=True)
class Devices:
    """The GPUs of a process, as a header has them; ``invented`` says that the report has no UUID of some."""

    gpus: list[dict[str, Any]]
    invented: bool
    _ids: Ints

    def places(self, devices: Ints) -> Ints:
        """The device ids of a process as codes of owners."""
        found = np.searchsorted(self._ids, devices).clip(max=max(len(self._ids) - 1, 0))
        known = self._ids[found] == devices if len(self._ids) else np.zeros(len(devices), np.bool_)
        return np.where(known, found, UNKNOWN)


def read_devices(database: Database, report: Report, process: int, used: Iterable[Ints]) -> Devices:
    """The GPUs that the report has for a process, and those that its activities name besides."""
    facts = {
        row[0]: row
        for row in database.rows(
            "TARGET_INFO_GPU", "id cuDevice name busLocation totalMemory uuid computeMajor computeMinor"
        )
        if isinstance(row[0], int)
    }
    gpu_of: dict[int, int] = {}
    uuids: dict[int, object] = {}
    for pid, device, gpu, uuid in database.rows("TARGET_INFO_CUDA_DEVICE", "pid cudaId gpuId uuid"):
        if pid in (process & ID_MASK, None) and isinstance(device, int):
            uuids[device] = uuid
            if isinstance(gpu, int):
                gpu_of[device] = gpu
    if not uuids:
        # Versions without that table number the GPUs as CUDA does.
        gpu_of = {row[1] if isinstance(row[1], int) else number: number for number, row in facts.items()}
    seen = {int(device) for devices in used for device in np.unique(devices)}
    ids = sorted(device for device in seen | set(gpu_of) | set(uuids) if 0 <= device < 1 << 31)[:MOST_GPUS]
    gpus, invented = [], False
    for device in ids:
        gpu = gpu_of.get(device, MISSING)
        _, _, name, bus, memory, own, major, minor = facts.get(gpu, (None,) * 8)
        identity = _uuid(uuids.get(device)) or _uuid(own)
        invented |= not identity
        capable = isinstance(major, int) and isinstance(minor, int) and 0 <= major < 100 and 0 <= minor < 10
        gpus.append(
            {
                "uuid": identity or f"nsys-{report.host}-{device if gpu == MISSING else gpu}",
                "name": name if isinstance(name, str) else "",
                "pci": bus if isinstance(bus, str) else "",
                "memory": memory if isinstance(memory, int) and 0 <= memory < LIMIT else 0,
                "sm": 10 * int(str(major)) + int(str(minor)) if capable else 0,
                "nvlinks": -1,
                "visible": True,
            }
        )
    return Devices(gpus, invented, np.array(ids, np.int64))


def _uuid(text: object) -> str:
    """As the driver spells it, "" for what is none."""
    match = _UUID.fullmatch(text.strip()) if isinstance(text, str) else None
    return f"GPU-{match[1].lower()}" if match else ""
