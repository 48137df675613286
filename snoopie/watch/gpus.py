"""The GPUs of a process, by the numbers that it has for them."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FIELD = re.compile(r"^(Model|GPU UUID|Bus Location):\s*(.*?)\s*$", re.M)


@dataclass(frozen=True, slots=True)
class Gpu:
    """One of this machine."""

    uuid: str
    name: str
    pci: str


def of_machine(folder: Path = Path("/proc/driver/nvidia/gpus")) -> list[Gpu]:
    """The GPUs of this machine in the order of their places on the bus, as the driver's kernel part lists them."""
    found = []
    for path in sorted(folder.glob("*/information")):
        try:
            facts = dict(_FIELD.findall(path.read_text("utf-8", "replace")))
        except OSError:
            continue
        found.append(
            Gpu(facts.get("GPU UUID", ""), facts.get("Model", ""), facts.get("Bus Location", path.parent.name))
        )
    return found


def visible(gpus: list[Gpu], environment: Mapping[str, str]) -> list[Gpu]:
    """Those that a process with these variables sees, in its own order; [] where that is not known."""
    chosen = environment.get("CUDA_VISIBLE_DEVICES")
    if chosen is None:
        return gpus
    seen = []
    for word in chosen.split(","):
        word = word.strip()
        found = [gpu for gpu in gpus if word.startswith("GPU-") and gpu.uuid.startswith(word)]
        if word.isdigit() and int(word) < len(gpus):
            found = [gpus[int(word)]]
        # The driver ignores what comes after a word that names none.
        if len(found) != 1:
            break
        seen.append(found[0])
    return seen


def rows(seen: list[Gpu], devices: int, *, and_unknown: bool) -> list[dict[str, Any]]:
    """The header's GPUs: at least so many, and behind them one that stands for what is not known."""
    host = socket.gethostname()
    listed: list[dict[str, Any]] = []
    for number in range(max(devices, len(seen))):
        if number < len(seen):
            gpu = seen[number]
            listed.append({"uuid": gpu.uuid, "name": gpu.name, "pci": gpu.pci, "nvlinks": -1})
        else:
            listed.append({"uuid": f"watch-{host}-{number}", "name": "", "nvlinks": -1})
    if and_unknown:
        listed.append({"uuid": f"watch-{host}-not-known", "name": "not known", "nvlinks": -1})
    return listed
