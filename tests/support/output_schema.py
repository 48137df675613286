"""docs/output.schema.json: what commands print with --json. Columns and their meanings are those of every view."""

from __future__ import annotations

from typing import Any, get_args

from snoopie.analysis.expectations.verdict import Outcome
from snoopie.cli import diff
from snoopie.cli.calls import BY as CALLS_BY
from snoopie.cli.checks.row import State
from snoopie.cli.formats import VERSION
from snoopie.cli.traffic import TABLES
from snoopie.cli.waits import BY as WAITS_BY
from snoopie.words.columns import COLUMNS, Kind

Schema = dict[str, Any]

BOOLEAN: Schema = {"type": "boolean"}
ROWS: Schema = {"type": "array", "items": {"$ref": "#/$defs/row"}}
SENTENCES: Schema = {"type": "array", "items": {"type": "string"}}
TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
SUMS: Schema = {"type": "object", "additionalProperties": {"type": ["number", "null"]}}


def schema() -> Schema:
    """The whole document."""
    commands = {
        "stats": _object(
            "snoopie stats", optional=("native",), native={"$ref": "#/$defs/native"},
            by=_one_of(TABLES), reading=_one_of(("issued", "flow")), complete=BOOLEAN,
            estimated=BOOLEAN, summary=SUMS, gpus=ROWS, rows=ROWS, copies=ROWS, collectives=ROWS, not_measured=ROWS,
            losses=SENTENCES,
        ),
        "findings": _object("snoopie findings", complete=BOOLEAN, findings=ROWS, losses=SENTENCES),
        "calls": _object(
            "snoopie calls", by=_one_of(CALLS_BY), rows=ROWS, complete=BOOLEAN, losses=SENTENCES,
            unknown=SENTENCES,
        ),
        "calls-live": _object(
            "snoopie calls --live, a line each time", optional=("by", "rows"),
            time=TEXT, running=WHOLE, by=_one_of(CALLS_BY), rows=ROWS,
        ),
        "memory": _object(
            "snoopie memory; times are those of the host's clock",
            optional=("usage", "agreement", "watermark", "leaks", "nvidia_smi"),
            complete=BOOLEAN, start_ns=WHOLE, unknown=SENTENCES, usage=ROWS, agreement=ROWS, watermark=ROWS, leaks=ROWS,
            nvidia_smi=ROWS,
        ),
        "workgroups": _object("snoopie summary --workgroups", workgroups=ROWS),
        "overlap": _object("snoopie summary --overlap", overlap=ROWS, notes=SENTENCES),
        "summary": _object(
            "snoopie summary", resources={"type": "array", "items": {"$ref": "#/$defs/resource"}}, notes=SENTENCES
        ),
        "waits": _object(
            "snoopie waits; rows by what was chosen, stores to what they poll; times are instrumented",
            by=_one_of(WAITS_BY), rows=ROWS, stores=ROWS, complete=BOOLEAN, losses=SENTENCES,
        ),
        "hang": _object(
            "snoopie hang; what each process says, as docs/waits.md has it", remarks=SENTENCES,
            processes={"type": "array", "items": {"type": "object", "description": "A process with its kernels."}},
        ),
        "diff": _object(
            "snoopie diff", optional=("by", "value", "rows"),
            a={"$ref": "#/$defs/side"}, b={"$ref": "#/$defs/side"}, different=BOOLEAN, summary=ROWS,
            by=_one_of(diff.TABLES), value=_one_of(diff.VALUES), rows=ROWS, remarks=SENTENCES, exceeded=SENTENCES,
        ),
        "check": _object(
            "snoopie check",
            files={
                "type": "array",
                "items": _part(
                    path=TEXT, valid=BOOLEAN, complete=BOOLEAN, rows=SUMS, right=SENTENCES, lost=SENTENCES,
                    suspicious=SENTENCES, wrong=SENTENCES,
                ),
            },
        ),
        "doctor": _object(
            "snoopie doctor", snoopie=TEXT, works=BOOLEAN,
            rows={"type": "array", "items": _part(name=TEXT, state=_one_of(State), found=TEXT, remedy=TEXT)},
        ),
        "expect": _object(
            "snoopie expect; docs/expect.md says what the outcomes mean",
            holds=BOOLEAN, expectations={"type": "array", "items": {"$ref": "#/$defs/verdict"}},
        ),
        "info": _object(
            "snoopie info", complete=BOOLEAN, estimated=BOOLEAN, runs=ROWS, processes=ROWS, gpus=ROWS, links=ROWS,
            settings={"type": "object", "description": "By process, as the collector names them."},
            summary=SUMS, totals=SUMS, not_measured=ROWS, losses=SENTENCES, unknown=SENTENCES,
        ),
    }  # fmt: skip
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What snoopie prints with --json",
        "description": (
            f"Version {VERSION}. Members and columns may be added; where one is taken away or means something else, "
            "`version` grows. Amounts are exact, sizes in bytes and times in ns. null: there is no number."
        ),
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in commands],
        "$defs": {
            **commands,
            "resource": {
                "type": "object",
                "description": "A GPU, or all copies (DATA), with its rows.",
                "properties": {**_columns(), "rows": ROWS},
                "required": ["resource", "rows"],
                "additionalProperties": False,
            },
            "native": {
                "description": "What native times say, where the trace has them.",
                **_part(matching=ROWS, overlap=ROWS, arrivals=ROWS, losses=SENTENCES),
            },
            "side": _part(files=SENTENCES, complete=BOOLEAN, estimated=BOOLEAN),
            "verdict": _part(
                expression=TEXT,
                outcome=_one_of(get_args(Outcome)),
                gaps=SENTENCES,
                notes=SENTENCES,
                amounts={"type": "array", "items": {"$ref": "#/$defs/amount"}},
            ),
            "amount": {
                "description": "A number, or pairs of places, of a part of an expectation as it was written.",
                **_part(
                    text=TEXT,
                    estimated=BOOLEAN,
                    value={"anyOf": [{"type": "number"}, {"type": "array", "items": SENTENCES}]},
                ),
            },
            "row": {
                "type": "object",
                "description": "A row of a table, which has some of these columns; the same in all rows of a table.",
                "properties": _columns(),
                "additionalProperties": False,
            },
        },
    }


def _part(**members: Schema) -> Schema:
    return {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}


def _object(what: str, *, optional: tuple[str, ...] = (), **members: Schema) -> Schema:
    properties = {"version": {"const": VERSION}, **members}
    return {
        "type": "object",
        "description": what,
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _one_of(words: Any) -> Schema:
    return {"enum": list(words)}


def _columns() -> Schema:
    return {
        # Two columns of findings have members of their own.
        name: {"type": "object" if name in ("numbers", "query") else _types(column.kind), "description": column.meaning}
        for name, column in sorted(COLUMNS.items())
    }


def _types(kind: Kind) -> list[str]:
    if kind is Kind.FLAG:
        return ["boolean"]
    if kind.is_amount or kind.is_number or kind is Kind.CLOCK:
        return ["number", "null"]
    return ["string", "number"] if kind in (Kind.PLACE, Kind.NAME, Kind.WORD) else ["string"]
