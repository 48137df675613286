"""info, stats, view and export, as a user types them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import snoopie
from snoopie import cli
from snoopie.cli import formats, output, view
from snoopie.errors import SnoopieError, UsageError
from snoopie.words import names
from snoopie.words.names import choose_kernels
from tests.support import ring
from tests.support.command import run
from tests.support.encoder import TraceBuilder

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def cut_path(tmp_path: Path) -> Path:
    return ring.ring_builder().write(tmp_path / "cut.zst", footer=False)


# stats


def test_stats_by_pair_is_the_default(ring_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "stats", ring_path)
    assert status == 0
    assert out.splitlines() == [
        "Issuer  Owner  Accesses     Bytes   Share  Wire bytes                   Wire efficiency",
        "GPU 3   GPU 0        64  14.1 KiB  26.9 %      25 KiB                            56.2 %",
        "GPU 0   GPU 1        32    10 KiB  19.2 %      24 KiB                            41.7 %",
        "GPU 1   GPU 2        32    10 KiB  19.2 %      24 KiB                            41.7 %",
        "GPU 2   GPU 3        32    10 KiB  19.2 %      24 KiB                            41.7 %",
        "GPU 1   GPU 0        32   4.1 KiB   7.8 %       1 KiB  406.2 % (lanes shared addresses)",
        "GPU 2   GPU 0        32   4.1 KiB   7.8 %       1 KiB  406.2 % (lanes shared addresses)",
        "224 accesses, 52.2 KiB, at most 99 KiB on the wire, wire efficiency 52.7 %",
        "",
        "Instructions that ran and were not measured",
        "Source                      Kernel                                Opcode      Accesses",
        f"{ring.RING_CU}:6  {ring.PUT}  UTMALDG.1D        64",
    ]
    assert err.splitlines()[-1] == f"Next: snoopie view {ring_path}"


def test_stats_flow_names_directions(ring_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "stats", "--reading", "flow", ring_path)
    heading, *rows = out.split("\n\n")[0].splitlines()
    assert heading.split()[:2] == ["From", "To"]
    assert len(rows) - 1 == sum(1 for row in ring.FLOW_BYTES for value in row if value)


@pytest.mark.parametrize(
    ("by", "rows"),
    [("kernel", 3), ("line", 4), ("site", 4), ("launch", 11), ("operation", 4), ("file", 2), ("library", 6),
     ("stack", 3), ("process", 1)],
)  # fmt: skip
def test_stats_by_other_keys(ring_path: Path, capsys: pytest.CaptureFixture[str], by: str, rows: int) -> None:
    _, out, _ = run(capsys, "stats", "--by", by, ring_path)
    assert len(out.splitlines()) == rows + 2
    assert ("/home/u/ring/include/shift.h:4" in out) == (by in ("line", "site"))
    told = json.loads(run(capsys, "stats", "--by", by, "--json", ring_path)[1])
    assert len(told["rows"]) == rows
    assert sum(row["bytes"] for row in told["rows"]) == ring.TOTALS["bytes"]


def test_stats_by_process_and_by_stack(two_process_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = json.loads(run(capsys, "stats", "--by", "process", "--json", two_process_folder)[1])["rows"]
    assert {row["process"] for row in rows} == {0, 1}
    for row in rows:
        part = json.loads(run(capsys, "stats", "--json", "--process", row["process"], two_process_folder)[1])
        assert part["summary"]["bytes"] == row["bytes"]
    trace = TraceBuilder(2)
    put, get = trace.function("put"), trace.function("get")
    for function, stack, number in ((put, 0, 3), (get, 0, 5)):
        site = trace.site(function, "STG.E", "store", 4)
        trace.count(trace.launch(function, 0, stack=stack), site, 1, number, 32 * number, 4 * number)
    path = trace.write(two_process_folder.parent / "two.zst")
    rows = json.loads(run(capsys, "stats", "--by", "stack", "--json", path)[1])["rows"]
    assert [(row["kernel"], row["stack"], row["launches"], row["accesses"]) for row in rows] == [
        ("get", 0, 1, 5),
        ("put", 0, 1, 3),
    ]


def test_accesses_of_no_known_allocation_say_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = TraceBuilder(2)
    trace.count(trace.launch(trace.function("put"), 0), trace.site(1, "STG.E", "store", 4), 1, 3, 96, 12)
    path = trace.write(tmp_path / "t.zst")
    _, row, _ = run(capsys, "stats", "--by", "object", path)[1].splitlines()
    assert row.split()[:6] == ["–", "(allocation", "unknown)", "–", "3", "384"]
    (told,) = json.loads(run(capsys, "stats", "--by", "object", "--json", path)[1])["rows"]
    assert (told["object"], told["size"], told["bytes"]) == (0, 0, 384)


# --top, CSV and Markdown


def test_top_leaves_the_first_rows(ring_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = run(capsys, "stats", "--by", "line", ring_path)[1].splitlines()
    some = run(capsys, "stats", "--by", "line", "--top", "2", ring_path)[1].splitlines()
    assert [line.split() for line in some[:3]] == [line.split() for line in whole[:3]]
    assert some[3:] == ["… and 2 more rows: --top 0 shows all", whole[-1]]
    for top, rows in ((1, 1), (0, 4), (9, 4)):
        told = json.loads(run(capsys, "stats", "--by", "line", "--json", "--top", top, ring_path)[1])
        assert len(told["rows"]) == rows


@pytest.mark.parametrize("command", [["stats", "--by", "line"], ["stats", "--reading", "flow"], ["findings"],
                                     ["calls"], ["memory", "--leaks"], ["summary"]])  # fmt: skip
def test_csv_has_the_numbers_of_json(
    command: list[str], mixed_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = run(capsys, *command, "--csv", mixed_folder)
    assert (status, err) == (0, "")
    rows = list(csv.DictReader(out.splitlines()))
    told = json.loads(run(capsys, *command, "--json", mixed_folder)[1])
    expected = told.get("rows", told.get("findings", told.get("leaks")))
    if expected is None:
        expected = [row | {"resource": one["resource"]} for one in told["resources"] for row in one["rows"]]
    assert len(rows) == len(expected)
    for row, exact in zip(rows, expected, strict=True):
        assert row.keys() == exact.keys()
        for name, value in exact.items():
            written = (
                json.dumps(value, ensure_ascii=False)
                if isinstance(value, dict)
                else ""
                if value is None
                else str(value)
            )
            assert row[name] == written
    if len(rows) > 1:
        assert run(capsys, *command, "--csv", "--top", 1, mixed_folder)[1].splitlines() == out.splitlines()[:2]


def test_markdown_is_a_table(ring_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "stats", "--markdown", "--top", "1", ring_path)
    assert out.splitlines() == [
        "| Issuer | Owner | Accesses | Bytes | Share | Wire bytes | Wire efficiency |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
        "| GPU 3 | GPU 0 | 64 | 14.1 KiB | 26.9 % | 25 KiB | 56.2 % |",
    ]


def test_names_from_a_trace_stay_in_their_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = TraceBuilder(2)
    evil = trace.function('a|b\\|c\n,"d')
    trace.count(trace.launch(evil, 0), trace.site(evil, "STG.E", "store", 4), 1, 1, 32, 4)
    path = trace.write(tmp_path / "evil.zst")
    _, _, row = run(capsys, "stats", "--by", "kernel", "--markdown", path)[1].splitlines()
    assert row.startswith('| `a\\|b\\x7cc\\n,"d` | 1 |')
    _, out, _ = run(capsys, "stats", "--by", "kernel", "--csv", path)
    assert next(csv.DictReader(io.StringIO(out)))["kernel"] == 'a|b\\|c\n,"d'


@pytest.mark.parametrize(
    "name",
    ["<img src=x onerror=alert(1)>", "[l](http://evil)", "@team #1", "![](//evil)", "void k<int, float*>(float*)"],
)
def test_a_name_in_a_markdown_table_is_code(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, less = (tmp_path / file for file in ("evil.zst", "less.zst"))
    for times, file in ((1, path), (2, less)):
        trace = TraceBuilder(2)
        kernel = trace.function(name)
        site = trace.site(kernel, "STG.E", "store", 4, line=trace.line(f"/{name}.cu", 3))
        trace.count(trace.launch(kernel, 0), site, 1, times, 32 * times, 4)
        trace.write(file)
    for words in (["stats", "--by", "kernel", path], ["diff", "--by", "kernel", path, less]):
        assert run(capsys, *words, "--markdown")[1].splitlines()[2].startswith(f"| `{name}` | ")
    for words in (["stats", "--by", "line", path], ["diff", "--by", "line", path, less]):
        assert f"{name}.cu:3`" in run(capsys, *words, "--markdown")[1].splitlines()[2]


def test_csv_has_no_formula(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["=cmd|' /C calc'!A0", "@SUM(1)", "-2+3|x", "+1\r=2", "\t=1", "'k", "k-1"]
    path, more = tmp_path / "evil.zst", tmp_path / "more.zst"
    for times, file in ((2, path), (1, more)):
        trace = TraceBuilder(2)
        for name in names:
            kernel = trace.function(name)
            trace.count(trace.launch(kernel, 0), trace.site(kernel, "STG.E", "store", 4), 1, times, 32 * times, 4)
        trace.write(file)
    for words in (["stats", "--by", "kernel", path], ["diff", "--by", "kernel", path, more]):
        rows = list(csv.DictReader(io.StringIO(run(capsys, *words, "--csv")[1], newline="")))
        assert {row["kernel"] for row in rows} == {f"'{name}" for name in names[:-1]} | {"k-1"}
    # A number is no formula, also where it is negative.
    assert {row["change"] for row in rows} == {"-128"}


def test_memory_events_have_no_formula(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = TraceBuilder(2)
    for number, name in enumerate(("=cmd|' /C calc'!A0", "x-1")):
        trace.allocation("device", 4096, 1, number, address=4096 * (number + 1), name=trace.string(name))
    out = run(capsys, "memory", "--events", trace.write(tmp_path / "evil.zst"))[1]
    rows = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
    assert [row["var_name"] for row in rows] == ["'=cmd|' /C calc'!A0", "x-1"]


def test_csv_has_numbers_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    values = [-3, None, -0.5, 2**63, float("nan"), float("-inf"), "-3", True, {"a": [-1, "\u202e"]}]
    formats.print_csv(pd.DataFrame({"a": pd.Series(values, dtype=object), "b": range(-1, 8)}))
    assert list(csv.reader(io.StringIO(capsys.readouterr().out))) == [
        ["a", "b"], ["-3", "-1"], ["", "0"], ["-0.5", "1"], [str(2**63), "2"], ["", "3"], ["", "4"], ["'-3", "5"],
        ["True", "6"], ['{"a": [-1, "\\u202e"]}', "7"],
    ]  # fmt: skip


def test_stats_json_is_exact_and_alone_on_stdout(ring_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys, "stats", "--json", ring_path)
    told = json.loads(out)
    assert (status, err) == (0, "")
    assert list(told) == ["version", "by", "reading", "complete", "estimated", "summary", "gpus", "rows", "copies",
                          "collectives", "not_measured", "losses"]  # fmt: skip
    assert {name: told["summary"][name] for name in ring.TOTALS} == ring.TOTALS
    labels = [gpu["label"] for gpu in told["gpus"]]
    assert labels == ["GPU 0", "GPU 1", "GPU 2", "GPU 3"]
    cells = {(row["issuer"], row["owner"]): row["bytes"] for row in told["rows"]}
    expected = {
        (labels[i], labels[j]): value for i, row in enumerate(ring.ISSUED_BYTES) for j, value in enumerate(row) if value
    }
    assert cells == expected
    assert all(type(row["bytes"]) is int for row in told["rows"])


@pytest.fixture
def busy_path(tmp_path: Path) -> Path:
    """A store by a collective's kernel, and copies of two kinds."""
    trace = TraceBuilder(2)
    trace.header["gpus"][1]["visible"] = False
    site = trace.site(trace.function("nccl()"), "STG.E", "store", 4)
    trace.count(trace.launch(1, 0, group=3), site, 1, 1, 32, 4)
    trace.collective(3, "AllReduce", 256, gpu=0, reduction="sum")
    trace.copy(254, 0, 3 << 20, gpu=0, call="cuMemcpyHtoDAsync_v2")
    trace.copy(0, 1, 1 << 20, gpu=0, call="cuMemcpyPeerAsync")
    return trace.write(tmp_path / "busy.zst")


def test_stats_of_copies_and_collectives(busy_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "stats", busy_path)
    assert out.splitlines() == [
        "Issuer  Owner  Accesses  Bytes  Share  Wire bytes  Wire efficiency",
        "GPU 0   GPU 1         1  128 B  100 %       128 B            100 %",
        "1 accesses, 128 B, 128 B on the wire, wire efficiency 100 %",
        "",
        "Copies that the host started",
        "From   To     Kind    Call                  Copies  Bytes  Share  Host time",
        "host   GPU 0  linear  cuMemcpyHtoDAsync_v2       1  3 MiB   75 %       2 µs",
        "GPU 0  GPU 1  linear  cuMemcpyPeerAsync          1  1 MiB   25 %       2 µs",
        "2 copies, 4 MiB",
        "",
        "Collectives, with the traffic of their kernels",
        "Operation  Reduction  Type     Communicator        Calls  Launches  Bytes of calls  Accesses  Bytes  Share  "
        "Wire bytes  Wire efficiency",
        "AllReduce  sum        float32  0x0000000000c0ffee      1         1           1 KiB         1  128 B  100 %  "
        "     128 B            100 %",
        "1 call",
    ]
    copies, collectives = (run(capsys, "stats", "--by", by, busy_path)[1] for by in ("copy", "collective"))
    assert copies.splitlines() == out.splitlines()[5:9]
    assert collectives.splitlines() == out.splitlines()[11:]
    # Kernels start no copies.
    _, out, _ = run(capsys, "stats", "--by", "copy", "-k", "nccl", busy_path)
    assert out == "no copy that the host started was recorded\n"


def test_stats_json_of_copies_and_collectives(busy_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(run(capsys, "stats", "--json", "--by", "collective", busy_path)[1])
    assert told["rows"] == told["collectives"]
    assert [(row["operation"], row["call_bytes"], row["bytes"]) for row in told["rows"]] == [("AllReduce", 1024, 128)]
    assert [(row["from"], row["bytes"]) for row in told["copies"]] == [("host", 3 << 20), ("GPU 0", 1 << 20)]
    assert told["summary"]["copy_bytes"] == 4 << 20
    assert told["not_measured"] == []


def test_info_of_copies_and_hidden_gpus(busy_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "info", busy_path)
    assert "bytes of copies     4 MiB (4,194,304)" in out.splitlines()
    gpus = next(block for block in out.split("\n\n") if block.startswith("GPUs")).splitlines()
    assert [line.split()[-1] for line in gpus[1:]] == ["Visible", "yes", "no"]


def test_stats_json_has_null_where_there_is_no_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = TraceBuilder(2).write(tmp_path / "quiet.zst")
    _, out, _ = run(capsys, "stats", "--json", path)
    assert json.loads(out)["summary"]["wire_efficiency"] is None


def test_stats_of_chosen_kernels(ring_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "stats", "--json", "-k", "ring_put", "-k", "*get*", ring_path)
    assert json.loads(out)["summary"]["accesses"] == 128
    status, out, err = run(capsys, "stats", "-k", "absent", ring_path)
    assert (status, out) == (2, "")
    assert err.startswith("snoopie: no kernel is called absent; the trace has ring_bump(")


def test_stats_of_no_traffic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = TraceBuilder(2).write(tmp_path / "quiet.zst")
    assert run(capsys, "stats", path)[1] == "no access by a kernel to another GPU's memory was measured\n"


def test_stats_of_a_folder_sums_processes(two_process_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "stats", "--json", two_process_folder)
    assert json.loads(out)["summary"]["bytes"] == ring.TOTALS["bytes"]


# Traces that are not whole, and errors


@pytest.mark.parametrize("command", ["info", "stats"])
def test_a_truncated_trace_is_refused_or_read(cut_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    status, out, err = run(capsys, command, cut_path)
    assert (status, out) == (1, "")
    (line,) = err.splitlines()
    assert line.endswith("are intact; --allow-truncated reads them")
    status, out, err = run(capsys, command, "--allow-truncated", cut_path)
    assert status == 0
    assert "is incomplete" in out + err
    assert "allow_truncated" not in out + err
    assert f"--allow-truncated {cut_path}" in err.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ([], 2),
        (["nonsense"], 2),
        (["stats"], 2),
        (["stats", "--by", "colour", "x"], 2),
        (["stats", "--reading", "flow", "--by", "line", "x"], 2),
        (["stats", "absent.zst"], 1),
        (["info", __file__], 1),
        (["view", "absent.zst"], 1),
        (["view", "--port", "0", __file__], 2),
        (["export", "--format", "xlsx", "-o", "x", "x"], 2),
        (["export", "--format", "csv", "x"], 2),
    ],
)
def test_errors_are_one_line(words: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        given = cli.main(words)
    except SystemExit as exit:
        given = int(exit.code or 0)
    done = capsys.readouterr()
    assert (given, done.out) == (status, "")
    (line,) = done.err.splitlines()
    assert line.startswith("snoopie: ")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        cli.main(["--version"])
    assert exit.value.code == 0
    assert capsys.readouterr().out == f"snoopie {snoopie.__version__}\n"


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        cli.main([command, "--help"])
    assert exit.value.code == 0
    assert f"snoopie {command}" in capsys.readouterr().out


def test_help_is_the_help_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    for words, same in ((["help"], ["--help"]), (["help", "stats"], ["stats", "--help"])):
        assert cli.main(words) == 0
        told = capsys.readouterr().out
        with pytest.raises(SystemExit):
            cli.main(same)
        assert told == capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        cli.main(["help", "nonsense"])
    assert capsys.readouterr().err == "snoopie: there is no command nonsense; snoopie --help says more\n"


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    put = trace.function("put")
    sites = [trace.site(put, "STG.E", "store", 4, line=trace.line("a" * 200, n + 1)) for n in range(2000)]
    launch = trace.launch(put, 0)
    for site in sites:
        trace.count(launch, site, 1, 1, 32, 4)
    path = trace.write(tmp_path / "long.zst")
    command = f"{sys.executable} -m snoopie.cli stats --by line {path} 2>{tmp_path}/err | head -n 1"
    bash = ["bash", "-c", f"set -o pipefail; {command}"]
    done = subprocess.run(bash, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert (tmp_path / "err").read_text() == ""


# info


def test_info_tells_what_is_there_and_what_is_not(two_process_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "info", two_process_folder)
    assert status == 0
    sections = [block.splitlines() for block in out.split("\n\n")]
    assert [section[0] for section in sections] == [
        "Processes",
        "GPUs",
        "Links reported by the driver",
        "Settings",
        "Totals",
        "Instructions that were not measured",
        "What the trace lacks",
    ]
    processes, gpus, links, settings, totals, not_measured, _ = sections
    assert len(processes) == 2 + 2
    assert processes[1].split()[:3] == ["Process", "Rank", "Host"]
    assert [line.split()[1] for line in processes[2:]] == ["0", "1"]
    assert len(gpus) == 2 + 4
    assert len(links) == 2 + 12
    assert len(settings) == 2 + 1
    assert "bytes              52.2 KiB (53,440)" in totals
    # The same line and kernel in both processes.
    assert len(not_measured) == 3
    assert not_measured[2].split()[-2:] == ["UTMALDG.1D", "64"]


def test_info_lists_only_what_ran_of_what_was_not_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = ring.ring_builder()
    for opcode in ("TEX", "SULD.2D", "UBLKCP.S.G"):
        trace.site(1, opcode, "load", 0, measured=False)
    _, out, _ = run(capsys, "info", trace.write(tmp_path / "t.zst"))
    (section,) = (block for block in out.split("\n\n") if block.startswith("Instructions that were not measured"))
    _, _, *ran, idle = section.splitlines()
    assert [line.split()[-2:] for line in ran] == [["UTMALDG.1D", "64"]]
    assert idle == "3 more did not run in any launch with probes."


def test_info_shows_settings_that_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TraceBuilder(2, pid=1).write(tmp_path / "1.zst")
    TraceBuilder(2, pid=2, settings={"sample_size": 100}).write(tmp_path / "2.zst")
    _, out, _ = run(capsys, "info", tmp_path)
    settings = next(block for block in out.split("\n\n") if block.startswith("Settings")).splitlines()
    assert [line.split()[2] for line in settings[2:]] == ["1", "100"]


def test_info_does_not_invent_links(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = TraceBuilder(1)
    trace.header["gpus"][0]["nvlinks"] = -1
    _, out, _ = run(capsys, "info", trace.write(tmp_path / "x.zst"))
    gpus, links = (block for block in out.split("\n\n") if block.startswith(("GPUs", "Links")))
    assert dict(zip(*(re.split(r"  +", line) for line in gpus.splitlines()[1:]), strict=True))["NVLinks"] == "–"
    assert links.splitlines()[1:] == ["none"]


def test_names_from_a_trace_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = TraceBuilder(2)
    evil = trace.function("evil\033[2J\r\n\u202ename")
    site = trace.site(evil, "STG.E", "store", 4, line=trace.line("a\033]0;x\007.cu", 1))
    trace.count(trace.launch(evil, 0), site, 1, 1, 32, 4)
    trace.notice("a\nb\033c")
    trace.header["gpus"][0]["name"] = "\033[31mred"
    path = trace.write(tmp_path / "evil.zst")
    for words in (["info"], ["stats", "--by", "line"], ["stats", "--by", "kernel"], ["stats", "-k", "x"]):
        _, out, err = run(capsys, *words, path)
        shown = (out + err).replace("\n", "")
        assert shown.isprintable(), words


# How tables look


class Terminal:
    """A stream that claims to be a terminal."""

    def __init__(self) -> None:
        self.text = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.text += text
        return len(text)


@pytest.mark.parametrize("no_color", [False, True])
def test_a_terminal_gets_lines_that_fit(ring_path: Path, monkeypatch: pytest.MonkeyPatch, no_color: bool) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    else:
        monkeypatch.delenv("NO_COLOR", raising=False)
    terminal = Terminal()
    table = snoopie.load(ring_path).by_line()
    table["source"] = [f"{'deep/' * 30}{file}" for file in table["file"]]
    output.print_table(table[["source", "kernel", "bytes"]], terminal)  # type: ignore[arg-type]
    heading, *rows = terminal.text.splitlines()
    assert heading.startswith("\033[1m") != no_color
    assert all(len(row) <= 100 for row in rows)
    # Of a path the end is kept, of a name the beginning.
    assert rows[0].startswith("…")
    assert "ring.cu" in rows[0]
    assert "void ring_put" in rows[0]


# Kernels by short names


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("put", ["put(float*, int)"]),
        ("put*", ["put(float*, int)"]),
        ("k", ["void n::(anonymous namespace)::k<int, m::p<2> >(a<b>, void (*)(int))"]),
        ("n::*", ["void n::(anonymous namespace)::k<int, m::p<2> >(a<b>, void (*)(int))"]),
        ("scale", ["void scale<float>(float*)", "void scale<int>(int*)"]),
        ("scale<int>", ["void scale<int>(int*)"]),
        ("void scale<int>(int*)", ["void scale<int>(int*)"]),
        ("plain", ["plain"]),
    ],
)
def test_short_names_of_kernels(wanted: str, found: list[str]) -> None:
    present = [
        "put(float*, int)",
        "void n::(anonymous namespace)::k<int, m::p<2> >(a<b>, void (*)(int))",
        "void scale<float>(float*)",
        "void scale<int>(int*)",
        "plain",
    ]
    assert choose_kernels([wanted], present) == found
    with pytest.raises(UsageError, match="no kernel is called cale"):
        choose_kernels(["cale"], present)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("nccl", ["ncclDevKernel_AllReduce_Sum_f32(int)", "ncclKernel_x", "ncclSymkDevKernel_y(int)"]),
        ("nvshmem", ["barrier_on_stream_kernel", "void nvshmemi_put<int>(int*)"]),
    ],
)
def test_libraries_stand_for_their_kernels(wanted: str, found: list[str]) -> None:
    present = ["my_nccl_copy(int)", "put", *found]
    assert sorted(choose_kernels([wanted], present)) == sorted(found)
    # As in the collector, which has them in kernel_filter.cpp.
    filter_ = (ROOT / "nvbit_tool/src/settings/kernel_filter.cpp").read_text()
    assert all(f'"{pattern}"' in filter_ for pattern in names.LIBRARIES[wanted])
    with pytest.raises(UsageError, match="no kernel is called nccl; the trace has put"):
        choose_kernels(["nccl"], ["put"])


# view


def test_view_takes_patterns_as_next_names_them(
    two_process_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda program, words: started.append(words))
    _, _, err = run(capsys, "stats", two_process_folder / "*.zst")
    _, *words = shlex.split(err.splitlines()[-1].removeprefix("Next: "))
    assert words == ["view", str(two_process_folder / "*.zst")]
    assert cli.main([*words, "--compare", str(two_process_folder / "*.zst")]) is None
    (command,) = started
    paths = sorted(map(str, two_process_folder.glob("*.zst")))
    assert command[command.index("--") + 1 :] == [*(f"--compare={path}" for path in paths), *paths]
    assert run(capsys, "view", two_process_folder / "*.txt")[0] == 1


def test_view_becomes_the_server(ring_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda program, words: started.append([program, *words]))
    cli.main(["view", str(ring_path)])
    cli.main(["view", str(ring_path), "--source", str(ring_path.parent), "--port", "9000", "--allow-truncated"])
    cli.main(["view", str(ring_path), "--compare", str(ring_path), "--no-token", "--address", "localhost"])
    cli.main(["view", str(ring_path), "--address", "0.0.0.0"])
    cli.main(["view"])
    server = [sys.executable, sys.executable, str(ROOT / "visualizer" / "server" / "serve.py")]
    assert [words[:3] for words in started] == [server] * 5
    plain, fixed, opened, everywhere, nothing = (
        (words[3 : words.index("--")], words[words.index("--") + 1 :]) for words in started
    )
    assert plain == (["--address=127.0.0.1"], [str(ring_path)])
    sources = [f"--source={ring_path.parent}", "--allow-truncated", str(ring_path)]
    assert fixed == (["--address=127.0.0.1", "--port=9000"], sources)
    compared = [f"--compare={ring_path}", str(ring_path)]
    assert opened == (["--address=127.0.0.1", "--no-token", "--page=compare"], compared)
    assert everywhere == (["--address=0.0.0.0"], [str(ring_path)])
    # What can be opened is chosen in the app.
    assert nothing == (["--address=127.0.0.1"], [])


def test_the_app_of_a_wheel_is_in_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "snoopie"
    app = package / "_app" / "visualizer" / "app.py"
    app.parent.mkdir(parents=True)
    monkeypatch.setattr(snoopie, "__file__", str(package / "__init__.py"))
    with pytest.raises(SnoopieError, match=f"the app is not at {app}; install the package again"):
        view.find_app()
    app.touch()
    assert view.find_app() == app


def test_view_maps_sources(
    ring_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda program, words: started.append(words))
    here = ring_path.parent
    cli.main(["view", str(ring_path), "--source-map", f"/a/b={here}", "--source-map", f"/c={here}"])
    (words,) = started
    assert words[words.index("--") + 1 :] == [f"--source-map=/a/b={here}", f"--source-map=/c={here}", str(ring_path)]
    capsys.readouterr()
    status, _, err = run(capsys, "view", ring_path, "--source-map", f"/a/b={here}/absent")
    assert (status, f"there is no {here}/absent" in err) == (1, True)
    with pytest.raises(SystemExit):
        cli.main(["view", str(ring_path), "--source-map", str(here)])
    assert "BUILT=HERE" in capsys.readouterr().err


def test_the_app_is_where_view_looks() -> None:
    assert view.find_app().is_file()
