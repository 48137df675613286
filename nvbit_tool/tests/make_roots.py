"""Writes tests/data/roots.txt: the code of tests/roots/kernels.cu, for test_roots.cpp.

    python tests/make_roots.py [ARCHITECTURE …] > tests/data/roots.txt

Needs nvcc and nvdisasm on PATH. A function is "# architecture name base bytes", the last two being where constant
bank 0 holds its parameters ("-" twice for a function without), and its instructions, each with its offset.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from make_listing import functions, raw_texts, sections

KERNELS = Path(__file__).resolve().parent / "roots/kernels.cu"
SVAL, PARAM_CBANK = 4, 0x0A


def parameters(info: bytes) -> str:
    """The base and the size of a kernel's parameters, from its section .nv.info."""
    at = 0
    while at + 4 <= len(info):
        form, kind, size = struct.unpack_from("<BBH", info, at)
        if (form, kind) == (SVAL, PARAM_CBANK):
            base, count = struct.unpack_from("<HH", info, at + 8)
            return f"{base:#x} {count:#x}"
        at += 4 + (size if form == SVAL else 0)
    return "- -"


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
                print(f"# {architecture} {name} {parameters(found.get(f'.nv.info.{name}', b''))}")
                for offset, text in raw_texts(architecture, code).items():
                    print(f"{offset:x} {text}")


main(sys.argv[1:] or ["sm_80", "sm_90", "sm_100"])
