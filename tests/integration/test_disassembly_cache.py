"""nvbit_tool/disassemble in nvdisasm's place: the same output, status and messages, no second run for the same."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.stand_in import Inputs, real_nvdisasm

# Prints its options and its last argument's content; the content chooses what goes wrong.
FAKE = """#!/bin/sh
echo run >> "{runs}"
for input; do :; done
case $(cat -- "$input" 2>/dev/null) in
    bad*) echo "fatal: $input is bad" >&2; exit 3 ;;
    crash*) kill -SEGV $$ ;;
    warn*) echo "warning: old" >&2 ;;
    path*) echo "from $input" ;;
esac
while [ $# -gt 1 ]; do printf '%s ' "$1"; shift; done
cat -- "$input"
"""


class Machine(Inputs):
    """A fake nvdisasm that counts its runs, an empty cache, and the environment that names both."""

    def __init__(self, program: Path, folder: Path) -> None:
        super().__init__(folder)
        self.program = program
        self.counted = folder / "runs"
        self.cache = folder / "cache"
        self.nvdisasm = folder / "bin" / "nvdisasm"
        self.nvdisasm.parent.mkdir()
        self.nvdisasm.write_text(FAKE.format(runs=self.counted))
        self.nvdisasm.chmod(0o755)
        self.environment = {"PATH": f"{self.nvdisasm.parent}:{os.defpath}", "SNOOPIE_CACHE": str(self.cache)}

    def run(self, *arguments: str, **changes: str | None) -> subprocess.CompletedProcess[bytes]:
        changed = {**self.environment, **changes}
        environment = {name: value for name, value in changed.items() if value is not None}
        return subprocess.run(
            [self.program, *arguments], env=environment, cwd=self.folder, capture_output=True, timeout=60
        )

    def output(self, *arguments: str, **changes: str | None) -> bytes:
        done = self.run(*arguments, **changes)
        assert done.returncode == 0, done.stderr
        return done.stdout

    @property
    def runs(self) -> int:
        return len(self.counted.read_text().splitlines()) if self.counted.exists() else 0

    @property
    def entries(self) -> list[Path]:
        return sorted((self.cache / "disassembly").glob("*.zst"))


@pytest.fixture
def machine(disassemble: Path, tmp_path: Path) -> Machine:
    return Machine(disassemble, tmp_path)


def test_second_run_is_answered_from_the_cache(machine: Machine) -> None:
    code = bytes(range(256)) * 1000
    for _ in range(3):
        assert machine.output("-b", "SM90", machine.input(code)) == b"-b SM90 " + code
    assert machine.runs == 1
    assert [path.name for path in (machine.cache / "disassembly").iterdir() if path.suffix != ".zst"] == ["total"]


def test_everything_that_matters_is_in_the_key(machine: Machine) -> None:
    assert machine.output("-b", "SM90", machine.input("code")) == b"-b SM90 code"
    assert machine.output("-b", "SM80", machine.input("code")) == b"-b SM80 code"
    assert machine.output("-bSM", "90", machine.input("code")) == b"-bSM 90 code"
    assert machine.output("-b", "SM90", machine.input("edoc")) == b"-b SM90 edoc"
    assert machine.runs == 4
    os.utime(machine.nvdisasm, (1, 1))
    machine.output("-b", "SM90", machine.input("code"))
    assert machine.runs == 5
    other = machine.folder / "other"
    shutil.copy2(machine.nvdisasm, other)
    machine.output("-b", "SM90", machine.input("code"), SNOOPIE_NVDISASM=str(other))
    assert machine.runs == 6


# Instructions as ptxas makes them, with 0 for what the driver writes when it loads them.
MOV = 0x000FE20000000F00_0000000000147802
UMOV = 0x000FE20000000000_0000000000087882
CALL = 0x005FEA0003C00000_0000000000007943
NOP = 0x000FC00000000000_0000000000007918
EXIT = 0x000FEA0003800000_000000000000794D


def loaded(number: int, target: int, architecture: int) -> bytes:
    """A function that holds a number of 64 bits and calls another, as it is where the driver has loaded it."""
    split = (target >> 2 & 0xFF) << 16 | target >> 10 << 34
    call = CALL | (target >> 2 << 34 if architecture < 90 else split)
    low, high = number & 0xFFFFFFFF, number >> 32
    moves = [MOV | low << 32, NOP, MOV ^ 1 << 16 | high << 32, UMOV | low << 32, UMOV | high << 32]
    return b"".join(word.to_bytes(16, "little") for word in [*moves, call, EXIT, NOP])


@pytest.mark.parametrize("architecture", [75, 89, 90, 120])
def test_code_that_is_loaded_elsewhere_is_known(machine: Machine, architecture: int) -> None:
    """One run of nvdisasm serves all addresses, and what is said of each is what nvdisasm says."""
    nvdisasm = real_nvdisasm()
    if nvdisasm is None:
        pytest.skip("there is no nvdisasm")
    machine.nvdisasm.write_text(f'#!/bin/sh\necho run >> "{machine.counted}"\nexec "{nvdisasm}" "$@"\n')
    choose = random.Random(architecture)
    most = 1 << (49 if architecture < 90 else 57)
    numbers = [0x7F126D2E1A04, 0, 2**64 - 1, choose.getrandbits(64)]
    for number in numbers:
        code = machine.input(loaded(number, number % most // 4 * 4, architecture))
        plain = subprocess.run([nvdisasm, "-b", f"SM{architecture}", code], check=True, capture_output=True, timeout=60)
        assert f"0x{number & 0xFFFFFFFF:x} ;".encode() in plain.stdout
        assert machine.output("-b", f"SM{architecture}", code) == plain.stdout
    assert machine.runs == 1


def test_option_that_is_also_a_file_name(machine: Machine) -> None:
    for name in ("SM80", "SM90"):
        (machine.folder / name).write_text("a file that happens to lie here")
    code = machine.input("code")
    assert machine.output("-b", "SM80", code) == b"-b SM80 code"
    assert machine.output("-b", "SM90", code) == b"-b SM90 code"


def test_messages_of_a_successful_run(machine: Machine) -> None:
    for _ in range(2):
        done = machine.run("-c", machine.input("warn"))
        assert (done.returncode, done.stdout, done.stderr) == (0, b"-c warn", b"warning: old\n")
    assert machine.runs == 1


def test_failure_is_passed_on_and_not_kept(machine: Machine) -> None:
    code = machine.input("bad")
    for runs in (1, 2):
        done = machine.run("-c", code)
        assert (done.returncode, done.stdout, done.stderr) == (3, b"", f"fatal: {code} is bad\n".encode())
        assert machine.runs == runs
    assert machine.run("-c", machine.input("crash")).returncode == -signal.SIGSEGV
    assert machine.entries == []


def test_output_that_names_its_input_is_not_kept(machine: Machine) -> None:
    for _ in range(2):
        code = machine.input("path")
        assert machine.output("-c", code) == f"from {code}\n-c path".encode()
    assert machine.runs == 2


def test_what_does_not_go_to_stdout_is_passed_on(machine: Machine) -> None:
    for option in ("-o", "--output-file", "--output-file=x", "-optf", "--options-file=/x"):
        machine.output(option, "x", machine.input("code"))
        machine.output(option, "x", machine.input("code"))
    assert machine.runs == 10
    assert machine.entries == []


def test_nothing_to_read(machine: Machine) -> None:
    done = machine.run("--version")
    assert done.returncode != 0
    assert b"--version" in done.stderr
    assert machine.run().returncode != 0
    assert machine.run("-c", str(machine.folder / "absent")).returncode != 0
    assert machine.run("-c", str(machine.folder)).returncode != 0
    assert machine.runs == 4


def damages(whole: bytes) -> Iterator[bytes]:
    yield b""
    yield b"not zstd at all"
    yield whole + b"x"
    for size in range(1, len(whole)):
        yield whole[:size]
    choose = random.Random(1)
    for position in range(len(whole)):
        flipped = bytearray(whole)
        flipped[position] ^= 1 << choose.randrange(8)
        yield bytes(flipped)


def test_damaged_entry_is_replaced(machine: Machine) -> None:
    code = machine.input("code")
    assert machine.output("-c", code) == b"-c code"
    (entry,) = machine.entries
    whole = entry.read_bytes()
    # A flipped bit may leave the frame's meaning as it is, so the runs are not counted.
    for damaged in damages(whole):
        entry.write_bytes(damaged)
        assert machine.output("-c", code) == b"-c code"
        assert machine.output("-c", code) == b"-c code"
    entry.write_bytes(whole[:-1])
    before = machine.runs
    machine.output("-c", code)
    assert machine.runs == before + 1
    assert entry.read_bytes() == whole


def test_cache_that_cannot_be_written(machine: Machine) -> None:
    machine.cache.write_text("a file where the folder should be")
    for _ in range(2):
        assert machine.output("-c", machine.input("code")) == b"-c code"
    assert machine.output("-c", machine.input("code"), SNOOPIE_CACHE="/proc/nowhere") == b"-c code"
    assert machine.runs == 3


def test_bound(machine: Machine) -> None:
    choose = random.Random(1)
    codes = [machine.input(choose.randbytes(10000)) for _ in range(40)]
    for code in codes:
        machine.output("-c", code, SNOOPIE_CACHE_SIZE="100K")
        # Used again and again: not the one to go.
        machine.output("-c", codes[0], SNOOPIE_CACHE_SIZE="100K")
        assert sum(path.stat().st_size for path in machine.entries) <= 100 << 10
    assert machine.runs == len(codes)
    assert len(machine.entries) >= 5
    machine.output("-c", codes[-1], SNOOPIE_CACHE_SIZE="100K")
    assert machine.runs == len(codes)
    machine.output("-c", codes[1], SNOOPIE_CACHE_SIZE="100K")
    assert machine.runs == len(codes) + 1


def test_bound_without_the_total(machine: Machine) -> None:
    choose = random.Random(1)
    for _ in range(20):
        machine.output("-c", machine.input(choose.randbytes(10000)), SNOOPIE_CACHE_SIZE="100K")
        (machine.cache / "disassembly" / "total").unlink()
    assert sum(path.stat().st_size for path in machine.entries) <= 100 << 10


@pytest.mark.parametrize("bound", ["0", "1K", "much"])
def test_bound_that_keeps_nothing(machine: Machine, bound: str) -> None:
    for _ in range(2):
        assert machine.output("-c", machine.input("code"), SNOOPIE_CACHE_SIZE=bound) == b"-c code"
    assert machine.runs == 2
    assert machine.entries == []


def test_eight_processes_at_once(machine: Machine) -> None:
    codes = [random.Random(i).randbytes(20000) for i in range(10)]
    files = [machine.input(codes[i % len(codes)]) for i in range(200)]
    with ThreadPoolExecutor(8) as pool:
        outputs = list(pool.map(lambda file: machine.output("-c", file, SNOOPIE_CACHE_SIZE="1M"), files))
    assert outputs == [b"-c " + codes[i % len(codes)] for i in range(200)]
    assert len(machine.entries) == len(codes)
    assert machine.runs <= 8 * len(codes)
    before = machine.runs
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda file: machine.output("-c", file, SNOOPIE_CACHE_SIZE="60K"), files + files))
    assert machine.runs == before
    assert not (machine.cache / "disassembly" / "incoming").exists()


def test_eight_processes_over_the_bound(machine: Machine) -> None:
    codes = [random.Random(i).randbytes(20000) for i in range(100)]
    files = [machine.input(code) for code in codes]
    with ThreadPoolExecutor(8) as pool:
        outputs = list(pool.map(lambda file: machine.output("-c", file, SNOOPIE_CACHE_SIZE="200K"), files))
    assert outputs == [b"-c " + code for code in codes]
    assert 100 << 10 <= sum(path.stat().st_size for path in machine.entries) <= 200 << 10


def test_cache_behind_a_symbolic_link(machine: Machine) -> None:
    real = machine.folder / "elsewhere"
    real.mkdir()
    machine.cache.mkdir()
    (machine.cache / "disassembly").symlink_to(real)
    for _ in range(2):
        assert machine.output("-c", machine.input("code")) == b"-c code"
    assert machine.runs == 1
    assert len(list(real.glob("*.zst"))) == 1


def test_places(machine: Machine) -> None:
    home, xdg = machine.folder / "home", machine.folder / "xdg"
    places: list[tuple[dict[str, str | None], Path | None]] = [
        ({"HOME": str(home)}, home / ".cache/snoopie/disassembly"),
        ({"HOME": str(home), "XDG_CACHE_HOME": ""}, home / ".cache/snoopie/disassembly"),
        ({"HOME": str(home), "XDG_CACHE_HOME": "relative"}, home / ".cache/snoopie/disassembly"),
        ({"HOME": str(home), "XDG_CACHE_HOME": str(xdg)}, xdg / "snoopie/disassembly"),
        ({"XDG_CACHE_HOME": str(xdg)}, xdg / "snoopie/disassembly"),
        ({"HOME": ""}, None),
        ({}, None),
    ]
    for environment, place in places:
        shutil.rmtree(home, ignore_errors=True)
        shutil.rmtree(xdg, ignore_errors=True)
        before = machine.runs
        for _ in range(2):
            assert machine.output("-c", machine.input("code"), **{"SNOOPIE_CACHE": None, **environment}) == b"-c code"
        assert machine.runs == before + (1 if place else 2)
        if place:
            assert len(list(place.glob("*.zst"))) == 1


def test_which_nvdisasm(machine: Machine) -> None:
    none = machine.run("-c", machine.input("code"), PATH="/nowhere")
    assert none.returncode == 127
    assert none.stderr.startswith(b"snoopie: nvdisasm was not found: ")
    assert none.stderr.count(b"\n") == 1
    # A user may have put the program on PATH under nvdisasm's name: it does not run itself.
    front = machine.folder / "front"
    front.mkdir()
    (front / "nvdisasm").symlink_to(machine.program)
    assert machine.output("-c", machine.input("code"), PATH=f"{front}:{machine.environment['PATH']}") == b"-c code"
    assert machine.run("-c", machine.input("code"), PATH=str(front)).returncode == 127
    (front / "my-disassembler").symlink_to(machine.nvdisasm)
    path = f"{front}:{os.defpath}"
    assert machine.output("-c", machine.input("new"), PATH=path, SNOOPIE_NVDISASM="my-disassembler") == b"-c new"
    broken = machine.folder / "broken"
    broken.write_text("#!/nowhere/sh\n")
    broken.chmod(0o755)
    assert machine.run("-c", machine.input("newer"), SNOOPIE_NVDISASM=str(broken)).returncode == 127


def test_warming(machine: Machine) -> None:
    codes = [f"code {i}" for i in range(30)]
    listed = machine.folder / "list"
    listed.write_text("".join(f"-b\tSM90\t{machine.input(code)}\n" for code in [*codes, codes[0]]))
    assert machine.run("--warm", str(listed), "--jobs", "4").returncode == 0
    assert len(codes) <= machine.runs <= len(codes) + 1
    before = machine.runs
    for code in codes:
        assert machine.output("-b", "SM90", machine.input(code)) == f"-b SM90 {code}".encode()
    done = machine.run("--warm", str(listed))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert machine.runs == before


def test_warming_what_fails(machine: Machine) -> None:
    listed = machine.folder / "list"
    listed.write_text(f"-c\t{machine.input('good')}\n\n-c\t{machine.input('bad')}\n-c\t{machine.folder}/absent\n")
    done = machine.run("--warm", str(listed))
    assert done.returncode == 1
    assert done.stderr.startswith(b"snoopie: 2 of 3 disassemblies are not in the cache")
    refusals: list[Callable[[], subprocess.CompletedProcess[bytes]]] = [
        lambda: machine.run("--warm", "/nowhere/list"),
        lambda: machine.run("--warm"),
        lambda: machine.run("--warm", str(listed), "--jobs", "0"),
        lambda: machine.run("--warm", str(listed), "--jobs", "2x"),
        lambda: machine.run("--warm", str(listed), SNOOPIE_CACHE_SIZE="0"),
    ]
    for refused in refusals:
        done = refused()
        assert done.returncode == 2
        assert done.stderr.startswith(b"snoopie: ")
        assert done.stderr.count(b"\n") == 1
