"""Writes tests/data/listing.txt: what nvdisasm says of kernels' code, for test_packing.cpp.

    python tests/make_listing.py program.sm_90.cubin … > tests/data/listing.txt

The cubins are named program.architecture.cubin. Needs nvdisasm on PATH. A function is "# program architecture name" and
its instructions, each with its offset, "*" behind it if an instruction names it as a place to go to, the registers and
predicates that nvdisasm's life ranges say are assigned ("-" for none), and the text as nvdisasm prints it for raw code,
which is what NVBit shows.
"""

from __future__ import annotations

import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?) ?;")


def nvdisasm(*arguments: str) -> list[str]:
    """The lines that it prints."""
    ended = subprocess.run(["nvdisasm", *arguments], capture_output=True, text=True, check=True)
    return ended.stdout.splitlines()


def sections(cubin: bytes) -> dict[str, bytes]:
    """Name → content of the sections of a 64-bit ELF file."""
    (table,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + i * size) for i in range(count)]
    found = {}
    for header in headers:
        start = headers[names][4] + header[0]
        found[cubin[start : cubin.index(b"\0", start)].decode()] = cubin[header[4] : header[4] + header[5]]
    return found


def functions(cubin: bytes) -> Iterator[tuple[str, bytes]]:
    """Name and code of every function of a 64-bit ELF file."""
    for name, content in sections(cubin).items():
        if name.startswith(".text."):
            yield name.removeprefix(".text."), content


def raw_texts(architecture: str, code: bytes) -> dict[int, str]:
    """Offset → instruction, without what fills up the end."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(code)
        file.flush()
        lines = nvdisasm("-b", architecture.replace("sm_", "SM"), file.name)
    texts = {int(found[1], 16): found[2] for line in lines if (found := INSTRUCTION.match(line))}
    while texts and texts[max(texts)] == "NOP":
        del texts[max(texts)]
    return texts


def life_ranges(path: str) -> dict[str, dict[int, tuple[bool, str]]]:
    """Function → offset → whether an instruction goes there, and what is assigned there."""
    found: dict[str, dict[int, tuple[bool, str]]] = {}
    lines = nvdisasm("--print-life-ranges", path)
    named = {label for line in lines if INSTRUCTION.match(line) for label in re.findall(r"\.L_\w+", line)}
    columns: list[tuple[str, slice]] = []
    kinds = ""
    target = False
    for line in lines:
        code, bar, ranges = line.partition("// |")
        if section := re.match(r"\.text\.(\S+):", code):
            function = found.setdefault(section[1], {})
        elif not bar:
            continue
        elif instruction := INSTRUCTION.match(code):
            assigned = [name for name, place in columns if set(ranges[place]) & set("^x")]
            function[int(instruction[1], 16)] = (target, ",".join(assigned) or "-")
            target = False
        elif label := re.match(r"(\.L_\w+):", code):
            target = target or label[1] in named
        elif "GPR" in ranges:
            kinds = ranges
        elif " # " in ranges:
            columns = []
            for kind in re.finditer(r"[^|]+", kinds):
                prefix = {"GPR": "R", "PRED": "P"}.get(kind[0].strip())
                numbers = re.finditer(r"\d+", ranges[: kind.end()][kind.start() :]) if prefix else ()
                columns += [
                    (f"{prefix}{n[0]}", slice(kind.start() + n.start(), kind.start() + n.end())) for n in numbers
                ]
    return found


def main(paths: list[str]) -> None:
    """Prints the listing of the cubins."""
    print("# Code that nvcc 13.0 made of programs of tests/gpu/apps and bench/kernels, as nvdisasm 13 shows it.")
    print("# Written by tests/make_listing.py, which says what the columns are.")
    for path in paths:
        program, architecture = Path(path).name.split(".")[:2]
        ranges = life_ranges(path)
        for name, code in functions(Path(path).read_bytes()):
            print(f"# {program} {architecture} {name}")
            for offset, text in raw_texts(architecture, code).items():
                target, assigned = ranges[name][offset]
                print(f"{offset:x}{'*' if target else ''} {assigned} {text}")


if __name__ == "__main__":
    main(sys.argv[1:])
