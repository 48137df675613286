"""The collector between a program and NCCL: a fake libnccl, programs that use it, and what the collector is told."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.collector import COLLECTOR

SOURCES = COLLECTOR / "tests" / "nccl"


def fnv1a(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def of_id(*texts: str) -> int:
    """The identity of a communicator made from these unique ids."""
    return fnv1a(b"".join(text.encode().ljust(128, b"\0") for text in texts))


@dataclass
class Built:
    folder: Path

    def library(self, name: str) -> str:
        return str(self.folder / f"lib{name}.so")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """preload: the wrappers with a printing sink; nccl, other_nccl: fake libraries; plugin: the scenarios, needs nccl;
    whole_plugin: the scenarios with an NCCL of their own; linked and host: programs with and without NCCL."""
    if shutil.which("g++") is None:
        pytest.fail("install g++: the integration tests build the collector's wrappers of NCCL")
    folder = tmp_path_factory.mktemp("nccl")
    exports = folder / "exports.map"
    shipped = (COLLECTOR / "src" / "preload" / "exports.map").read_text()
    exports.write_text(shipped.replace("global:", "global: fake_launch; fake_context;"))

    def compile(target: str, sources: list[Path], *options: str) -> None:
        command = [
            "g++",
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-O1",
            "-g",
            "-fPIC",
            "-I",
            str(COLLECTOR / "src"),
            "-o",
            target,
        ]
        links = [f"-L{folder}", f"-Wl,-rpath,{folder}", "-ldl", "-lpthread"]
        done = subprocess.run(
            [*command, *map(str, sources), *options, *links], cwd=folder, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""

    wrappers = [
        COLLECTOR / "src" / "libraries" / f"{name}.cpp"
        for name in ("nccl_calls", "nccl_ranges", "next_function", "collective")
    ]
    printing = [*wrappers, SOURCES / "print_collectives.cpp"]
    compile("libpreload.so", printing, "-shared", f"-Wl,--version-script={exports}", "-Wl,-z,now")
    compile("libnccl.so", [SOURCES / "fake_nccl.cpp"], "-shared", '-DFAKE_NAME="nccl"')
    compile("libplugin.so", [SOURCES / "scenarios.cpp"], "-shared", "-lnccl")
    whole = [SOURCES / "scenarios.cpp", SOURCES / "fake_nccl.cpp"]
    compile("libwhole_plugin.so", whole, "-shared", '-DFAKE_NAME="inside"')
    compile("linked", [SOURCES / "program.cpp", SOURCES / "scenarios.cpp"], "-lnccl")
    compile("host", [SOURCES / "program.cpp"])
    compile("whole", [SOURCES / "program.cpp", *whole], "-rdynamic", '-DFAKE_NAME="inside"')
    return Built(folder)


@dataclass
class Told:
    lines: list[tuple[str, dict[str, str]]]
    errors: str

    def of(self, kind: str) -> list[dict[str, str]]:
        return [fields for what, fields in self.lines if what == kind]

    def column(self, kind: str, *names: str) -> list[str]:
        return [" ".join(fields[name] for name in names) for fields in self.of(kind)]


def run(built: Built, program: str, *arguments: str, preload: bool = True, **variables: str) -> Told:
    environment = {**os.environ, **variables}
    if preload:
        environment["LD_PRELOAD"] = built.library("preload")
    command = [str(built.folder / program), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, (done.returncode, done.stderr)
    lines = []
    for line in done.stdout.splitlines():
        kind = line.split()[0] if "=" not in line.split()[0] else ""
        lines.append((kind, dict(re.findall(r"(\w+)=(\S+)", line))))
    return Told(lines, done.stderr)


CALLS = [
    ("AllReduce", 7, 40, 4, -1),
    ("Reduce", 9, 20, 2, 3),
    ("ReduceScatter", 7, 160, 0, -1),
    ("Broadcast", 0, 10, -1, 0),
    ("Bcast", 0, 10, -1, 1),
    ("AllGather", 7, 160, -1, -1),
    ("AlltoAll", 7, 160, -1, -1),
    ("Gather", 7, 160, -1, 2),
    ("Scatter", 7, 40, -1, 0),
    ("Send", 7, 40, -1, 3),
    ("Recv", 7, 40, -1, 1),
]


def check_every_call(told: Told, library: str) -> None:
    calls = told.of("call")
    found = [
        (call["operation"], *(int(call[name]) for name in ("type", "bytes", "reduction", "peer"))) for call in calls
    ]
    assert found == CALLS
    assert [call["group"] for call in calls] == [str(i + 1) for i in range(len(CALLS))]
    assert told.column("launch", "gpu", "group") == [f"1 {i + 1}" for i in range(len(CALLS))]
    same = {name: {call[name] for call in calls} for name in ("count", "rank", "ranks", "gpu", "communicator")}
    assert same == {"count": {"10"}, "rank": {"2"}, "ranks": {"4"}, "gpu": {"1"}, "communicator": {str(of_id("one"))}}
    assert [call["stream"] for call in calls] == ["1" if call["operation"] == "Reduce" else "112" for call in calls]
    times = [int(call[name]) for call in calls for name in ("start", "end")]
    assert times == sorted(times)
    # ncclBcast calls ncclBroadcast, past the collector.
    reached = ["Broadcast" if name == "Bcast" else name for name, *_ in CALLS]
    assert told.column("reached", "library", "function") == [f"{library} {name}" for name in reached]


def test_linked(built: Built) -> None:
    check_every_call(run(built, "linked", "every_call"), "nccl")


def test_plugin_that_python_would_load(built: Built) -> None:
    check_every_call(run(built, "host", "every_call", built.library("plugin")), "nccl")


def test_plugin_that_contains_nccl(built: Built) -> None:
    check_every_call(run(built, "host", "every_call", built.library("whole_plugin")), "inside")


def test_two_libraries_each_with_its_own_nccl(built: Built) -> None:
    plugins = [built.library("plugin"), built.library("whole_plugin")]
    check_every_call(run(built, "host", "every_call", *plugins), "inside")
    check_every_call(run(built, "host", "every_call", *reversed(plugins)), "nccl")


def test_program_that_contains_nccl(built: Built) -> None:
    told = run(built, "whole", "every_call")
    assert told.of("call") == []
    assert len(told.of("reached")) == len(CALLS)
    assert told.column("launch", "group") == ["0"] * len(CALLS)


def test_without_the_collector(built: Built) -> None:
    told = run(built, "linked", "failures", preload=False)
    assert told.column("", "result") == run(built, "linked", "failures").column("", "result")


def test_groups(built: Built) -> None:
    told = run(built, "linked", "groups")
    # The first group, 1, made the communicators.
    assert told.column("call", "group", "operation", "gpu") == [
        "2 AllReduce 0",
        "2 AllReduce 1",
        "2 Send 0",
        "2 Recv 1",
        "3 AllReduce 1",
    ]
    assert told.column("launch", "gpu", "group") == ["1 0", "0 2", "1 2", "0 2", "1 2", "1 3", "1 0"]
    assert {call["communicator"] for call in told.of("call")} == {str(of_id("grouped"))}
    assert told.column("call", "rank", "ranks")[:2] == ["0 2", "1 2"]


def test_failures_are_passed_on_and_not_told(built: Built) -> None:
    told = run(built, "linked", "failures")
    assert told.column("", "result") == ["4", "4", "7", "4", "0", "1", "0", "4"]
    assert told.column("call", "count") == ["668", "20", "40"]


def test_identities(built: Built) -> None:
    for _ in range(2):
        told = run(built, "linked", "identities")
        first, second, scalable, unseen, *rest = (int(text) for text in told.column("call", "communicator"))
        assert [first, second, scalable] == [of_id("a"), of_id("b"), of_id("a", "b")]
        whole, also_whole, half, also_half = rest
        assert whole == also_whole
        assert half == also_half
        assert len({first, second, scalable, unseen, whole, half, 0}) == 7
        assert told.column("call", "rank", "gpu")[4:] == ["0 1", "1 0", "0 1", "1 0"]
    # Made without a unique id: of this process alone.
    again = run(built, "linked", "identities").column("call", "communicator")
    assert int(again[4]) != whole


def test_collector_that_begins_late(built: Built) -> None:
    told = run(built, "linked", "late", TELL_LATER="1")
    assert told.column("call", "count", "communicator") == [f"{count} {of_id('one')}" for count in (2, 3)]


def test_threads(built: Built) -> None:
    told = run(built, "linked", "threads")
    threads = dict(text.split() for text in told.column("worker", "gpu", "thread"))
    calls = told.of("call")
    assert len(calls) == 4000
    by_group: dict[str, list[dict[str, str]]] = {}
    for call in calls:
        assert call["thread"] == threads[call["gpu"]]
        by_group.setdefault(call["group"], []).append(call)
    assert len(by_group) == 2000
    assert all(len(group) == 2 and len({call["gpu"] for call in group}) == 1 for group in by_group.values())
    gpus = {group: calls_of_it[0]["gpu"] for group, calls_of_it in by_group.items()}
    assert all(gpus[launch["group"]] == launch["gpu"] for launch in told.of("launch"))


def test_function_looked_up_by_name(built: Built) -> None:
    told = run(built, "linked", "by_name")
    assert told.column("", "result") == ["0"]
    assert told.column("call", "operation") == ["AllReduce"]


def test_communicator_that_outlives_main(built: Built) -> None:
    for program, plugin in (("linked", []), ("host", [built.library("plugin")])):
        told = run(built, program, "at_the_end", *plugin)
        assert told.column("call", "operation") == ["AllReduce"]


def test_no_nccl(built: Built) -> None:
    told = run(built, "host")
    assert told.column("", "result") == ["2", "2"]
    sentence = (
        "snoopie: the program calls ncclAllReduce, but no loaded library has it: the call fails with ncclSystemError"
    )
    assert told.errors.splitlines() == [sentence, sentence]


def test_every_wrapper_is_exported_and_nccl_not_needed(built: Built) -> None:
    if shutil.which("readelf") is None:
        pytest.fail("install binutils: readelf shows what the wrappers export")
    library = built.library("preload")
    symbols = subprocess.run(["readelf", "-W", "--dyn-syms", library], check=True, capture_output=True, text=True)
    exported = set(re.findall(r"(?:GLOBAL|WEAK) +DEFAULT +\d+ (\w+)$", symbols.stdout, re.MULTILINE))
    declared = set(re.findall(r"^int (nccl\w+)\(", (SOURCES / "fake_nccl.h").read_text(), re.MULTILINE))
    asked = {"ncclCommCount", "ncclCommCuDevice", "ncclCommUserRank"}
    assert exported == declared - asked | {"fake_launch", "fake_context"}
    dynamic = subprocess.run(["readelf", "-Wd", library], check=True, capture_output=True, text=True).stdout
    assert "nccl" not in "".join(line for line in dynamic.splitlines() if "NEEDED" in line)
