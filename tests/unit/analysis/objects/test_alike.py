"""Allocations that are one array of the program, with objects that arithmetic knows, and in a sample."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import snoopie
from snoopie.analysis.objects import alike
from tests.support.encoder import TraceBuilder

SAMPLES = Path(__file__).resolve().parents[4] / "sample_traces"


def arrays(rows: list[tuple[int, int, str, str]], kind: str = "device") -> pd.DataFrame:
    """Of objects from 1 on, each with process, owner, name and source."""
    table = pd.DataFrame(rows, columns=["process", "owner", "name", "source"], index=range(1, len(rows) + 1))
    return alike.arrays(table.assign(kind=kind, call="cuMemAlloc_v2"), table["name"], table["source"])


def test_the_nth_of_each_rank_and_owner_is_one_array() -> None:
    line = "a.cu:3 main"
    # Two arrays, each on two GPUs; and the second process sees those of the first.
    found = arrays([(p, owner, "grid", line) for p in (0, 1) for _ in "ab" for owner in (0, 1)])
    assert found["array"].tolist() == [1, 1, 3, 3, 1, 1, 3, 3]
    assert found["name"].tolist() == ["grid (1)"] * 2 + ["grid (2)"] * 2 + ["grid (1)"] * 2 + ["grid (2)"] * 2


def test_names_and_places_keep_arrays_apart() -> None:
    found = arrays([(0, 0, "a", "x.cu:1 f"), (1, 1, "a", "x.cu:2 f"), (1, 1, "", "x.cu:9 g"), (0, 0, "", "x.cu:9 g")])
    assert found["array"].tolist() == [1, 2, 3, 3]
    assert found["name"].tolist() == ["a (1)", "a (2)", "x.cu:9 g", "x.cu:9 g"]


def test_what_nobody_is_known_to_have_made_stands_alone() -> None:
    found = arrays([(0, 0, "", ""), (0, 1, "", ""), (1, 0, "", "")])
    assert found["array"].tolist() == [1, 2, 3]
    assert found["name"].tolist() == ["", "", ""]


def test_an_array_that_is_not_freed_everywhere_is_not_freed(tmp_path: Path) -> None:
    builder = TraceBuilder(3)
    put = builder.function("put")
    site, launch = builder.site(put, "STG.E", "store", 4), builder.launch(put, 2)
    for owner, end in ((0, 90), (1, None)):
        made = builder.allocation("device", 128, owner, 0, end, name=builder.string("grid"))
        builder.add("counts", launch=launch, site=site, owner=owner, object=made, accesses=1, lanes=32, wire_units=8)
    trace = snoopie.load(builder.write(tmp_path / "t.zst"))
    assert trace.by_object(merged=True)[["allocations", "freed"]].to_numpy().tolist() == [[2, 0]]


def test_halo_has_two_arrays() -> None:
    """Each PE makes two grids, and sees those of its two neighbours: 40 iterations' halos of 4096 elements, up and
    down, from four PEs, half of them into either grid."""
    trace = snoopie.load(SAMPLES / "halo-4gpu")
    table = trace.by_object(merged=True)
    first = table.head(2)
    assert first["name"].tolist() == ["symmetric<float> (1)", "symmetric<float> (2)"]
    assert first["bytes"].sum() == trace.summary()["bytes"]
    assert first["bytes"].nunique() == 1
    # Of all four PEs, each of which sees all.
    assert first[["allocations", "owner"]].to_numpy().tolist() == [[16, "GPUs 0–3"]] * 2
    assert set(first["size"]) == {66 * 4096 * 4}
    for name in ("bytes", "accesses", "copied_in", "copied_out"):
        assert table[name].sum() == trace.by_object()[name].sum()
    # Of all copies together, each GPU has its line, and the borders are whole rows.
    every = trace.arrays().query("array == array.loc[@first.object[0]]").index.tolist()
    heat = trace.object_heat(every, 66, width=4096 * 4)
    assert heat.index.tolist() == ["GPU 0", "GPU 1", "GPU 2", "GPU 3"]
    assert heat.sum(axis=0).to_numpy().nonzero()[0].tolist() == [0, 65]
    assert heat.to_numpy().sum() == first["bytes"][0]
    assert trace.row_length(every) == 4096 * 4


def test_names_of_libraries_are_no_names_of_the_program() -> None:
    trace = snoopie.load(SAMPLES / "allreduce-4gpu")
    names = set(trace.by_object()["name"])
    assert names & {"work", "default_pg, _"} == set()
    assert "values" in names
    assert trace.by_object(merged=True)["name"][0] == "allreduce.py:30 main"
