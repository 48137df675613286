"""A training step of PyTorch on two GPUs: traffic by the tensors' lines in the user's own script."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gpu_runs import LIBRARY_TIMEOUT, Run, environment, require, start, traced_environment
from gpu_traffic import APPS, nothing_dropped

if TYPE_CHECKING:
    from snoopie import Trace

pytestmark = pytest.mark.timeout(3 * LIBRARY_TIMEOUT)

STEPS = 4
CROSSING = 1024 * 512 * 4
SCRIPT = APPS / "train.py"


def line_of(text: str) -> int:
    """The number of the script's only line with this text."""
    (number,) = [number for number, line in enumerate(SCRIPT.read_text().splitlines(), 1) if text in line]
    return number


@pytest.fixture(scope="module")
def trained(pair: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory) -> Run:
    import snoopie

    require("train.py")
    folder = tmp_path_factory.mktemp("train")
    command = [sys.executable, SCRIPT, STEPS]
    native = start(command, tmp_path_factory.mktemp("native"), environment(pair), LIBRARY_TIMEOUT)
    assert (native.status, native.stdout) == (0, "losses fall\n"), native.stderr
    settings = traced_environment(pair, KERNEL_NAME="*copy*", SNOOPIE_TENSORS=str(folder))
    hooks = Path(snoopie.__file__).parent / "hooks"
    settings["PYTHONPATH"] = f"{hooks}:{settings.get('PYTHONPATH', '')}"
    run = start(command, folder, settings, LIBRARY_TIMEOUT)
    assert (run.status, run.stdout) == (native.status, native.stdout), run.stderr
    return run


def load(run: Run) -> Trace:
    import snoopie

    return snoopie.load(run.folder)


def test_what_crosses_is_known_by_arithmetic(trained: Run) -> None:
    trace = load(trained)
    nothing_dropped(trace)
    pairs = trace.by_pair()
    crossing = pairs[(pairs["issuer"] == "GPU 0") & (pairs["owner"] == "GPU 1")]
    assert crossing["bytes"].tolist() == [STEPS * CROSSING]


def test_traffic_belongs_to_the_lines_that_made_the_tensors(trained: Run) -> None:
    table = load(trained).by_tensor()
    own = table[table["file"].str.endswith("train.py")]
    moved = own[own["line"] == line_of("moved = ")]
    assert moved["bytes"].sum() == STEPS * CROSSING
    assert moved["exact"].all()
    assert (moved["gpu"] == 1).all()
    assert (moved.loc[moved["bytes"] > 0, "size"] == CROSSING).all()
    assert (moved["function"] == "main").all()


def test_gradients_come_back_as_copies(trained: Run) -> None:
    trace = load(trained)
    back = trace.copies[(trace.copies["source"] == 1) & (trace.copies["destination"] == 0)]
    assert (back["bytes"] == CROSSING).sum() == STEPS
    table = trace.by_tensor()
    # Made by autograd's own thread, which runs no Python: the tensor is known, its line is not.
    assert table.loc[table["size"] == CROSSING, "copied_out"].sum() >= STEPS * CROSSING


def test_without_the_history_the_script_is_still_named(trained: Run) -> None:
    trace = load(trained)
    launches = trace.launches[trace.launches.index.isin(trace.counts["launch"])]
    labels = set(trace.stack_label(launches["stack"]))
    assert labels == {f"train.py:{line_of('moved = ')} main"}
