"""nvdisasm on standby, which forks for each function: what it says is what nvdisasm says, whatever becomes of it, and
it does not stay.

With a program that behaves as nvdisasm does (nvbit_tool/tests/disassemble/nvdisasm.c), and with nvdisasm where there
is one.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
import zstandard

from tests.support.stand_in import Inputs, compile_stand_in, real_nvdisasm

NO_INPUT = b"/snoopie/standby/no-input"
# What the cache remembers of one: a verdict, and the time when it was started.
KNOWN = re.compile(rb"(proved|failed|)[0-9]+")
Answer = tuple[int, bytes, bytes]
Socket = socket.socket


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def said(entry: Path) -> bytes:
    """What an entry of the cache holds, stdout and stderr."""
    return zstandard.ZstdDecompressor().decompressobj().decompress(entry.read_bytes())[8:]


class Machine(Inputs):
    """A disassembler, `disassemble`, and a cache that knows nothing."""

    def __init__(self, program: Path, nvdisasm: Path, folder: Path) -> None:
        super().__init__(folder)
        self.program = program
        self.nvdisasm = nvdisasm
        self.cache = folder / "cache"
        self.environment = {"PATH": os.defpath, "SNOOPIE_CACHE": str(self.cache), "SNOOPIE_NVDISASM": str(nvdisasm)}

    def new(self) -> str:
        """Code that no other is like."""
        return self.input(code(self.files + 1))

    def start(self, path: str, **changes: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [self.program, "-b", "SM90", path], env={**self.environment, **changes}, stdout=-1, stderr=-1, stdin=-3
        )

    def run(self, path: str, **changes: str) -> Answer:
        process = self.start(path, **changes)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def plain(self, path: str) -> Answer:
        done = subprocess.run([self.nvdisasm, "-b", "SM90", path], capture_output=True, timeout=120)
        return done.returncode, done.stdout, done.stderr

    def agree(self, times: int, **changes: str) -> None:
        """Fails unless what is said of new code, so often, is what nvdisasm says."""
        for _ in range(times):
            path = self.new()
            assert self.run(path, **changes) == self.plain(path)

    @property
    def runs(self) -> int:
        counted = self.nvdisasm.parent / "runs"
        return len(counted.read_text().splitlines()) if counted.exists() else 0

    def standbys(self) -> list[int]:
        """Those of this cache, which are in its folder, and their children."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                here = os.readlink(process / "cwd").startswith(str(self.cache))
                if here and NO_INPUT in (process / "cmdline").read_bytes():
                    found.append(int(process.name))
            except OSError:  # it has ended
                continue
        return found

    def judgement(self) -> str:
        """What the cache remembers of the standby."""
        for entry in (self.cache / "disassembly").glob("*.zst"):
            if match := KNOWN.fullmatch(said(entry)):
                return match[1].decode() or "tried"
        return ""

    def kill(self) -> None:
        """Ends the one on standby, and has it forgotten that it was started just now."""
        for process in self.standbys():
            with suppress(ProcessLookupError):  # a child that has just ended
                os.kill(process, signal.SIGKILL)
        until(lambda: not self.standbys())
        for entry in (self.cache / "disassembly").glob("*.zst"):
            if KNOWN.fullmatch(said(entry)):
                content = struct.pack("<Q", len("proved")) + b"proved" + b"1"
                entry.write_bytes(zstandard.ZstdCompressor().compress(content))

    def judge(self) -> None:
        """Disassembles until the standby has shown what it says."""

        def is_judged() -> bool:
            self.agree(1)
            return self.judgement() in ("proved", "failed")

        until(is_judged)

    def standby(self) -> int:
        """One that answers; its process."""
        self.judge()
        assert self.judgement() == "proved"
        found: list[int] = []

        def is_alone() -> bool:
            # One that was known before may have been started just now, and be none yet; a child may not have ended.
            found[:] = self.standbys()
            return len(found) == 1

        until(is_alone)
        return found[0]

    def address(self, process: int) -> str:
        inode = os.readlink(f"/proc/{process}/fd/3").removeprefix("socket:[").removesuffix("]")
        (row,) = [row for row in Path("/proc/net/unix").read_text().splitlines() if row.split()[6:7] == [inode]]
        return "\0" + row.split()[7].removeprefix("@")

    def end(self) -> None:
        shutil.rmtree(self.cache, ignore_errors=True)
        until(lambda: not self.standbys())


def code(number: int) -> bytes:
    """Of an H100: MOV R0, numbers; EXIT."""
    words = [(0x7802 | (number + i) << 32, 0x000FE20000000F00) for i in range(1 + number % 20)]
    return b"".join(struct.pack("<QQ", *word) for word in [*words, (0x794D, 0x000FEA0003800000)])


Make = Callable[[str], Machine]


@pytest.fixture
def make(disassemble: Path, stand_in: Path, tmp_path: Path) -> Iterator[Make]:
    made: list[Machine] = []

    def make_machine(name: str) -> Machine:
        nvdisasm = tmp_path / "bin" / name
        nvdisasm.parent.mkdir()
        shutil.copy2(stand_in, nvdisasm)
        made.append(Machine(disassemble, nvdisasm, tmp_path))
        return made[-1]

    yield make_machine
    for machine in made:
        machine.end()


@pytest.fixture
def machine(make: Make) -> Machine:
    return make("nvdisasm")


@pytest.fixture(params=["stand-in", "nvdisasm"])
def either(request: pytest.FixtureRequest, disassemble: Path, tmp_path: Path) -> Iterator[Machine]:
    if request.param == "stand-in":
        yield request.getfixturevalue("machine")
        return
    nvdisasm = real_nvdisasm()
    if nvdisasm is None:
        pytest.skip("there is no nvdisasm")
    real = Machine(disassemble, Path(nvdisasm), tmp_path)
    yield real
    real.end()


def test_answers_are_nvdisasms(either: Machine) -> None:
    either.standby()
    choose = random.Random(1)
    inputs = [either.new() for _ in range(16)]
    inputs += [either.input(choose.randbytes(choose.randrange(1, 500))) for _ in range(8)]
    inputs += [either.input(code(7)[:-1]), either.input(b""), either.input(b"\x7fELF" + code(3)[4:])]
    inputs += [either.input(b"\0" * 128), either.input(code(19) * 500), str(either.folder), "/nowhere/code"]
    inputs += [either.input(f"{word} {i}") for i in range(2) for word in ("bad", "crash", "warn", "path", "silent")]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(either.run, inputs)) == list(map(either.plain, inputs))
    assert either.judgement() == "proved"


def test_functions_need_no_run_of_their_own(machine: Machine) -> None:
    machine.standby()
    before = machine.runs
    for i in range(20):
        assert machine.run(machine.input(f"code {i}")) == (0, f"-b SM90 code {i}".encode(), b"")
    assert machine.runs < before + 20


def test_other_arguments_are_nvdisasms_own(machine: Machine) -> None:
    machine.standby()
    before = machine.runs
    for arguments in (["-c", machine.new()], ["-b", "SM90", "-c", machine.new()], ["-bSM90", machine.new()]):
        subprocess.run([machine.program, *arguments], env=machine.environment, check=True, capture_output=True)
    assert machine.runs == before + 3


def test_only_one_is_started_at_once(machine: Machine) -> None:
    machine.standby()
    machine.kill()
    inputs = [machine.new() for _ in range(16)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(machine.run, inputs)) == list(map(machine.plain, inputs))
    until(lambda: len(machine.standbys()) == 1)


def test_one_that_is_killed_is_replaced(machine: Machine) -> None:
    for _ in range(2):
        machine.standby()
        machine.kill()
        machine.agree(1)
        until(lambda: len(machine.standbys()) == 1)


def test_one_that_fails_is_not_started_for_each_function(machine: Machine) -> None:
    os.kill(machine.standby(), signal.SIGKILL)
    until(lambda: not machine.standbys())
    before = machine.runs
    for _ in range(3):
        machine.run(machine.new())
    assert machine.runs == before + 3


def waiting(machine: Machine, name: str) -> list[int]:
    """The processes that disassemble code which says: wait until the file NAME.go is there."""
    return [int(path.suffix[1:]) for path in machine.folder.glob(f"{name}.*") if path.suffix[1:].isdigit()]


@pytest.mark.parametrize("killed", ["child", "standby", "both"])
def test_one_that_is_killed_in_the_middle(machine: Machine, killed: str) -> None:
    standby = machine.standby()
    path = machine.input(f"wait {machine.folder}/told\n")
    process = machine.start(path)
    until(lambda: len(waiting(machine, "told")) == 1)
    (child,) = waiting(machine, "told")
    assert child in machine.standbys()
    for victim in {"child": [child], "standby": [standby], "both": [standby, child]}[killed]:
        os.kill(victim, signal.SIGKILL)
    if killed != "standby":
        # nvdisasm itself takes over.
        until(lambda: len(waiting(machine, "told")) == 2)
    (machine.folder / "told.go").touch()
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out, err) == machine.plain(path)


def test_a_child_ends_with_who_asked(machine: Machine) -> None:
    standby = machine.standby()
    process = machine.start(machine.input(f"wait {machine.folder}/told\n"))
    until(lambda: len(waiting(machine, "told")) == 1)
    process.kill()
    process.communicate()
    until(lambda: machine.standbys() == [standby])


def test_it_ends_with_the_cache(machine: Machine) -> None:
    machine.standby()
    shutil.rmtree(machine.cache)
    until(lambda: not machine.standbys())


def test_it_ends_when_nothing_is_asked(machine: Machine) -> None:
    machine.standby()
    until(lambda: not machine.standbys())
    assert machine.judgement() == "proved"


def test_it_has_nothing_of_who_started_it(machine: Machine) -> None:
    machine.standby()
    machine.kill()
    read, write = os.pipe()
    subprocess.run(
        [machine.program, "-b", "SM90", machine.new()],
        env={**machine.environment, "SECRET": "1"},
        pass_fds=[write],
        check=True,
        capture_output=True,
        preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN),
    )
    os.close(write)
    process = machine.standby()
    assert os.read(read, 1) == b""  # nobody else has the pipe's other end
    os.close(read)
    opened = {int(path.name): os.readlink(path) for path in Path(f"/proc/{process}/fd").iterdir()}
    assert [opened.pop(number) for number in range(3)] == ["/dev/null"] * 3
    assert sorted(opened) == [3, 4]
    assert b"SECRET" not in Path(f"/proc/{process}/environ").read_bytes()
    assert os.getsid(process) != os.getsid(0)
    os.kill(process, signal.SIGTERM)
    until(lambda: not machine.standbys())


@contextmanager
def impostor(address: str, behave: Callable[[Socket], None], user: int | None = None) -> Iterator[None]:
    """Has the standby's name, and behaves otherwise. `user`: whose it is, by being that one's when it listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(address)
        if user is None:
            listening.listen()
        else:
            os.seteuid(user)
            listening.listen()
            os.seteuid(0)
        listening.settimeout(0.05)
        done = threading.Event()

        def serve() -> None:
            while not done.is_set():
                try:
                    connection, _ = listening.accept()
                except TimeoutError:
                    continue
                with connection:
                    behave(connection)

        server = threading.Thread(target=serve)
        server.start()
        try:
            yield
        finally:
            done.set()
            server.join()


def take(connection: Socket) -> int:
    """Where stdout of a request is to go."""
    _, (_, out, _), _, _ = socket.recv_fds(connection, 1, 3)
    return out


def hang_up(_: Socket) -> None:
    pass


def take_and_hang_up(connection: Socket) -> None:
    take(connection)
    connection.send(b"t")


def say_nothing(connection: Socket) -> None:
    connection.recv(100)
    connection.recv(100)  # returns when who asked has given up


def write_nothing(connection: Socket) -> None:
    take(connection)
    connection.send(b"t")
    connection.send(b"d")


def write_half(connection: Socket) -> None:
    os.write(take(connection), b"half")
    connection.send(b"t")


def talk(connection: Socket) -> None:
    connection.send(b"hello" * 100)


@pytest.mark.parametrize("behave", [hang_up, take_and_hang_up, say_nothing, write_nothing, write_half, talk])
def test_one_that_behaves_otherwise(machine: Machine, behave: Callable[[Socket], None]) -> None:
    address = machine.address(machine.standby())
    machine.kill()
    with impostor(address, behave):
        machine.agree(2)
        assert not machine.standbys()
    machine.kill()
    machine.standby()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_users_is_not_believed(machine: Machine) -> None:
    def lie(connection: Socket) -> None:
        os.write(take(connection), b"a lie")
        connection.send(b"t")
        connection.send(b"d")

    address = machine.address(machine.standby())
    machine.kill()
    with impostor(address, lie):
        assert machine.run(machine.new()) == (0, b"a lie", b"")
    with impostor(address, hang_up, user=65534):
        machine.agree(1)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_is_not_answered(machine: Machine) -> None:
    address = machine.address(machine.standby())
    with ExitStack() as opened:
        mine, others = (opened.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)) for _ in range(2))
        files = [os.open(machine.new(), os.O_RDONLY), os.open(machine.folder / "out", os.O_WRONLY | os.O_CREAT)]
        for file in files:
            opened.callback(os.close, file)
        for connection, user in ((mine, 0), (others, 65534)):
            connection.settimeout(120)
            os.seteuid(user)
            connection.connect(address)
            os.seteuid(0)
        with suppress(ConnectionError):
            socket.send_fds(others, [b"r"], [*files, files[1]])
            assert others.recv(1) == b""
        socket.send_fds(mine, [b"r"], [*files, files[1]])
        assert (mine.recv(1), mine.recv(1)) == (b"t", b"d")


def test_nothing_is_left_of_a_disassembler_that_cannot_be_one(make: Make) -> None:
    machine = make("opens_once")
    machine.agree(5)
    until(lambda: not machine.standbys())
    assert machine.judgement() == "tried"
    # It is not tried at each function.
    assert machine.runs < 15


def test_one_that_keeps_what_it_saw_first_is_not_believed(make: Make) -> None:
    machine = make("keeps_size")
    machine.judge()
    assert machine.judgement() == "failed"
    before = machine.runs
    path = machine.input("long code " * 100)
    assert machine.run(path) == machine.plain(path)
    assert machine.runs == before + 2


def test_one_that_cannot_start(make: Make) -> None:
    machine = make("ends_early")
    machine.agree(3)
    until(lambda: not machine.standbys())


@pytest.mark.parametrize("bound", ["0", "1K"])
def test_none_without_a_cache(machine: Machine, bound: str) -> None:
    machine.agree(3, SNOOPIE_CACHE_SIZE=bound)
    assert machine.runs == 6
    (machine.folder / "file").touch()
    machine.agree(1, SNOOPIE_CACHE=str(machine.folder / "file"))
    assert machine.runs == 8


def test_none_of_a_script_or_a_static_program(machine: Machine) -> None:
    script = machine.folder / "script"
    script.write_text(f'#!/bin/sh\nexec "{machine.nvdisasm}" "$@"\n')
    script.chmod(0o755)
    static = machine.nvdisasm.parent / "static"
    compile_stand_in(static, "-static")
    for program in (script, static):
        before = machine.runs
        path = machine.new()
        assert machine.run(path, SNOOPIE_NVDISASM=str(program)) == machine.plain(path)
        assert machine.runs == before + 2
        assert machine.judgement() == ""


def test_warming_uses_it(machine: Machine) -> None:
    machine.standby()
    before = machine.runs
    inputs = [machine.new() for _ in range(20)]
    listed = machine.input("".join(f"-b\tSM90\t{path}\n" for path in inputs))
    subprocess.run([machine.program, "--warm", listed, "--jobs", "4"], env=machine.environment, check=True)
    assert machine.runs < before + 20
    warmed = machine.runs
    answers = list(map(machine.run, inputs))
    assert machine.runs == warmed
    assert answers == list(map(machine.plain, inputs))
