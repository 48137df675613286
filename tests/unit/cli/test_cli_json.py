"""All JSON has a version, and is what docs/output.schema.json says. SNOOPIE_UPDATE_DOCS=1 writes that anew."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from snoopie import cli
from snoopie.cli.described import described
from snoopie.cli.formats import VERSION
from snoopie.cli.traffic import TABLES
from tests.support import busy, mixed, native, ring
from tests.support.command import run
from tests.support.other_tools import FORMATS
from tests.support.output_schema import schema
from tests.support.program import SECTORS, App
from tests.support.waiting import write_waiting

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "output.schema.json"
ROOT = DOCUMENT.parents[1]
COMMANDS = {
    "info": [["info"]],
    # Traffic by tensor needs what PyTorch says of its memory beside the trace.
    "stats": [["stats", "--by", by] for by in TABLES if by != "tensor"] + [["stats", "--reading", "flow"]],
    "findings": [["findings"]],
    "calls": [["calls"], *(["calls", "--by", by] for by in ("kernel", "direction", "thread", "error"))],
    "memory": [["memory"], ["memory", "--watermark", "--total"], ["memory", "--leaks"]],
    "summary": [["summary"]],
    "waits": [["waits"], *(["waits", "--by", by] for by in ("site", "block", "awaited"))],
    "expect": [["expect"]],
    "check": [["check"]],
    "diff": [["diff"], *(["diff", "--by", by] for by in ("pair", "kernel", "line", "object"))],
}
SAMPLES = [path for path in sorted((ROOT / "sample_traces").iterdir()) if path.suffix == ".zst" or path.is_dir()]


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("traces")
    (folder / "mixed").mkdir()
    scattered = App()
    scattered.both_ways("store", SECTORS, lanes=SECTORS)
    made = [mixed.write_mixed(folder / "mixed"), busy.write_busy(folder), ring.write_ring(folder)]
    made.append(write_waiting(folder))
    return [*made, scattered.trace.write(folder / "scattered.zst"), *SAMPLES]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a tool that did not record everything."""
    folder = tmp_path_factory.mktemp("imported")
    return Path(FORMATS["rtg"].importer(FORMATS["rtg"].write(folder), folder / "rtg.zst").paths[0])


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a run with native times."""
    folder = tmp_path_factory.mktemp("timed")
    work = [native.Rank([[native.Launch("put", moves=True), native.Launch("gemm")]])]
    native.write_clean(folder, work, run="one")
    return native.write_exact(folder, work, run="one")


def validator(name: str) -> jsonschema.Draft202012Validator:
    """Of what one command prints."""
    whole = schema()
    return jsonschema.Draft202012Validator({"$defs": whole["$defs"], "$ref": f"#/$defs/{name}"})


def test_the_document_is_the_schema() -> None:
    text = json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("SNOOPIE_UPDATE_DOCS"):
        DOCUMENT.write_text(text, "utf-8")
    assert DOCUMENT.read_text("utf-8") == text, (
        "docs/output.schema.json is old: SNOOPIE_UPDATE_DOCS=1 pytest tests/unit/cli/test_cli_json.py"
    )
    jsonschema.Draft202012Validator.check_schema(schema())


def test_every_command_with_json_is_tried() -> None:
    _, commands = described(cli.COMMANDS)
    with_json = {each.name for each in commands if any("--json" in option.names for option in each.options)}
    assert with_json == {*COMMANDS, "doctor", "hang"}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_printed_is_what_the_schema_says(
    name: str, traces: list[Path], imported: Path, timed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = validator(name)
    filled = set()
    members = schema()["$defs"][name]["properties"]
    for trace in [*traces, *([imported] if "unknown" in members else []), *([timed] if "native" in members else [])]:
        # A recording says nothing of the ways to ask that those made for tests do not.
        for words in COMMANDS[name][:1] if trace in SAMPLES else COMMANDS[name]:
            beside = {"diff": [traces[2]], "expect": ["bytes >= 0", "pairs <= all", "--allow-gaps"]}
            status, out, _ = run(capsys, *words, "--json", trace, *beside.get(name, []))
            told: dict[str, Any] = json.loads(out)
            assert status == 0
            assert next(iter(told)) == "version"
            assert told["version"] == VERSION
            check.validate(told)
            filled |= {member for member, value in told.items() if value not in ([], {}, "", None)}
    # Each member had something to be checked in one of them; no limit was set.
    assert filled >= set(schema()["$defs"][name]["properties"]) - {"exceeded", "nvidia_smi"}


def test_what_doctor_finds_is_what_the_schema_says(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "doctor", "--json")
    told = json.loads(out)
    assert told["rows"]
    validator("doctor").validate(told)


def test_what_is_watched_is_what_the_schema_says(ring_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "calls", "--live", "0.1", "--json", ring_path)
    (line,) = out.splitlines()
    assert status == 0
    validator("calls-live").validate(json.loads(line))


def test_what_nobody_declared_is_refused() -> None:
    told = {"version": VERSION, "complete": True, "findings": [], "losses": []}
    validator("findings").validate(told)
    for wrong in ({**told, "more": 1}, {**told, "version": 0}, {**told, "findings": [{"nothing": 1}]}):
        with pytest.raises(jsonschema.ValidationError):
            validator("findings").validate(wrong)
