"""What becomes of LD_PRELOAD under NVBit, here a stand-in that takes it out of the environment and runs commands."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.support.collector import library_with

STAND_IN = """
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "driver/children.h"
__attribute__((constructor)) static void begin() {
    unsetenv("LD_PRELOAD");
    const char* command = getenv("COMMAND");
    if (!command) return;
    snoopie::answer_command = [](const char* asked) { return std::strcmp(asked, "known") == 0; };
    const int status = system(command);
    unsetenv("COMMAND");
    std::printf("status=%d\\n", status);
    std::fflush(stdout);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("children")
    return library_with(("driver/children.cpp",), STAND_IN, ("unsetenv", "system"), folder)


def run(library: str, command: str) -> list[str]:
    environment = {**os.environ, "LD_PRELOAD": library, "COMMAND": command, "OTHER": "kept"}
    script = 'env | grep -c "^LD_PRELOAD=.*tool.so"; env | grep -c "^COMMAND="'
    done = subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_children_are_preloaded_and_nvbits_commands_are_not(library: str) -> None:
    lines = run(library, 'echo "command=$LD_PRELOAD,$OTHER"')
    # What the stand-in takes out otherwise is gone.
    assert lines == ["command=,kept", "status=0", "1", "0"]


@pytest.mark.parametrize(
    ("command", "status"), [("exit 3", 3 << 8), ("kill -9 $$", 9), ("/nowhere/program 2>&-", 127 << 8)]
)
def test_status_of_a_command(library: str, command: str, status: int) -> None:
    assert run(library, command) == [f"status={status}", "1", "0"]


def test_a_command_with_an_answer_starts_no_child(library: str) -> None:
    assert run(library, "known") == ["status=0", "1", "0"]
