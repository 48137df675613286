"""Source text that a program hands to NVRTC is kept, however the program comes by NVRTC: nvbit_tool/tests/nvrtc."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.collector import COLLECTOR, make

PLACE = COLLECTOR / "build" / "tests" / "nvrtc"
PRELOAD = COLLECTOR / "build" / "tests" / "preload" / "mem_multigpu.so"
A, B = str(PLACE / "libnvrtc.so"), str(PLACE / "libnvrtc_b.so")


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    make("nvrtc", "what is preloaded")


def run(
    folder: Path, *words: str, program: str = "linked", preload: str = str(PRELOAD), says: str = "", **variables: str
) -> list[str]:
    environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": preload, **variables}
    done = subprocess.run(
        [PLACE / program, *words], env=environment, cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, says), done
    return done.stdout.splitlines()


WAYS = {
    "linked": ("linked", "linked", "libnvrtc"),
    "found": ("linked", "default", "libnvrtc"),
    "opened": ("alone", A, "libnvrtc"),
    "another opened": ("linked", B, "libnvrtc_b"),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_text_is_kept_and_the_call_passed_on(tmp_path: Path, way: str) -> None:
    program, library, name = WAYS[way]
    whole = str(tmp_path / "gone.cu")
    said = run(tmp_path, "create", library, whole, "kernel", "kept", whole, program=program)
    assert said == [f"begun in {name}: {whole}, 0 headers", "result 0", "kept: kernel"]


def test_names_are_those_of_line_tables(tmp_path: Path) -> None:
    def kept(*words: str, under: str) -> str:
        return run(tmp_path, "create", A, *words, "kept", under)[-1]

    assert kept("sub/k.cu", "text", under=f"{tmp_path}/sub/k.cu") == "kept: text"
    # NVRTC's own name for a program without one.
    for nothing in ("-", ""):
        assert kept(nothing, "text", under=f"{tmp_path}/default_program") == "kept: text"
    headers = ("a/put.h", "inlined", "/b/get.h", "too")
    assert kept("k.cu", "text", *headers, under=f"{tmp_path}/a/put.h") == "kept: inlined"
    assert kept("k.cu", "text", *headers, under="/b/get.h") == "kept: too"
    assert kept("k.cu", "text", *headers, under=f"{tmp_path}/k.cu") == "kept: text"


def test_the_latest_text_of_a_name(tmp_path: Path) -> None:
    words = ("create", A, "k.cu", "first", "create", "linked", "k.cu", "second", "kept", f"{tmp_path}/k.cu")
    assert run(tmp_path, *words)[-1] == "kept: second"


def test_what_nvrtc_refuses_is_not_kept(tmp_path: Path) -> None:
    said = run(tmp_path, "create", A, "k.cu", "-", "kept", f"{tmp_path}/k.cu")
    assert said == ["begun in libnvrtc: k.cu, 0 headers", "result 3", "kept: (nothing)"]


@pytest.mark.parametrize("setting", ["SOURCE", "CODE_ATTRIBUTION"])
def test_switched_off(tmp_path: Path, setting: str) -> None:
    said = run(tmp_path, "create", A, "k.cu", "text", "kept", f"{tmp_path}/k.cu", **{setting: "0"})
    assert said == ["begun in libnvrtc: k.cu, 0 headers", "result 0", "kept: (nothing)"]


def test_each_library_goes_on_with_what_it_has_begun(tmp_path: Path) -> None:
    calls = [word for library in (A, B, "linked", B, A) for word in ("create", library, "k.cu", "text")]
    said = [line for line in run(tmp_path, *calls) if line.startswith("begun")]
    assert [line.split()[2] for line in said] == [
        "libnvrtc:", "libnvrtc_b:", "libnvrtc:", "libnvrtc_b:", "libnvrtc:",
    ]  # fmt: skip


def test_no_nvrtc(tmp_path: Path) -> None:
    for way in ("linked", "default"):
        sentence = (
            "snoopie: the program calls nvrtcCreateProgram, but no loaded library has it: the call fails with "
            "NVRTC_ERROR_INTERNAL_ERROR\n"
        )
        assert run(tmp_path, "create", way, "k.cu", "text", program="alone", says=sentence) == ["result 11"]


def test_lookups_find_what_their_caller_would_have_found(tmp_path: Path) -> None:
    for preload in (str(PRELOAD), ""):
        assert run(tmp_path, "next", preload=preload) == ["the second's"]
        home = ("home", str(PLACE / "libsecond.so"))
        assert run(tmp_path, *home, program="alone", preload=preload) == ["its own"]
