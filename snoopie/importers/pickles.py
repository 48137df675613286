"""Pickles that others wrote: only data is read from them.

A pickle can number what it has read, and one of a few bytes so that the table of these numbers fills the memory: it is
looked through before it is read.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from typing import BinaryIO, NoReturn


class PlainUnpickler(pickle.Unpickler):
    """Reads lists, dictionaries, strings and numbers; a pickle that names anything else could run code.

    A damaged one raises nearly anything.
    """

    def __init__(self, file: BinaryIO) -> None:
        data = file.read()
        _check_numbers(data)
        super().__init__(io.BytesIO(data))

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        raise pickle.UnpicklingError(f"it names {module_name}.{global_name}")


def _check_numbers(data: bytes) -> None:
    """UnpicklingError where something gets a number beyond that of the bytes before it."""
    position = 0
    while position < len(data):
        code = data[position]
        follows = _FOLLOWS[code]
        position += 1
        if code == _PUT and int.from_bytes(data[position : position + 4], "little") > position:
            raise pickle.UnpicklingError(_TOO_LARGE)
        if follows >= 0:
            position += follows
        elif follows <= _COUNTED:
            width = _COUNTED - follows
            position += width + int.from_bytes(data[position : position + width], "little")
        elif follows in (_LINE, _TWO_LINES):
            start = position
            for _ in range(-follows):
                position = data.find(b"\n", position) + 1 or len(data)
            if code == _PUT_TEXT and (position - start > _DIGITS or int(data[start:position]) > position):
                raise pickle.UnpicklingError(_TOO_LARGE)
        else:
            return


_PUT, _PUT_TEXT = b"rp"
_TOO_LARGE = "it numbers more than it holds"
# Of a number that a file can have so many bytes.
_DIGITS = 15
# What follows an opcode: so many bytes, or one of these. Of what is counted first comes the number, in some bytes more.
_LINE, _TWO_LINES, _NOTHING, _COUNTED = -1, -2, -3, -4
_NUMBERS = {
    pickletools.TAKEN_FROM_ARGUMENT1: 1,
    pickletools.TAKEN_FROM_ARGUMENT4: 4,
    pickletools.TAKEN_FROM_ARGUMENT4U: 4,
    pickletools.TAKEN_FROM_ARGUMENT8U: 8,
}


def _follows(argument: pickletools.ArgumentDescriptor | None) -> int:
    if argument is None:
        return 0
    if argument.n in _NUMBERS:
        return _COUNTED - _NUMBERS[argument.n]
    if argument.n == pickletools.UP_TO_NEWLINE:
        return _TWO_LINES if argument is pickletools.stringnl_noescape_pair else _LINE
    return argument.n


# After the last opcode, and after what is none, nothing is read.
_FOLLOWS = [_NOTHING] * 256
for _opcode in pickletools.opcodes:
    if _opcode.name != "STOP":
        _FOLLOWS[ord(_opcode.code)] = _follows(_opcode.arg)
