"""Function names in ELF files: what is needed of them, and nothing that a strange file could upset."""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_LOAD, _NOTE = 1, 7
_SYMBOLS, _DYNAMIC_SYMBOLS = 2, 11
_FUNCTION = 2
# Bytes of a table of symbols that are read.
_MOST = 1 << 29
_LONGEST = 4096

_SECTION = np.dtype(
    [("name", "<u4"), ("type", "<u4"), ("flags", "<u8"), ("address", "<u8"), ("offset", "<u8"), ("size", "<u8"),
     ("link", "<u4"), ("info", "<u4"), ("align", "<u8"), ("entry", "<u8")]
)  # fmt: skip
_SEGMENT = np.dtype(
    [("type", "<u4"), ("flags", "<u4"), ("offset", "<u8"), ("address", "<u8"), ("physical", "<u8"), ("size", "<u8"),
     ("memory", "<u8"), ("align", "<u8")]
)  # fmt: skip
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)


class ElfFile:
    """A file's build id, and the functions at places in it. A file that is none has neither.

    ``has_lines``: whether it says at which lines of the source its places are.
    """

    def __init__(self, path: Path) -> None:
        self.build_id = ""
        self.has_lines = False
        self._segments = np.zeros(0, _SEGMENT)
        self._symbols = np.zeros(0, _SYMBOL)
        self._names = b""
        try:
            with path.open("rb") as file:
                self._size = path.stat().st_size
                self._data: np.memmap[tuple[int], np.dtype[np.uint8]] = np.memmap(file, np.uint8, "r")
                self._read()
        except (OSError, ValueError, IndexError):
            return
        finally:
            # What is needed was copied: the file may be gone soon.
            self._data = None  # type: ignore[assignment]

    def address(self, offset: int) -> int:
        """Where the byte at a place of the file is loaded, relative to the file's own addresses."""
        for part in self._segments:
            if part["type"] == _LOAD and part["offset"] <= offset < part["offset"] + part["size"]:
                return int(offset - part["offset"] + part["address"])
        return offset

    def function(self, address: int) -> str:
        """The demangled name of the function there; "" where it is not known."""
        place = int(np.searchsorted(self._symbols["value"], address, "right")) - 1
        if place < 0:
            return ""
        symbol = self._symbols[place]
        # Of what has no size, the next begins later.
        if symbol["size"] and address >= symbol["value"] + symbol["size"]:
            return ""
        start = int(symbol["name"])
        text = self._names[start : start + _LONGEST].partition(b"\0")[0]
        return demangled(text.decode("utf-8", "replace"))

    def _part(self, offset: int, size: int) -> bytes:
        if offset + size > self._size or size > _MOST:
            raise ValueError
        return bytes(self._data[offset : offset + size])

    def _read(self) -> None:
        head = self._part(0, 64)
        # 64 bits, and this machine's byte order.
        if head[:6] != b"\x7fELF\x02\x01":
            return
        segments, sections = (int.from_bytes(head[at : at + 8], "little") for at in (32, 40))
        segment_count, section_count = (int.from_bytes(head[at : at + 2], "little") for at in (56, 60))
        self._segments = np.frombuffer(self._part(segments, segment_count * _SEGMENT.itemsize), _SEGMENT)
        table = np.frombuffer(self._part(sections, section_count * _SECTION.itemsize), _SECTION)
        titles = table[int.from_bytes(head[62:64], "little")]
        self.has_lines = b".debug_line\0" in self._part(int(titles["offset"]), int(titles["size"]))
        for section in table[table["type"] == _NOTE]:
            note = self._part(int(section["offset"]), int(section["size"]))
            # Sizes of name and content, type 3, "GNU".
            if note[8:16] == b"\x03\0\0\0GNU\0":
                self.build_id = note[16 : 16 + int.from_bytes(note[4:8], "little")].hex()
        # The whole table holds what the other does.
        for kind in (_SYMBOLS, _DYNAMIC_SYMBOLS):
            for section in table[table["type"] == kind]:
                self._take(section, table[int(section["link"])])
                return

    def _take(self, section: np.void, names: np.void) -> None:
        data = self._part(int(section["offset"]), int(section["size"]) // _SYMBOL.itemsize * _SYMBOL.itemsize)
        symbols: NDArray[np.void] = np.frombuffer(data, _SYMBOL)
        symbols = symbols[((symbols["info"] & 15) == _FUNCTION) & (symbols["value"] > 0)]
        self._symbols = symbols[np.argsort(symbols["value"], kind="stable")]
        self._names = self._part(int(names["offset"]), int(names["size"]))


@functools.cache
def _demangler() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL("libstdc++.so.6")
        library.__cxa_demangle.restype = ctypes.c_void_p
        library.__cxa_demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        library.free.argtypes = [ctypes.c_void_p]
    except (OSError, AttributeError):
        return None
    return library


@functools.lru_cache(1 << 16)
def demangled(name: str) -> str:
    """A C++ name as its source has it; any other as it is, and all where the C++ library is not there."""
    library = _demangler() if name.startswith("_Z") else None
    if library is None:
        return name
    text = library.__cxa_demangle(name.encode(), None, None, None)
    if not text:
        return name
    result = ctypes.string_at(text).decode("utf-8", "replace")
    library.free(text)
    return result
