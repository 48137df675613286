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

# Global, generic and bulk memory instructions of sm_90 by the marker of their line.
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
    ("waiting", ""): {"before": ["STG.E"], "after": ["STG.E"]},
    ("graphs", ""): {
        "put": ["STG.E"],
        "once": ["STG.E"],
        "again": ["STG.E"],
        "bump": ["REDG.E.ADD.STRONG.GPU"],
    },
    ("branches", ""): {"put": ["STG.E"], "twin": ["STG.E"]},
    ("children", ""): {"parent": ["STG.E"]},
    ("blocks", ""): {"tile": ["STG.E"]},
    # The load of push is of its own GPU's memory.
    ("order", ""): {"warm": ["STG.E"], "put": ["STG.E"], "push": ["LDG.E", "STG.E"], "give": ["STG.E"]},
    ("objects", ""): {
        "load": ["LDG.E"],
        "store": ["STG.E"],
        "add": ["REDG.E.ADD.STRONG.GPU"],
        "both": ["STG.E"],
        "fill": ["STG.E"],
    },
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

EXPECTED["opcodes", ""] = {
    "volatile_1": ["LDG.E.U8.STRONG.SYS", "STG.E.U8.STRONG.SYS"],
    "readonly_1": ["LDG.E.U8.CONSTANT"],
    "volatile_2": ["LDG.E.U16.STRONG.SYS", "STG.E.U16.STRONG.SYS"],
    "relaxed_2": ["LDG.E.U16.STRONG.SYS"],
    "volatile_4": ["LDG.E.STRONG.SYS", "STG.E.STRONG.SYS"],
    "relaxed_4": ["LDG.E.STRONG.SYS", "STG.E.STRONG.SYS"],
    "acquire_4": ["LDG.E.STRONG.SYS"],
    "mmio_4": ["LDG.E.MMIO.SYS", "STG.E.MMIO.SYS"],
    "readonly_4": ["LDG.E.CONSTANT"],
    "streaming_4": ["LDG.E.EF", "STG.E.EF"],
    "uncached_4": ["LDG.E.STRONG.SYS", "STG.E.NA"],
    "generic_4": ["ATOM.E.EXCH.STRONG.GPU", "ATOM.E.OR.STRONG.GPU", "LD.E", "ST.E"],
    "volatile_8": ["LDG.E.64.STRONG.SYS", "STG.E.64.STRONG.SYS"],
    "acquire_8": ["LDG.E.64.STRONG.SYS"],
    "readonly_8": ["LDG.E.64.CONSTANT"],
    "generic_8": ["LD.E.64", "ST.E.64"],
    "volatile_16": ["LDG.E.128.STRONG.SYS", "STG.E.128.STRONG.SYS"],
    "relaxed_16": ["LDG.E.128.STRONG.SYS"],
    "acquire_16": ["LDG.E.128.STRONG.SYS"],
    "readonly_16": ["LDG.E.128.CONSTANT"],
    "streaming_16": ["LDG.E.NA.LTC256B.128.CONSTANT", "STG.E.EF.128"],
    "uncached_16": ["LDG.E.NA.128"],
    "generic_16": ["LD.E.128", "ST.E.128"],
    "generic_1": ["ST.E.U8"],
    "release_2": ["STG.E.U16.STRONG.SYS"],
    "release_4": ["STG.E.STRONG.SYS"],
    "release_16": ["STG.E.128.STRONG.SYS"],
    "add_u32_4": ["ATOMG.E.ADD.STRONG.GPU", "REDG.E.ADD.STRONG.SYS"],
    "add_sys_4": ["ATOMG.E.ADD.STRONG.SYS"],
    "add_u64_8": ["ATOMG.E.ADD.64.STRONG.GPU", "REDG.E.ADD.64.STRONG.GPU"],
    "add_f32_4": ["ATOMG.E.ADD.F32.FTZ.RN.STRONG.GPU", "REDG.E.ADD.F32.FTZ.RN.STRONG.GPU"],
    "add_f64_8": ["ATOMG.E.ADD.F64.RN.STRONG.GPU", "REDG.E.ADD.F64.RN.STRONG.GPU"],
    "add_f16x2_4": ["ATOMG.E.ADD.F16x2.RN.STRONG.GPU", "REDG.E.ADD.F16x2.RN.STRONG.GPU"],
    "add_bf16x2_4": ["ATOMG.E.ADD.BF16x2.RN.STRONG.GPU", "REDG.E.ADD.BF16x2.RN.STRONG.GPU"],
    "add_v2_f32_8": ["ATOMG.E.ADD.F32x2.FTZ.RN.STRONG.GPU", "REDG.E.ADD.F32x2.FTZ.RN.STRONG.GPU"],
    "add_v4_f32_16": ["ATOMG.E.ADD.F32x4.FTZ.RN.STRONG.GPU", "REDG.E.ADD.F32x4.FTZ.RN.STRONG.SYS"],
    "add_v2_f16x2_8": ["ATOMG.E.ADD.F16x4.RN.STRONG.GPU"],
    "add_v4_f16x2_16": ["ATOMG.E.ADD.F16x8.RN.STRONG.GPU", "REDG.E.ADD.F16x8.RN.STRONG.GPU"],
    "add_v8_f16_16": ["ATOMG.E.ADD.F16x8.RN.STRONG.GPU"],
    "max_v4_bf16x2_16": ["ATOMG.E.MAX.BF16x8.RN.STRONG.GPU"],
    "min_s32_4": ["ATOMG.E.MIN.S32.STRONG.SYS", "REDG.E.MIN.S32.STRONG.GPU"],
    "max_u32_4": ["ATOMG.E.MAX.STRONG.GPU"],
    "max_s64_8": ["ATOMG.E.MAX.S64.STRONG.GPU"],
    "and_4": ["ATOMG.E.AND.STRONG.GPU", "REDG.E.AND.STRONG.GPU"],
    "or_8": ["ATOMG.E.OR.64.STRONG.GPU"],
    "xor_4": ["ATOMG.E.XOR.STRONG.GPU"],
    "inc_4": ["ATOMG.E.INC.STRONG.GPU"],
    "dec_4": ["ATOMG.E.DEC.STRONG.GPU", "REDG.E.DEC.STRONG.GPU"],
    "exchange_4": ["ATOMG.E.EXCH.STRONG.GPU"],
    "exchange_8": ["ATOMG.E.EXCH.64.STRONG.GPU"],
    "exchange_16": ["ATOMG.E.EXCH.128.STRONG.GPU"],
    "swap_4": ["ATOMG.E.CAS.STRONG.SYS"],
    "swap_8": ["ATOMG.E.CAS.64.STRONG.GPU"],
    "swap_16": ["ATOMG.E.CAS.128.STRONG.GPU"],
    "half": ["ATOMG.E.CAS.STRONG.GPU", "LDG.E"],
    "add_release_4": ["REDG.E.ADD.STRONG.GPU"],
    "add_v4_f16_8": ["REDG.E.ADD.F16x4.RN.STRONG.GPU"],
    "add_v2_bf16x2_8": ["REDG.E.ADD.BF16x4.RN.STRONG.GPU"],
    "add_v8_bf16_16": ["REDG.E.ADD.BF16x8.RN.STRONG.GPU"],
    "max_v8_f16_16": ["REDG.E.MAX.F16x8.RN.STRONG.GPU"],
    "max_u64_8": ["REDG.E.MAX.64.STRONG.GPU"],
    "or_4": ["REDG.E.OR.STRONG.GPU"],
    "xor_8": ["REDG.E.XOR.64.STRONG.GPU"],
    "float2_8": ["REDG.E.ADD.F32x2.FTZ.RN.STRONG.GPU"],
    # The last two as for "half" of mixed.
    "bfloat162_4": ["ATOM.E.ADD.BF16x2.RN.STRONG.GPU", "LD.E", "ST.E"],
    "guarded": ["STG.E"],
    "async_4": ["LDGSTS.E"],
    "async_8": ["LDGSTS.E.64"],
    "async_16": ["LDGSTS.E.128"],
    "past_16": ["LDGSTS.E.BYPASS.LTC128B.128"],
    "partial": ["LDGSTS.E.BYPASS.128.ZFILL"],
    "nothing": ["LDGSTS.E.128"],
    "lines": [],
    "bytes": [],
    "fetch": ["UBLKCP.S.G"],
    "each": ["UBLKCP.S.G"],
    "put": ["UBLKCP.G.S"],
    "add": ["UBLKRED.G.S.ADD"],
}
# One site for every kernel that holds the line.
EXPECTED["tensor", ""] = {
    "box": ["UTMALDG.1D", *["UTMALDG.2D"] * 4, "UTMALDG.3D", "UTMAREDG.3D.ADD"]
    + [f"UTMASTG.{rank}D" for rank in (1, 2, 3)],
}
CALLED = ("one", "two", "three", "plain", "doubled")
EXPECTED["launches", "-rdc"] = {
    **{line: ["STG.E"] for line in ("rank", "early", "before", "depth", "handle", "crowd")},
    # The store is of what was loaded, in the issuer's own memory.
    **{line: ["LDG.E", "STG.E"] for line in ("late", "after")},
    **{line: ["ST.E"] for line in CALLED},
}
# Of a function that is called by its address there is one in every kernel that might: here in three.
EXPECTED["launches", ""] = EXPECTED["launches", "-rdc"] | {line: ["ST.E"] * 3 for line in CALLED}
# Where threads might differ in what they ask of a bulk copy, it lies in a loop over them.
LOOPS_OVER_LANES = {("opcodes", ""): {"each", "add"}, ("tensor", ""): {"box"}}

COMMENT = re.compile(r'//## File "([^"]+)", line (\d+)')
INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")
GLOBAL = re.compile(r"(LD|ST|LDG|STG|ATOM|ATOMG|RED|REDG|LDGSTS|UBLKCP|UBLKRED|UTMALDG|UTMASTG|UTMAREDG)(\.|$)")
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
    assert elected <= LOOPS_OVER_LANES.get((program, variant), set()), "one lane acts for its warp"
