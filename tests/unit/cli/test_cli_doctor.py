"""snoopie doctor on machines that are whole, broken and empty; programs of NVIDIA's are stand-ins."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import snoopie
from snoopie.cli import doctor, places
from snoopie.cli.checks import driver, folders, memory
from snoopie.cli.checks.driver import Driver
from snoopie.cli.checks.row import ok
from tests.support.command import run

TOPOLOGY = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV18\t0-55\nGPU1\tNV18\t X \t0-55\n"
NVIDIA_SMI = f"""case "$*" in
topo*) printf '{TOPOLOGY}' ;;
*) echo '0, NVIDIA H200, 9.0, Disabled, Default'; echo '1, NVIDIA H200, 9.0, Disabled, Default' ;;
esac"""


def program(path: Path, code: str) -> None:
    path.write_text(f"#!/bin/sh\n{code}\n")
    path.chmod(0o755)


def collector(folder: Path, arches: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    said = {"version": snoopie.__version__, "cuda": "13.0", "nvbit": "1.7.7.1", "arches": arches}
    path = folder / places.LIBRARY
    path.write_bytes(b"\x7fELF\0snoopie collector " + json.dumps(said).encode() + b"\0")
    path.with_name(places.COLLECTOR).touch()
    return path


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two H200s with a driver, a collector and the disassemblers."""
    for name in [name for name in os.environ if name.startswith(("CUDA", "SNOOPIE", "NV", "LD_"))]:
        monkeypatch.delenv(name)
    programs = tmp_path / "bin"
    programs.mkdir()
    program(programs / "nvidia-smi", NVIDIA_SMI)
    program(programs / "nvdisasm", "echo \"release 13.2, V13.2.51 'SM90'\"")
    program(programs / "cuobjdump", "echo release 13.2, V13.2.51")
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(places, "collectors", lambda environment: iter([places.built(environment) / places.LIBRARY]))
    monkeypatch.setattr(driver, "ask", lambda environment: Driver(cuda="13.0", arches=("90", "90")))
    # Of a machine that is busy with something else.
    monkeypatch.setattr(memory, "free", lambda: 8 << 30)
    monkeypatch.setattr(folders, "scratch", lambda: ok("/tmp", "writable"))
    return tmp_path


def states(out: str) -> dict[str, str]:
    said = json.loads(out)
    return {row["name"]: row["state"] for row in said["rows"]}


def test_a_machine_that_has_everything(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = collector(places.built(os.environ), "90")
    status, out, err = run(capsys, "doctor")
    assert status == 0, out
    assert err == "Next: snoopie run -- ./app\n"
    lines = [line.split(maxsplit=2) for line in out.splitlines()]
    assert ["ok", "GPUs", "2 × NVIDIA H200 (architecture 90)"] in lines
    assert ["ok", "links", "NV18 between all 2 GPUs"] in lines
    assert ["ok", "collector", f"{library}: {snoopie.__version__}, CUDA 13.0, NVBit 1.7.7.1, for 90"] in lines
    assert ["ok", "nvdisasm", f"13.2 at {machine}/bin/nvdisasm"] in lines
    assert "\033" not in out


def test_the_rows_as_json(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collector(places.built(os.environ), "90")
    status, out, err = run(capsys, "doctor", "--json")
    said = json.loads(out)
    assert (status, err) == (0, "")
    assert (said["version"], said["snoopie"], said["works"]) == (1, snoopie.__version__, True)
    assert all(set(row) == {"name", "state", "found", "remedy"} for row in said["rows"])
    assert {row["state"] for row in said["rows"]} <= {"ok", "warning", "problem"}
    assert all(bool(row["remedy"]) is (row["state"] != "ok") for row in said["rows"])


def test_a_collector_for_other_gpus(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collector(places.built(os.environ), "80")
    status, out, err = run(capsys, "doctor")
    assert (status, err) == (1, "")
    lines = out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("problem  collector "))
    assert lines[at].endswith("for 80; not for 90")
    assert lines[at + 1].strip() == "→ snoopie build --arch 90"


def test_no_collector_is_a_problem_and_missing_compilers_are_none(
    machine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NVCC", str(machine / "absent"))
    status, out, _ = run(capsys, "doctor", "--json")
    assert status == 1
    assert states(out)["collector"] == "problem"
    assert states(out)["build: nvcc"] == "warning"
    collector(places.built(os.environ), "90")
    assert run(capsys, "doctor", "--json")[0] == 0


def test_another_profiler(machine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    collector(places.built(os.environ), "90")
    monkeypatch.setenv("CUDA_INJECTION64_PATH", "/opt/nsys/libToolsInjection64.so")
    status, out, _ = run(capsys, "doctor", "--json")
    assert (status, states(out)["other profilers"]) == (1, "problem")


def test_cupti(machine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    collector(places.built(os.environ), "90")
    library = machine / "toolkit" / "extras" / "CUPTI" / "lib64" / "libcupti.so.13"
    library.parent.mkdir(parents=True)
    monkeypatch.setenv("CUDA_HOME", str(machine / "toolkit"))
    # A newer one than the driver's is of no use.
    library.with_name("libcupti.so.14").touch()
    monkeypatch.setattr("snoopie.cli.checks.cupti.sys.prefix", str(machine))
    monkeypatch.setattr("snoopie.cli.checks.cupti.says", lambda *_: None)
    status, out, _ = run(capsys, "doctor", "--json")
    if not list(Path("/usr/local/cuda").glob("**/libcupti.so.1[23]")):
        assert (status, states(out)["CUPTI"]) == (0, "warning")
    library.touch()
    _, out, _ = run(capsys, "doctor", "--json")
    assert next(row for row in json.loads(out)["rows"] if row["name"] == "CUPTI")["found"] == str(library)


def test_a_machine_with_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        monkeypatch.delenv(name)
    monkeypatch.setattr("snoopie.cli.tool.toolkit_folders", lambda environment: iter([tmp_path]))
    monkeypatch.setattr(places, "checkout", lambda: tmp_path)
    monkeypatch.setattr(places, "SITES", (tmp_path,))
    monkeypatch.setattr(driver, "ask", lambda environment: driver.parse(None))
    status, out, _ = run(capsys, "doctor", "--json")
    assert status == 1
    found = states(out)
    assert {name for name, state in found.items() if state == "problem"} >= {
        "driver", "GPUs", "collector", "nvdisasm", "cuobjdump",
    }  # fmt: skip


def test_programs_that_say_nonsense(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    collector(places.built(os.environ), "90")
    noise = "head -c 4096 /dev/urandom; printf '0,,,,\\nGPU0 GPU1\\nGPU0\\n'; kill -SEGV $$"
    for name in ("nvidia-smi", "nvdisasm", "cuobjdump", "nvcc", "g++", "make", "ldd"):
        program(machine / "bin" / name, noise)
    _, out, err = run(capsys, "doctor")
    assert "Traceback" not in out + err
    assert all(line.isprintable() for line in out.splitlines())


def test_a_check_that_fails_leaves_the_others(
    machine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    collector(places.built(os.environ), "90")

    def fail() -> None:
        raise ZeroDivisionError("no memory at all")

    monkeypatch.setattr(memory, "free", fail)
    status, out, _ = run(capsys, "doctor", "--json")
    (row,) = (row for row in json.loads(out)["rows"] if row["name"] == "memory")
    assert (status, row["state"], row["found"]) == (0, "warning", "could not be looked at: no memory at all")
    assert states(out)["MPS"]


def test_the_driver_is_asked_from_outside() -> None:
    asked = driver.ask(os.environ)
    assert asked.missing or asked.cuda
    assert list(doctor.rows(os.environ))
