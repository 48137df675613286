"""What was lost is said, in plain sentences; and nothing is said when nothing was lost."""

from __future__ import annotations

from pathlib import Path

import pytest

import snoopie
from snoopie.analysis import losses as losses_module
from tests.support.encoder import START_NS, UNKNOWN, TraceBuilder
from tests.support.ring import GET, ring_builder


def complete_builder() -> TraceBuilder:
    trace = TraceBuilder(2)
    site = trace.site(trace.function("k"), "STG.E", "store", 4, line=trace.line("k.cu", 3))
    launch = trace.launch(1, 0)
    trace.count(launch, site, 1, 1, 32, 4)
    trace.record(launch, site, 1, 0x1000, 4)
    return trace


def losses(trace: TraceBuilder, tmp_path: Path) -> list[str]:
    return snoopie.load(trace.write(tmp_path / "t.zst")).losses()


def test_nothing_lost(tmp_path: Path) -> None:
    assert losses(complete_builder(), tmp_path) == []


@pytest.mark.parametrize(
    ("totals", "sentence"),
    [
        ({"launches_lost": 1}, "1 launch could not be measured: its traffic is missing."),
        ({"launches_lost": 12_345}, "12.3 K launches could not be measured: their traffic is missing."),
        ({"launches_outside": 1}, "1 launch outside of what was to be recorded: in no amount."),
        ({"launches_outside": 5, "copies_outside": 2}, "5 launches and 2 copies outside of what was to be recorded"),
        ({"records_dropped": 2}, "2 records were dropped because the ring was full"),
        ({"errors": 3}, "The collector had 3 errors"),
        ({"records_written": 7}, "The footer reports 7 records, but the trace of process 4711 holds 1."),
        ({"accesses": 3}, "The footer reports 3 accesses, but the trace of process 4711 holds 1."),
    ],
)
def test_totals(tmp_path: Path, totals: dict[str, int], sentence: str) -> None:
    trace = complete_builder()
    trace.totals = totals
    (said,) = losses(trace, tmp_path)
    assert said.startswith(sentence)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"sample_size": 100}, "Records are a sample of about 1 in 100 accesses."),
        ({"sample_size": 0}, "No single accesses were recorded"),
        ({"blocks": "0-7,12"}, "Only some thread blocks were measured: those selected by '0-7,12'."),
        ({"kernels": "ring_*"}, "Only some kernels were measured: those selected by 'ring_*'."),
        (
            {"capture_range": "solve", "launch_count": 0},
            "Only a part of the program was recorded: capture range solve.",
        ),
        ({"delay": 5, "launch_skip": 2}, "Only a part of the program was recorded: launch skip 2, delay 5 s."),
        ({"code_attribution": False}, "Source lines were switched off"),
    ],
)
def test_settings(tmp_path: Path, settings: dict[str, object], sentence: str) -> None:
    trace = complete_builder()
    trace.header["settings"] |= settings
    (said,) = losses(trace, tmp_path)
    assert said.startswith(sentence)


def test_sites_that_were_not_measured(tmp_path: Path) -> None:
    trace = snoopie.load(ring_builder().write(tmp_path / "t.zst"))
    (said,) = trace.losses()
    assert said == (
        "1 instruction of a kind that cannot be measured (UTMALDG) ran 64 times: what it moved is not in this trace; "
        "not_measured() names them."
    )
    columns = ["site", "opcode", "line", "accesses", "lanes"]
    assert trace.not_measured()[columns].to_numpy(dtype=object).tolist() == [[2, "UTMALDG.1D", 6, 64, 64]]
    assert trace.select(operations="load").not_measured()["site"].tolist() == [2]
    assert trace.select(operations="store").not_measured().empty
    # A view by GPU counts the runs there; whose memory it was nobody knows, so owners do not matter.
    assert trace.select(issuers=1).not_measured()["accesses"].tolist() == [16]
    assert trace.select(owners=0).not_measured()["accesses"].tolist() == [64]
    assert trace.select(kernels=GET).not_measured()["accesses"].tolist() == [0]


def test_runs_that_were_not_measured_are_no_traffic(tmp_path: Path) -> None:
    """Not even where the width is known and the row has an owner and wire units."""
    trace = complete_builder()
    skipped = trace.site(1, "UTMASTG.2D", "store", 16, measured=False)
    trace.count(1, skipped, 1, 1000, 2000, 3000)
    loaded = snoopie.load(trace.write(tmp_path / "t.zst"))
    assert loaded.counts["accesses"].tolist() == [1]
    assert loaded.matrix().to_numpy().tolist() == [[0, 128], [0, 0]]
    assert loaded.matrix().index.tolist() == ["GPU 0", "GPU 1"]
    assert loaded.summary()["accesses"] == 1
    for table in (loaded.by_pair(), loaded.by_kernel(), loaded.by_site(), loaded.by_line(), loaded.by_operation()):
        assert table["bytes"].tolist() == [128]
    assert loaded.not_measured()[["accesses", "lanes"]].to_numpy().tolist() == [[1000, 2000]]


def test_kinds_that_were_not_measured(tmp_path: Path) -> None:
    trace = complete_builder()
    for number, opcode in enumerate(("TEX.B.LL", "UTMALDG.2D", "TEX", "SULD", "SUST.P", "TLD4", "TXD", "FUTURE")):
        site = trace.site(1, opcode, "load", 0, measured=False)
        for _ in range(2):
            trace.count(1, site, UNKNOWN, number, 32 * number, 0)
    loaded = snoopie.load(trace.write(tmp_path / "t.zst"))
    assert loaded.losses() == [
        "7 instructions of kinds that cannot be measured (FUTURE, TXD, TLD4, SUST, SULD, …) ran 56 times: what they "
        "moved is not in this trace; not_measured() names them."
    ]
    unmeasured = loaded.not_measured()
    assert unmeasured["accesses"].tolist() == [14, 12, 10, 8, 6, 4, 2, 0]
    assert losses_module.that_ran(unmeasured)["accesses"].tolist() == [14, 12, 10, 8, 6, 4, 2]
    assert losses_module.that_did_not_run(unmeasured) == "1 more did not run in any launch with probes."
    assert losses_module.that_did_not_run(losses_module.that_ran(unmeasured)) == ""


def test_kinds_in_plain_words(tmp_path: Path) -> None:
    trace = complete_builder()
    for number, opcode in enumerate(("TEX.B.LL", "TLD4", "SUST.P", "UTMALDG.2D", "UBLKCP.T.S", "FUTURE")):
        trace.count(1, trace.site(1, opcode, "load", 0, measured=False), UNKNOWN, number, 32 * number, 0)
    table = losses_module.in_words(snoopie.load(trace.write(tmp_path / "t.zst")).not_measured())
    assert table.to_numpy(dtype=object).tolist() == [
        ["unknown instructions", 1, 5, 160],
        ["bulk copies that cannot be followed", 1, 4, 128],
        ["tensor copies that cannot be followed", 1, 3, 96],
        ["surface accesses", 1, 2, 64],
        ["texture reads", 2, 1, 32],
    ]
    assert losses_module.in_words(snoopie.load(complete_builder().write(tmp_path / "none.zst")).not_measured()).empty


def test_what_never_ran_is_no_loss(tmp_path: Path) -> None:
    trace = complete_builder()
    trace.site(1, "TEX", "load", 0, measured=False)
    loaded = snoopie.load(trace.write(tmp_path / "t.zst"))
    assert loaded.losses() == []
    assert loaded.not_measured()["accesses"].tolist() == [0]
    assert losses_module.that_did_not_run(loaded.not_measured()) == (
        "1 instruction that cannot be measured did not run in any launch with probes."
    )


def test_functions_without_lines(tmp_path: Path) -> None:
    trace = complete_builder()
    trace.site(trace.function("bare()", has_lines=False), "LDG.E", "load", 4)
    trace.function("nothing_to_attribute()", has_lines=False)
    (said,) = losses(trace, tmp_path)
    assert said == (
        "1 of 2 functions have no source lines: compile with -lineinfo to see them; NVIDIA's libraries come without."
    )


def test_lines_that_were_switched_off_are_not_missed(tmp_path: Path) -> None:
    trace = complete_builder()
    trace.header["settings"]["code_attribution"] = False
    trace.function("bare()", has_lines=False)
    (said,) = losses(trace, tmp_path)
    assert said.startswith("Source lines were switched off")


def test_unknown_owners_and_widths(tmp_path: Path) -> None:
    trace = complete_builder()
    trace.count(1, 1, 255, 5, 5, 5)
    trace.count(1, trace.site(1, "ODD", "load", 0), 1, 6, 6, 6)
    trace.copy(UNKNOWN, UNKNOWN, 4, gpu=0)
    trace.copy(0, UNKNOWN, 4, gpu=0)
    trace.copy(0, 254, 4, gpu=0)
    said = losses(trace, tmp_path)
    assert said[0] == "5 accesses touched memory with an unknown owner."
    assert said[1] == "2 copies have an end in memory with an unknown owner."
    assert said[2].startswith("6 accesses have an unknown width")


def test_notices(tmp_path: Path) -> None:
    trace = complete_builder()
    trace.notice("Set A.\n\tThen run again.")
    trace.notice("Mind B.")
    loaded = snoopie.load(trace.write(tmp_path / "t.zst"))
    assert loaded.losses() == ["Set A. Then run again.", "Mind B."]
    assert loaded.notices["time"].tolist() == [START_NS, START_NS]


def test_an_incomplete_trace(tmp_path: Path) -> None:
    trace = complete_builder()
    trace.dropped = 9
    path = trace.write(tmp_path / "t.zst", footer=False)
    loaded = snoopie.load(path, allow_truncated=True)
    incomplete, dropped = loaded.losses()
    assert "is incomplete" in incomplete
    assert "allow_truncated" not in incomplete
    # Without a footer the blocks themselves still say how many records had been dropped.
    assert dropped.startswith("9 records were dropped")
    assert loaded.totals == {}


def test_two_processes_say_the_same_once(tmp_path: Path) -> None:
    paths = []
    for pid in (1, 2):
        trace = complete_builder()
        trace.header["process"]["pid"] = pid
        trace.header["settings"]["sample_size"] = 10
        trace.totals = {"launches_lost": pid}
        paths.append(trace.write(tmp_path / f"{pid}.zst"))
    lost, sample = snoopie.load(paths).losses()
    assert lost.startswith("3 launches")
    assert sample.startswith("Records are a sample")
