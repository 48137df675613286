"""The collector declares the tables: docs/tables.md and the package's schema.json say the same.

SNOOPIE_UPDATE_DOCS=1 writes the document anew, `make -C nvbit_tool schema` the package's declaration.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from snoopie.trace.declaration import declaration

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "tables.md"

INTRODUCTION = """# The tables of a trace

Generated from the schema that the collector declares (`nvbit_tool/src/trace/schema.h`) and writes into every trace; the
types, the roles and the way tables are stored are in [trace-format.md](trace-format.md). `trace.schema` gives the same
of any trace.
"""


def schema(writer: Path) -> list[dict[str, object]]:
    text = subprocess.run([str(writer), "schema"], check=True, capture_output=True, text=True).stdout
    tables: list[dict[str, object]] = json.loads(text)
    return tables


def render(tables: list[dict[str, object]]) -> str:
    parts = [INTRODUCTION]
    for table in tables:
        parts.append(f"\n## {table['name']} ({table['id']})\n\n{table['doc']}\n\n")
        parts.append("| column | type | unit | role | meaning |\n|---|---|---|---|---|\n")
        columns = table["columns"]
        assert isinstance(columns, list)
        for column in columns:
            cells = (column["name"], column["type"], column["unit"], role(column), column["doc"])
            parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n")
    return "".join(parts)


def role(column: dict[str, str]) -> str:
    """A reference by its table: "row of `strings` or none"."""
    return column["role"].replace("row", f"row of `{column['ref']}`") if column["ref"] else column["role"]


def test_tables_document(writer: Path) -> None:
    expected = render(schema(writer))
    if os.environ.get("SNOOPIE_UPDATE_DOCS"):
        DOCUMENT.write_text(expected)
    assert DOCUMENT.read_text() == expected, (
        "docs/tables.md is old: SNOOPIE_UPDATE_DOCS=1 pytest tests/integration/test_documentation.py"
    )


def test_the_declaration_of_the_package(writer: Path) -> None:
    assert list(declaration()) == schema(writer), "snoopie/trace/schema.json is old: make -C nvbit_tool schema"
