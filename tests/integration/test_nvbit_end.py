"""What the user is told where NVBit ends the program: here a stand-in that does."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.support.collector import library_with

STAND_IN = """
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
__attribute__((constructor)) static void fail() {
    const char* const how = getenv("HOW");
    if (!how) return;
    std::printf("ERROR file nvbit_imp.cpp line 1844\\n");
    std::fflush(stdout);
    if (*how == '_') _exit(4);
    if (*how == 'e') exit(5);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("nvbit_end")
    return library_with("driver/nvbit_end.cpp", STAND_IN, ("exit", "_exit"), folder)


@pytest.mark.parametrize(("how", "status"), [("_exit", 4), ("exit", 5)])
def test_whose_error_it_is(library: str, how: str, status: int) -> None:
    environment = {**os.environ, "LD_PRELOAD": library, "HOW": how}
    done = subprocess.run(["/bin/true"], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (status, "ERROR file nvbit_imp.cpp line 1844\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith("snoopie: NVBit, which instruments kernels, could not go on and has ended the program")


def test_the_programs_own_end_is_its_own(library: str) -> None:
    environment = {**os.environ, "LD_PRELOAD": library, "HOW": "not"}
    done = subprocess.run(["sh", "-c", "exit 3"], env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (3, "")
