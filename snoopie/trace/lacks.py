"""What a tool whose recording was imported did not record: it is unknown, which is neither 0 nor nothing.

The header of such a trace lists it, as ``lacks`` of its tool.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import Any


class Lack(StrEnum):
    """What is not known at all; the value stands in traces, and reads on from "does not include"."""

    DATE = "the date"
    TIMES = "times"
    ALLOCATIONS = "allocations"
    FREES = "when memory was freed"
    CALLS = "driver calls"
    ERRORS = "which calls failed"
    LAUNCHES = "launches"
    SHAPES = "the thread blocks of kernels"
    COPIES = "copies by the host"
    CALL_SIZES = "the sizes of what calls copy, set or allocate"
    COPY_SIZES = "the sizes of copies"
    ACCESSES = "which memory kernels access"


# What a recording of another tool can only have in a table: where that is empty, it is not known whether there was any.
TABLES = {
    Lack.ALLOCATIONS: "objects",
    Lack.FREES: "objects",
    Lack.CALLS: "call_totals",
    Lack.ERRORS: "call_totals",
    Lack.CALL_SIZES: "call_totals",
    Lack.LAUNCHES: "launches",
    Lack.SHAPES: "launches",
    Lack.COPIES: "copies",
    Lack.ACCESSES: "counts",
}


def of_tool(tool: Mapping[str, Any]) -> frozenset[str]:
    """What the tool of a header lacks."""
    lacks = tool.get("lacks", ())
    return frozenset(lack for lack in lacks if isinstance(lack, str)) if isinstance(lacks, list) else frozenset()


def sentence(tools: Collection[str], lack: str) -> str:
    """What people read in the place of a number."""
    # Of the recording: a tool that could have recorded it may not have been told to.
    return f"unknown: what {' and '.join(sorted(tools))} recorded does not include {lack}"
