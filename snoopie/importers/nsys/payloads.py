"""Payloads of NVTX events: bytes, and the schema by which they are read.

The bytes begin with a header of four 64-bit numbers: domain, schema, size of the payload, and where it begins or ends.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from snoopie.importers.nsys.export import Export

_HEADER = struct.Struct("<IIIIQQ")
# NVTX_PAYLOAD_ENTRY_TYPE_…: the whole numbers of C, of fixed width, sizes and addresses.
_TYPES = {
    1: "b", 2: "B", 3: "h", 4: "H", 5: "i", 6: "I", 7: "q", 8: "Q", 9: "q", 10: "Q", 11: "b", 12: "B", 13: "h", 14: "H",
    15: "i", 16: "I", 17: "q", 18: "Q", 22: "Q", 23: "Q",
}  # fmt: skip
# Types from here on are declared by the program. Those of enumerations are as wide as C's int.
_DECLARED = 1 << 16


class Payloads:
    """The schemas of a report."""

    def __init__(self, export: Export) -> None:
        self._entries: dict[int, list[tuple[str, int, struct.Struct]]] = {}
        enums: dict[int, dict[int, str]] = {}
        for schema, value, name in export.rows("NVTX_PAYLOAD_ENUM_ENTRIES", "schemaId value name"):
            if isinstance(schema, int) and isinstance(value, int) and isinstance(name, str):
                enums.setdefault(schema, {})[value] = name
        self._enums = enums
        self._enumerated: dict[tuple[int, str], int] = {}
        for schema, kind, name, offset in export.rows("NVTX_PAYLOAD_SCHEMA_ENTRIES", "schemaId type name offset"):
            if not (isinstance(schema, int) and isinstance(kind, int) and isinstance(name, str)):
                continue
            code = _TYPES.get(kind, "i" if kind >= _DECLARED else "")
            # The first entry begins where the payload does, and may not say so.
            place = 0 if offset is None else offset
            if code and isinstance(place, int) and 0 <= place < 1 << 16:
                self._entries.setdefault(schema, []).append((name, place, struct.Struct(f"<{code}")))
                if kind in enums:
                    self._enumerated[schema, name] = kind

    def decode(self, domain: object, binary: object) -> Mapping[str, int | str]:
        """The entries of a payload by their names; nothing where it cannot be read."""
        if not isinstance(binary, bytes) or len(binary) < _HEADER.size:
            return {}
        of_domain, _, schema, _, size, _ = _HEADER.unpack_from(binary)
        if isinstance(domain, int) and domain != of_domain:
            return {}
        content = binary[_HEADER.size : _HEADER.size + min(size, len(binary))]
        said: dict[str, int | str] = {}
        for name, place, number in self._entries.get(schema, ()):
            if place + number.size <= len(content):
                (value,) = number.unpack_from(content, place)
                enum = self._enums.get(self._enumerated.get((schema, name), -1), {})
                said[name] = enum.get(value, value)
        return said
