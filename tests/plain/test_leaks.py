"""What memory was there at the peak and at the end, and what the driver says, against plain loops on random traces."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given

from tests.plain import plain_leaks, plain_memory
from tests.plain.comparing import rows
from tests.plain.drawing import seeds, some


@some
@given(seeds)
def test_watermark(seed: int) -> None:
    known, trace = plain_memory.written(seed)
    for device, process, place, number in plain_memory.asked(known, seed):
        for total in (False, True):
            found = trace.memory_watermark(device, process, total=total)
            expected = plain_leaks.watermark(known, known.chosen(place, number), total=total)
            assert sorted(rows(found)) == sorted(expected)
            for _, own in found.groupby(["process", "device"]):
                assert own["bytes"].is_monotonic_decreasing


@some
@given(seeds)
def test_leaks(seed: int) -> None:
    known, trace = plain_memory.written(seed)
    for device, process, place, number in plain_memory.asked(known, seed):
        found = trace.leaks(device, process)
        expected = plain_leaks.leaks(known, known.chosen(place, number), known.told(place, number))
        assert sorted(rows(found)) == sorted(expected)
        told = [(plain_leaks.STATES.index(state), -size) for state, size in rows(found, "state", "bytes")]
        assert told == sorted(told)


@some
@given(seeds)
def test_agreement(seed: int) -> None:
    known, trace = plain_memory.written(seed)
    for device, process, place, number in plain_memory.asked(known, seed):
        found = rows(trace.memory_agreement(device, process))
        # What all processes had counts, whichever is asked for.
        expected = plain_leaks.agreement(known, known.told(place, number))
        assert sorted(found) == sorted(expected)
        assert [row[:3] for row in found] == [row[:3] for row in expected]
        points = Random(seed).randint(1, 3)
        few = rows(trace.memory_agreement(device, process, points))
        rest = iter(found)
        assert all(row in rest for row in few)
        for key in {row[:2] for row in found}:
            own, kept = ([row for row in table if row[:2] == key] for table in (found, few))
            assert len(kept) <= points + 2
            assert max(row[3] for row in kept) == max(row[3] for row in own)


@some
@given(seeds)
def test_leaks_of_a_part_of_the_time(seed: int) -> None:
    known, trace = plain_memory.written(seed)
    first, after = plain_memory.some_time(known, seed)
    # What was made then, whenever it ended, and what the driver said then.
    pieces = [piece for piece in known.pieces if first <= piece.made < after and not 0 < piece.freed <= first]
    reports = [report for report in known.reports if first <= report.time < after]
    found = trace.select(between=(first, after)).leaks()
    assert sorted(rows(found)) == sorted(plain_leaks.leaks(known, pieces, reports))


@some
@given(seeds)
def test_logs_of_nvidia_smi(seed: int) -> None:
    known, trace = plain_memory.written(seed)
    lines, told = plain_leaks.logged(known, Random(seed))
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        log.write_text("".join(f"{line}\n" for line in lines))
        found = trace.nvidia_smi(log)
        assert sorted(rows(found)) == sorted(told)
        assert found["time"].is_monotonic_increasing
        for device in {device for _, device, _ in told}:
            assert sorted(rows(trace.nvidia_smi(log, device))) == sorted(row for row in told if row[1] == device)


@pytest.mark.parametrize("seed", range(3))
def test_random_memory_leaks(seed: int) -> None:
    several = [plain_memory.make(30 * seed + number) for number in range(30)]
    leaks = [row for known in several for row in plain_leaks.leaks(known, known.pieces, known.reports)]
    assert {row[2] for row in leaks} == set(plain_leaks.STATES)
    peaks = [row for known in several for row in plain_leaks.watermark(known, known.pieces, total=False)]
    assert any(row[5] for row in peaks)
    assert any(row[-1] > 1 for row in peaks)
    said = [row for known in several for row in plain_leaks.agreement(known, known.reports)]
    assert any(row[4] for row in said)
    assert any(row[8] != row[9] for row in said)
