"""Launches one by one, and by the calls that made them."""

from __future__ import annotations

from pathlib import Path

import pytest

import snoopie
from snoopie.errors import UsageError
from tests.support.encoder import START_NS, TraceBuilder
from tests.support.ring import BUMP, ring_builder, write_two_processes


def timed() -> TraceBuilder:
    """The ring, whose launches ran 100, 200, … ns, the first called last; the last has no span."""
    trace = ring_builder()
    launches = trace.rows["launches"]
    launches[0]["time"] = START_NS + 50_000
    launches[1] |= {"grid_y": 2, "shared_memory": 1024}
    launches[2] |= {"grid_x": 7, "grid_z": 3, "block_y": 2}
    for number, row in enumerate(launches[:-1], start=1):
        trace.add("spans", launch=row["id"], start=row["time"] + 10, end=row["time"] + 10 + 100 * number)
    return trace


def load(trace: TraceBuilder, folder: Path) -> snoopie.Trace:
    return snoopie.load(trace.write(folder / "t.zst"))


def test_most_bytes_first(tmp_path: Path) -> None:
    trace = load(timed(), tmp_path)
    table = trace.single_launches()
    # Four launches put 8192 bytes each, three bump 4160, four get 2048.
    assert table["bytes"].tolist() == [8192] * 4 + [4160] * 3 + [2048] * 4
    assert table["launch"].tolist()[:4] == [1, 3, 6, 9]
    assert table["kernel"].tolist()[4:7] == [BUMP] * 3
    assert table["bytes"].sum() == trace.summary()["bytes"]
    assert table["accesses"].sum() == 224
    assert table["issuer"].tolist()[:4] == ["GPU 0", "GPU 1", "GPU 2", "GPU 3"]


def test_orders_of_time(tmp_path: Path) -> None:
    trace = load(timed(), tmp_path)
    longest = trace.single_launches("ran", 3)
    assert longest[["launch", "ran"]].values.tolist() == [[10, 1000], [9, 900], [8, 800]]
    earliest = trace.single_launches("start")
    assert earliest["launch"].tolist()[0] == 2
    assert earliest["launch"].tolist()[-1] == 1
    # The clock of all pages: it begins with the first moment of the trace.
    began = earliest.set_index("launch")["began"]
    assert (began + trace.period[0]).tolist() == trace.timeline().loc[began.index, "start"].tolist()
    assert (began.diff().dropna() >= 0).all()
    assert earliest.set_index("launch")["ran"].loc[11] == -1
    with pytest.raises(UsageError, match="cannot be ordered by 'size'"):
        trace.single_launches("size")  # type: ignore[arg-type]


def test_shapes(tmp_path: Path) -> None:
    table = load(timed(), tmp_path).single_launches().set_index("launch")
    assert table.loc[[1, 2, 3], ["grid", "block", "shared_memory"]].values.tolist() == [
        ["4", "128", 0],
        ["4 × 2", "128", 1024],
        ["7 × 1 × 3", "128 × 2", 0],
    ]


def test_launches_without_traffic_and_without_any(tmp_path: Path) -> None:
    builder = ring_builder()
    idle = builder.launch(1, 2)
    trace = load(builder, tmp_path)
    table = trace.single_launches().set_index("launch")
    assert table.loc[idle, ["bytes", "accesses"]].tolist() == [0, 0]
    assert len(table) == 12
    assert trace.select(kernels="none").single_launches().empty
    assert trace.select(kernels=[BUMP]).single_launches("start")["launch"].tolist() == [5, 8, 11]


def test_ranks(tmp_path: Path) -> None:
    trace = snoopie.load(write_two_processes(tmp_path))
    table = trace.single_launches()
    assert table.groupby("process")["rank"].unique().map(list).to_dict() == {0: [0], 1: [1]}


def test_who_launched(tmp_path: Path) -> None:
    builder = ring_builder()
    module = builder.add("modules", path=builder.string("/home/u/ring"))
    stacks = []
    for number in (1, 2):
        frame = builder.add("frames", module=module, address=number)
        place = {"file": builder.string("/home/u/ring.cu"), "function": builder.string(f"f{number}()"), "line": number}
        builder.add("symbols", frame=frame, **place)
        stacks.append(builder.add("stacks", frame=frame, caller=0))
    for row in builder.rows["launches"]:
        row["stack"] = {1: stacks[0], 3: stacks[1]}.get(row["function"], 0)
    table = load(builder, tmp_path).by_launch_stack()
    assert table[["stack", "source", "launches", "bytes"]].values.tolist() == [
        [1, "ring.cu:1 f1", 4, 4 * 8192],
        [2, "ring.cu:2 f2", 3, 3 * 4160],
        [0, "", 4, 4 * 2048],
    ]
