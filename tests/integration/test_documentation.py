"""docs/tables.md is what the collector's schema says.  SNOOPIE_UPDATE_DOCS=1 writes it anew."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from snoopie.trace.schema import READ

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "tables.md"

INTRODUCTION = """# The tables of a trace

Generated from the schema that the collector declares (`nvbit_tool/src/trace/schema.h`) and writes into every trace; the
types and the way tables are stored are in [trace-format.md](trace-format.md). `trace.schema` gives the same of any
trace.
"""


def schema(writer: Path) -> list[dict[str, object]]:
    text = subprocess.run([str(writer), "schema"], check=True, capture_output=True, text=True).stdout
    tables: list[dict[str, object]] = json.loads(text)
    return tables


def render(tables: list[dict[str, object]]) -> str:
    parts = [INTRODUCTION]
    for table in tables:
        parts.append(f"\n## {table['name']} ({table['id']})\n\n{table['doc']}\n\n")
        parts.append("| column | type | unit | refers to | meaning |\n|---|---|---|---|---|\n")
        columns = table["columns"]
        assert isinstance(columns, list)
        for column in columns:
            cells = (column[key].replace("|", "\\|") for key in ("name", "type", "unit", "ref", "doc"))
            parts.append("| " + " | ".join(cells) + " |\n")
    return "".join(parts)


def test_tables_document(writer: Path) -> None:
    expected = render(schema(writer))
    if os.environ.get("SNOOPIE_UPDATE_DOCS"):
        DOCUMENT.write_text(expected)
    assert DOCUMENT.read_text() == expected, (
        "docs/tables.md is old: SNOOPIE_UPDATE_DOCS=1 pytest tests/integration/test_documentation.py"
    )


def test_reader_needs_only_declared_columns(writer: Path) -> None:
    declared = {str(table["name"]): {column["name"] for column in table["columns"]} for table in schema(writer)}  # type: ignore[attr-defined]
    for table, columns in READ.items():
        assert set(columns) <= declared[table]
