"""The settings: snoopie/cli/settings.json is what the collector declares, and both read values alike."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import snoopie
from snoopie.cli import settings
from snoopie.errors import UsageError
from tests.support.collector import COLLECTOR, make

STORED = Path(settings.__file__).with_name("settings.json")

VALUES = [
    "0",
    "1",
    "2",
    "007",
    "16",
    "17",
    "4294967295",
    "4294967296",
    "-1",
    "+1",
    "1.5",
    "0x10",
    "1 2",
    "1_0",
    "٣",
    "ten",
]
VALUES += ["off", "summary", "all", "All", "off|all", "report", "exit", "report, exit", "|", "", " ", " 1 "]
VALUES += ["put", "put, get", "put,,get", ",put", "put,", "k<int, 3>,f(a, b)", "all,put", "nccl"]
VALUES += ["0-7,12", "x:0-3,6;z:1", "y:0", "1,", "x:", "w:1", "x:1;", "1;2", ",".join("1" * 32), ",".join("1" * 33)]
VALUES += ["traces/", "%h-%p.zst", "%q.zst", "a%", "%%", "/tmp/x y.zst", "64K", "2G", "1GB", "1k", "G"]
# A regular expression cannot tell these, so that only the collector refuses them.
COLLECTOR_ALONE = [
    *(("KERNEL_NAME", value) for value in ("[", "a]")),
    *(("BLOCKS", value) for value in ("7-0", "x:1;x:2", "99999999999999999999")),
    ("SNOOPIE_CACHE_SIZE", "99999999999999999999"),
]


@pytest.fixture(scope="session")
def collector(writer: Path) -> Callable[..., list[str]]:
    """The lines of the collector's program that prints the table or answers to values."""
    make("build/print_settings", "the program that prints settings")

    def printed(*values: str) -> list[str]:
        command = [str(COLLECTOR / "build" / "print_settings"), *values]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    return printed


def test_the_stored_table_is_the_collectors(collector: Callable[..., list[str]]) -> None:
    assert STORED.read_text("utf-8").splitlines() == collector(), (
        "snoopie/cli/settings.json is old: make -C nvbit_tool settings"
    )


def sentence(variable: str, value: str) -> str:
    try:
        settings.check({variable: value})
    except UsageError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("variable", settings.BY_VARIABLE)
def test_run_refuses_what_the_collector_does_in_the_same_words(
    collector: Callable[..., list[str]], variable: str
) -> None:
    said = collector(*(f"{variable}={value}" for value in VALUES))
    assert said == [sentence(variable, value) for value in VALUES]
    assert "" in said


@pytest.mark.parametrize(("variable", "value"), COLLECTOR_ALONE)
def test_the_collector_refuses_the_rest(collector: Callable[..., list[str]], variable: str, value: str) -> None:
    allowed = settings.BY_VARIABLE[variable].allowed
    assert collector(f"{variable}={value}") == [f"{variable}={value}: use {allowed}"]
    assert sentence(variable, value) == ""


def test_a_trace_records_the_settings(write: Callable[[str], Path]) -> None:
    (recorded,) = snoopie.load(write("small")).settings
    expected: dict[str, object] = {}
    for setting in settings.SETTINGS:
        kinds: dict[str, Callable[[str], object]] = {"flag": lambda text: text == "1", "number": int}
        if setting.recorded:
            expected[setting.recorded] = kinds.get(setting.kind, str)(setting.default)
    assert {name: value for name, value in recorded.items() if name != "output"} == expected
