"""The amounts of traffic that are summed up."""

from __future__ import annotations

from typing import Literal

Value = Literal["accesses", "lanes", "bytes", "wire_units", "wire_bytes"]

VALUES: tuple[Value, ...] = ("accesses", "lanes", "bytes", "wire_units", "wire_bytes")
