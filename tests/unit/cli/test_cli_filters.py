"""Options that keep a part of a trace, in the commands that share them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import snoopie
from snoopie import cli
from snoopie.cli.described import described
from tests.support import mixed
from tests.support.encoder import TraceBuilder, gpu

# Of several processes, with driver calls and memory.
SAMPLE = Path(__file__).resolve().parents[3] / "sample_traces" / "allreduce-4gpu"


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """Status, stdout, stderr of one command."""
    status = cli.main([str(word) for word in words])
    done = capsys.readouterr()
    return status, done.out, done.err


def summary(capsys: pytest.CaptureFixture[str], *words: object) -> dict[str, Any]:
    status, out, _ = run(capsys, "stats", "--json", *words)
    assert status == 0
    told: dict[str, Any] = json.loads(out)["summary"]
    return told


@pytest.fixture
def mixed_folder(tmp_path: Path) -> Path:
    return mixed.write_mixed(tmp_path)


@pytest.mark.parametrize(
    ("options", "accesses"),
    [
        ([], 224),
        (["--issuer", "GPU 3"], 64),
        (["--issuer=3", "--issuer=0"], 96),
        (["--owner", gpu(0)["uuid"]], 64 + 64),
        (["--issuer=3", "--owner=0", "--operation=store", "--operation", "load"], 32),
        (["--owner=host"], 0),
        (["--launches=3-5"], 64),
        (["--launches=11"], 32),
        (["--launches=10-"], 48),
        (["--launches=3-5", "-k", "ring_bump"], 32),
        # Launches are 1 µs apart, from 1 µs on.
        (["--between=3us-6us"], 64),
        (["--between=0-0.003001ms"], 48),
        (["--between=10.5µs-"], 32),
        (["--process=0"], 224),
    ],
)
def test_stats_of_a_part(
    ring_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], accesses: int
) -> None:
    assert summary(capsys, *options, ring_path)["accesses"] == accesses


def test_several_processes(mixed_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = summary(capsys, "--process", "1", mixed_folder)
    assert [told[name] for name in ("accesses", "bytes", "launches", "copies")] == [108, 44544, 3, 4]
    told = summary(capsys, "--owner", "multicast 0", "--process=0", mixed_folder)
    assert told["bytes"] == 512
    assert summary(capsys, "--owner", "host", mixed_folder)["copies"] == 4


def test_what_an_option_does_not_divide_is_said(mixed_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = run(capsys, "stats", "--owner=host", "--operation=load", mixed_folder)
    assert "note: --owner and --operation do not apply to NCCL calls" in err
    assert "note: --owner does not apply to instructions that were not measured" in err
    assert "not apply" not in run(capsys, "stats", "--issuer=0", mixed_folder)[2]
    assert "not apply" not in run(capsys, "stats", "--by", "line", "--owner=host", mixed_folder)[2]
    assert "--owner does not apply to kernels" in run(capsys, "summary", "--owner=host", mixed_folder)[2]


def test_summary_of_a_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = TraceBuilder(2)
    put = trace.function("put")
    for place in (0, 1):
        launch = trace.launch(put, place)
        trace.add("spans", launch=launch, start=10**18 + 1000 * place, end=10**18 + 1000 * place + 500)
    path = trace.write(tmp_path / "t.zst")
    told = json.loads(run(capsys, "summary", "--json", "--issuer=1", path)[1])
    assert [resource["resource"] for resource in told["resources"]] == ["GPU 1"]
    told = json.loads(run(capsys, "summary", "--json", "--launches=1", path)[1])
    assert [resource["resource"] for resource in told["resources"]] == ["GPU 0"]


def test_every_command_that_reads_has_the_same_filters() -> None:
    _, commands = described(cli.COMMANDS)
    names = {"--kernel", "--process", "--issuer", "--owner", "--operation", "--between", "--launches"}
    having = {each.name for each in commands if names <= {name for option in each.options for name in option.names}}
    assert having >= {"stats", "findings", "calls", "memory", "summary", "plot", "report", "export", "diff"}


def test_other_commands_of_a_part(mixed_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def told(*words: object) -> Any:
        status, out, _ = run(capsys, *words, "--json", SAMPLE)
        assert status == 0
        return json.loads(out)

    whole, part = told("calls", "--by", "thread"), told("calls", "--by", "thread", "--process=1")
    assert part["rows"] == [row for row in whole["rows"] if row["process"] == 1]
    assert 0 < len(part["rows"]) < len(whole["rows"])
    whole, part = told("memory", "--usage"), told("memory", "--usage", "--owner=1", "--process=0")
    chosen = [row for row in whole["usage"] if (row["process"], row["device"]) == (0, "GPU 1")]
    assert part["usage"] == chosen
    assert 0 < len(chosen) < len(whole["usage"])
    page = tmp_path / "report.html"
    words = ["--process=1", "--owner=GPU 0", "--owner=host", "--between=0-1s", "--launches=1-"]
    assert run(capsys, "report", mixed_folder, "-o", page, *words)[0] == 0
    said = "Only a part of the trace: process 1; owner GPU 0 or host; between 0 ns to 1 s; launches 1 to the end."
    assert said in page.read_text("utf-8")
    assert run(capsys, "report", mixed_folder, "-o", page, "--force")[0] == 0
    assert "Only a part" not in page.read_text("utf-8")


def test_exports_of_a_part(mixed_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = snoopie.load(mixed_folder).select(issuers="GPU 1")
    words = ["export", mixed_folder, "--issuer", 1, "--format"]
    status, _, err = run(capsys, *words, "csv", "-o", tmp_path / "tables")
    assert status == 0
    assert (
        "snoopie: note: Only a part of the trace: issuer 1. Tables that these filters do not divide are whole." in err
    )
    counts = pd.read_csv(tmp_path / "tables" / "counts.csv")
    assert 0 < counts["bytes"].sum() == part.counts["bytes"].sum() < snoopie.load(mixed_folder).counts["bytes"].sum()
    assert run(capsys, *words, "collapsed", "-o", tmp_path / "flame.txt")[0] == 0
    flame = sum(int(line.rpartition(" ")[2]) for line in (tmp_path / "flame.txt").read_text().splitlines())
    assert flame == part.counts["bytes"].sum()


def test_what_runs_beside_the_filtered_is_no_gap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = TraceBuilder(2)
    for number, name in enumerate(("put", "get", "put")):
        launch = trace.launch(trace.function(name), 0)
        trace.add("spans", launch=launch, start=10**18 + 1000 * number, end=10**18 + 1000 * number + 900)
    path = trace.write(tmp_path / "t.zst")
    (gpu_0,) = json.loads(run(capsys, "summary", "--json", "-k", "put", path)[1])["resources"]
    assert [gpu_0[name] for name in ("busy", "gaps", "gap", "others")] == [1800, 2, 200, 900]
    assert [(row["kind"], row["calls"], row["total"]) for row in gpu_0["rows"]] == [
        ("kernel", 2, 1800),
        ("gap", 2, 200),
    ]
    out = run(capsys, "summary", "-k", "put", path)[1]
    assert out.startswith("GPU 0: busy 62.1 %, 1.8 µs; others 900 ns, 2 of 2 rows")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--issuer", "GPU 9"], "there is no place GPU 9"),
        (["--owner=-1"], "there is no place -1"),
        (["--process=7"], "there is no process 7"),
        (["--operation=push"], "there is no operation push; the trace has atomic, load, reduction, store"),
        (["-k", "nothing"], "no kernel is called nothing"),
        (["--between=5s-"], "begins after the trace's end"),
    ],
)
def test_what_the_trace_does_not_have(
    ring_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], sentence: str
) -> None:
    status, out, err = run(capsys, "stats", *options, ring_path)
    assert (status, out) == (2, "")
    assert sentence in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "option",
    ["--between=5", "--between=5-6", "--between=6s-5s", "--between=-5s", "--between=1s-2s-3s", "--launches=5-3",
     "--launches=a", "--launches=-3", "--process=x"],
)  # fmt: skip
def test_what_cannot_be_read(ring_path: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["stats", option, str(ring_path)])
    assert ended.value.code == 2
    assert option.partition("=")[0] in capsys.readouterr().err


def test_nothing_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = TraceBuilder(2).write(tmp_path / "empty.zst")
    assert summary(capsys, "--launches=1-", path)["accesses"] == 0
    assert summary(capsys, "--between=0-", path)["accesses"] == 0
