"""Writes tests/data/roots.txt: the code of tests/roots/kernels.cu, for test_roots.cpp.

    python tests/make_roots.py [ARCHITECTURE …] > tests/data/roots.txt

Needs nvcc and nvdisasm on PATH. A function is "# architecture name base bytes", the last two being where constant
bank 0 holds its parameters ("-" twice for a function without), for each indirect branch "!", its offset and where it
can go, and its instructions, each with its offset.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from make_listing import functions, raw_texts, sections

KERNELS = Path(__file__).resolve().parent / "roots/kernels.cu"
SVAL, PARAM_CBANK, INDIRECT_BRANCH_TARGETS = 4, 0x0A, 0x34


def attributes(info: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and value of the attributes in a section .nv.info that have a size."""
    at = 0
    while at + 4 <= len(info):
        form, kind, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form == SVAL:
            yield kind, info[at : at + size]
            at += size


def parameters(info: bytes) -> str:
    """The base and the size of a kernel's parameters, from its section .nv.info."""
    for kind, value in attributes(info):
        if kind == PARAM_CBANK:
            base, count = struct.unpack_from("<HH", value, 4)
            return f"{base:#x} {count:#x}"
    return "- -"


def branches(info: bytes) -> Iterator[tuple[int, ...]]:
    """Of each indirect branch its offset and the places that it can go to."""
    for kind, value in attributes(info):
        at = 0
        while kind == INDIRECT_BRANCH_TARGETS and at < len(value):
            offset, _, count = struct.unpack_from("<III", value, at)
            yield offset, *struct.unpack_from(f"<{count}I", value, at + 12)
            at += 12 + 4 * count


def main(architectures: list[str]) -> None:
    """Prints the code for these architectures."""
    print(
        "# Code that nvcc 13.0 made of tests/roots/kernels.cu, as nvdisasm 13 shows it. Written by tests/make_roots.py."
    )
    for architecture in architectures:
        with tempfile.TemporaryDirectory() as folder:
            cubin = Path(folder) / "kernels.cubin"
            subprocess.run(["nvcc", "-cubin", f"-arch={architecture}", "-o", cubin, KERNELS], check=True)
            found = sections(cubin.read_bytes())
            for name, code in functions(cubin.read_bytes()):
                info = found.get(f".nv.info.{name}", b"")
                print(f"# {architecture} {name} {parameters(info)}")
                for branch in branches(info):
                    print("!", *(f"{place:x}" for place in branch))
                for offset, text in raw_texts(architecture, code).items():
                    print(f"{offset:x} {text}")


main(sys.argv[1:] or ["sm_80", "sm_90", "sm_100"])
