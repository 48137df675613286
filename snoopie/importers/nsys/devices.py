"""The GPUs of a process: which GPU of the report each device number means, as a header of a trace has it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.importers.amounts import LIMIT
from snoopie.importers.nsys.export import ID_MASK, Export, Ints
from snoopie.trace.writer import MOST_GPUS, UNKNOWN

_UUID = re.compile(r"(?:GPU-)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.IGNORECASE)
_NONE = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True, slots=True)
class _Facts:
    """A row of TARGET_INFO_GPU."""

    number: int
    device: int | None
    name: str
    bus: str
    memory: int
    uuid: str
    sm: int


@dataclass(slots=True)
class Devices:
    """The GPUs of a process, as a header has them.

    ``invented`` says that the report has no UUID of some, ``ambiguous`` that it has several GPUs of one number.
    """

    gpus: list[dict[str, Any]]
    invented: bool
    ambiguous: bool
    _ids: Ints

    def places(self, devices: NDArray[Any]) -> NDArray[np.uint8]:
        """The device ids of a process as codes of owners."""
        found = np.searchsorted(self._ids, devices).clip(max=max(len(self._ids) - 1, 0))
        known = self._ids[found] == devices if len(self._ids) else np.zeros(len(devices), np.bool_)
        return np.where(known, found, UNKNOWN).astype(np.uint8)

    def gpu_of(self, device: int) -> dict[str, Any] | None:
        """The GPU of a device id, None where it is not known."""
        place = int(self.places(np.array([device], np.int64))[0])
        return None if place == UNKNOWN else self.gpus[place]

    def place_of(self, gpu: dict[str, Any]) -> int:
        """The code of a GPU, which may be one that only other processes use."""
        for place, own in enumerate(self.gpus):
            if own["uuid"] == gpu["uuid"]:
                return place
        if len(self.gpus) >= MOST_GPUS:
            return UNKNOWN
        self.gpus.append({**gpu, "visible": False})
        return len(self.gpus) - 1


def read_devices(export: Export, machine: str, process: int, used: Iterable[NDArray[Any]]) -> Devices:
    """The GPUs that the report has for a process, and those that its activities name besides.

    A GPU without a UUID is named after the ``machine``.
    """
    facts = _facts(export)
    own, uuids, ambiguous = _own(export, facts, process & ID_MASK)
    seen = {int(device) for devices in used for device in np.unique(devices)}
    ids = sorted(device for device in seen | set(own) if 0 <= device < 1 << 31)[:MOST_GPUS]
    gpus: list[dict[str, Any]] = []
    invented, taken = False, set[str]()
    for device in ids:
        known = own.get(device)
        identity = uuids.get(device) or (known.uuid if known else "")
        # Two numbers of one UUID are parts of a GPU, or the report is wrong: not one GPU.
        if not identity or identity in taken:
            invented = True
            identity = f"nsys-{machine}-{known.number if known and not identity else device}"
        while identity in taken:
            identity += "-again"
        taken.add(identity)
        gpus.append(
            {
                "uuid": identity,
                "name": known.name if known else "",
                "pci": known.bus if known else "",
                "memory": known.memory if known else 0,
                "sm": known.sm if known else 0,
                "nvlinks": -1,
                "visible": True,
            }
        )
    return Devices(gpus, invented, ambiguous and bool(seen), np.array(ids, np.int64))


def _facts(export: Export) -> list[_Facts]:
    columns = "id cuDevice name busLocation totalMemory uuid computeMajor computeMinor"
    found = []
    for number, device, name, bus, memory, uuid, major, minor in export.rows("TARGET_INFO_GPU", columns):
        if not isinstance(number, int):
            continue
        capable = isinstance(major, int) and isinstance(minor, int) and 0 <= major < 100 and 0 <= minor < 10
        found.append(
            _Facts(
                number=number,
                device=device if isinstance(device, int) else None,
                name=name if isinstance(name, str) else "",
                bus=bus if isinstance(bus, str) else "",
                memory=memory if isinstance(memory, int) and 0 <= memory < LIMIT else 0,
                uuid=_uuid(uuid),
                sm=10 * int(str(major)) + int(str(minor)) if capable else 0,
            )
        )
    return found


def _own(export: Export, facts: list[_Facts], pid: int) -> tuple[dict[int, _Facts | None], dict[int, str], bool]:
    """device id → its GPU, None where that is not known; device id → UUID; whether several GPUs claim one id."""
    own: dict[int, _Facts | None] = {}
    uuids: dict[int, str] = {}
    for of, device, gpu, uuid in export.rows("TARGET_INFO_CUDA_DEVICE", "pid cudaId gpuId uuid"):
        if of in (pid, None) and isinstance(device, int):
            own[device] = _only([one for one in facts if one.number == gpu])
            uuids[device] = _uuid(uuid)
    if own:
        return own, uuids, any(gpu is None for gpu in own.values()) and bool(facts)
    # Older versions tell the bus of each device of a process.
    for of, device, bus in export.rows("TARGET_INFO_CUDA_GPU", "pid deviceId pciBusId"):
        if of in (pid, None) and isinstance(device, int) and isinstance(bus, str):
            own[device] = _only([one for one in facts if one.bus.casefold() == bus.casefold()])
    if own:
        return own, uuids, any(gpu is None for gpu in own.values()) and bool(facts)
    # Versions without either number the GPUs as CUDA does. What is no GPU of CUDA has no compute capability; on
    # Windows, such a one has the number of a GPU.
    by_number: dict[int, list[_Facts]] = {}
    for one in facts:
        by_number.setdefault(one.number if one.device is None else one.device, []).append(one)
    for device, claiming in by_number.items():
        own[device] = _only([one for one in claiming if one.sm]) or _only(claiming)
    return own, uuids, any(gpu is None for gpu in own.values())


def _only(found: list[_Facts]) -> _Facts | None:
    return found[0] if len(found) == 1 else None


def _uuid(text: object) -> str:
    """As the driver spells it, "" for what is none."""
    match = _UUID.fullmatch(text.strip()) if isinstance(text, str) else None
    return f"GPU-{match[1].lower()}" if match and match[1] != _NONE else ""
