"""The rank of a process, from the variables that its launcher set.

Launchers nest, and the innermost says what the program sees: torchrun may run under srun, mpirun inside a Slurm job. So
the first launcher of LAUNCHERS that named a rank wins, and all three numbers are its own: those of different launchers
count different things. NVSHMEM's nvshmrun is Hydra, as MPICH's mpiexec is, and sets the variables of PMI.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ranks:
    """Rank among all processes of the run, rank among those of the host, number of processes; -1 = not known."""

    rank: int = -1
    local_rank: int = -1
    ranks: int = -1


@dataclass(frozen=True, slots=True)
class _Launcher:
    """The variables of one launcher; of those for the local rank it sets one."""

    rank: str
    local_rank: tuple[str, ...] = ()
    ranks: str = ""
    # A rank counts only beside the number of ranks: a variable of such a name may be anybody's.
    both: bool = False


LAUNCHERS = (
    _Launcher("RANK", ("LOCAL_RANK",), "WORLD_SIZE", both=True),  # torchrun
    _Launcher("OMPI_COMM_WORLD_RANK", ("OMPI_COMM_WORLD_LOCAL_RANK",), "OMPI_COMM_WORLD_SIZE"),  # Open MPI
    # MPICH, Intel MPI and nvshmrun (Hydra), Cray's PALS, Slurm's own PMI.
    _Launcher("PMI_RANK", ("MPI_LOCALRANKID", "PMI_LOCAL_RANK"), "PMI_SIZE"),
    _Launcher("PMIX_RANK"),
    _Launcher("SLURM_PROCID", ("SLURM_LOCALID",), "SLURM_NTASKS"),
    _Launcher("IMPORTED_RANK", (), "IMPORTED_RANKS"),  # another tool's file
)


def ranks_of(variables: Mapping[str, str]) -> Ranks:
    """The rank that the innermost launcher gave a process."""
    for launcher in LAUNCHERS:
        rank = _number(variables.get(launcher.rank))
        ranks = _number(variables.get(launcher.ranks))
        if rank < 0 or (launcher.both and ranks < 0):
            continue
        local = next((variables[name] for name in launcher.local_rank if name in variables), None)
        return Ranks(rank, _number(local), ranks)
    return Ranks()


def _number(text: str | None) -> int:
    """A whole number that a rank can be, else -1."""
    if text is None or not (text.isascii() and text.isdecimal()) or len(text) > 9:
        return -1
    return int(text)
