"""The GPUs of the machine, as nvidia-smi lists them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from snoopie.cli.checks.driver import Driver
from snoopie.cli.checks.programs import says
from snoopie.cli.checks.row import Row, ok, problem, warning

_COLUMNS = ("index", "name", "compute_cap", "mig.mode.current", "compute_mode")
QUERY = ("nvidia-smi", f"--query-gpu={','.join(_COLUMNS)}", "--format=csv,noheader")


@dataclass(frozen=True)
class Gpu:
    """One GPU: its name, its architecture as nvcc numbers it, and what limits its use."""

    index: int
    name: str
    arch: str
    mig: bool
    mode: str


def listed(environment: Mapping[str, str]) -> list[Gpu]:
    """All GPUs of the machine, or of the container."""
    return parse(says(QUERY, environment) or "")


def parse(text: str) -> list[Gpu]:
    """The lines of QUERY's output; others, such as messages, are left out."""
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) != len(_COLUMNS) or not cells[0].isdigit():
            continue
        index, name, capability, mig, mode = cells
        arch = capability.replace(".", "")
        found.append(Gpu(int(index), name, arch if arch.isdigit() else "", mig == "Enabled", mode))
    return found


def arches(gpus: Sequence[Gpu], driver: Driver) -> tuple[str, ...]:
    """The architectures of these GPUs, each once: those that a program sees, if any, else all of the machine."""
    return tuple(dict.fromkeys(driver.arches or [gpu.arch for gpu in gpus if gpu.arch]))


def rows(gpus: Sequence[Gpu], driver: Driver) -> list[Row]:
    """What there is to measure on."""
    visible = len(driver.arches)
    if not gpus and not visible:
        return [problem("GPUs", "none", "run on a machine with NVIDIA GPUs, or start the container with its GPUs")]
    kinds = Counter((gpu.name, gpu.arch) for gpu in gpus) or Counter(("GPU", arch) for arch in driver.arches)
    found = ", ".join(f"{count} × {name} (architecture {arch or 'unknown'})" for (name, arch), count in kinds.items())
    if gpus and visible < len(gpus) and not driver.missing:
        found += f"; programs see {visible}, by CUDA_VISIBLE_DEVICES or MIG"
    made = [
        ok("GPUs", found)
        if visible > 1 or (driver.missing and len(gpus) > 1)
        else warning("GPUs", found, "with one GPU, only traffic with the host's memory can be seen; show it more")
    ]
    if mig := [str(gpu.index) for gpu in gpus if gpu.mig]:
        made.append(
            warning("MIG", f"on, of GPU {', '.join(mig)}", "turn it off to trace: its parts do not reach other GPUs")
        )
    if closed := [str(gpu.index) for gpu in gpus if gpu.mode == "Prohibited"]:
        made.append(
            problem("compute mode", f"GPU {', '.join(closed)}: Prohibited", "let root run nvidia-smi -c DEFAULT")
        )
    if single := [str(gpu.index) for gpu in gpus if gpu.mode == "Exclusive_Process"]:
        made.append(
            warning(
                "compute mode",
                f"GPU {', '.join(single)}: Exclusive_Process",
                "one process at a time can use it: of several ranks on a GPU, all but one fail",
            )
        )
    return made
