"""Writes tests/data/polls.txt: the code of tests/polls/kernels.cu, for test_polling.cpp.

    python tests/make_polls.py [ARCHITECTURE …] > tests/data/polls.txt

Needs nvcc and nvdisasm on PATH. A function is "# architecture name" and its instructions, each with its offset.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from make_listing import functions, raw_texts

KERNELS = Path(__file__).resolve().parent / "polls/kernels.cu"


def main(architectures: list[str]) -> None:
    """Prints the code for these architectures."""
    print(
        "# Code that nvcc 13.0 made of tests/polls/kernels.cu, as nvdisasm 13 shows it. Written by tests/make_polls.py."
    )
    for architecture in architectures:
        with tempfile.TemporaryDirectory() as folder:
            cubin = Path(folder) / "kernels.cubin"
            subprocess.run(["nvcc", "-cubin", f"-arch={architecture}", "-o", cubin, KERNELS], check=True)
            for name, code in functions(cubin.read_bytes()):
                print(f"# {architecture} {name}")
                for offset, text in raw_texts(architecture, code).items():
                    print(f"{offset:x} {text}")


main(sys.argv[1:] or ["sm_80", "sm_90", "sm_100"])
