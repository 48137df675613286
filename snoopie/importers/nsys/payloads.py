"""Payloads of NVTX events: bytes, and the schema by which they are read.

The bytes begin with a header of four 64-bit numbers: domain, schema, size of the payload, and where it begins or ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from snoopie.importers.nsys.export import Export, Ints

_HEADER = 32
# NVTX_PAYLOAD_ENTRY_TYPE_…: the whole numbers of C, of fixed width, sizes and addresses.
_TYPES = {
    1: "i1", 2: "u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<i8", 8: "<u8", 9: "<i8", 10: "<u8", 11: "i1",
    12: "u1", 13: "<i2", 14: "<u2", 15: "<i4", 16: "<u4", 17: "<i8", 18: "<u8", 22: "<u8", 23: "<u8",
}  # fmt: skip
# Types from here on are declared by the program. Enumerations are as wide as C's int.
_DECLARED = 1 << 16
_LARGEST = 1 << 16


class Payloads:
    """The schemas of a report."""

    def __init__(self, export: Export) -> None:
        self._entries: dict[tuple[int, int], dict[tuple[str, int], np.dtype[np.signedinteger]]] = {}
        self._enums: dict[int, dict[int, str]] = {}
        self._enum_of: dict[str, int] = {}
        for schema, value, name in export.rows("NVTX_PAYLOAD_ENUM_ENTRIES", "schemaId value name"):
            if isinstance(schema, int) and isinstance(value, int) and isinstance(name, str):
                self._enums.setdefault(schema, {})[value] = name
        columns = "domainId schemaId type name offset"
        for domain, schema, kind, name, offset in export.rows("NVTX_PAYLOAD_SCHEMA_ENTRIES", columns):
            # The first entry begins where the payload does, and may not say so.
            place = 0 if offset is None else offset
            if not (isinstance(schema, int) and isinstance(kind, int) and isinstance(name, str)):
                continue
            code = _TYPES.get(kind, "<i4" if kind >= _DECLARED else "")
            if code and isinstance(domain, int) and isinstance(place, int) and 0 <= place < _LARGEST:
                self._entries.setdefault((domain, schema), {})[name, place] = np.dtype(code)
                if kind in self._enums:
                    self._enum_of[name] = kind

    def meanings(self, name: str) -> dict[int, str]:
        """What the values of an entry are called, where it is an enumeration."""
        return self._enums.get(self._enum_of.get(name, -1), {})

    def decode(self, payloads: Sequence[object]) -> Iterator[tuple[str, Ints, Ints]]:
        """The entries of payloads: a name, the rows that have such an entry, and their values."""
        alike: dict[tuple[int, bytes], list[int]] = {}
        for row, payload in enumerate(payloads):
            if isinstance(payload, bytes) and _HEADER < len(payload) < _LARGEST:
                # Of one length, and with one domain and schema.
                alike.setdefault((len(payload), payload[:16]), []).append(row)
        for (length, header), rows in alike.items():
            domain, schema = np.frombuffer(header, "<u8").tolist()
            content = b"".join(payload for row in rows if isinstance(payload := payloads[row], bytes))
            table = np.frombuffer(content, np.uint8).reshape(len(rows), length)
            for (name, place), kind in self._entries.get((domain, schema), {}).items():
                begin = _HEADER + place
                if begin + kind.itemsize <= length:
                    cells = np.ascontiguousarray(table[:, begin : begin + kind.itemsize])
                    yield name, np.array(rows, np.int64), cells.view(kind).ravel().astype(np.int64)
