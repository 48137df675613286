"""The tables as this package knows them: schema.json, which is what the collector declares.

What is in it is what Snoopie reads of a trace. `make -C nvbit_tool schema` writes it anew after a change of schema.h.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from snoopie.trace.columns import Column, TableSchema, Type
from snoopie.trace.roles import Role


@cache
def declaration() -> tuple[dict[str, Any], ...]:
    """The tables, as a header declares them."""
    return tuple(json.loads(files("snoopie.trace").joinpath("schema.json").read_text("utf-8")))


@cache
def known_tables() -> Mapping[str, TableSchema]:
    """The tables by name."""
    return {table["name"]: _table(table) for table in declaration()}


def known_columns(table: str) -> Mapping[str, Column]:
    """The columns of a table by name; none of a table that is not known."""
    tables = known_tables()
    return tables[table].columns if table in tables else {}


def _table(table: Mapping[str, Any]) -> TableSchema:
    columns = {column["name"]: _column(column) for column in table["columns"]}
    return TableSchema(table["name"], table["id"], table["required"], table["doc"], columns)


def _column(column: Mapping[str, Any]) -> Column:
    stored = Type.parse(column["type"])
    assert stored is not None, column
    role = Role(column["role"], column["ref"])
    return Column(column["name"], stored, column["unit"], role, column["required"], column["doc"])
