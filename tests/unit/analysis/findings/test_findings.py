"""Findings: each rule just above and just below its thresholds, and silent on programs that do nothing wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import snoopie
from snoopie import cli
from snoopie.analysis.findings import RULES
from snoopie.analysis.findings.finding import COLUMNS
from snoopie.analysis.findings.numbers import said
from snoopie.errors import UsageError
from tests.support import mixed
from tests.support.encoder import HOST, START_NS
from tests.support.program import ACCESSES, FILE, HEAP, MIB, SECTORS, App, reads

SAMPLES = Path(__file__).resolve().parents[4] / "sample_traces"


@pytest.fixture
def found(tmp_path: Path) -> Callable[[App | Sequence[App]], list[dict[str, Any]]]:
    """found(app) → its findings, as rows."""

    def find(apps: App | Sequence[App]) -> list[dict[str, Any]]:
        apps = [apps] if isinstance(apps, App) else apps
        paths = [app.trace.write(tmp_path / f"{number}.zst") for number, app in enumerate(apps)]
        rows: list[dict[str, Any]] = snoopie.load(paths).findings().to_dict("records")
        # Exact sums, and links to what is there.
        for row in rows:
            assert list(row) == COLUMNS
            assert said(row["numbers"])
            assert 0 <= row["share"] <= 1
        return rows

    return find


Found = Callable[[App | Sequence[App]], list[dict[str, Any]]]


def rules(rows: list[dict[str, Any]]) -> list[str]:
    return [row["rule"] for row in rows]


@pytest.mark.parametrize(("operation", "rule"), [("store", "scattered-stores"), ("load", "scattered-loads")])
@pytest.mark.parametrize(
    ("sectors", "lanes", "is_one"),
    [
        (SECTORS, 4 * SECTORS - 2, True),
        (SECTORS, 4 * SECTORS, False),  # half of each sector
        (SECTORS - 2, SECTORS, False),  # too little
    ],
)
def test_scattered(found: Found, operation: str, rule: str, sectors: int, lanes: int, is_one: bool) -> None:
    app = App()
    app.both_ways(operation, sectors, lanes=lanes)
    rows = found(app)
    assert rules(rows) == ([rule] if is_one else [])
    for row in rows:
        assert (row["file"], row["line"], row["kernel"]) == (FILE, 7, "k7(int*)")
        assert (row["issuer"], row["owner"]) == ("GPU 0, GPU 1", "GPU 0, GPU 1")
        assert row["title"].startswith(f"app.cu:7 (kernel k7) {operation}s small scattered pieces: 512 KiB")
        assert row["numbers"]["wire efficiency"] == pytest.approx(lanes / 8 / sectors)
        assert (row["view"], row["query"]) == ("source", {"source_file": FILE, "source_line": "7"})
        assert row["severity"] == "high" and row["bytes"] == MIB and row["share"] == 1


@pytest.mark.parametrize(("lanes", "is_one"), [(1, True), (2, False)])
def test_stores_fill_units_of_16_bytes(found: Found, lanes: int, is_one: bool) -> None:
    """One word of 4 bytes in each unit, or two."""
    units = 2 * SECTORS
    app = App()
    app.both_ways("store", units, lanes=lanes * units)
    app.trace.rows["sites"][0]["wire_unit"] = 16
    rows = found(app)
    assert rules(rows) == ["scattered-stores"] * is_one
    assert [(row["numbers"]["wire efficiency"], row["bytes"]) for row in rows] == [(0.25, MIB)] * is_one


def test_a_hundredth_of_the_traffic_is_no_finding(found: Found) -> None:
    for sectors, expected in ((98 * SECTORS, ["scattered-stores"]), (100 * SECTORS, [])):
        app = App()
        app.both_ways("store", SECTORS, lanes=SECTORS)
        app.both_ways("store", sectors, line=8)
        rows = found(app)
        assert rules(rows) == expected
        assert [row["severity"] for row in rows] == ["low"] * len(expected)


def test_a_line_that_is_not_known_is_an_instruction(found: Found) -> None:
    """The same one in all processes."""
    apps = []
    for rank in (0, 1):
        app = App(pid=4711 + rank)
        kernel = app.trace.function("void ncclKernel<int>(Args)")
        site = app.trace.site(kernel, "STG.E", "store", 4, offset=0x40)
        app.trace.count(app.trace.launch(kernel, rank), site, 1 - rank, SECTORS, SECTORS, SECTORS)
        apps.append(app)
    (row,) = found(apps)
    assert row["title"].startswith("An instruction of ncclKernel<int> at 0x40 (no source line) stores small")
    assert (row["view"], row["query"]) == ("sites", {})
    assert row["bytes"] == 2 * MIB


def test_unknown_widths_are_no_scattered_stores(found: Found) -> None:
    app = App()
    site = app.trace.site(app.trace.function("k"), "STG.NEW", "store", 0)
    for gpu in (0, 1):
        app.trace.count(app.trace.launch(1, gpu), site, 1 - gpu, SECTORS, SECTORS, SECTORS)
    assert found(app) == []


@pytest.mark.parametrize(
    ("positions", "accesses", "launches", "is_one"),
    [
        (ACCESSES // 4, ACCESSES, 1, True),
        (ACCESSES // 4 + 1, ACCESSES, 1, False),
        (ACCESSES // 8, ACCESSES - 1, 1, False),  # too little
        (ACCESSES // 4, ACCESSES // 4, 4, False),  # in each launch once
        (ACCESSES // 4, ACCESSES, 2, True),
    ],
)
def test_repeated_loads(found: Found, positions: int, accesses: int, launches: int, is_one: bool) -> None:
    app = App()
    reads(app, positions, accesses, launches)
    rows = found(app)
    assert rules(rows) == (["repeated-loads"] if is_one else [])
    for row in rows:
        assert row["numbers"]["reads of a sector in a launch"] == 4
        assert row["numbers"]["distinct bytes"] == 2 * 128 * positions
        assert row["numbers"]["launches"] == 2 * launches
        assert row["title"].endswith("each sector at least 4× in a launch, on average")


def test_repeated_loads_of_a_sample(found: Found) -> None:
    app = App()
    reads(app, ACCESSES // 64, ACCESSES, every=8)
    (row,) = found(app)
    # The places that one in 8 has seen were seen as often as all were.
    assert row["numbers"]["reads of a sector in a launch"] == 64
    assert row["numbers"]["share of accesses recorded"] == 1 / 8
    assert row["title"].endswith("; 12.5 % of the accesses were recorded")


def test_a_word_that_all_lanes_read_is_one_sector(found: Found) -> None:
    app = App()
    for gpu in (0, 1):
        launch, site = app.moves("load", gpu, 1 - gpu, SECTORS // 2, lanes=32 * SECTORS // 2)
        for number in range(SECTORS // 2):
            app.trace.record(launch, site, 1 - gpu, HEAP + 32 * number, 0)
    assert found(app) == []


@pytest.mark.parametrize("operation", ["atomic", "reduction"])
@pytest.mark.parametrize(("positions", "accesses", "is_one"), [(256, 1024, True), (257, 1024, False), (1, 1023, False)])
def test_atomics(found: Found, operation: str, positions: int, accesses: int, is_one: bool) -> None:
    app = App()
    for gpu in (0, 1):
        launch, site = app.moves(operation, gpu, 1 - gpu, 4 * accesses)
        for number in range(accesses):
            app.trace.record(launch, site, 1 - gpu, HEAP + 128 * (number % positions), 4)
    rows = found(app)
    assert rules(rows) == (["remote-atomics"] if is_one else [])
    for row in rows:
        assert row["numbers"]["operations on an address in a launch"] == 4
        assert row["numbers"]["operations"] == 65536
        assert row["share"] == 1


@pytest.mark.parametrize(("lanes", "is_one"), [(32, True), (31, False)])
def test_atomics_without_records(found: Found, lanes: int, is_one: bool) -> None:
    """Lanes that share a sector's address: 4 operations on each of its 8 words at least."""
    app = App()
    app.both_ways("reduction", 4096, lanes=4096 * lanes, accesses=2048)
    rows = found(app)
    assert rules(rows) == (["remote-atomics"] if is_one else [])
    assert all("share of accesses recorded" not in row["numbers"] for row in rows)


def one_way(app: App, there: int, back: int, one: int = 0, other: int = 1) -> None:
    """Data flows from one GPU to the other, which both do their part for."""
    for start, end, sectors in ((one, other, there), (other, one, back)):
        app.moves("store", start, end, sectors // 2)
        app.moves("load", end, start, sectors // 2, line=8)


@pytest.mark.parametrize(
    ("there", "back", "is_one"),
    [
        (SECTORS, SECTORS // 4, True),
        (SECTORS, SECTORS // 4 + 2, False),
        (SECTORS - 2, 0, False),
        (SECTORS, 0, True),
    ],
)
def test_one_sided_pair(found: Found, there: int, back: int, is_one: bool) -> None:
    app = App()
    one_way(app, there, back)
    rows = found(app)
    assert rules(rows) == (["one-sided-pairs"] if is_one else [])
    for row in rows:
        assert (row["issuer"], row["owner"], row["bytes"]) == ("GPU 0", "GPU 1", MIB)
        ratio = row["numbers"]["bytes there over bytes back"]
        assert ratio == 4 if back else math.isinf(ratio)


@pytest.mark.parametrize(("one_sided", "is_one"), [(1, True), (2, False), (3, False)])
def test_one_sided_among_others(found: Found, one_sided: int, is_one: bool) -> None:
    app = App(4)
    for pair, (one, other) in enumerate(((0, 1), (1, 2), (2, 3), (3, 0))):
        one_way(app, 4 * SECTORS, 0 if pair < one_sided else 4 * SECTORS, one, other)
    assert rules(found(app)) == (["one-sided-pairs"] if is_one else [])


def test_views_compare_no_gpus(tmp_path: Path) -> None:
    """What one GPU issues is always one-sided."""
    app = App()
    app.both_ways("store", 4 * SECTORS)
    trace = snoopie.load(app.trace.write(tmp_path / "t.zst"))
    assert trace.findings().empty
    assert trace.select(issuers=0).findings().empty


def test_a_ring_of_copies_is_not_one_sided(found: Found) -> None:
    app = App(4)
    for gpu in range(4):
        app.trace.copy(gpu, (gpu + 1) % 4, 64 * MIB, gpu=gpu)
    assert found(app) == []


@pytest.mark.parametrize(("more", "is_one"), [(0, True), (1, False)])
def test_hot_owner(found: Found, more: int, is_one: bool) -> None:
    app = App(4)
    for gpu in (1, 2, 3):
        for owner, sectors in ((0, SECTORS), (gpu % 3 + 1, SECTORS + more)):
            app.moves("store", gpu, owner, sectors)
            app.moves("load", gpu, owner, sectors, line=8)
    rows = found(app)
    assert rules(rows) == (["hot-owner"] if is_one else [])
    for row in rows:
        assert (row["owner"], row["bytes"], row["share"]) == ("GPU 0", 6 * MIB, 0.5)
        assert row["numbers"]["bytes at its memory over the mean"] == 2


def staged(app: App, size: int, address: int = 0x5000, passed: int = 1) -> None:
    app.trace.copy(0, HOST, size, gpu=0, destination_address=0x5000)
    for _ in range(passed):
        app.trace.copy(HOST, 1, size, gpu=1, source_address=address)


@pytest.mark.parametrize(
    ("size", "address", "is_one"), [(MIB, 0x5000, True), (MIB - 1, 0x5000, False), (MIB, 0x5001, False)]
)
def test_staged_copies(found: Found, size: int, address: int, is_one: bool) -> None:
    app = App()
    staged(app, size, address)
    rows = found(app)
    assert rules(rows) == (["staged-copies"] if is_one else [])
    for row in rows:
        assert (row["issuer"], row["owner"], row["bytes"], row["share"]) == ("GPU 0", "GPU 1", MIB, 0.5)
        assert row["view"] == "copies"


def test_what_is_no_staged_copy(found: Found) -> None:
    apart = App()
    apart.trace.header["links"] = [link | {"access": False} for link in apart.trace.header["links"]]
    staged(apart, MIB)
    assert found(apart) == []
    back = App()
    back.trace.copy(0, HOST, MIB, gpu=0, destination_address=0x5000)
    back.trace.copy(HOST, 0, MIB, gpu=0, source_address=0x5000)
    assert found(back) == []
    overwritten = App()
    overwritten.trace.copy(0, HOST, MIB, gpu=0, destination_address=0x5000)
    overwritten.trace.copy(1, HOST, MIB, gpu=1, destination_address=0x5000)
    overwritten.trace.copy(HOST, 1, MIB, gpu=1, source_address=0x5000)
    assert found(overwritten) == []
    again = App()
    staged(again, MIB, passed=5)
    (row,) = found(again)
    assert (row["bytes"], row["numbers"]["copies"]) == (MIB, 1)


@pytest.mark.parametrize(("sectors", "is_one"), [(SECTORS, True), (SECTORS - 1, False)])
def test_host_exchange(found: Found, sectors: int, is_one: bool) -> None:
    app = App()
    box = app.trace.allocation("host", 4 * MIB, HOST, 0, address=HEAP, name=app.trace.string("box"))
    app.moves("store", 0, HOST, sectors, object=box)
    app.moves("load", 1, HOST, 2 * sectors, object=box, line=8)
    rows = found(app)
    assert rules(rows) == (["host-exchange"] if is_one else [])
    for row in rows:
        assert (row["issuer"], row["owner"], row["object"], row["bytes"]) == ("GPU 0", "GPU 1", box, MIB)
        assert row["title"].endswith("1 MiB via box (object 1)")
        assert row["query"] == {"object": "1"}


@pytest.mark.parametrize(("offset", "is_one"), [(0, True), (127, True), (128, False)])
def test_host_exchange_is_of_the_same_bytes(found: Found, offset: int, is_one: bool) -> None:
    app = App()
    box = app.trace.allocation("host", 4 * MIB, HOST, 0, address=HEAP)
    for gpu, operation, address in ((0, "store", HEAP), (1, "load", HEAP + offset)):
        launch, site = app.moves(operation, gpu, HOST, SECTORS, object=box, line=7 + gpu)
        app.trace.record(launch, site, HOST, address, 4)
    assert rules(found(app)) == (["host-exchange"] if is_one else [])


def test_host_exchange_by_a_copy(found: Found) -> None:
    app = App()
    box = app.trace.allocation("host", 4 * MIB, HOST, 0, address=HEAP)
    app.trace.copy(0, HOST, MIB, gpu=0, destination_address=HEAP + 64)
    app.moves("load", 1, HOST, SECTORS, object=box)
    assert rules(found(app)) == ["host-exchange"]


def misplaced(app: App, read: int, *, copied: int = 2 * MIB, between: bool = False) -> None:
    """GPU 1 reads what was copied to GPU 0; GPU 0 reads as much that GPU 1 made, before or after."""
    objects = [app.trace.allocation("device", 4 * MIB, gpu, 0, address=HEAP + gpu * 16 * MIB) for gpu in (0, 1)]
    app.trace.copy(HOST, 0, copied, gpu=0, destination_address=HEAP, start=START_NS + 1000, end=START_NS + 2000)
    app.moves("load", 0, 1, read, object=objects[1], time=5000 if between else 9000)
    app.moves("load", 1, 0, read, object=objects[0], time=7000)


@pytest.mark.parametrize(
    ("read", "copied", "between", "is_one"),
    [
        (SECTORS, 2 * MIB, False, True),
        (SECTORS, 2 * MIB + 1, False, False),
        (SECTORS - 1, MIB, False, False),
        (SECTORS, 2 * MIB, True, False),
    ],
)
def test_misplaced_copies(found: Found, read: int, copied: int, between: bool, is_one: bool) -> None:
    app = App()
    misplaced(app, read, copied=copied, between=between)
    rows = found(app)
    assert rules(rows) == (["misplaced-copies"] if is_one else [])
    for row in rows:
        assert (row["issuer"], row["owner"], row["object"], row["bytes"]) == ("GPU 1", "GPU 0", 1, MIB)
        assert row["numbers"]["bytes read over bytes copied in"] == 0.5


@pytest.mark.parametrize(("more", "is_one"), [(0, True), (1, False)])
@pytest.mark.parametrize("ranks", [False, True])
def test_unequal(found: Found, more: int, ranks: bool, is_one: bool) -> None:
    apps = (
        [App(pid=4711 + rank, ranks={"OMPI_COMM_WORLD_RANK": str(rank)}) for rank in (0, 1)] if ranks else [App()] * 2
    )
    for gpu, sectors in ((0, SECTORS), (1, SECTORS // 2 + more)):
        apps[gpu].moves("store", gpu, 1 - gpu, sectors)
        apps[gpu].moves("load", gpu, 1 - gpu, sectors, line=8)
    rows = found(apps if ranks else apps[0])
    assert rules(rows) == (["unequal-ranks"] if is_one else [])
    for row in rows:
        assert row["title"].startswith(("Rank 0" if ranks else "GPU 0") + " moves 2 MiB between GPUs, 2× the 1 MiB")
        assert (row["process"], row["issuer"]) == ((0, "") if ranks else (-1, "GPU 0"))


def test_estimates_count_as_such(tmp_path: Path) -> None:
    """Of four launches one was measured: its quarter of a MiB stands for one."""
    app = App()
    app.both_ways("store", SECTORS // 4, lanes=SECTORS // 4)
    for gpu in (0, 1):
        app.trace.add("sampling", function=1, gpu=gpu, launches=4, measured=1)
    trace = snoopie.load(app.trace.write(tmp_path / "t.zst"))
    (row,) = trace.findings().to_dict("records")
    assert (row["rule"], row["estimated"], row["bytes"]) == ("scattered-stores", True, MIB)


def test_bases_and_views(tmp_path: Path) -> None:
    app = App()
    app.both_ways("store", SECTORS, lanes=SECTORS)
    reads(app, ACCESSES // 4, ACCESSES)
    trace = snoopie.load(app.trace.write(tmp_path / "t.zst"))
    assert list(trace.findings("counts")["rule"]) == ["scattered-stores"]
    assert list(trace.findings("records")["rule"]) == ["repeated-loads"]
    assert set(trace.findings()["rule"]) == {"scattered-stores", "repeated-loads"}
    assert list(trace.select(operations="load").findings()["rule"]) == ["repeated-loads"]
    with pytest.raises(UsageError, match="no basis 'colours'"):
        trace.findings("colours")  # type: ignore[arg-type]


def test_programs_that_do_nothing_wrong(tmp_path: Path, ring_path: Path, found: Found) -> None:
    balanced = App(4)
    for gpu in range(4):
        for other in (gpu + 1, gpu + 3):
            balanced.moves("store", gpu, other % 4, 4 * SECTORS)
            balanced.moves("load", gpu, other % 4, 4 * SECTORS, line=8)
    assert found(balanced) == []
    assert found(App()) == []
    assert snoopie.load(ring_path).findings().empty
    (tmp_path / "mixed").mkdir()
    assert snoopie.load(mixed.write_mixed(tmp_path / "mixed")).findings().empty


@pytest.mark.parametrize("name", ["ring-4gpu.zst", "jacobi-2gpu.zst", "jacobi-4gpu.zst", "allreduce-4gpu", "halo-4gpu"])
def test_samples_show_none(name: str) -> None:
    assert snoopie.load(SAMPLES / name).findings().empty


def test_a_sample_shows_each_but_that_of_three_gpus() -> None:
    found = snoopie.load(SAMPLES / "findings-2gpu.zst").findings()
    assert set(found["rule"]) == {rule.name for rule in RULES} - {"hot-owner"}


def test_every_rule_was_shown() -> None:
    text = Path(__file__).read_text("utf-8")
    assert all(f'"{rule.name}"' in text for rule in RULES)


def test_what_could_save_most_time_comes_first(found: Found) -> None:
    """Line 9 moves more, of which less can be spared."""
    app = App()
    app.both_ways("store", 2 * SECTORS, lanes=SECTORS // 2, line=8)
    app.both_ways("store", 3 * SECTORS, lanes=10 * SECTORS, line=9)
    rows = found(app)
    assert [row["line"] for row in rows] == [8, 9]
    # Each GPU sends half: spared bytes over 18 links of 25 GB/s.
    spared = [2 * MIB - 2 * SECTORS, 3 * MIB - 40 * SECTORS]
    assert [row["saved"] for row in rows] == pytest.approx([1e9 * bytes / 2 / 450e9 for bytes in spared])


def test_where_the_rate_of_the_links_is_not_known_nothing_is_said_of_time(found: Found) -> None:
    app = App()
    for gpu in app.trace.header["gpus"]:
        gpu["nvlinks"] = -1
    app.both_ways("store", SECTORS, lanes=SECTORS)
    (row,) = found(app)
    assert math.isnan(row["saved"])


# the command


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app = App()
    app.both_ways("store", SECTORS, lanes=SECTORS)
    path = app.trace.write(tmp_path / "t.zst")
    assert cli.main(["findings", str(path)]) == 0
    done = capsys.readouterr()
    assert done.out.splitlines() == [
        "HIGH: app.cu:7 (kernel k7) stores small scattered pieces: 128 KiB of data take 1 MiB on the wire",
        f"  where      {FILE}:7; k7(int*); GPU 0, GPU 1 → GPU 0, GPU 1; 1 MiB; 100 % of what scattered-stores looks at",
        "  numbers    wire efficiency 12.5 %; bytes 128 KiB; wire bytes 1 MiB; share of all wire bytes 100 %; "
        "accesses 1 K",
        # 896 KiB of two GPUs, each of which sends and receives half, at 450 GB/s.
        "  saves      at most 1 µs on the links",
        "  threshold  wire efficiency below 50 %; wire bytes at least 1 MiB; share of all wire bytes at least 1 %",
        f"  remedy     {RULES[0].remedy}",
    ]
    assert done.err.splitlines()[-1] == f"Next: snoopie view {path}"
    assert cli.main(["findings", "--json", str(path)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["complete"] and [row["numbers"]["wire bytes"] for row in told["findings"]] == [MIB]


def test_command_without_findings(ring_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["findings", str(ring_path)]) == 0
    assert capsys.readouterr().out.startswith("No findings. docs/findings.md")
    assert cli.main(["findings", "--json", str(ring_path)]) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []


def test_infinite_ratios_are_null_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app = App()
    one_way(app, SECTORS, 0)
    assert cli.main(["findings", "--json", str(app.trace.write(tmp_path / "t.zst"))]) == 0
    (row,) = json.loads(capsys.readouterr().out)["findings"]
    assert row["numbers"]["bytes there over bytes back"] is None


def test_hostile_names_are_harmless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app = App()
    kernel = app.trace.function("\x1b[31mevil\n(int*)")
    site = app.trace.site(kernel, "STG", "store", 4, line=app.trace.line("/x/\x1b]0;y\x07.cu", 3))
    for gpu in (0, 1):
        app.trace.count(app.trace.launch(kernel, gpu), site, 1 - gpu, SECTORS, SECTORS, SECTORS)
    assert cli.main(["findings", str(app.trace.write(tmp_path / "t.zst"))]) == 0
    assert "\x1b" not in capsys.readouterr().out
