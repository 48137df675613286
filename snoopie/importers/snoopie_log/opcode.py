"""What an instruction does to memory, from the text of its opcode: as nvbit_tool/src/code/opcode.cpp has it.

Only what a log can have: one address a lane. Anything else is not known, and never guessed.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from snoopie.trace import wire

_OPERATIONS = {
    "LDG": "load", "LD": "load", "LDGSTS": "load", "LDGMC": "load", "STG": "store", "ST": "store", "ATOM": "atomic",
    "ATOMG": "atomic", "RED": "reduction", "REDG": "reduction",
}  # fmt: skip
_WIDTHS = {
    1: "U8 S8 8",
    2: "U16 S16 16",
    4: "U32 S32 32 F32 F16x2 F16X2 F16_V2 BF16x2 BF16X2 BF16_V2 E4M3x4 E5M2x4",
    8: "64 U64 S64 F64 F32x2 F32X2 F32_V2 F16x4 F16X4 F16_V4 BF16x4 BF16X4 BF16_V4 E4M3x8 E5M2x8",
    16: "128 F32x4 F32X4 F32_V4 F16x8 F16X8 F16_V8 BF16x8 BF16X8 BF16_V8 E4M3x16 E5M2x16",
    32: "256",
}
_BYTES = {modifier: width for width, modifiers in _WIDTHS.items() for modifier in modifiers.split()}
_PLAIN = 4


class Opcode(NamedTuple):
    """``operation`` is one of the header's; ``width`` is bytes a lane."""

    operation: str
    width: int

    @property
    def wire_unit(self) -> int:
        """In bytes."""
        return wire.unit_of(self.operation, self.width)


@cache
def decode(text: str) -> Opcode | None:
    """What an opcode such as STG.E.64.SYS does; None where that is not known."""
    name, *modifiers = text.split(".")
    if name not in _OPERATIONS:
        return None
    # The last modifier that is a width wins; without one an access has 4 bytes.
    widths = [_BYTES[modifier] for modifier in modifiers if modifier in _BYTES]
    return Opcode(_OPERATIONS[name], widths[-1] if widths else _PLAIN)
