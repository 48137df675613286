"""Settings: KERNEL_NAME and BLOCKS choose, CODE_ATTRIBUTION leaves lines out, what is not understood is refused."""

from __future__ import annotations

from pathlib import Path

import gpu_machine
import pytest
from gpu_programs import MIXED_COPIES, MIXED_THREADS, RING_KERNELS, of_ring
from gpu_runs import Runner, build, start, traced_environment
from gpu_traffic import Lane, Traffic, Where, by_launch, dense, kernel_name, of_threads, recorded_lanes, total

SIZE = (1000, 2)


@pytest.mark.parametrize(
    ("setting", "chosen"),
    [
        ("put", ["put"]),
        ("get, bump", ["get", "bump"]),
        ("?u*", ["put", "bump"]),
        ("[a-g]et", ["get"]),
        ("_Z3putPjjj", ["put"]),
        ("put(unsigned int*, unsigned int, unsigned int)", ["put"]),
        ("all", ["put", "get", "bump"]),
        ("nothing_of_this_name", []),
    ],
)
def test_kernels_are_chosen_by_name(runner: Runner, pair: tuple[str, ...], setting: str, chosen: list[str]) -> None:
    trace = runner.traced("ring", *SIZE, visible=pair, KERNEL_NAME=setting).trace
    expected = {where: row for where, row in of_ring(len(pair), *SIZE).items() if where.kernel in chosen}
    assert total(by_launch(trace, "ring").values()) == expected
    assert set(trace.launches.kernel.map(kernel_name)) == set(chosen)
    each = SIZE[1] * len(pair)
    assert trace.totals["launches_seen"] == each * len(RING_KERNELS)
    assert trace.totals["launches_measured"] == each * len(chosen)
    assert trace.totals["launches_native"] == each * (len(RING_KERNELS) - len(chosen))
    assert trace.totals["launches_lost"] == 0


def disassemblies(program: str, arguments: tuple[int, ...], visible: tuple[str, ...], folder: Path, **env: str) -> int:
    """How often NVBit called its disassembler in a run."""
    folder.mkdir()
    log, wrapper = folder / "calls", folder / "nvdisasm"
    wrapper.write_text(f'#!/bin/sh\necho >>"{log}"\nexec "{gpu_machine.program("nvdisasm")}" "$@"\n')
    wrapper.chmod(0o755)
    run = start([build(program), *arguments], folder, traced_environment(visible, NVDISASM=str(wrapper), **env))
    assert run.status == 0, run.stderr
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_what_is_not_measured_is_not_disassembled(pair: tuple[str, ...], folder: Path) -> None:
    assert disassemblies("ring", SIZE, pair, folder / "one", KERNEL_NAME="put") > 0
    assert disassemblies("ring", SIZE, pair, folder / "none", KERNEL_NAME="nothing_of_this_name") == 0
    # Selected, but nothing of another GPU is in its reach.
    assert disassemblies("quiet", (), pair, folder / "quiet") == 0


def test_one_instance_of_a_template_is_chosen(runner: Runner, pair: tuple[str, ...]) -> None:
    setting = "copy<unsigned char>,copy<uint4>,loop"
    trace = runner.traced("mixed", visible=pair, KERNEL_NAME=setting).trace
    kernels = ["copy<unsigned char>"] * 2 + ["copy<uint4>"] * 2 + ["loop"]
    assert trace.launches.kernel.map(kernel_name).tolist() == kernels


def test_all_instances_of_a_template_are_chosen(runner: Runner, pair: tuple[str, ...]) -> None:
    trace = runner.traced("mixed", visible=pair, KERNEL_NAME="copy").trace
    found = [traffic for table in by_launch(trace, "mixed").values() for traffic in table.values()]
    widths = [(operation, width) for width in MIXED_COPIES.values() for operation in ("store", "load")]
    assert found == [dense(operation, width, MIXED_THREADS) for operation, width in widths]


def without_lines(runner: Runner, visible: tuple[str, ...], **options: str) -> list[tuple[str, Traffic]]:
    """(kernel, traffic) of every launch of a ring whose sites have no line."""
    trace = runner.traced("ring", *SIZE, visible=visible, **options).trace
    assert (trace.sites.line == 0).all()
    assert trace.lines.empty
    assert (trace.sites.sass != "").all()
    assert trace.sites.kernel.map(kernel_name).isin(RING_KERNELS).all()
    assert not trace.sites.duplicated(["function", "offset"]).any()
    tables = by_launch(trace, "ring").values()
    return [(where.kernel, traffic) for table in tables for where, traffic in table.items()]


def in_order(gpus: int) -> list[tuple[str, Traffic]]:
    once = [(where.kernel, traffic) for where, traffic in of_ring(gpus, SIZE[0], 1).items()]
    return once * SIZE[1]


def test_lines_can_be_left_out(runner: Runner, pair: tuple[str, ...]) -> None:
    assert without_lines(runner, pair, CODE_ATTRIBUTION="0") == in_order(len(pair))


def test_a_program_without_lines_says_so(runner: Runner, pair: tuple[str, ...]) -> None:
    assert without_lines(runner, pair, variant="-nolines") == in_order(len(pair))
    trace = runner.traced("ring", *SIZE, visible=pair, variant="-nolines").trace
    assert not trace.functions.has_lines.any()
    assert any("-lineinfo" in sentence for sentence in trace.losses())


# Of the 5 × 4 blocks of blocks.cu.
@pytest.mark.parametrize(
    ("setting", "chosen"),
    [
        ("0-7,12", [*range(8), 12]),
        ("19", [19]),
        ("18-40", [18, 19]),
        ("x:0-3;y:1", [5, 6, 7, 8]),
        ("y:0,3", [0, 1, 2, 3, 4, 15, 16, 17, 18, 19]),
        ("20", []),
    ],
)
def test_blocks_are_chosen(runner: Runner, pair: tuple[str, ...], setting: str, chosen: list[int]) -> None:
    trace = runner.traced("blocks", visible=pair, BLOCKS=setting).trace
    lanes = [(32 * block + lane, 4 * (32 * block + lane)) for block in chosen for lane in range(32)]
    expected = [{Where(0, 1, "tiles", "tile"): of_threads("store", 4, lanes)}] if chosen else []
    assert list(by_launch(trace, "blocks").values()) == expected
    recorded = recorded_lanes(trace, "blocks", lambda kernel: 32)
    assert list(recorded.values()) == ([[Lane(1, "tile", *lane) for lane in lanes]] if chosen else [])
    assert any("block" in sentence for sentence in trace.losses())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SAMPLE_SIZE", "x"),
        ("SAMPLE_SIZE", "-1"),
        ("SAMPLE_SIZE", "10%"),
        ("SAMPLE_SIZE", "99999999999"),
        ("KERNEL_NAME", "["),
        ("KERNEL_NAME", "put,,get"),
        ("BLOCKS", "some"),
        ("BLOCKS", "7-0"),
        ("BLOCKS", "1,,2"),
        ("BLOCKS", "-1"),
        ("BLOCKS", "w:1"),
        ("BLOCKS", "x:1;y:"),
        ("BLOCKS", "99999999999999999999"),
        ("LAUNCH_SAMPLE", "0"),
        ("PACKING", "17"),
        ("CODE_ATTRIBUTION", "maybe"),
        ("CODE_CONTEXT", "maybe"),
        ("DATA_OBJECT_ATTRIBUTION", "maybe"),
        ("SNOOPIE_OUTPUT", "%q.zst"),
    ],
)
def test_what_is_not_understood_is_refused(
    runner: Runner, pair: tuple[str, ...], folder: Path, name: str, value: str
) -> None:
    runner.native("ring", *SIZE, visible=pair)
    run = start([build("ring"), *SIZE], folder, traced_environment(pair, **{name: value}))
    assert run.status == 2
    assert run.stdout == ""
    (line,) = run.stderr.splitlines()
    assert f"{name}={value}" in line
    assert run.files == []
