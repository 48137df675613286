"""Two traces side by side: exact changes, what is matched with what, limits, and how it is said."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

import snoopie
from snoopie.analysis.comparison import side_by_side
from snoopie.analysis.comparison.limits import METRICS, Limit
from snoopie.errors import NotATraceError, SnoopieError, UsageError
from tests.support import compared, mixed, native, ring
from tests.support.encoder import TraceBuilder


@pytest.fixture
def later_path(tmp_path: Path) -> Path:
    return compared.write_later(tmp_path)


@pytest.fixture
def changed(ring_path: Path, later_path: Path) -> snoopie.Comparison:
    """The ring, and the ring as it became."""
    return snoopie.compare(ring_path, later_path)


def rows(table: pd.DataFrame, *keys: str) -> dict[object, tuple[object, ...]]:
    """key (or keys) → a, b, change, only."""
    names = [table[key] for key in keys]
    amounts = zip(table["a"], table["b"], table["change"], table["only"], strict=True)
    return dict(zip(names[0] if len(keys) == 1 else zip(*names, strict=True), amounts, strict=True))


def test_summary(changed: snoopie.Comparison) -> None:
    table = changed.summary()
    assert list(table.index) == [*METRICS, "wire_efficiency"]
    for name, before in ring.TOTALS.items():
        now = compared.TOTALS[name]
        assert (table["a"][name], table["b"][name], table["change"][name]) == (before, now, now - before)
        assert table["ratio"][name] == now / before
    assert table["change"][["launches", "kernels", "copies", "copy_bytes"]].tolist() == [1, 1, 1, 1 << 20]
    # Four objects of 2 MiB of which one is freed, then five and none.
    assert table["b"]["peak_memory"] - table["a"]["peak_memory"] == 2 << 20
    assert (table["a"]["leaks"], table["b"]["leaks"]) == (6 << 20, 10 << 20)
    assert table["a"]["wire_efficiency"] == 53440 / 101376
    assert math.isnan(table["ratio"]["copies"])
    assert all(type(table["b"][name]) is int for name in METRICS)


def test_matrices_are_over_the_places_of_both(changed: snoopie.Comparison) -> None:
    a, b, change = changed.matrices()
    assert list(a.index) == list(b.columns) == [f"GPU {number}" for number in range(5)]
    assert (a.index.name, a.columns.name) == ("issuer", "owner")
    assert a.to_numpy()[:4, :4].tolist() == ring.ISSUED_BYTES
    assert change.to_numpy().tolist() == compared.CHANGED_BYTES
    assert (b - a).equals(change)
    assert {str(kind) for matrix in (a, b, change) for kind in matrix.dtypes} == {"int64"}
    assert changed.matrix("accesses", "flow").to_numpy().sum() == 64 + 8


def test_places_that_are_no_gpus_come_last_as_ever(tmp_path: Path, later_path: Path) -> None:
    (tmp_path / "mixed").mkdir()
    both = snoopie.compare(mixed.write_mixed(tmp_path / "mixed"), later_path)
    kinds = [label.split()[0] for label in both.matrix().index]
    assert kinds == ["GPU"] * 5 + ["host", "unknown", "multicast", "multicast"]


def test_multicast_objects_of_a_are_before_those_of_b_with_the_same_number(tmp_path: Path) -> None:
    traces = []
    for name, members in (("a", (0,)), ("b", (1,))):
        trace = TraceBuilder(2)
        kernel = trace.function("k")
        launch, site = trace.launch(kernel, 0), trace.site(kernel, "STG.E", "store", 4)
        for owner in range(64, 70):
            trace.count(launch, site, trace.set(owner, *members), 1, 32, 4)
        traces.append(snoopie.load(trace.write(tmp_path / f"{name}.zst")))
    assert snoopie.compare(*traces).matrix().index.tolist()[2:] == [
        f"multicast {number} (GPU {gpu})" for number in range(6) for gpu in (0, 1)
    ]


def test_by_pair(changed: snoopie.Comparison) -> None:
    table = changed.by_pair()
    assert table["change"].tolist() == [2048] * 4 + [1024, 0, 0]
    found = rows(table, "issuer", "owner")
    assert found["GPU 3", "GPU 0"] == (14400, 16448, 2048, "")
    assert found["GPU 0", "GPU 2"] == (0, 1024, 1024, "B")
    assert table.set_index(["issuer", "owner"])["ratio"]["GPU 0", "GPU 1"] == 1.2
    assert math.isnan(table.set_index(["issuer", "owner"])["ratio"]["GPU 0", "GPU 2"])
    (copied,) = rows(changed.by_pair("copies", "flow", "host"), "from", "to").items()
    assert copied == (("host", "GPU 0"), (0, 1, 1, "B"))
    both = changed.by_pair("host_bytes", initiated="both")
    assert both["change"].tolist()[0] == 1 << 20


def test_kernels_are_matched_by_their_whole_name(changed: snoopie.Comparison) -> None:
    assert rows(changed.by_kernel(), "kernel") == {
        ring.PUT: (32768, 32768, 0, ""),
        ring.GET: (8192, 16384, 8192, ""),
        ring.BUMP: (12480, 0, -12480, "A"),
        compared.COUNT: (0, 12480, 12480, "B"),
        compared.SCALE: (0, 1024, 1024, "B"),
    }
    assert changed.by_kernel()["change"].abs().is_monotonic_decreasing
    assert rows(changed.by_kernel("launches"), "kernel")[compared.SCALE] == (0, 1, 1, "B")


def test_lines_are_matched_where_the_source_lay_elsewhere(changed: snoopie.Comparison) -> None:
    table = changed.by_line("wire_bytes")
    assert rows(table, "file", "line") == {
        (ring.SHIFT_H, 4): (65536, 131072, 65536, ""),
        (compared.SCALE_CU, 3): (0, 1024, 1024, "B"),
        (ring.RING_CU, 6): (32768, 32768, 0, ""),
        (ring.RING_CU, 18): (1536, 1536, 0, ""),
        (ring.RING_CU, 19): (1536, 1536, 0, ""),
    }
    assert table["kernel"].tolist()[:2] == [ring.GET, compared.SCALE]
    assert changed.files()["b"].tolist() == ["/build/7/ring/include/shift.h", "/build/7/ring/src/ring.cu"]


def test_least_times_are_compared_where_nothing_ran_natively(changed: snoopie.Comparison) -> None:
    """GPUs 0 to 3 get twice as much of ring_get, at the same links."""
    assert not changed.has_native
    kernels, lines = changed.times(), changed.times("line")
    # Also where both have the same kernels.
    assert snoopie.compare(changed.a, changed.a).times().dtypes["kernel"] == kernels.dtypes["kernel"] == "str"
    assert kernels.set_index("kernel")["ratio"][ring.GET] == pytest.approx(2, rel=0.02)
    assert rows(lines, "file", "line")[ring.SHIFT_H, 4][:2] == rows(kernels, "kernel")[ring.GET][:2]
    assert lines.set_index("line")["line_b"].to_dict() == {4: 4, 3: 3, 6: 6, 18: 18, 19: 19}
    assert rows(changed.times("pair"), "from", "to")["GPU 0", "GPU 2"][0] > 0


def test_native_times_are_compared_where_both_have_them(tmp_path: Path) -> None:
    """Put moves something and takes 1 ms by itself, gemm moves nothing."""
    sides = []
    for name, number in (("a", 4), ("b", 6)):
        folder = tmp_path / name
        folder.mkdir()
        work = [native.Launch("put", moves=True), native.Launch("gemm")] * number
        native.write_exact(folder, [native.Rank([work])], run=name)
        native.write_clean(folder, [native.Rank([work])], run=name)
        sides.append(folder)
    both = snoopie.compare(*sides)
    assert both.has_native
    assert rows(both.times(), "kernel") == {"put(int*)": (4_000_000, 6_000_000, 2_000_000, "")}


def test_objects_are_added_up_by_name_line_and_owner(changed: snoopie.Comparison, tmp_path: Path) -> None:
    found = rows(changed.by_object(), "owner", "kind")
    assert found["GPU 0", "device"] == (22720, 24768, 2048, "")
    assert found["GPU 1", "device"] == (10240, 12288, 2048, "")
    # Without records nothing tells whose object it was.
    assert found["", ""] == (0, 1024, 1024, "B")
    counted = rows(changed.by_object("objects"), "owner")
    assert (counted["GPU 0"][:2], counted[""][:2]) == ((1, 1), (0, 0))


def named_objects(path: Path, *sizes: int) -> Path:
    """A trace of objects called halo, each written to once."""
    trace = TraceBuilder(2)
    function = trace.function("k()")
    site = trace.site(function, "STG.E", "store", 4)
    for number, size in enumerate(sizes):
        address = 0x7F00_0000_0000 + (number << 30)
        made = trace.allocation("device", size, 1, 10, address=address, name=trace.string("halo"))
        launch = trace.launch(function, 0)
        trace.add("counts", launch=launch, site=site, owner=1, accesses=1, lanes=32, wire_units=4, object=made)
    return trace.write(path)


def test_objects_of_one_name_are_one(tmp_path: Path) -> None:
    a, b = named_objects(tmp_path / "a.zst", 4096), named_objects(tmp_path / "b.zst", 4096, 8192)
    both = snoopie.compare(a, b)
    assert rows(both.by_object("size"), "name") == {"halo": (4096, 12288, 8192, "")}
    assert rows(both.by_object("objects"), "name") == {"halo": (1, 2, 1, "")}
    assert rows(both.by_object(), "name") == {"halo": (128, 256, 128, "")}


def test_of_no_traffic(ring_path: Path, tmp_path: Path) -> None:
    empty = TraceBuilder(2).write(tmp_path / "empty.zst")
    quiet = snoopie.compare(empty, empty)
    assert not quiet.different
    for table in (quiet.by_pair(), quiet.by_kernel(), quiet.by_line(), quiet.by_object()):
        assert len(table) == 0
    assert quiet.summary()["a"]["peak_memory"] is None
    gone = snoopie.compare(ring_path, empty)
    assert set(gone.by_line()["only"]) == {"A"}
    assert gone.by_pair()["b"].tolist() == [0] * 6


def test_large_amounts_stay_exact() -> None:
    keys = {"kernel": pd.Series(["k"], dtype="str")}
    a, b = (pd.DataFrame(keys | {"bytes": [2**62 + more]}) for more in (1, 2))
    other = pd.DataFrame({"kernel": pd.Series(["other"], dtype="str"), "bytes": [2**53 + 1]})
    table = side_by_side.side_by_side(a, pd.concat([b, other]), ["kernel"], "bytes")
    assert table["change"].tolist() == [2**53 + 1, 1]
    assert table["a"].tolist() == [0, 2**62 + 1]


def test_a_trace_and_itself(ring_path: Path, changed: snoopie.Comparison) -> None:
    same = snoopie.compare(ring_path, ring_path)
    assert not same.different
    assert same.remarks()[0] == "A and B are the same recording."
    assert changed.different


@pytest.mark.parametrize("change", ["copy", "kernel"])
def test_any_difference_is_one(ring_path: Path, tmp_path: Path, change: str) -> None:
    other = ring.ring_builder()
    if change == "copy":
        other.copy(0, 1, 4, gpu=0)
    for row in other.rows["strings"] if change == "kernel" else ():
        row["text"] = row["text"].replace("ring_get", "ring_fetch")
    assert snoopie.compare(ring_path, other.write(tmp_path / "other.zst")).different


def test_a_line_put_in_above_all_others_is_no_difference(ring_path: Path, tmp_path: Path) -> None:
    other = ring.ring_builder()
    for row in other.rows["lines"]:
        row["line"] += 1
    compared = snoopie.compare(ring_path, other.write(tmp_path / "other.zst"))
    assert not compared.different
    rows = compared.by_line()
    assert (rows["line_b"] - rows["line"])[rows["line"] > 0].tolist() == [1, 1, 1, 1]


def test_views_can_be_compared(changed: snoopie.Comparison) -> None:
    part = snoopie.compare(changed.a.select(operations="load"), changed.b.select(operations="load"))
    assert part.summary()["change"]["bytes"] == 8192
    assert rows(part.by_kernel(), "kernel") == {ring.GET: (8192, 16384, 8192, "")}


def test_values_that_are_not_there(changed: snoopie.Comparison) -> None:
    for by in (changed.by_pair, changed.by_kernel, changed.by_line, changed.by_object):
        with pytest.raises(UsageError, match="no value 'wire_efficiency' to compare here; use '"):
            by("wire_efficiency")


# which file is which


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (["/x/a.cu"], ["/x/a.cu"], {"/x/a.cu": "/x/a.cu"}),
        (["/x/src/a.cu"], ["/y/src/a.cu"], {"/y/src/a.cu": "/x/src/a.cu"}),
        (["/x/a.cu"], ["b/a.cu"], {"b/a.cu": "/x/a.cu"}),
        (["/x/./src//a.cu"], ["/y/src/a.cu"], {"/y/src/a.cu": "/x/./src//a.cu"}),
        (["/x/a.cu"], ["/x/b.cu"], {}),
        # The longest common end wins; the path that is equal wins over all.
        (["/x/p/u.h", "/x/q/u.h"], ["/y/q/u.h", "/y/p/u.h"], {"/y/q/u.h": "/x/q/u.h", "/y/p/u.h": "/x/p/u.h"}),
        (["/x/p/u.h", "/x/q/u.h"], ["/x/q/u.h", "/z/u.h"], {"/x/q/u.h": "/x/q/u.h", "/z/u.h": "/x/p/u.h"}),
        # Two that fit equally well: neither.
        (["/x/p/u.h", "/x/q/u.h"], ["/y/r/u.h"], {}),
        (["/x/p/u.h"], ["/y/r/u.h", "/z/s/u.h"], {}),
        (["", "/"], ["", "//"], {"": ""}),
        (["/a" * 5000 + "/u.h"], ["/b" + "/a" * 5000 + "/u.h"], {"/b" + "/a" * 5000 + "/u.h": "/a" * 5000 + "/u.h"}),
    ],
)
def test_same_files(a: list[str], b: list[str], same: dict[str, str]) -> None:
    assert side_by_side.same_files(a, b) == same


# limits


def exceeded(text: str, a: int | None, b: int | None) -> str | None:
    limit = Limit.parse(text)
    return limit.exceeded(side_by_side.summary({limit.metric: a}, {limit.metric: b}))


@pytest.mark.parametrize(
    ("limit", "a", "b", "is_exceeded"),
    [
        ("bytes:0", 100, 100, False),
        ("bytes:0", 100, 101, True),
        ("bytes:0", 100, 99, False),
        ("bytes:5%", 100, 105, False),
        ("bytes:5%", 100, 106, True),
        ("bytes:0.1%", 1000, 1001, False),
        ("bytes:0.1%", 1000, 1002, True),
        ("bytes:100%", 0, 1, True),
        ("bytes:100%", 0, 0, False),
        ("bytes:1KiB", 0, 1024, False),
        ("bytes:1KiB", 0, 1025, True),
        ("bytes:1.5 KB", 0, 1501, True),
        ("copy_bytes:10MiB", 5, 5 + (10 << 20), False),
        ("copy_bytes:10B", 5, 16, True),
        ("accesses:2K", 5, 2005, False),
        ("launches:1000", 0, 1001, True),
        # Beyond what a float tells apart.
        ("bytes:0", 2**62, 2**62 + 1, True),
    ],
)
def test_limits(limit: str, a: int, b: int, is_exceeded: bool) -> None:
    assert (exceeded(limit, a, b) is not None) == is_exceeded


def test_limits_say_what_is_wrong() -> None:
    assert exceeded("bytes:5%", 2048, 3072) == "bytes rose by 1 KiB (50 %) to 3 KiB, more than the 5% allowed"
    assert exceeded("launches:0", 0, 1200) == "launches rose by 1.2 K to 1.2 K, more than the 0 allowed"
    with pytest.raises(SnoopieError, match="leaks is unknown for B"):
        exceeded("leaks:0", 0, None)


@pytest.mark.parametrize("text", ["bytes", "byte:5%", ":5%", "wire_efficiency:5%", ""])
def test_wrong_limits(text: str) -> None:
    with pytest.raises(UsageError, match="is not a limit; use METRIC:AMOUNT"):
        Limit.parse(text)


@pytest.mark.parametrize(
    "text", ["bytes:", "bytes:5M", "bytes:-1", "bytes:nan", "bytes:1e3", "launches:5MiB", "bytes:٣%", "bytes:5 % "]
)
def test_wrong_amounts(text: str) -> None:
    with pytest.raises(UsageError, match="is not an amount of"):
        Limit.parse(text)


# how it is said


def test_remarks(changed: snoopie.Comparison) -> None:
    remarks = changed.remarks()
    assert remarks[:2] == [
        "A has 4 GPUs, B has 5 GPUs: they are matched by their numbers.",
        "2 files have other paths in B than in A: matched by the paths' ends.",
    ]
    assert remarks[2].startswith("A and B: 1 instruction of a kind that cannot be measured")
    assert len(remarks) == 3


def test_remark_on_wire_units(tmp_path: Path) -> None:
    paths = []
    for unit in (32, 16):
        trace = TraceBuilder(2)
        trace.count(trace.launch(trace.function("k"), 0), trace.site(1, "STG", "store", 4, wire_unit=unit), 1, 1, 32, 8)
        paths.append(trace.write(tmp_path / f"{unit}.zst"))
    (remark,) = snoopie.compare(*paths).remarks()
    assert remark.startswith("What is written was not counted in the same wire units in A and B")
    assert len(snoopie.compare(paths[1], paths[1]).remarks()) == 1  # that they are the same


def test_remarks_on_how_the_recordings_differ(ring_path: Path, two_process_folder: Path, tmp_path: Path) -> None:
    other = ring.ring_builder(pid=5)
    other.header["settings"] |= {"host_memory": False, "kernels": "ring_*"}
    for known in other.header["gpus"]:
        known["name"] = "NVIDIA <b>"
    other.write(tmp_path / "other.zst")
    remarks = snoopie.compare(two_process_folder, tmp_path / "other.zst").remarks()
    assert remarks[0] == "A is of 2 processes, B of 1 process."
    assert "The GPUs are others: NVIDIA H200 in A, NVIDIA <b> in B." in remarks
    assert "Accesses to the host's memory were not measured alike in A and B." in remarks
    assert "B: Only some kernels were measured: those selected by 'ring_*'." in remarks


def test_estimates_are_marked(ring_path: Path, tmp_path: Path) -> None:
    sampled = ring.ring_builder(pid=5)
    for row in sampled.rows["functions"]:
        for place in range(4):
            measured = sum(a["function"] == row["id"] and a["gpu"] == place for a in sampled.rows["launches"])
            sampled.add("sampling", function=row["id"], gpu=place, launches=2 * measured, measured=measured)
    both = snoopie.compare(ring_path, sampled.write(tmp_path / "sampled.zst"))
    assert both.about == ("", "≈ ")
    assert both.summary()["ratio"]["bytes"] == 2
    assert both.summary_in_words().loc["bytes"].tolist() == ["52.2 KiB", "≈ 104.4 KiB", "+52.2 KiB", "2 ×"]
    assert any(remark.startswith("B: 1 launch in 2 was measured") for remark in both.remarks())


def test_incomplete_traces_are_named(ring_path: Path, tmp_path: Path) -> None:
    cut = ring.ring_builder(pid=5).write(tmp_path / "cut.zst", footer=False)
    both = snoopie.compare(snoopie.load(ring_path), snoopie.load(cut, allow_truncated=True))
    assert any(remark.startswith("B: ") and "only what comes before is shown" in remark for remark in both.remarks())
    assert both.summary()["b"]["leaks"] is None
    assert both.summary_in_words().loc["leaks"].tolist() == ["6 MiB", "not known", "–", "–"]
    with pytest.raises(snoopie.TruncatedError):
        snoopie.compare(ring_path, cut)


def test_in_words() -> None:
    table = pd.DataFrame({"a": [0, 8, 3, 1], "b": [2048, 6, 3, 4000], "change": [2048, -2, 0, 3999]})
    table = table.assign(ratio=table["b"] / table["a"].where(table["a"] != 0), only=["B", "", "", ""])
    words = side_by_side.in_words(table, ["bytes"] * 4, ("", "≈ "))
    assert words.to_numpy().tolist() == [
        ["0 B", "≈ 2 KiB", "+2 KiB", "only in B"],
        ["8 B", "≈ 6 B", "-2 B", "0.75 ×"],
        ["3 B", "≈ 3 B", "0 B", "1 ×"],
        ["1 B", "≈ 3.9 KiB", "+3.9 KiB", "4,000 ×"],
    ]


def test_in_a_notebook(changed: snoopie.Comparison, ring_path: Path, tmp_path: Path) -> None:
    shown = changed._repr_html_()
    assert "+9 KiB" in shown
    assert "A has 4 GPUs" in shown
    assert "&lt;Trace of 1 process" in shown
    assert "5 GPUs" in repr(changed)
    hostile = ring.ring_builder(pid=5)
    hostile.notice("<script>alert(1)</script>")
    assert "<script" not in snoopie.compare(ring_path, hostile.write(tmp_path / "h.zst"))._repr_html_()


def test_what_is_no_trace(ring_path: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(NotATraceError):
        snoopie.compare(ring_path, tmp_path / "notes.txt")
