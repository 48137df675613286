"""Alnair's logs: sums and single calls, told by what stands in a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import snoopie
from snoopie import cli
from snoopie.api.trace import Trace
from snoopie.errors import NotATraceError, SnoopieError
from snoopie.importers.alnair import import_alnair

METRICS = "name:mem_used,count:452984832\nname:cuLaunchKernel,count:523848,burst:1436854\n"
START = 1663174512512732618
TIMELINE = (
    f"name:cuMemAlloc, start:{START}, burst:1192, bytes:2097152, kind:-1\n"
    f"name:cuMemcpy, start:{START + 5}, burst:11, bytes:64, kind:1\n"
    f"name:cuMemFree, start:{START + 7}, burst:3, bytes:0\n"
)


def load(source: Path, target: Path) -> Trace:
    imported = import_alnair(source, target, force=True)
    trace = snoopie.load(imported.paths)
    assert sorted(set(trace.notices["text"])) == sorted(imported.notices)
    return trace


@pytest.mark.parametrize("swapped", [False, True])
def test_both_logs_whatever_their_names(tmp_path: Path, swapped: bool) -> None:
    names = ["metrics.log", "timeline.log"]
    for name, content in zip(reversed(names) if swapped else names, (METRICS, TIMELINE), strict=True):
        (tmp_path / name).write_text(content)
    trace = load(tmp_path, tmp_path / "t.zst")
    assert trace.call_totals[["call", "calls", "total", "bytes"]].to_numpy().tolist() == [
        ["cuMemAlloc", 1, 1_192_000, 2097152],
        ["cuMemcpy", 1, 11_000, 64],
        ["cuMemFree", 1, 3_000, 0],
        ["cuLaunchKernel", 523848, 1_436_854_000, 0],
    ]
    assert trace.calls[["call", "start", "end", "bytes", "direction"]].to_numpy().tolist() == [
        ["cuMemAlloc", START, START + 1_192_000, 2097152, ""],
        ["cuMemcpy", START + 5, START + 11_005, 64, "host to device"],
        ["cuMemFree", START + 7, START + 3_007, 0, ""],
    ]
    assert trace.memory_use[["own", "used"]].to_numpy().tolist() == [[452984832, -1]]


def test_one_log_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text(TIMELINE)
    trace = load(path, tmp_path / "t.zst")
    assert trace.call_totals[["call", "calls", "total", "bytes"]].to_numpy().tolist() == [
        ["cuMemAlloc", 1, 1_192_000, 2097152], ["cuMemcpy", 1, 11_000, 64], ["cuMemFree", 1, 3_000, 0]
    ]  # fmt: skip
    assert any(
        "no log of sums (metrics.log): the sums are those of the calls in x.log" in sentence
        for sentence in trace.losses()
    )
    path.write_text(METRICS)
    trace = load(path, tmp_path / "t.zst")
    assert trace.calls.empty
    assert any("no log of single calls (timeline.log)" in sentence for sentence in trace.losses())


# As the README of September 2022 has them: the single calls stand in metrics.log, and the sums in timeline.log.
README = {
    "metrics.log": [
        ("cuInit", 1662678141402204280, 4270333, 0), ("cuInit", 1662678145746315995, 1, 0),
        ("cuMemcpyH2D", 1662678179542395214, 18, 112), ("cuMemcpyH2D", 1662678179638013798, 32, 112),
        ("cuMemcpyH2D", 1662678179645375933, 35, 112), ("cuMemcpyH2D", 1662678179650053504, 21, 112),
        ("cuMemAlloc", 1662678413097898406, 1878, 2097152), ("cuMemAlloc", 1662678415949164683, 1723, 2097152),
        ("cuMemAlloc", 1662678415954001022, 1714, 20971520), ("cuMemAlloc", 1662678415958147512, 1595, 2097152),
    ],
    "timeline.log": [("cuInit", 4, 6202325), ("cuMemAlloc", 124, 143212), ("cuMemFree", 14, 2),
                     ("cuLaunchKernel", 537826, 4159812), ("cuMemcpyH2D", 4, 92), ("cuMemcpyD2H", 4, 0)],
}  # fmt: skip


def readme(folder: Path) -> Path:
    single = "".join(f"name:{n}, start:{s}, burst:{b}, bytes:{size}\n" for n, s, b, size in README["metrics.log"])
    sums = "name:mem_used,count:421527552\n" + "".join(
        f"name:{n},count:{c},burst:{b}\n" for n, c, b in README["timeline.log"]
    )
    for name, content in (("metrics.log", single), ("timeline.log", sums)):
        (folder / name).write_text(content)
    return folder


def test_the_sample_of_alnairs_own_readme(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trace = load(readme(tmp_path), tmp_path / "t.zst")
    table = trace.by_call().set_index("call")
    assert int(table["bytes"].sum()) == 27_263_424
    assert table["calls"].to_dict() == {"cuInit": 4, "cuMemAlloc": 124, "cuMemFree": 14, "cuLaunchKernel": 537826,
                                        "cuMemcpyH2D": 4, "cuMemcpyD2H": 4}  # fmt: skip
    assert table["host_ns"]["cuMemAlloc"] == 143_212_000
    # All four are single calls: all is known. The percentiles are bounds: up to twice too high.
    copies = table.loc["cuMemcpyH2D"]
    assert copies[["min_ns", "max_ns", "p50_ns", "p99_ns"]].tolist() == [18_000, 35_000, 32_768, 35_000]
    assert table["p50_ns"]["cuMemAlloc"] == 2_097_152
    # The bytes are those of the single calls: of the others nobody knows.
    single = [name for name, *_ in README["metrics.log"]]
    assert table["unsized"].to_dict() == {name: calls - single.count(name) for name, calls, _ in README["timeline.log"]}
    assert table.loc["cuLaunchKernel", ["min_ns", "max_ns", "p50_ns", "p99_ns", "bytes"]].isna().all()
    losses = " ".join(trace.losses())
    assert "Calls of which timeline.log has only sums" in losses
    assert "metrics.log does not" not in losses
    for command in (["calls"], ["memory", "--usage"]):
        assert cli.main([*command, str(tmp_path / "t.zst")]) == 0
    said = capsys.readouterr().out
    assert "402 MiB" in said  # 421,527,552 in use
    heading, *lines = said.splitlines()
    assert heading.endswith("Bytes  Of unknown size")
    assert next(line for line in lines if line.startswith("cuMemAlloc")).split()[-3:] == ["26", "MiB", "120"]
    assert " 0 ns " not in said
    assert cli.main(["memory", "--usage", "--json", str(tmp_path / "t.zst")]) == 0
    assert json.loads(capsys.readouterr().out)["agreement"][0]["own"] == 421_527_552


def test_a_burst_that_was_never_set_is_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "timeline.log"
    path.write_text(TIMELINE + f"name:cudaMemcpyAsync, start:{START + 9}, burst:140285180914600, bytes:3456, kind:1\n")
    trace = load(path, tmp_path / "t.zst")
    calls = trace.calls.set_index("call")
    assert calls.loc["cudaMemcpyAsync", ["end", "bytes"]].tolist() == [0, 3456]
    assert int(trace.processes["end_ns"].iloc[0]) == START + 1_192_000
    row = trace.by_call().set_index("call").loc["cudaMemcpyAsync"]
    assert row[["calls", "bytes"]].tolist() == [1, 3456]
    assert row[["host_ns", "mean_ns", "min_ns", "max_ns", "p50_ns"]].isna().all()
    assert any("never set, so that it is unknown: 1." in sentence for sentence in trace.losses())
    assert trace.single_calls("cudaMemcpyAsync")["host_ns"].isna().all()
    for command in ("calls", "info", "memory", "check"):
        assert cli.main([command, str(tmp_path / "t.zst")]) == 0
    assert " h " not in capsys.readouterr().out


def test_the_first_version(tmp_path: Path) -> None:
    (tmp_path / "metrics.log").write_text("name:cuInit\ncount:4\nburst:4213891\nname:cuMemFree\ncount:14\nburst:4\n")
    (tmp_path / "timeline.log").write_text("name:cuInit start:1662497122263345556 burst:4213887\n")
    trace = load(tmp_path, tmp_path / "t.zst")
    assert trace.by_call().set_index("call")["calls"].to_dict() == {"cuInit": 4, "cuMemFree": 14}
    assert trace.calls["start"].tolist() == [1662497122263345556]
    assert not any("Invalid" in sentence for sentence in trace.losses())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.one_of(st.text(max_size=50), st.just("name:a, start:99999999999999999999, burst:1, bytes:1")),
                max_size=10))  # fmt: skip
def test_no_line_stops_the_others(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "x.log"
    path.write_text("\n".join([*lines, METRICS + TIMELINE]), encoding="utf-8")
    assert len(load(path, tmp_path / "t.zst").calls) == 3


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text(f"name:cuMemAlloc, start:{START}, burst:1, bytes:{10**18 - 1}\n" * 3)
    with pytest.raises(SnoopieError, match="more than any machine can move"):
        import_alnair(path, tmp_path / "t.zst")
    with pytest.raises(NotATraceError, match="no line of Alnair's logs"):
        import_alnair(tmp_path, tmp_path / "t.zst")
