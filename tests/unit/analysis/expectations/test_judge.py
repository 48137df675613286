"""Expectations on traces whose traffic is known by arithmetic (tests/support/ring.py, mixed.py, sampled.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

import snoopie
from snoopie.analysis.expectations.verdict import Verdict
from snoopie.errors import UsageError
from tests.support import mixed, ring
from tests.support.encoder import HOST, TraceBuilder
from tests.support.sampled import sampled_builder


@pytest.fixture
def trace(tmp_path: Path) -> snoopie.Trace:
    """The ring without the instruction that cannot be measured."""
    builder = ring.ring_builder()
    (skipped,) = (row["id"] for row in builder.rows["sites"] if not row["measured"])
    builder.rows["counts"] = [row for row in builder.rows["counts"] if row["site"] != skipped]
    return snoopie.load(builder.write(tmp_path / "ring.zst"))


@pytest.fixture
def mixed_trace(mixed_folder: Path) -> snoopie.Trace:
    return snoopie.load(mixed_folder)


def judge(trace: snoopie.Trace, text: str, **names: object) -> Verdict:
    (verdict,) = trace.judge(text, **names)
    return verdict


def amount(trace: snoopie.Trace, text: str) -> object:
    return judge(trace, f"{text} >= 0").as_json()["amounts"][0]["value"]


@pytest.mark.parametrize("value", ["bytes", "wire_bytes", "wire_units", "accesses", "lanes"])
def test_all_of_it(trace: snoopie.Trace, value: str) -> None:
    assert amount(trace, value) == ring.TOTALS[value]


def test_every_pair(trace: snoopie.Trace) -> None:
    for first in range(4):
        for second in range(4):
            assert amount(trace, f"bytes({first} -> {second})") == ring.ISSUED_BYTES[first][second]
            assert amount(trace, f"bytes(from=GPU {first}, to={second})") == ring.FLOW_BYTES[first][second]
            assert amount(trace, f"bytes(issuer={first}, owner={second})") == ring.ISSUED_BYTES[first][second]
        assert amount(trace, f"bytes(GPU {first} -> any)") == sum(ring.ISSUED_BYTES[first])
        assert amount(trace, f"bytes(owner={first})") == sum(row[first] for row in ring.ISSUED_BYTES)
        assert amount(trace, f"bytes(to={first})") == sum(row[first] for row in ring.FLOW_BYTES)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('bytes(kernel="ring_put*")', 32768),
        ("bytes(kernel=ring_get, GPU 0 -> GPU 1)", 2048),
        ('bytes(line="ring.cu:6")', 32768),
        ('bytes(line="src/ring.cu:19", issuer=2)', 4096),
        ('wire_bytes(line="include/shift.h:4")', 65536),
        ('bytes(file="ring.cu")', 53440 - 8192),
        ("accesses(atomic)", 48),
        ("accesses(operation=reduction, to=GPU 0)", 48),
        # Data comes back from an atomic and a load alone.
        ("bytes(atomic, from=GPU 0)", 192),
        ("bytes(store, from=GPU 1)", 8192),
        ("bytes(process=0)", 53440),
        ("bytes(owner=host)", 0),
        ("bytes(copied)", 0),
        ("launches", 11),
        ("launches(kernel=ring_bump)", 3),
        ("launches(issuer=GPU 0)", 2),
        ("kernels", 3),
        ("copies", 0),
    ],
)
def test_selectors(trace: snoopie.Trace, text: str, value: int) -> None:
    assert amount(trace, text) == value


def test_ranks_copies_and_the_host(mixed_trace: snoopie.Trace) -> None:
    for text, value in {
        "bytes(issuer=GPU 0, owner=host)": 1024,
        "bytes(host -> GPU 1, copied)": 1 << 20,
        "copies(GPU 0 -> GPU 1)": 2,
        "copy_bytes(0 -> 1)": 1 << 17,
        "copy_bytes(owner=host)": 2 * ((1 << 20) + 4096),
        "copy_bytes(issuer=1)": (1 << 20) + (1 << 17) + 4096,
        "copies(rank=1)": 4,
        "bytes(rank=0, kernel=exchange)": 2048 + 1024 + 512 + 256,
        "bytes(rank=0, process=0, owner=unknown)": 256,
        "bytes(initiated=both, from=0, to=1)": 2048 + 32768 + 8192 + (1 << 17),
        "bytes(initiated=both, from=host, to=0)": 1024 + (1 << 20),
        "bytes(owner=multicast 0)": 512,
    }.items():
        assert amount(mixed_trace, text) == value, text


def test_pairs(trace: snoopie.Trace, mixed_trace: snoopie.Trace) -> None:
    for text in (
        "pairs(kernel=ring_put) == ring",
        "pairs(kernel=ring_put) == {0->1, 1->2, 2->3, GPU 3 -> GPU 0}",
        "pairs(kernel=ring_put) != all",
        "pairs(kernel=ring_put) < all and pairs >= ring",
        # What is got flows the other way.
        "pairs(kernel=ring_get) == ring and pairs(kernel=ring_get, flow) == ring(3, 2, 1, 0)",
        "pairs(kernel=ring_bump) == {1->0, 2->0, 3->0}",
        "pairs(copied) == none",
    ):
        assert judge(trace, text).outcome == "holds", judge(trace, text)
    failed = judge(trace, "pairs == ring")
    assert failed.outcome == "fails"
    assert str(failed).splitlines()[1:] == [
        "             pairs = {0->1, 1->0, 1->2, 2->0, 2->3, 3->0}",
        "             ring = {0->1, 1->2, 2->3, 3->0}",
        "             only on the left: {1->0, 2->0}",
    ]
    # Rank 0's multicast object is of both GPUs; so is rank 1's.
    assert amount(mixed_trace, "bytes(kernel=exchange, store, owner=multicast 0)") == 512
    assert judge(mixed_trace, "pairs(copied) == all").outcome == "holds"
    assert amount(mixed_trace, 'lanes(line="exchange.cu:9")') == 2 * 128


def test_a_write_to_a_multicast_object_reaches_all_its_gpus(tmp_path: Path) -> None:
    builder = TraceBuilder(3)
    function = builder.function("spread()")
    site = builder.site(function, "STG.E", "store", 4)
    builder.count(builder.launch(function, 0), site, builder.set(64, 0, 1, 2), 1, 32, 8)
    trace = snoopie.load(builder.write(tmp_path / "x.zst"))
    assert judge(trace, "pairs == {0->1, 0->2}").outcome == "holds"
    assert amount(trace, "bytes(0 -> 1)") == 0


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("bytes(0 -> 1) == 2.5*N*4", "holds"),
        ("bytes(0 -> 1) == 3*N*4", "fails"),
        ("bytes(0 -> 2) == 0", "holds"),
        ("10KiB <= bytes(0 -> 1) < 11KiB", "holds"),
        ("10KiB < bytes(0 -> 1) < 11KiB", "fails"),
        ("bytes == 53000 ± 1%", "holds"),
        ("bytes == 53000 +- 100", "fails"),
        ("bytes != approx(53000, 1%)", "fails"),
        ("approx(53000, 440) == bytes", "holds"),
        ("bytes / wire_bytes > 50% and not lanes == 0", "holds"),
        ("bytes == 1 or launches == 11", "holds"),
        # What divides by 0 is neither equal nor unequal to anything.
        ("1 / bytes(0 -> 2) == 1", "fails"),
        ("not 1 / bytes(0 -> 2) == 1", "fails"),
        ("1 / bytes(0 -> 2) == 1 or launches == 11", "holds"),
        ("-bytes + 53440 == 0", "holds"),
    ],
)
def test_arithmetic(trace: snoopie.Trace, text: str, outcome: str) -> None:
    assert judge(trace, text, N=1024).outcome == outcome


def test_sums_are_exact(tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    function = builder.function("k")
    site = builder.site(function, "STG.E", "store", 1)
    builder.count(builder.launch(function, 0), site, 1, 2**54 + 1, 2**54 + 1, 1)
    trace = snoopie.load(builder.write(tmp_path / "x.zst"))
    assert judge(trace, "bytes == 18014398509481985").holds
    assert judge(trace, "bytes / 3 * 3 == 18014398509481985").holds
    assert judge(trace, "bytes == 18014398509481984").outcome == "fails"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("bytes(0 -> 9) == 0", "there is no place GPU 9; the trace has GPU 0, "),
        ("bytes(kernel=put) == 0", "no kernel is called put"),
        ('bytes(line="ring.cu:7") == 0', "is at /home/u/ring/src/ring.cu:7; those of the file are at 6, 18, 19"),
        ('bytes(line="halo.cu:42") == 0', "no memory instruction of the trace is in a file halo.cu"),
        ('bytes(line="g.cu:6") == 0', "in a file g.cu"),
        ('bytes(line="ring.cu") == 0', "ring.cu is no line"),
        ("bytes(operation=prefetch) == 0", "there is no operation prefetch"),
        ("bytes(process=1) == 0", "there is no process 1; the trace has 0"),
        ("bytes(rank=0) == 0", "there is no rank 0; it knows none"),
        ("bytes == M", "nothing says what M is; give it, as in --let M=4096"),
        ("bytes(host -> 0) == 0", "only GPUs issue accesses"),
        ("bytes(from=0, owner=1) == 0", "mixes who issued with where data flowed"),
        ("bytes(0 -> 1, owner=1) == 0", "names an end twice"),
        ("bytes(0 -> 1, initiated=both) == 0", "use from and to"),
        ("lanes(copied) == 0", "copies that the host started have no lanes"),
        ("bytes(copied, kernel=ring_put) == 0", "have no kernel"),
        ("bytes(initiated=me) == 0", "nothing is initiated by me"),
        ("launches(0 -> 1) == 0", "launches cannot be chosen by a pair"),
        ("copies(store) == 0", "copies cannot be chosen by operation"),
        ("bytes(flow) == 0", "bytes cannot be chosen by reading"),
        ("pairs == 5", "pairs cannot be compared with a number"),
        ("pairs == 5 ± 1", "only a number can be compared with a tolerance"),
        ("pairs == ring(0)", "needs at least two GPUs"),
        ("bytes == 5 ± -1", "-1 is below 0"),
        ("bytes == " + "*".join(["1e99"] * 50), "too large"),
    ],
)  # fmt: skip
def test_what_cannot_be_judged(trace: snoopie.Trace, text: str, sentence: str) -> None:
    verdict = judge(trace, text)
    assert verdict.outcome == "error"
    assert sentence in verdict.notes[0]
    with pytest.raises(UsageError):
        trace.expect(text)


def test_a_file_that_several_paths_end_in(tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    function = builder.function("k")
    for folder in ("/a", "/b"):
        site = builder.site(function, "STG.E", "store", 4, line=builder.line(f"{folder}/halo.cu", 42))
        builder.count(builder.launch(function, 0), site, 1, 1, 32, 4)
    trace = snoopie.load(builder.write(tmp_path / "x.zst"))
    assert "halo.cu is the end of several files" in judge(trace, 'bytes(line="halo.cu:42") == 0').notes[0]
    assert amount(trace, 'bytes(line="b/halo.cu:42")') == 128


# What was not counted


def test_puts_that_do_nothing_are_caught(tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    put = builder.function("put(float*)")
    builder.site(put, "STG.E", "store", 4, line=builder.line("/p/put.cu", 3))
    builder.launch(put, 0)
    trace = snoopie.load(builder.write(tmp_path / "x.zst"))
    assert not trace.judge("bytes(0 -> 1) == 4096")
    assert not trace.judge("pairs == ring")
    assert not trace.judge('bytes(line="put.cu:3") > 0')


def test_a_sample_of_the_launches(tmp_path: Path) -> None:
    trace = snoopie.load(sampled_builder().write(tmp_path / "x.zst"))
    often = judge(trace, "accesses(kernel=often) == 90")
    assert often.outcome == "not covered"
    assert "1 launch in 3.33 was measured" in str(often)
    assert "accesses(kernel=often) = ≈ 90" in str(often)
    assert [verdict.outcome for verdict in trace.judge("accesses(kernel=often) == 90", allow_gaps=True)] == ["holds"]
    # All launches of this one were measured.
    assert judge(trace, "launches(kernel=once) == 1").outcome == "holds"
    assert judge(trace, "accesses(kernel=once) > 0").outcome == "holds"
    assert judge(trace, "launches(kernel=never) == 0").outcome == "not covered"
    assert judge(trace, "copies == 0").outcome == "holds"
    # What does not fit, fails all the same.
    assert judge(trace, "accesses(kernel=often) == 91").outcome == "fails"


def test_a_truncated_trace(tmp_path: Path) -> None:
    path = ring.ring_builder().write(tmp_path / "x.zst", footer=False)
    trace = snoopie.load(path, allow_truncated=True)
    for text in ("launches == 11", "copies == 0", "bytes == 53440"):
        assert judge(trace, text).outcome == "not covered"


def test_instructions_that_cannot_be_measured(ring_path: Path) -> None:
    trace = snoopie.load(ring_path)
    assert judge(trace, "bytes == 53440").outcome == "not covered"
    assert judge(trace, "bytes(kernel=ring_get) == 8192").outcome == "holds"
    assert judge(trace, 'bytes(line="ring.cu:18") == 192').outcome == "holds"
    assert judge(trace, 'bytes(line="ring.cu:6") == 32768').outcome == "not covered"
    assert judge(trace, "bytes(store) == 32768").outcome == "holds"


def test_unknown_owners(mixed_trace: snoopie.Trace) -> None:
    (total, of_gpu, nccl) = (
        judge(mixed_trace, text).gaps
        for text in ("accesses(kernel=exchange, store) >= 0", "bytes(0 -> 1, store) >= 0", "bytes(kernel=nccl*) >= 0")
    )
    assert total == nccl == ()
    assert of_gpu == ("2 accesses touched memory with an unknown owner.",)
    assert judge(mixed_trace, "pairs(store) == all").outcome == "not covered"


@pytest.mark.parametrize(
    ("settings", "covered", "not_covered"),
    [
        ({"kernels": "ring_*"}, "bytes(kernel=ring_get) == 8192", "launches == 11"),
        ({"blocks": "0-3"}, "launches == 11", "bytes(kernel=ring_get) == 8192"),
        ({"host_memory": False}, "bytes(kernel=ring_get) == 8192", "bytes(kernel=ring_get, owner=host) == 0"),
    ],
)
def test_settings(tmp_path: Path, settings: dict[str, object], covered: str, not_covered: str) -> None:
    builder = ring.ring_builder()
    builder.header["settings"] |= settings
    trace = snoopie.load(builder.write(tmp_path / "x.zst"))
    assert judge(trace, covered).outcome == "holds"
    assert judge(trace, not_covered).outcome == "not covered"


def test_kernels_that_were_not_to_be_measured(tmp_path: Path) -> None:
    builder = ring.ring_builder()
    builder.header["settings"]["kernels"] = "ring_*"
    trace = snoopie.load(builder.write(tmp_path / "x.zst"))
    # A pattern may fit what ran and nobody recorded; a name does not.
    assert judge(trace, "launches(kernel=ring_get) == 4").outcome == "holds"
    assert judge(trace, 'launches(kernel="ring_*") == 11').outcome == "not covered"
    for number, name in enumerate((ring.PUT, ring.GET, ring.BUMP, "other()")):
        builder.add("call_totals", call=builder.string("cuLaunchKernel"), kernel=builder.string(name), calls=number)
    trace = snoopie.load(builder.write(tmp_path / "y.zst"))
    assert judge(trace, 'launches(kernel="ring_*") == 11').outcome == "holds"
    assert judge(trace, 'launches(kernel="*") == 11').outcome == "not covered"
    assert judge(trace, "bytes(kernel=other) == 0").outcome == "not covered"


def test_launches_that_were_lost(tmp_path: Path) -> None:
    builder = ring.ring_builder()
    builder.totals["launches_lost"] = 2
    builder.notice("kernel spin entered a CUDA graph unnoticed: its launches by the graph are not measured")
    builder.notice("memory in use is unknown")
    trace = snoopie.load(builder.write(tmp_path / "x.zst"))
    assert judge(trace, "copies == 0").outcome == "holds"
    assert judge(trace, "launches(kernel=ring_put) == 4").gaps == (
        "2 launches could not be measured: their traffic is missing.",
        "Kernel spin entered a CUDA graph unnoticed: its launches by the graph are not measured.",
    )


def test_other_tools_that_recorded_no_accesses(tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    builder.header["tool"]["imported_from"] = "Nsight Systems"
    builder.copy(HOST, 0, 64, gpu=0)
    trace = snoopie.load(builder.write(tmp_path / "x.zst"))
    assert judge(trace, "copy_bytes == 64").outcome == "holds"
    assert judge(trace, "bytes == 0").outcome == "not covered"


# The interface


def test_expect(trace: snoopie.Trace) -> None:
    assert trace.expect("bytes == N", "launches == 11", N=53440)
    with pytest.raises(AssertionError, match="bytes = 53,440"):
        trace.expect("launches == 11", "bytes == 5")
    for wrong in ((), (5,)):
        with pytest.raises(UsageError):
            trace.expect(*wrong)  # type: ignore[arg-type]


def test_of_a_view(trace: snoopie.Trace) -> None:
    assert trace.select(kernels=ring.PUT).judge("bytes == 32768", "pairs == ring", "launches == 4")


def test_the_mixed_total(mixed_trace: snoopie.Trace) -> None:
    # By the table in tests/support/mixed.py.
    assert amount(mixed_trace, f'bytes(kernel="{mixed.NCCL}")') == 2 * (32768 + 8192)
