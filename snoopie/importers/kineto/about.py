"""What a file of PyTorch's profiler says of its process: host, rank, GPUs, and when its times begin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from snoopie.importers.activity.devices import Devices, numbers
from snoopie.importers.activity.values import Ints, whole
from snoopie.importers.amounts import LIMIT

MEMBERS = ("distributedInfo", "deviceProperties", "host_name", "baseTimeNanoseconds")
"""The members of a file that `about` looks at."""


@dataclass(frozen=True, slots=True)
class About:
    """``base`` is what times are to be added to (ns); ``rank`` and ``world`` are None where the file has none."""

    base: int
    host: str
    rank: int | None
    world: int | None
    properties: Mapping[int, Mapping[str, Any]]

    @property
    def ranks(self) -> dict[str, str]:
        """The rank as variables of a launcher."""
        named = {"IMPORTED_RANK": self.rank, "IMPORTED_RANKS": self.world}
        return {name: str(number) for name, number in named.items() if number is not None}


def about(metadata: Mapping[str, Any]) -> About:
    """The members beside the events; what makes no sense is as if it were not there."""
    distributed = metadata.get("distributedInfo")
    if not isinstance(distributed, dict):
        distributed = {}
    rank, world = (_natural(distributed.get(name), 10**9) for name in ("rank", "world_size"))
    listed = metadata.get("deviceProperties")
    properties = {
        device["id"]: device
        for device in (listed if isinstance(listed, list) else [])
        if isinstance(device, dict) and type(device.get("id")) is int
    }
    host = metadata.get("host_name")
    return About(
        base=_natural(metadata.get("baseTimeNanoseconds"), LIMIT) or 0,
        host=host if isinstance(host, str) else "",
        rank=rank,
        world=world if world else None,
        properties=properties,
    )


def devices(of: About, name: str, run: str, used: Iterable[Ints]) -> Devices:
    """The GPUs that were used.

    The profiler has no UUIDs: ``name`` stands for a process without a rank, and the ``run`` for a host without a name,
    so that rank 0 of two recordings is not one GPU.
    """
    ids = numbers(name, used)
    whose = f"{of.host or run}-{name if of.rank is None else f'rank{of.rank}'}"
    gpus = []
    for device in ids.tolist():
        facts = of.properties.get(device, {})
        model = facts.get("name")
        gpus.append(
            {
                "uuid": f"kineto-{whose}-{device}",
                "name": model if isinstance(model, str) else "",
                "memory": _natural(facts.get("totalGlobalMem"), LIMIT) or 0,
                "nvlinks": -1,
            }
        )
    return Devices(gpus, ids)


def _natural(value: Any, below: int) -> int | None:
    number = whole(value)
    return number if number is not None and 0 <= number < below else None
