"""Which rank a process has, whatever launched it."""

from __future__ import annotations

from pathlib import Path

import pytest

import snoopie
from snoopie.joined.ranks import Ranks, ranks_of
from tests.support.encoder import TraceBuilder

TORCHRUN = {"RANK": "5", "LOCAL_RANK": "1", "WORLD_SIZE": "8"}
OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}
HYDRA = {"PMI_RANK": "2", "PMI_SIZE": "4", "MPI_LOCALRANKID": "0"}
PALS = {"PMI_RANK": "2", "PMI_SIZE": "4", "PMI_LOCAL_RANK": "1"}
PMIX = {"PMIX_RANK": "9"}
SLURM = {"SLURM_PROCID": "6", "SLURM_LOCALID": "2", "SLURM_NTASKS": "16"}


@pytest.mark.parametrize(
    ("variables", "ranks"),
    [
        ({}, Ranks(-1, -1, -1)),
        (TORCHRUN, Ranks(5, 1, 8)),
        (OPEN_MPI, Ranks(3, 1, 4)),
        ({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "?"}, Ranks(3, -1, -1)),
        (HYDRA, Ranks(2, 0, 4)),
        (PALS, Ranks(2, 1, 4)),
        (PMIX, Ranks(9, -1, -1)),
        (SLURM, Ranks(6, 2, 16)),
    ],
)
def test_every_launcher(variables: dict[str, str], ranks: Ranks) -> None:
    assert ranks_of(variables) == ranks


def test_the_innermost_launcher_wins() -> None:
    outward = [TORCHRUN, OPEN_MPI, HYDRA, PMIX, SLURM]
    for place, inner in enumerate(outward):
        assert ranks_of({name: value for launcher in outward[place:] for name, value in launcher.items()}) == ranks_of(
            inner
        )


@pytest.mark.parametrize(
    "variables",
    [
        {"RANK": "5"},  # a variable of that name may be anybody's
        {"RANK": "gold", "WORLD_SIZE": "8"},
        {"RANK": "-1", "WORLD_SIZE": "8"},
        {"OMPI_COMM_WORLD_RANK": "", "OMPI_COMM_WORLD_SIZE": "4"},
        {"PMIX_RANK": "٣"},
        {"PMIX_RANK": "1" * 5000},
    ],
)
def test_what_is_no_rank(variables: dict[str, str]) -> None:
    assert ranks_of(variables) == Ranks()
    assert ranks_of(variables | SLURM) == Ranks(6, 2, 16)


def test_processes(tmp_path: Path) -> None:
    paths = []
    for pid, variables in enumerate((HYDRA | {"PMI_RANK": "1"}, HYDRA | {"PMI_RANK": "0"}, {}), start=1):
        paths.append(TraceBuilder(2, pid=pid, ranks=variables).write(tmp_path / f"{pid}.zst"))
    processes = snoopie.load(paths).processes
    assert processes[["rank", "local_rank", "ranks"]].to_numpy().tolist() == [[1, 0, 4], [0, 0, 4], [-1, -1, -1]]
    assert {str(kind) for kind in processes[["rank", "local_rank", "ranks"]].dtypes} == {"int64"}
