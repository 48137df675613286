"""Each target on a few inputs, the same ones each time; and that the fuzzing itself finds what is there to be found.

`python -m tests.fuzz` runs them for as long as one wants, with other inputs.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pandas as pd
import pytest

from snoopie.api.trace import Trace
from snoopie.cli.import_ import KINDS
from snoopie.errors import SnoopieError
from tests.fuzz import blocks, engine, reading, traces
from tests.fuzz.target import Fault, Target
from tests.fuzz.targets import IMPORTERS, TARGETS

SEED = 1
# Inputs that take about as long, a second or two.
INPUTS = {"reader": 20, "snoopie-log": 12, "nvidia-smi": 300, "torch-memory": 300}


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_is_a_fault(name: str, tmp_path: Path) -> None:
    done = engine.fuzz(TARGETS[name], seed=SEED, keep=tmp_path, inputs=INPUTS.get(name, 6), most_faults=1)
    assert not done.found, str(done.found[0])
    assert done.inputs == INPUTS.get(name, 6)


@pytest.mark.parametrize("name", TARGETS)
def test_what_inputs_begin_with_is_read(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    for number, seed in enumerate(target.seeds()):
        path = tmp_path / f"seed{number}{target.ending}"
        path.write_bytes(seed)
        assert engine.check_one(target, path) == ""


def test_every_importer_is_fuzzed() -> None:
    assert KINDS.keys() <= IMPORTERS.keys()


@pytest.mark.parametrize("name", TARGETS)
def test_an_input_is_the_same_again(name: str) -> None:
    target = TARGETS[name]
    inputs = [target.input(SEED, number) for number in range(8)]
    assert inputs == [target.input(SEED, number) for number in range(8)]
    assert len(set(inputs)) > 4


def raises(_path: Path, _folder: Path) -> None:
    raise ValueError("of the importer")


def refuses(_path: Path, _folder: Path) -> None:
    raise SnoopieError("not to be caught here")


def kills_itself(path: Path, _folder: Path) -> None:
    if len(path.read_bytes()) % 2:
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("check", [raises, refuses, kills_itself])
def test_a_fault_is_found_and_kept(check: object, tmp_path: Path) -> None:
    assert callable(check)
    target = Target("t", lambda: (b"a seed",), lambda data, random: data + random.randbytes(1), check)
    done = engine.fuzz(target, seed=SEED, keep=tmp_path, inputs=50, most_faults=1)
    (found,) = done.found
    assert found.path.read_bytes() == target.input(SEED, found.number)
    assert f"--first {found.number}" in str(found)


def test_inputs_begin_with_files_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "real ones").mkdir()
    (tmp_path / "real ones" / "a.log").write_bytes(b"a real log")
    target = Target("t", tuple, lambda data, _random: data, raises).beginning_with(tmp_path / "real ones")
    (found,) = engine.fuzz(target, seed=SEED, keep=tmp_path, inputs=1).found
    assert found.path.read_bytes() == b"a real log"
    assert f"--seeds '{tmp_path}/real ones' --seed" in str(found)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no file"):
        target.beginning_with(tmp_path / "empty")


def test_a_file_with_a_wrong_sum_is_known_for_one(tmp_path: Path) -> None:
    path = tmp_path / "t.zst"
    parts = blocks.take_apart(traces.seeds()[0])
    assert parts is not None
    whole = blocks.put_together(parts)
    assert reading._sums_are_right(whole)
    for place in range(0, len(whole), 97):
        assert not reading._sums_are_right(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    assert not reading._sums_are_right(whole[: -len(whole) // 9])
    path.write_bytes(whole)
    reading.check(path, tmp_path)


def test_a_wrong_number_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.zst"
    path.write_bytes(traces.seeds()[0])
    right = Trace.by_line

    def by_line(trace: Trace) -> pd.DataFrame:
        return right(trace).assign(bytes=1)

    monkeypatch.setattr(Trace, "by_line", by_line)
    with pytest.raises(Fault, match="by_line has"):
        reading.check(path, tmp_path)


def test_values_are_as_they_were_when_nothing_changes() -> None:
    parts = blocks.take_apart(traces.seeds()[0])
    assert parts is not None
    header = blocks.json_of(parts[0])
    for part in parts[1:-1]:
        columns = blocks.columns_of(header, part.table)
        assert columns is not None
        values = blocks.decode(part, columns)
        assert values is not None
        assert blocks.encoded(part, columns, values, part.rows) == part
