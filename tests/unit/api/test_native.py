"""Exact bytes over native times: two recordings of one program, joined."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

import snoopie
from snoopie.errors import UsageError
from snoopie.importers.nsys import import_nsys
from snoopie.words.columns import COLUMNS
from tests.support.encoder import START_NS, TraceBuilder
from tests.support.native import FILE, SECTORS, Launch, Rank, write_clean, write_exact
from tests.support.nsys_export import Export
from tests.support.ring import write_ring

PUT = Launch("put", moves=True)
GEMM = Launch("gemm", grid=8, ran=3_000_000)
STEP = [PUT, GEMM, Launch("gemm", grid=16), Launch("norm")]
BYTES = 32 * SECTORS


def joined(folder: Path, exact: Sequence[Rank], clean: Sequence[Rank] | None = None) -> snoopie.Trace:
    one = write_exact(folder / "exact", exact)
    return snoopie.load(one, times=write_clean(folder / "clean", exact if clean is None else clean))


def outcomes(trace: snoopie.Trace, recording: str = "exact") -> dict[str, int]:
    table = trace.native_matching()
    table = table[table["recording"] == recording]
    return dict(zip(table["outcome"], table["launches"], strict=True))


def matched_share(trace: snoopie.Trace) -> float:
    found = outcomes(trace)
    return found["matched"] / sum(found.values())


def test_bytes_over_native_time(tmp_path: Path) -> None:
    trace = joined(tmp_path, [Rank([STEP * 5])])
    assert outcomes(trace) == {"matched": 20}
    assert trace.native_losses() == []
    lines = trace.native_by("line")
    assert list(lines.columns) == ["file", "line", *COLUMNS_OF_RATES]
    (row,) = lines.to_dict("records")
    assert (row["file"], row["line"], row["native_launches"]) == (FILE, 10, 5)
    # Five launches of a millisecond, not of the ten that the probes made of it.
    assert row["native_time"] == 5_000_000
    assert row["native_rate"] == pytest.approx(BYTES / 1e-3)
    # 18 links of 25 GB/s.
    assert row["least_time"] == pytest.approx(5 * BYTES / 450e9 * 1e9)
    assert row["link_share"] == pytest.approx(BYTES / 450e9 / 1e-3)
    (pair,) = trace.native_by("pair").to_dict("records")
    assert (pair["issuer"], pair["owner"], pair["native_time"]) == ("GPU 0", "GPU 1", 5_000_000)
    assert trace.native_by("kernel")["kernel"].tolist() == ["put(int*)"]
    assert trace.native_by("launch")["launch"].tolist() == [1, 5, 9, 13, 17]
    assert trace.native_by("launch")["native_time"].tolist() == [1_000_000] * 5


COLUMNS_OF_RATES = ["native_launches", "native_time", "native_bytes", "native_rate", "least_time", "link_share"]


def test_a_view_has_the_times_of_its_launches(tmp_path: Path) -> None:
    trace = joined(tmp_path, [Rank([STEP * 5])])
    view = trace.select(launches=[5, 6, 9])
    assert view.native_times().index.tolist() == [5, 6, 9]
    assert view.native_by("kernel")["native_time"].tolist() == [2_000_000]
    assert trace.select(kernels="gemm(int*)").native_by("kernel").empty


def test_all_columns_are_explained(tmp_path: Path) -> None:
    trace = joined(tmp_path, [Rank([STEP])])
    tables = [
        trace.native_times().reset_index(),
        trace.native_overlap(),
        trace.native_matching(),
        trace.native_arrivals(),
    ]
    tables += [trace.native_by(by) for by in ("pair", "kernel", "line", "launch")]
    assert {column for table in tables for column in table} <= set(COLUMNS)


def test_streams_with_other_numbers_and_kernels_of_one_name_in_several(tmp_path: Path) -> None:
    streams = [STEP * 10, [GEMM, PUT] * 7, [PUT] * 9]
    turned = Rank([streams[2], streams[0], streams[1]], handles={0: 31, 1: 7, 2: 13})
    trace = joined(tmp_path, [Rank(streams)], [turned])
    assert outcomes(trace) == {"matched": 40 + 14 + 9}
    assert trace.native_losses() == []
    # Each with a launch of the stream that runs the same.
    assert trace.clean is not None
    pairs = (
        trace.native_times()
        .join(trace.launches["stream"])
        .join(trace.clean.launches["stream"].rename("clean_stream"), on="native_launch")
    )
    assert pairs.groupby("stream")["clean_stream"].agg(["nunique", "first"]).to_numpy().tolist() == [
        [1, 7],
        [1, 13],
        [1, 31],
    ]


def test_streams_that_run_the_same_are_told_apart_by_their_order_and_it_is_said(tmp_path: Path) -> None:
    trace = joined(tmp_path, [Rank([STEP * 3, STEP * 3])])
    assert outcomes(trace) == {"matched": 24}
    assert trace.native_losses() == [
        "24 launches are in streams that run the same: these were told apart by which was used first."
    ]


def test_a_handle_that_is_that_of_several_streams_one_after_another(tmp_path: Path) -> None:
    """The driver gives a new stream the handle of one that is gone; CUPTI numbers it anew."""
    ranks = [Rank([STEP * 6, [PUT, Launch("copy")] * 5])]
    exact = write_exact(tmp_path / "exact", ranks)
    trace = snoopie.load(exact, times=write_clean(tmp_path / "clean", ranks, split=8))
    assert outcomes(trace) == {"matched": 24 + 10}
    assert trace.native_losses() == []
    both = trace.native_times().join(trace.launches["stream"])
    for _, own in both.groupby("stream"):
        assert own["start"].is_monotonic_increasing


def test_a_warm_up_and_dropped_launches(tmp_path: Path) -> None:
    """Ranks that warm up differently, and recordings that each lack some launches: the rest is matched."""
    chance = random.Random(3)
    exact, clean = [], []
    for rank in range(4):
        body = STEP * 150
        own = [Launch("init"), *body]
        lost = set(chance.sample(range(len(body)), 4))
        dropped = set(chance.sample(range(len(body)), 3))
        exact.append(Rank([[launch for place, launch in enumerate(own) if place not in lost]], rank % 2, rank, 4))
        other = [Launch("tune"), Launch("tune", grid=9), Launch("init")]
        other += [launch for place, launch in enumerate(body) if place not in dropped]
        clean.append(Rank([other], rank % 2, rank, 4))
    # Ranks in another order.
    trace = joined(tmp_path, exact, clean[::-1])
    assert matched_share(trace) >= 0.99
    both = trace.native_times().join(trace.launches[["kernel", "grid_x", "process"]])
    assert trace.clean is not None
    other_side = trace.clean.launches.loc[both["native_launch"]]
    assert both["grid_x"].tolist() == other_side["grid_x"].tolist()
    ranks = [recording.processes["rank"] for recording in (trace, trace.clean)]
    assert ranks[0].loc[both["process"]].tolist() == ranks[1].loc[other_side["process"]].tolist()
    assert outcomes(trace, "clean")["their kernel was not measured in the exact recording"] == 8
    (sentence, _) = trace.native_losses()
    assert sentence.endswith(": the recordings have them in different numbers.")


def test_launches_of_which_nobody_knows_which_is_missing_are_not_matched(tmp_path: Path) -> None:
    trace = joined(tmp_path, [Rank([[PUT] * 100])], [Rank([[PUT] * 99])])
    assert outcomes(trace) == {"matched": 0, "the recordings have them in different numbers": 100}
    assert trace.native_by("kernel").empty
    assert trace.native_losses() == [
        "100 launches have no native time (100 %): the recordings have them in different numbers.",
        "99 launches of the clean recording matched none.",
    ]


@pytest.mark.parametrize(
    ("clean", "reason"),
    [
        ([Rank([[GEMM]])], "their kernel did not run in the clean recording"),
        ([Rank([[dataclasses.replace(PUT, grid=5)]])], "no stream of the clean recording is like theirs"),
        ([Rank([[PUT]], gpu=1)], None),
    ],
)
def test_why_a_launch_was_not_matched(tmp_path: Path, clean: list[Rank], reason: str | None) -> None:
    trace = joined(tmp_path, [Rank([[PUT]])], clean)
    # The only GPU that it uses is the same, whatever its number.
    assert outcomes(trace) == ({"matched": 1} if reason is None else {"matched": 0, reason: 1})
    others = set(outcomes(trace, "clean")) - {"matched"}
    assert not [other for other in others if "the clean recording" in other]


def test_ranks_that_are_not_there(tmp_path: Path) -> None:
    exact = [Rank([STEP], rank, rank, 2) for rank in (0, 1)]
    trace = joined(tmp_path, exact, [dataclasses.replace(exact[0]), dataclasses.replace(exact[1], rank=5)])
    assert outcomes(trace) == {"matched": 4, "no process of the clean recording is of their rank": 4}


def test_a_tool_that_knows_only_demangled_names(tmp_path: Path) -> None:
    exact = write_exact(tmp_path / "exact", [Rank([STEP])])
    clean = write_clean(tmp_path / "clean", [Rank([STEP])], mangled=False, tool="Nsight Systems")
    assert outcomes(snoopie.load(exact, times=clean)) == {"matched": 4}


def test_communication_beside_other_kernels(tmp_path: Path) -> None:
    # put runs 1 ms twice; beside the first, gemm runs for 0.4 ms, and beside the second and after it for 1.5 ms.
    short, long = Launch("gemm", ran=400_000), Launch("gemm", grid=9, ran=1_500_000)
    trace = joined(tmp_path, [Rank([[PUT, PUT], [short, Launch("wait", ran=600_000 - 5_000), long]])])
    (row,) = trace.native_overlap().to_dict("records")
    gap = 5_000
    assert row == {
        "gpu": "GPU 0",
        "communication": 2_000_000,
        "overlapped": 2_000_000 - gap,
        "computation": 400_000 + 600_000 - gap + 1_500_000,
        "not_known": 0,
    }


def test_whom_the_others_wait_for(tmp_path: Path) -> None:
    """Rank 1 starts each of three collectives 2 ms after rank 0."""
    work = [Launch("ncclDevKernel", moves=True, group=number, grid=number) for number in (1, 2, 3)]
    ranks = [Rank([work], rank, rank, 2, late=2_000_000 * rank, collectives=(1, 2, 3)) for rank in (0, 1)]
    trace = joined(tmp_path, ranks)
    assert trace.native_arrivals().to_dict("records") == [
        {"rank": 1, "collectives": 3, "came_last": 3, "waited": 0, "waited_for": 6_000_000},
        {"rank": 0, "collectives": 3, "came_last": 0, "waited": 6_000_000, "waited_for": 0},
    ]
    # Half of the ranks say nothing.
    (tmp_path / "half").mkdir()
    assert joined(tmp_path / "half", ranks[:1]).native_arrivals().empty


def test_a_folder_with_both_recordings_of_a_run(tmp_path: Path) -> None:
    write_exact(tmp_path, [Rank([STEP])], run="one")
    write_clean(tmp_path, [Rank([STEP])], run="one")
    trace = snoopie.load(tmp_path)
    assert len(trace.paths) == 1 and len(trace.launches) == 4
    assert outcomes(trace) == {"matched": 4}
    # The clean one alone is a trace like any other.
    alone = snoopie.load(tmp_path / "times0.zst")
    assert alone.clean is None and len(alone.launches) == 4


def test_without_a_clean_recording(tmp_path: Path) -> None:
    trace = snoopie.load(write_exact(tmp_path / "exact", [Rank([STEP])]))
    assert trace.clean is None
    for asked in (trace.native_by, trace.native_overlap, trace.native_matching, trace.native_arrivals):
        with pytest.raises(UsageError, match="there are no native times; record with `snoopie run --with-times`"):
            asked()
    with pytest.raises(UsageError, match="there are no native times by 'file'"):
        trace.native_by("file")  # type: ignore[arg-type]


def test_what_cannot_be_a_clean_recording(tmp_path: Path) -> None:
    exact = write_exact(tmp_path / "exact", [Rank([STEP])])
    ring = write_ring(tmp_path)
    with pytest.raises(UsageError, match="was recorded with instrumentation, so its times are not native"):
        snoopie.load(exact, times=ring)
    with pytest.raises(UsageError, match="has no times of kernels"):
        snoopie.load(exact, times=write_clean(tmp_path / "clean", [Rank([[]])]))


def test_launches_that_were_only_timed_help_to_match(tmp_path: Path) -> None:
    """Of a sampled kernel nobody knows which launches were measured, unless the others were timed (TIMES=all)."""
    builder = TraceBuilder(2)
    kernel = builder.function("put(int*)", "_ZputPi")
    site = builder.site(kernel, "STG.E", "store", 4)
    measured = [place % 3 == 0 for place in range(12)]
    for place, chosen in enumerate(measured):
        when = START_NS + 1_000_000 * place
        if chosen:
            launch = builder.launch(kernel, 0, stream=64, time=when)
            builder.count(launch, site, 1, SECTORS // 4, 8 * SECTORS, SECTORS)
    builder.add("sampling", function=kernel, gpu=0, launches=12, measured=4)
    # In a file without the others nothing can be told.
    (tmp_path / "sampled").mkdir()
    sampled = builder.write(tmp_path / "sampled" / "t.zst")
    clean = write_clean(tmp_path / "clean", [Rank([[PUT] * 12])])
    assert outcomes(snoopie.load(sampled, times=clean)) == {
        "matched": 0,
        "only some launches of their kernel were measured": 4,
    }
    shape = {"grid_x": 4, "grid_y": 1, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1}
    for place, chosen in enumerate(measured):
        when = START_NS + 1_000_000 * place
        if not chosen:
            builder.add("unmeasured_launches", kernel=builder.string("put(int*)"), gpu=0, stream=64, thread=4711,
                        time=when, start=when, end=when + 100, **shape)  # fmt: skip
    trace = snoopie.load(builder.write(tmp_path / "timed.zst"), times=clean)
    assert trace.native_times()["native_launch"].tolist() == [1, 4, 7, 10]
    assert trace.native_by("kernel")["native_time"].tolist() == [4_000_000]
    assert len(trace.unmeasured_launches) == 8
    # They keep their GPU busy.
    assert trace.resources()["busy"].tolist() == [8 * 100]


def test_a_report_of_nsight_systems_has_native_times_too(tmp_path: Path) -> None:
    """The same two kernels, by another tool: other streams, names without mangling, other numbers of GPUs."""
    export = Export("2025")
    for step in range(4):
        for place, name in enumerate(("put(int *)", "gemm(int *)")):
            start = 10_000_000 * step + 1_000_000 * place
            call = export.call("cudaLaunchKernel_v7000", start, start + 5_000)
            export.kernel(name, start + 10_000, start + 10_000 + (place + 1) * 500_000, call)
    for row in export.rows["CUPTI_ACTIVITY_KIND_KERNEL"]:
        row |= {"gridY": 1, "gridZ": 1, "mangledName": None}
    imported = import_nsys(export.write(tmp_path / "report.sqlite"), tmp_path / "report.zst")
    exact = write_exact(tmp_path / "exact", [Rank([[PUT, dataclasses.replace(GEMM, grid=4)] * 4])])
    trace = snoopie.load(exact, times=imported.paths)
    assert outcomes(trace) == {"matched": 8}
    assert trace.native_by("kernel")["native_time"].tolist() == [4 * 500_000]
