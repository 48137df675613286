"""The compiler left at each marked line the instructions that the arithmetic counts, and no others."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import gpu_machine
import pytest
from gpu_runs import build
from gpu_traffic import markers

# Global and generic memory instructions of sm_90 by the marker of their line.
EXPECTED: dict[tuple[str, str], dict[str, list[str]]] = {
    ("ring", ""): {"put": ["STG.E"], "get": ["LDG.E.128"], "bump": ["REDG.E.ADD.STRONG.GPU"]},
    ("jacobi", ""): {"up": ["STG.E"], "down": ["STG.E"]},
    ("reuse", ""): {"fill": ["STG.E"]},
    ("threads", ""): {"put": ["STG.E"]},
    ("graph", ""): {"put": ["STG.E"], "bump": ["REDG.E.ADD.STRONG.GPU"]},
    ("memory", ""): {"put": ["STG.E"] * 3, "get": ["LDG.E"] * 3 + ["STG.E"] * 3},
    ("processes", ""): {"put": ["STG.E"]},
    ("pageable", ""): {"put": ["LDG.E", "STG.E"]},
    ("textures", ""): {"load": ["LDG.E.CONSTANT", "STG.E"]},
}
EXPECTED["mixed", ""] = {
    "copy": [f"{name}.E{width}" for name in ("LDG", "STG") for width in ("", ".128", ".64", ".U16", ".U8")],
    "add": ["ATOMG.E.ADD.STRONG.GPU"],
    "cas": ["ATOMG.E.CAS.STRONG.GPU"],
    "exch": ["ATOMG.E.EXCH.64.STRONG.GPU"],
    # The last two are what cuda_fp16 does where the address is in shared memory: not reached here.
    "half": ["ATOM.E.ADD.F16x2.RN.STRONG.GPU", "LD.E", "ST.E"],
    "floats": ["REDG.E.ADD.F32x4.FTZ.RN.STRONG.GPU"],
    "scattered": ["STG.E"],
    "strided": ["STG.E"],
    "loop": ["STG.E"],
    "generic": ["ST.E"],
    "inlined": ["STG.E"],
    "async": ["LDGSTS.E.BYPASS.128"],
    # The load is of a pointer in local memory.
    "spread": ["LDG.E.64", "STG.E"],
}
EXPECTED["mixed", "-rdc"] = EXPECTED["mixed", ""] | {"floats": ["ATOMG.E.ADD.F32x4.FTZ.RN.STRONG.GPU"]}

COMMENT = re.compile(r'//## File "([^"]+)", line (\d+)')
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")
GLOBAL = re.compile(r"(LD|ST|LDG|STG|ATOM|ATOMG|RED|REDG|LDGSTS)(\.|$)")
ELECTS = re.compile(r"(VOTE|VOTEU|REDUX|CREDUX|MATCH|ELECT)(\.|$)")


@pytest.fixture(scope="module")
def disassemblers() -> tuple[str, str]:
    """cuobjdump and nvdisasm."""
    found = [gpu_machine.program(name) for name in ("cuobjdump", "nvdisasm")]
    if None in found:
        pytest.skip("needs cuobjdump and nvdisasm: install the CUDA toolkit, or set CUDA_HOME")
    return str(found[0]), str(found[1])


Lines = list[tuple[str, int]]


def disassembled(path: Path, folder: Path, disassemblers: tuple[str, str]) -> Iterator[tuple[Lines, str]]:
    """(source lines from innermost outward, opcode) of every instruction of a program."""
    cuobjdump, nvdisasm = disassemblers
    subprocess.run([cuobjdump, "-xelf", "all", str(path)], cwd=folder, check=True, capture_output=True)
    for cubin in folder.glob("*.cubin"):
        command = [nvdisasm, "-gi", "-c", str(cubin)]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        lines: Lines = []
        in_comments = False
        for line in text.splitlines():
            if comment := COMMENT.search(line):
                outer = lines if in_comments else []
                lines = [*outer, (Path(comment[1]).name, int(comment[2]))]
            elif instruction := INSTRUCTION.search(line):
                yield lines, instruction[1]
            in_comments = comment is not None


@pytest.mark.parametrize(("program", "variant"), EXPECTED)
def test_marked_lines_are_the_instructions_that_are_counted(
    disassemblers: tuple[str, str], program: str, variant: str, tmp_path: Path
) -> None:
    path = build(program, variant)
    if "sm_90" not in path.parts[-2]:
        pytest.skip(f"the instructions are known for sm_90, not for {path.parts[-2]}")
    known = markers(program)
    found: dict[str, list[str]] = {marker: [] for marker in known.values()}
    elected = set()
    for lines, opcode in disassembled(path, tmp_path, disassemblers):
        marked = [known[line] for file, line in lines if file == f"{program}.cu" and line in known]
        if marked and GLOBAL.match(opcode):
            found[marked[0]].append(opcode)
        if marked and ELECTS.match(opcode):
            elected.add(marked[0])
    assert {marker: sorted(opcodes) for marker, opcodes in found.items()} == EXPECTED[program, variant]
    assert not elected, "one lane acts for its warp"
