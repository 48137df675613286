"""Traces whose every text holds markup, and letters that steer a terminal or turn others around."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support import compared, ring
from tests.support.encoder import TraceBuilder
from tests.support.everything import everything_builder

EVIL = "<img src=x onerror=\"document.title='taken'\"><b>b</b>**bold** $x$ :red[r] `c`"
# After each name. What turns letters around, in a name, turns what stands beside it on the page.
ODD = "\u202e\u2066\x00\x1b[31m\x85![i](https://evil.example/i.png)"
# Of a kernel's name what stands before its last space is often left out, and long template arguments.
TIGHT = "<img/src=x>**b**$x$:red[r]`c`"
# In the name of a file, which has no slash.
EVIL_FILE = EVIL.replace("/", "|")
# Members of the header by which a reader knows what it reads; all others are shown to people.
_MEANT = {"format", "owners", "operations", "codes", "copy_kinds", "object_kinds", "directions", "schema"}


def everywhere() -> TraceBuilder:
    """A trace with rows in all tables."""
    trace = everything_builder()
    text = f"{EVIL}\n// {EVIL}\n" * 20
    trace.add("source_files", file=trace.string(ring.RING_CU), text=text, bytes=len(text), kept=1)
    trace.header["process"]["ranks"] = {"RANK": "0"}
    for table, column in (("objects", "call"), ("calls", "kernel")):
        trace.rows[table][0][column] = trace.string(ring.GET)
    return _marked(trace)


def later() -> TraceBuilder:
    """The program some commits later, for a comparison with `everywhere`."""
    return _marked(compared.later_builder())


def _marked(trace: TraceBuilder) -> TraceBuilder:
    for name, member in trace.header.items():
        if name not in _MEANT:
            trace.header[name] = _in_header(member)
    for name, table in trace.schema.items():
        for column in table["columns"]:
            if column["type"] == "utf8":
                for row in trace.rows[name]:
                    row[column["name"]] = _in_table(row[column["name"]])
                    if "bytes" in row:
                        row["bytes"] = len(row[column["name"]])
    return trace


def _in_header(member: Any) -> Any:
    """A member as JSON, with markup in each of its texts."""
    if isinstance(member, dict):
        return {name: _in_header(value) for name, value in member.items()}
    if isinstance(member, list):
        return [_in_header(value) for value in member]
    return f"{EVIL}{member}" if isinstance(member, str) else member


def _in_table(text: str) -> bytes:
    if text.startswith("/home/"):
        path = Path(text)
        return bytes(path.parent / EVIL_FILE) + ODD.replace("/", "|").encode() + b"\xff\xfe" + path.name.encode()
    name, bracket, rest = text.partition("(")
    return f"{EVIL}{name}{TIGHT}{bracket}{rest}{ODD}".encode() + b"\xff\xfe"
