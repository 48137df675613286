"""What the driver says, and which GPUs there are: the outputs of nvidia-smi and of the driver's files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snoopie.cli.checks import driver, gpus, links
from snoopie.cli.checks.driver import Driver
from snoopie.cli.checks.row import Row, State

PROPRIETARY = """\
NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024
GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)
"""
OPEN = """\
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  (dvs-builder@U22-I3-H04-01-5)  Sun Jul 27 07:17:04 UTC 2025
GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04.2)
"""  # noqa: E501

TWO_H200 = """\
0, NVIDIA H200, 9.0, Disabled, Default
1, NVIDIA H200, 9.0, Disabled, Default
"""
MIXED = """\
0, NVIDIA A100-SXM4-40GB, 8.0, Enabled, Default
1, NVIDIA GeForce RTX 3090, 8.6, [N/A], Exclusive_Process
2, Tesla P100-PCIE-16GB, 6.0, [Not Supported], Prohibited
"""
FAILED = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA "
    "driver is installed and running.\n"
)

# As it is written: tabs, and the first line underlined.
NVSWITCH = (
    "\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tNV18\tPIX\tSYS\t0-55,112-167\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tNV18\tNODE\tSYS\t0-55,112-167\t0\t\tN/A\n"
    "GPU2\tNV18\tNV18\t X \tSYS\tPIX\t56-111,168-223\t1\t\tN/A\n"
    "NIC0\tPIX\tNODE\tSYS\t X \tSYS\t\t\t\t\n"
    "NIC1\tSYS\tSYS\tPIX\tSYS\t X \t\t\t\t\n"
    "\n"
    "Legend:\n"
    "\n"
    "  X    = Self\n"
    "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)\n"
    "  NV#  = Connection traversing a bonded set of # NVLinks\n"
    "\n"
    "NIC Legend:\n"
    "\n"
    "  NIC0: mlx5_0\n"
    "  NIC1: mlx5_1\n"
)
# An older release's, with spaces and without the column of NUMA ids.
BRIDGED = """\
        GPU0    GPU1    GPU2    GPU3    mlx5_0  CPU Affinity
GPU0     X      NV4     SYS     SYS     PIX     0-23
GPU1    NV4      X      SYS     SYS     PIX     0-23
GPU2    SYS     SYS      X      NV4     SYS     24-47
GPU3    SYS     SYS     NV4      X      SYS     24-47
mlx5_0  PIX     PIX     SYS     SYS      X
"""
PCIE = "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tPHB\t0-63\t0\t\tN/A\nGPU1\tPHB\t X \t0-63\t0\t\tN/A\n"  # noqa: E501
ONE = "\tGPU0\tCPU Affinity\nGPU0\t X \t0-63\n"

WORKING = Driver(cuda="13.0", arches=("90", "90"))


def states(rows: list[Row]) -> dict[str, str]:
    return {row.name: str(row.state) for row in rows}


@pytest.mark.parametrize(("text", "expected"), [(PROPRIETARY, "535.183.01"), (OPEN, "580.65.06"), ("", "")])
def test_the_release_of_the_module(text: str, expected: str) -> None:
    assert driver.release(text) == expected


def test_what_the_driver_answers() -> None:
    said = {"version": 12080, "error": 0, "capabilities": ["9.0", "10.0"], "unreachable": [[0, 1]]}
    assert driver.parse(json.dumps(said)) == Driver(cuda="12.8", arches=("90", "100"), unreachable=((0, 1),))
    assert driver.parse('{"missing": "no such file"}') == Driver(missing="no such file")


@pytest.mark.parametrize("text", [None, "", "Segmentation fault", "[]", "{}", '{"version": null}', '"missing"'])
def test_a_driver_that_does_not_answer(text: str | None) -> None:
    assert driver.parse(text).missing


@pytest.mark.parametrize(
    ("said", "module", "state", "words"),
    [
        (WORKING, OPEN, State.OK, "580.65.06, CUDA 13.0"),
        (WORKING, None, State.OK, "unknown release, CUDA 13.0"),
        (Driver(missing="libcuda.so.1: no such file"), None, State.PROBLEM, "none: libcuda.so.1: no such file"),
        (Driver(missing="libcuda.so.1: no such file"), OPEN, State.PROBLEM, "580.65.06 in the kernel, but libcuda"),
        (Driver(cuda="13.0", error=802), OPEN, State.PROBLEM, "580.65.06, but the system is not ready (cuInit: 802)"),
        (Driver(cuda="13.0", error=7), OPEN, State.PROBLEM, "it does not start (cuInit: 7)"),
    ],
)
def test_the_row_of_the_driver(said: Driver, module: str | None, state: State, words: str, tmp_path: Path) -> None:
    path = tmp_path / "version"
    if module is not None:
        path.write_text(module)
    row = driver.row(said, path)
    assert row.state is state
    assert words in row.found
    assert bool(row.remedy) is (state is not State.OK)


def test_the_gpus_that_nvidia_smi_lists() -> None:
    first, second, third = gpus.parse(MIXED)
    assert (first.arch, first.mig, first.mode) == ("80", True, "Default")
    assert (second.name, second.arch, second.mig) == ("NVIDIA GeForce RTX 3090", "86", False)
    assert (third.index, third.mode) == (2, "Prohibited")
    assert gpus.parse(FAILED) == []
    # A driver that does not know compute_cap.
    assert gpus.parse('Field "compute_cap" is not a valid field to query.\n') == []


def test_architectures_are_those_that_programs_see() -> None:
    assert gpus.arches(gpus.parse(MIXED), Driver(cuda="13.0", arches=("86", "86"))) == ("86",)
    assert gpus.arches(gpus.parse(MIXED), Driver(missing="none")) == ("80", "86", "60")
    assert gpus.arches([], Driver(missing="none")) == ()


def test_two_gpus_are_fine() -> None:
    (row,) = gpus.rows(gpus.parse(TWO_H200), WORKING)
    assert (row.state, row.found) == (State.OK, "2 × NVIDIA H200 (architecture 90)")


def test_fewer_gpus_than_a_trace_needs() -> None:
    (row,) = gpus.rows(gpus.parse(TWO_H200), Driver(cuda="13.0", arches=("90",)))
    assert row.state is State.WARNING
    assert "programs see 1" in row.found
    (row,) = gpus.rows([], Driver(missing="none"))
    assert (row.state, row.found) == (State.PROBLEM, "none")


def test_gpus_that_cannot_be_used_as_they_are() -> None:
    rows = gpus.rows(gpus.parse(MIXED), Driver(cuda="13.0", arches=("80", "86", "60")))
    assert [(row.name, row.state, row.found) for row in rows[1:]] == [
        ("MIG", State.WARNING, "on, of GPU 0"),
        ("compute mode", State.PROBLEM, "GPU 2: Prohibited"),
        ("compute mode", State.WARNING, "GPU 1: Exclusive_Process"),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (NVSWITCH, "NV18 between all 3 GPUs"),
        (BRIDGED, "SYS between 4 of 6 pairs, NV4 between 2 of 6 pairs"),
        (PCIE, "PHB between all 2 GPUs"),
    ],
)
def test_the_links(text: str, found: str) -> None:
    first, *_ = links.rows(links.parse(text), WORKING)
    assert (first.name, first.state, first.found) == ("links", State.OK, found)


def test_each_pair_has_its_own_link() -> None:
    matrix = links.parse(BRIDGED)
    assert matrix["GPU0", "GPU1"] == "NV4" == matrix["GPU2", "GPU3"]
    assert matrix["GPU1", "GPU2"] == "SYS"
    assert links.parse(ONE) == links.parse(FAILED) == links.parse("") == {}
    # Cut off in the middle of a line.
    cut = BRIDGED[: BRIDGED.index("GPU1    NV4") + len("GPU1    NV4")]
    assert links.parse(cut) == {("GPU0", "GPU1"): "NV4", ("GPU0", "GPU2"): "SYS", ("GPU0", "GPU3"): "SYS"}


def test_gpus_that_do_not_reach_each_other() -> None:
    pairs = tuple((one, other) for one in range(3) for other in range(3) if one != other)
    (row,) = links.rows({}, Driver(cuda="13.0", arches=("89",) * 3, unreachable=pairs))
    assert row.state is State.WARNING
    assert row.found == "not possible: GPU 0 → 1, 0 → 2, 1 → 0, 1 → 2 and 2 more"
    assert states(links.rows({}, WORKING)) == {"peer access": "ok"}
    assert links.rows({}, Driver(missing="none")) == []
