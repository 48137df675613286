"""In what two random recordings differ besides their amounts, and which remarks that asks for."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.plain.plain_run import Run


@dataclass
class Recording:
    """A run, the names of its GPUs, whether processes measured the host's memory, and in what units writes count."""

    run: Run
    names: list[str]
    host: set[bool]
    units: set[int]


def recorded(run: Run, random: Random) -> Recording:
    """Has a run be recorded in some way."""
    kinds = random.choice((["H200"], ["A100"], ["H200", "A100"], ["A100", "H200"]))
    of_gpu = {number: random.choice(kinds) for number in run.gpus}
    host, old = set(), random.random() < 0.4
    units: set[int] = set()
    for builder in run.builders:
        for gpu in builder.header["gpus"]:
            gpu["name"] = of_gpu[int(gpu["uuid"].split("-")[1])]
        measured = random.random() < 0.8
        # Older traces do not say: they have all.
        builder.header["settings"] |= (
            {"host_memory": False} if not measured else random.choice(({}, {"host_memory": True}))
        )
        host.add(measured)
        for row in builder.rows["sites"]:
            # A lane that writes 32 bytes writes two units of 16, as one of 32.
            if builder.header["operations"][row["operation"]] != "load" and row["width"] <= 16:
                row["wire_unit"] = 32 if old else 16
                units |= {row["wire_unit"]} if row["measured"] else set()
    return Recording(run, [of_gpu[number] for number in run.gpus], host, units)


def differences(a: Recording, b: Recording) -> dict[str, bool]:
    """How remarks on the recordings begin, in their order, and whether they are to be made."""
    processes, gpus = [len(one.run.builders) for one in (a, b)], [len(one.names) for one in (a, b)]
    names = [", ".join(dict.fromkeys(one.names)) for one in (a, b)]
    return {
        f"A is of {_things(processes[0], 'process', 'es')}, B of {_things(processes[1], 'process', 'es')}.":
            processes[0] != processes[1],
        f"A has {_things(gpus[0], 'GPU', 's')}, B has {_things(gpus[1], 'GPU', 's')}:": gpus[0] != gpus[1],
        f"The GPUs are others: {names[0]} in A, {names[1]} in B.": names[0] != names[1],
        "Accesses to the host's memory were not measured alike": a.host != b.host,
        # Where nothing was written, nothing was counted.
        "What is written was not counted in the same wire units": bool(a.units and b.units and a.units != b.units),
    }  # fmt: skip


def _things(number: int, one: str, more: str) -> str:
    return f"{number} {one}{'' if number == 1 else more}"


def on_losses(a: list[str], b: list[str]) -> list[str]:
    """What both lack, what A alone lacks, and what B alone."""
    return [
        *(f"A and B: {sentence}" for sentence in a if sentence in b),
        *(f"A: {sentence}" for sentence in a if sentence not in b),
        *(f"B: {sentence}" for sentence in b if sentence not in a),
    ]
