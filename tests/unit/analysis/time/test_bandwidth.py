"""Rates and shares of the links' capacity, by arithmetic."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

import snoopie
from snoopie.analysis.time import bandwidth
from snoopie.errors import UsageError
from tests.support.encoder import HOST, START_NS, TraceBuilder

# (issuer, owner, operation, sectors, start, end in ns)
Moved = tuple[int, int, str, int, int, int]


def timed(tmp_path: Path, moved: Sequence[Moved], trace: TraceBuilder | None = None) -> snoopie.Trace:
    trace = trace or TraceBuilder(3)
    function = trace.function("k()")
    sites = {name: trace.site(function, name, name, 4) for name in ("load", "store", "atomic", "reduction")}
    for issuer, owner, operation, sectors, start, end in moved:
        launch = trace.launch(function, issuer)
        trace.count(launch, sites[operation], owner, sectors, 8 * sectors, sectors)
        trace.add("spans", launch=launch, start=START_NS + start, end=START_NS + end)
    return snoopie.load(trace.write(tmp_path / "t.zst"))


def test_time_in_which_several_ran_counts_once(tmp_path: Path) -> None:
    table = timed(
        tmp_path,
        [
            (0, 1, "store", 1000, 0, 100),
            (0, 1, "store", 1000, 50, 150),
            (1, 0, "load", 1000, 120, 170),  # from GPU 0 to GPU 1 as well
            (0, 1, "store", 1000, 1000, 1030),
        ],
    ).bandwidth()
    (row,) = table.to_dict("records")
    assert (row["from"], row["to"], row["wire_bytes"], row["busy"]) == ("GPU 0", "GPU 1", 128_000, 200)
    assert row["rate"] == 640e9
    # H200: 18 links of 25 GB/s a direction.
    assert row["capacity"] == 450e9
    assert row["capacity_share"] == pytest.approx(640 / 450)


def test_gpus_with_all_others(tmp_path: Path) -> None:
    trace = timed(
        tmp_path,
        [(0, 1, "store", 100, 0, 100), (0, 2, "store", 300, 50, 200), (0, HOST, "store", 7, 0, 900)],
    )
    table = trace.bandwidth("gpu").set_index(["gpu", "direction"])
    assert table["wire_bytes"].to_dict() == {
        ("GPU 0", "out"): 12800, ("GPU 2", "in"): 9600, ("GPU 1", "in"): 3200
    }  # fmt: skip
    assert table.loc[("GPU 0", "out"), "busy"] == 200
    # What goes to the host takes another way, whose capacity the trace does not know.
    to_host = trace.bandwidth().set_index("to").loc["host"]
    assert (to_host["wire_bytes"], to_host["busy"]) == (224, 900)
    assert math.isnan(to_host["capacity"]) and math.isnan(to_host["capacity_share"])


def test_launches_without_times_are_left_out(tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    function = trace.function("k()")
    site = trace.site(function, "STG.E", "store", 4)
    for sectors in (8, 16):
        launch = trace.launch(function, 0)
        trace.count(launch, site, 1, 1, 8, sectors)
    trace.add("spans", launch=launch, start=START_NS, end=START_NS + 10)
    loaded = snoopie.load(trace.write(tmp_path / "t.zst"))
    assert loaded.bandwidth()["wire_bytes"].tolist() == [512]
    assert loaded.select(launches=1).bandwidth().empty
    assert "1 launch is left out" in loaded.without_device_times()[0]


def test_calls_of_copies_are_no_times_on_the_gpu(tmp_path: Path) -> None:
    for name, settings, expected in (("own", {}, []), ("imported", {"copy_times": "device"}, [2.048e9])):
        trace = TraceBuilder(2, settings=settings)
        trace.copy(0, 1, 4096, gpu=0)  # 2 µs long
        loaded = snoopie.load(trace.write(tmp_path / f"{name}.zst"))
        assert loaded.bandwidth("pair", "host")["rate"].tolist() == expected
        assert loaded.bandwidth("pair", "both")["rate"].tolist() == expected
        assert loaded.bandwidth("pair", "device").empty


def test_no_time_is_no_rate(tmp_path: Path) -> None:
    table = timed(tmp_path, [(0, 1, "store", 100, 5, 5)]).bandwidth()
    assert table["busy"].tolist() == [0]
    assert table["rate"].isna().all()


@pytest.mark.parametrize(
    ("sm", "links", "capacity"),
    [
        (60, 4, 80e9),
        (70, 6, 150e9),
        (75, 2, 50e9),
        (80, 12, 300e9),
        (86, 4, 56.25e9),
        (90, 18, 450e9),
        (90, 8, 200e9),
        (100, 18, 900e9),
    ],
)
def test_capacities_of_known_links(sm: int, links: int, capacity: float) -> None:
    assert bandwidth.capacities(pd.DataFrame({"sm": [sm], "nvlinks": [links]})).tolist() == [capacity]


@pytest.mark.parametrize(("sm", "links"), [(90, 0), (90, -1), (89, 4), (999, 18)])
def test_capacities_that_are_not_known(sm: int, links: int) -> None:
    assert math.isnan(bandwidth.capacities(pd.DataFrame({"sm": [sm], "nvlinks": [links]}))[0])


def test_a_pair_has_what_the_smaller_end_has(tmp_path: Path) -> None:
    trace = TraceBuilder(3)
    trace.header["gpus"][1]["nvlinks"] = 8
    for link in trace.header["links"]:
        # GPU 2 is reached over PCIe.
        link["native_atomics"] = 2 not in (link["issuer"], link["owner"])
    table = timed(tmp_path, [(0, 1, "store", 2, 0, 9), (0, 2, "store", 1, 0, 9)], trace).bandwidth()
    assert table["to"].tolist() == ["GPU 1", "GPU 2"]
    assert table["capacity"].fillna(0).tolist() == [200e9, 0]


def test_nothing_moved(tmp_path: Path) -> None:
    loaded = snoopie.load(TraceBuilder(2).write(tmp_path / "t.zst"))
    for over in ("pair", "gpu"):
        for initiated in ("device", "host", "both"):
            assert loaded.bandwidth(over, initiated).empty  # type: ignore[arg-type]


def test_no_such_bandwidth(tmp_path: Path) -> None:
    loaded = snoopie.load(TraceBuilder(2).write(tmp_path / "t.zst"))
    with pytest.raises(UsageError, match="use 'pair' or 'gpu'"):
        loaded.bandwidth("link")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="'device', 'host' or 'both'"):
        loaded.bandwidth("pair", "nic")  # type: ignore[arg-type]
