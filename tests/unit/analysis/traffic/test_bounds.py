"""The limits of what moved: all wire units that loads touched, and each once a launch and SM."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import snoopie
from snoopie.analysis.traffic.reading import Reading
from snoopie.api.trace import Trace
from tests.support.encoder import SCHEMA, TraceBuilder
from tests.support.program import HEAP

LOAD, STORE, ATOMIC, BULK, TENSOR = range(1, 6)


@pytest.fixture
def trace() -> TraceBuilder:
    """Two GPUs, a kernel with an instruction of each kind, and a launch by GPU 0."""
    built = TraceBuilder(2)
    kernel = built.function("k")
    built.site(kernel, "LDG.E", "load", 4)
    built.site(kernel, "STG.E", "store", 4, wire_unit=16)
    built.site(kernel, "ATOMG.E.ADD", "atomic", 4, wire_unit=16)
    built.site(kernel, "UBLKCP.S.G", "load", 16)
    built.site(kernel, "UTMALDG.2D", "load", 1)
    built.launch(kernel, 0)
    return built


def loaded(trace: TraceBuilder, folder: Path) -> Trace:
    return snoopie.load(trace.write(folder / "t.zst"))


def loads(trace: TraceBuilder, *sms: int, launch: int = 1, base: int = HEAP) -> None:
    """128 bytes by each SM, one access after the other; 0 is none that is known."""
    trace.count(launch, LOAD, 1, len(sms), 32 * len(sms), 4 * len(sms))
    for sm in sms:
        trace.record(launch, LOAD, 1, base, 4, sm=sm)


def limits(trace: Trace, reading: Reading = "issued") -> list[list[object]]:
    table = trace.wire_bounds(reading)
    assert table["wire_bytes"].sum() == trace.matrix("wire_bytes", reading).to_numpy().sum()
    return table.replace({np.nan: None}).to_numpy(dtype=object).tolist()


def test_once_a_launch_and_sm(trace: TraceBuilder, tmp_path: Path) -> None:
    loads(trace, 1, 1, 1, 2)
    # Another launch reads it anew.
    loads(trace, 2, launch=trace.launch(1, 0))
    found = loaded(trace, tmp_path)
    assert found.records["multiprocessor"].tolist() == [0, 0, 0, 1, 1]
    assert limits(found) == [["GPU 0", "GPU 1", 128.0 * 3, 128 * 5, True]]
    assert limits(found, "flow") == [["GPU 1", "GPU 0", 128.0 * 3, 128 * 5, True]]
    assert found.about_wire_bytes() == [
        "Wire bytes are the most that moved, 640 B: loads that hit in the L1 cache move nothing. "
        "The least is 384 B, with each sector read once a launch and SM."
    ]
    assert limits(found.select(launches=1)) == [["GPU 0", "GPU 1", 256.0, 512, True]]


def test_without_sms_once_a_launch(trace: TraceBuilder, tmp_path: Path) -> None:
    loads(trace, 0, 0, 0, 0)
    loads(trace, 0, launch=trace.launch(1, 0))
    found = loaded(trace, tmp_path)
    assert found.records["multiprocessor"].tolist() == [-1] * 5
    assert limits(found) == [["GPU 0", "GPU 1", 256.0, 640, False]]
    assert "each sector read once a launch." in found.about_wire_bytes()[0]


def test_a_trace_without_the_column(trace: TraceBuilder, tmp_path: Path) -> None:
    """As those of the third version."""
    older = [
        {**table, "columns": [column for column in table["columns"] if column["name"] != "sm"]} for table in SCHEMA
    ]
    trace.schema = {table["name"]: table for table in older}
    trace.header["schema"] = older
    loads(trace, 0, 0)
    assert limits(loaded(trace, tmp_path)) == [["GPU 0", "GPU 1", 128.0, 256, False]]


@pytest.mark.parametrize("recorded", [True, False])
def test_what_is_written_moves_always(trace: TraceBuilder, tmp_path: Path, recorded: bool) -> None:
    trace.count(1, STORE, 1, 2, 64, 16)
    trace.count(1, ATOMIC, 1, 2, 2, 2)
    for _ in range(2 * recorded):
        trace.record(1, STORE, 1, HEAP, 4, sm=1)
        trace.record(1, ATOMIC, 1, HEAP, 4, mask=1, sm=1)
    found = loaded(trace, tmp_path)
    assert limits(found) == [["GPU 0", "GPU 1", 288.0, 288, True]]
    assert limits(found, "flow") == [["GPU 0", "GPU 1", 288.0, 288, True], ["GPU 1", "GPU 0", 32.0, 32, True]]
    assert found.about_wire_bytes() == []


def test_the_least_is_not_known_where_a_load_has_no_record(trace: TraceBuilder, tmp_path: Path) -> None:
    loads(trace, 1, 1)
    trace.rows["records"].pop()
    trace.count(1, STORE, 1, 1, 32, 8)
    # Of GPU 1 all is known.
    loads_back = trace.launch(1, 1)
    trace.count(loads_back, LOAD, 0, 1, 32, 4)
    trace.record(loads_back, LOAD, 0, HEAP, 4, sm=1)
    found = loaded(trace, tmp_path)
    assert limits(found) == [["GPU 0", "GPU 1", None, 384, True], ["GPU 1", "GPU 0", 128.0, 128, True]]
    assert found.about_wire_bytes()[0].endswith("The least is not known, because not every load was recorded.")
    assert found.select(issuers="GPU 1").about_wire_bytes() == [
        "Each sector was read once a launch and SM, so no load can have hit in the L1 cache."
    ]


def test_every_shape(trace: TraceBuilder, tmp_path: Path) -> None:
    """Sectors 0 and 1 by a scattered access, 1 to 3 and 8 by one with gaps, 2 to 9 by a bulk copy."""
    trace.count(1, LOAD, 1, 3, 3 + 4 + 1, 2 + 4 + 1)
    trace.scattered(1, LOAD, 1, {0: HEAP + 4, 5: HEAP + 32, 9: HEAP + 60}, sm=1)
    trace.record(1, LOAD, 1, HEAP + 36, 4, mask=0b1, sm=1)
    trace.scattered(1, LOAD, 1, {0: HEAP + 32, 1: HEAP + 64, 2: HEAP + 96, 3: HEAP + 256}, sm=1)
    trace.count(1, BULK, 1, 1, 16, 8)
    trace.bulk(1, BULK, 1, HEAP + 64, 256, sm=1)
    assert limits(loaded(trace, tmp_path)) == [["GPU 0", "GPU 1", 320.0, 32 * 15, True]]


def test_lanes_that_lie_apart(trace: TraceBuilder, tmp_path: Path) -> None:
    trace.count(1, LOAD, 1, 2, 64, 64)
    trace.record(1, LOAD, 1, HEAP, 64, sm=1)
    trace.record(1, LOAD, 1, HEAP + 31 * 64, -64, sm=1)
    assert limits(loaded(trace, tmp_path)) == [["GPU 0", "GPU 1", 1024.0, 2048, True]]


def test_lanes_with_others_between_them_that_read_nothing(trace: TraceBuilder, tmp_path: Path) -> None:
    """Lanes 0 and 31: two sectors of four."""
    trace.count(1, LOAD, 1, 1, 2, 2)
    trace.record(1, LOAD, 1, HEAP, 4, mask=1 | 1 << 31, sm=1)
    assert limits(loaded(trace, tmp_path)) == [["GPU 0", "GPU 1", 64.0, 64, True]]


def test_a_tensor_copy_says_not_what_it_read(trace: TraceBuilder, tmp_path: Path) -> None:
    trace.count(1, TENSOR, 1, 1, 256, 8)
    trace.bulk(1, TENSOR, 1, HEAP, 256, sm=1)
    assert limits(loaded(trace, tmp_path)) == [["GPU 0", "GPU 1", None, 256, True]]


def test_sampled_launches(trace: TraceBuilder, tmp_path: Path) -> None:
    loads(trace, 1, 1)
    trace.add("sampling", function=1, gpu=0, launches=10, measured=1)
    found = loaded(trace, tmp_path)
    assert limits(found) == [["GPU 0", "GPU 1", 1280.0, 2560, True]]
    assert "≈ 1.2 KiB, with each sector" in found.about_wire_bytes()[0]


def test_what_was_written_counted_in_sectors(trace: TraceBuilder, tmp_path: Path) -> None:
    trace.count(1, STORE, 1, 1, 32, 4)
    trace.rows["sites"][STORE - 1]["wire_unit"] = 0
    (sentence,) = loaded(trace, tmp_path).about_wire_bytes()
    assert "counted in units of 32 bytes" in sentence
    # A lane that writes 32 bytes does so with two units of 16.
    trace.rows["sites"][STORE - 1].update(wire_unit=32, width=32)
    assert loaded(trace, tmp_path).about_wire_bytes() == []


def test_nothing(trace: TraceBuilder, tmp_path: Path) -> None:
    found = loaded(trace, tmp_path)
    assert found.wire_bounds().columns.tolist() == ["issuer", "owner", "wire_least", "wire_bytes", "per_sm"]
    assert found.wire_bounds("flow").empty
    assert found.about_wire_bytes() == []
