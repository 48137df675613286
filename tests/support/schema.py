"""Takes snoopie/trace/schema.json, the declaration of the tables for Python, from nvbit_tool/src/trace/schema.h.

After a change of schema.h:  python -m tests.support.schema   writes schema.json anew. A unit test compares the two.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

DECLARATION = Path(__file__).parents[2] / "nvbit_tool/src/trace/schema.h"
SCHEMA_JSON = Path(__file__).parents[2] / "snoopie/trace/schema.json"

_COLUMN = re.compile(r'C\((\w+), (\w+), "([^"]*)", "([^"]*)", "([^"]*)"\)')
_TABLE = re.compile(r'T\((\w+), \w+, (\w+), "([^"]*)"\)')


def declared(text: str) -> list[dict[str, Any]]:
    """The tables that the macros of schema.h declare, in the form that a trace's header has them."""
    macros = dict(re.findall(r"#define (SNOOPIE_\w+)\([CT]\)(.*)", text.replace("\\\n", " ")))
    tables = []
    for number, (name, macro, doc) in enumerate(_TABLE.findall(macros["SNOOPIE_TABLES"]), start=2):
        # One list of columns may begin with another.
        body = re.sub(r"(SNOOPIE_\w+)\(C\)", lambda match: macros[match[1]], macros[macro])
        columns = [
            {"name": key, "type": re.sub(r"x(\d+)$", r"[\1]", kind), "unit": unit, "ref": ref, "doc": doc_of_column}
            for key, kind, unit, ref, doc_of_column in _COLUMN.findall(body)
        ]
        tables.append({"name": name, "id": number, "doc": doc, "columns": columns})
    return tables


def stored() -> list[dict[str, Any]]:
    """The tables of schema.json."""
    tables: list[dict[str, Any]] = json.loads(SCHEMA_JSON.read_text("utf-8"))
    return tables


if __name__ == "__main__":
    tables = declared(DECLARATION.read_text("utf-8"))
    SCHEMA_JSON.write_text(json.dumps(tables, ensure_ascii=False, indent=1) + "\n", "utf-8")
