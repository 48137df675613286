"""Findings on a source line: how it is named, and where the app shows it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from snoopie.analysis.findings.finding import Evidence, Finding
from snoopie.words.names import brief_name


def on_line(
    row: Mapping[str, Any], says: str, numbers: Mapping[str, float], bytes: int, share: float, spared: float
) -> Finding:
    """A finding on a row of `Facts.large_lines`; ``says`` goes on after the line's name."""
    known = row["line"] > 0
    evidence = (
        Evidence("source", {"source_file": row["file"], "source_line": str(row["line"])})
        if known
        else Evidence("sites", {})
    )
    return Finding(
        title=f"{named(row)} {says}",
        numbers=numbers,
        bytes=bytes,
        share=share,
        evidence=evidence,
        spared=int(spared),
        file=row["file"],
        line=int(row["line"]),
        kernel=row["kernel"],
        site=int(row["site"]),
        issuer=row["issuer"],
        owner=row["owner"],
    )


def named(row: Mapping[str, Any]) -> str:
    """ "a.cu:12 (kernel put)", or "An instruction of put at 0x40 (no source line)"."""
    if row["line"] > 0:
        of = f"kernel {brief_name(row['kernel'])}" if row["kernels"] == 1 else f"{row['kernels']} kernels"
        return f"{PurePath(row['file']).name}:{row['line']} ({of})"
    return f"An instruction of {brief_name(row['function'])} at {row['offset']:#x} (no source line)"
