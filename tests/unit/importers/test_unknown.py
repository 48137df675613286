"""What a format does not know is unknown, whoever asks: never 0, nothing, "everything was freed" or 1970."""

from __future__ import annotations

import html
import json
from pathlib import Path

import pytest

import snoopie
from snoopie import cli
from snoopie.cli.import_ import KINDS
from snoopie.trace.lacks import TABLES, Lack
from tests.support.other_tools import FORMATS

# A question: the words that answer it, what must be recorded to know, and what is said, wrongly, where that is not so.
QUESTIONS: dict[str, tuple[list[str], Lack, list[str]]] = {
    "how much memory": (["memory", "--usage"], Lack.ALLOCATIONS, []),
    "the peak": (["memory", "--watermark"], Lack.FREES, ["No memory was allocated", "Peak of"]),
    "leaks": (["memory", "--leaks"], Lack.FREES, ["No leaks", "Never freed", "never freed"]),
    "calls": (["calls"], Lack.CALLS, ["CALLS=off", "no driver call"]),
    "failed calls": (["calls", "--by", "error"], Lack.ERRORS, ["no call failed"]),
    "accesses": (["info"], Lack.ACCESSES, ["accesses         0"]),
    "copies": (["info"], Lack.COPIES, ["copies by the host  0"]),
    "bytes of copies": (["info"], Lack.COPY_SIZES, ["0 B (0)", "copy bytes       0"]),
    "the date": (["info"], Lack.DATE, ["1970", "19 "]),
    "thread blocks": (["summary", "--workgroups"], Lack.SHAPES, ["no launch"]),
}


@pytest.fixture(scope="module", params=FORMATS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def path(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Imported once for all questions, which only read it."""
    folder = tmp_path_factory.mktemp("imported")
    (folder / "in").mkdir()
    source = FORMATS[name].write(folder / "in")
    (imported,) = FORMATS[name].importer(source, folder / "t.zst").paths
    return Path(imported)


def test_every_format_is_in_the_table() -> None:
    assert {kind.importer for kind in KINDS.values()} == {format.importer.__name__ for format in FORMATS.values()}


def test_what_the_header_declares(name: str, path: Path) -> None:
    """Each importer says it, whatever the tables of this recording happen to hold."""
    (source,) = snoopie.load(path)._tables.sources
    declared = source.header.tool["lacks"]
    assert declared
    assert FORMATS[name].lacks - set(declared) <= set(TABLES)


def test_what_a_trace_says_it_lacks(name: str, path: Path) -> None:
    trace = snoopie.load(path)
    assert {what for what in Lack if trace.lacks(what)} == FORMATS[name].lacks


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_question(name: str, path: Path, question: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, needed, wrong = QUESTIONS[question]
    assert cli.main([*words, str(path)]) == 0
    answer = capsys.readouterr()
    if needed in FORMATS[name].lacks:
        assert "unknown" in answer.out
        assert not [said for said in wrong if said in answer.out]
    # Whatever is asked, what is missing is said.
    if words[0] != "info" and "--workgroups" not in words:
        assert all(sentence.split(":")[0] in answer.err for sentence in snoopie.load(path).losses()[-1:])


def test_tables_have_no_number_where_none_is_known(name: str, path: Path) -> None:
    trace = snoopie.load(path)
    lacks = FORMATS[name].lacks
    calls = trace.by_call()
    if Lack.ERRORS in lacks:
        assert calls["errors"].isna().all()
    if Lack.CALL_SIZES in lacks:
        assert calls["bytes"].isna().all()
    if Lack.FREES in lacks:
        assert "never freed" not in set(trace.leaks()["state"])
    if Lack.COPY_SIZES in lacks:
        assert not trace.by_resource()["name"].str.contains("_bytes").any()


def test_json_says_it_too(name: str, path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("info", "memory", "calls"):
        assert cli.main([command, "--json", str(path)]) == 0
        said = " ".join(json.loads(capsys.readouterr().out)["unknown"])
        assert all(str(what) in said for what in FORMATS[name].lacks)


def test_the_report(name: str, path: Path, tmp_path: Path) -> None:
    assert cli.main(["report", str(path), "-o", str(tmp_path / "r.html")]) == 0
    text = html.unescape((tmp_path / "r.html").read_text())
    for wrong in ("No leaks", "1970-", "Nothing was lost"):
        assert wrong not in text
    for lack in (Lack.ALLOCATIONS, Lack.FREES, Lack.CALLS, Lack.ERRORS):
        if lack in FORMATS[name].lacks - ({Lack.FREES} if Lack.ALLOCATIONS in FORMATS[name].lacks else set()):
            assert f"not include {lack}" in text or (lack == Lack.ERRORS and Lack.CALLS in FORMATS[name].lacks)


def test_other_commands_do_not_fail(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["stats", "--by", "object"], ["summary"], ["check"], ["findings"], ["stats"]):
        assert cli.main([*words, str(path)]) == 0, words
    said = capsys.readouterr().out
    assert "Nothing was lost" not in said
    assert cli.main(["export", str(path), "--format", "chrome", "-o", str(tmp_path / "t.json")]) == 0
