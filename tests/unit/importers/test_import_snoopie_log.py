"""Logs of the first Snoopie: what comes out is what arithmetic says, whatever generation and however damaged."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import snoopie
from snoopie import cli
from snoopie.api.trace import Trace
from snoopie.errors import NotATraceError, SnoopieError, TruncatedError, UsageError
from snoopie.importers import spool, text
from snoopie.importers.snoopie_log import import_snoopie_log, json_lines, log
from snoopie.importers.snoopie_log.alike import UnlikeError
from snoopie.importers.snoopie_log.json_lines import JsonLines
from snoopie.importers.snoopie_log.log import read_log
from snoopie.importers.snoopie_log.opcode import decode

COLUMNS = (
    "op_code", "addr", "thread_indx", "running_dev_id", "mem_dev_id", "code_linenum", "code_line_index",
    "code_line_context", "code_line_estimated_status", "obj_offset", "mem_range",
)  # fmt: skip
# Columns that each older generation lacks.
GENERATIONS = {11: (), 10: COLUMNS[7:8], 9: (COLUMNS[7], COLUMNS[10]), 8: (COLUMNS[7], COLUMNS[10], COLUMNS[9])}
# As a real log has it.
REAL = "STG.E,0x00007fa571b00504,10240,1,0,125,1586,1,1,0x00007fa571a00000,4"
BASE = 0x7FA571A00000


def line(address: int, *, op: str = "STG.E", thread: int = 0, issuer: int = 1, owner: int = 0, line: int = 125,
         index: int = 1586, context: int = 1, base: int = BASE, columns: int = 11) -> str:  # fmt: skip
    values = dict(
        zip(COLUMNS, (op, f"0x{address:016x}", thread, issuer, owner, line, index, context, 1, f"0x{base:016x}", 4),
            strict=True)
    )  # fmt: skip
    return ",".join(str(values[name]) for name in COLUMNS if name not in GENERATIONS[columns])


def copy(source: int, destination: int, size: int, context: int = -1) -> str:
    return f"cuMemcpyDtoDAsync_v2,0x{BASE:016x},-1,{source},{destination},-1,-1,{context},-1,0x{0:016x},{size}"


def heading(columns: int = 11, separator: str = ", ") -> str:
    return separator.join(name for name in COLUMNS if name not in GENERATIONS[columns])


def write(folder: Path, lines: Sequence[str], *, pid: int = 77, plain: bool = False) -> Path:
    path = folder / f"snoopie_log_{pid}.zst"
    content = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(content if plain else zstandard.compress(content))
    return path


def beside(folder: Path, pid: int = 77) -> None:
    """The other files of a run, with the rows that real ones had."""
    files = {
        "address_range_log": f"offset,size,obj_id,dev_id\n0x{BASE:016x},1056768,3,0\n0x00007fa580000000,64,4,999\n",
        "data_object_log": "obj_id,var_name,call_stack\n3,a_new,94374356148629<94374356158660\n4,,94374356158660\n",
        "mem_alloc_site_log": 'pc,func_name,file_name,line_no\n94374356148629,"cudaMallocHost(void**, unsigned long,'
        ' unsigned int)",,0\n94374356158660,"main",/home/u/src/jacobi.cu,300\n',
        "codeline_log": "code_line_index, dir_path, file, code_linenum, code_line_estimated_status\n"
        "1586,/home/u/src,jacobi.cu,125,1\n1600,/home/u/src,jacobi.cu,125,1\n1601,/home/u,a,b,jacobi.cu,126,1\n",
        "exec_site_log": 'site_id,file,code_linenum\n5000,"/home/u/m.cpp,50\n5001,"/home/u/main.cpp,7\n',
        "exec_context_log": "context_id,call_stack\n1,5000<5001\n",
    }
    for name, content in files.items():
        (folder / f"{name}_{pid}.txt").write_text(content)


def load(path: Path, **options: bool) -> Trace:
    imported = import_snoopie_log(path, path.parent / "out" / "t.zst", force=True, **options)
    trace = snoopie.load(imported.paths)
    assert sorted(set(trace.notices["text"])) == sorted(imported.notices)
    return trace


def test_a_warp_of_a_real_line(tmp_path: Path) -> None:
    lanes = [REAL.replace("71b00504", f"{0x71B00504 + 4 * lane:08x}") for lane in range(32)]
    beside(tmp_path)
    trace = load(write(tmp_path, [heading(), *lanes]))
    counts = trace.counts.iloc[0]
    # 128 bytes that begin 4 bytes into a wire unit of 16.
    assert counts[["issuer", "owner", "accesses", "lanes", "bytes", "wire_units"]].tolist() == [1, 0, 1, 32, 128, 9]
    record = trace.records.iloc[0]
    assert [record["shape"], record["stride"], record["base"]] == ["strided", 4, 0x7FA571B00504]
    site = trace.by_site().iloc[0]
    assert site[["file", "line", "opcode", "operation", "width"]].tolist() == [
        *("/home/u/src/jacobi.cu", 125, "STG.E", "store", 4)
    ]
    assert trace.by_object()["object"].tolist() == [1]
    held = trace.objects.iloc[0]
    assert held[["address", "bytes", "owner", "kind", "name", "call"]].tolist() == [
        *(BASE, 1056768, 0, "device", "a_new", "cudaMallocHost")
    ]
    assert frames(trace, int(held["stack"])) == [
        ("cudaMallocHost(void**, unsigned long, unsigned int)", "", 0), ("main", "/home/u/src/jacobi.cu", 300)
    ]  # fmt: skip
    assert trace.objects.iloc[1][["owner", "kind"]].tolist() == [-1, "host"]
    launch = trace.launches.iloc[0]
    assert frames(trace, int(launch["stack"])) == [("", "/home/u/m.cpp", 50), ("", "/home/u/main.cpp", 7)]
    assert trace.complete
    assert any("sampled" in sentence for sentence in trace.losses())


def frames(trace: Trace, stack: int) -> list[tuple[str, str, int]]:
    symbols = trace.symbols.set_index("frame")
    found = []
    while stack:
        row = symbols.loc[trace.stacks.loc[stack, "frame"]]
        found.append((str(row["function"]), str(row["file"]), int(row["line"])))
        stack = int(trace.stacks.loc[stack, "caller"])
    return found


@pytest.mark.parametrize("columns", GENERATIONS)
@pytest.mark.parametrize("header", ["first", "none", "narrow", "last"])
@pytest.mark.parametrize("plain", [False, True])
def test_every_generation(tmp_path: Path, columns: int, header: str, plain: bool) -> None:
    rows = [line(BASE + 8 * lane, op="LDG.E.64.SYS", columns=columns) for lane in range(32)]
    rows += [line(BASE + 4096 + 8 * lane, op="LDG.E.64.SYS", thread=32, columns=columns) for lane in range(4)]
    row = heading(columns, "," if header == "narrow" else ", ")
    lines = {"none": rows, "last": [copy(0, 1, 640), *rows, row]}.get(header, [row, *rows])
    trace = load(write(tmp_path, lines, plain=plain))
    assert trace.by_operation()[["operation", "accesses", "lanes", "bytes", "wire_bytes"]].to_numpy().tolist() == [
        ["load", 2, 36, 288, 288]
    ]
    assert trace.copies["bytes"].tolist() == ([640] if header == "last" else [])


def test_columns_are_taken_by_their_names(tmp_path: Path) -> None:
    names = heading().split(", ")
    values = line(BASE).split(",")
    turned = [", ".join([names[0], *names[:0:-1]]), ",".join([values[0], *values[:0:-1]])]
    assert load(write(tmp_path, turned)).counts[["issuer", "owner", "lanes"]].to_numpy().tolist() == [[1, 0, 1]]


def test_copies_local_accesses_and_devices(tmp_path: Path) -> None:
    beside(tmp_path)
    lines = [
        copy(-1, 0, 100), copy(0, 999, 50, context=1), copy(0, 1, 7), copy(1, 1, 1000),
        line(BASE, issuer=0, owner=0), line(BASE, owner=-1), line(BASE + 64, owner=999), line(BASE, owner=500),
    ]  # fmt: skip
    trace = load(write(tmp_path, [heading(), *lines]))
    copies = trace.copies[["source", "destination", "issuer", "bytes", "call"]].to_numpy().tolist()
    call = "cuMemcpyDtoDAsync_v2"
    assert copies == [[-1, 0, 0, 100, call], [0, -1, 0, 50, call], [0, 1, -2, 7, call]]
    assert trace.copies["stack"].tolist()[1] > 0
    assert trace.counts.groupby("owner")["lanes"].sum().to_dict() == {-2: 1, -1: 2}
    losses = " ".join(trace.losses())
    assert "own memory, skipped because they cross no link: 1." in losses
    assert "within one memory, skipped because they cross no link: 1." in losses


def test_sites_are_one_whatever_index_their_line_has(tmp_path: Path) -> None:
    beside(tmp_path)
    rows = [line(BASE, index=1586, issuer=1), line(BASE, index=1600, issuer=2), line(BASE, index=1601, line=126)]
    trace = load(write(tmp_path, rows))
    assert trace.by_line()[["file", "line", "lanes"]].to_numpy().tolist() == [
        ["/home/u/src/jacobi.cu", 125, 2], ["/home/u,a,b/jacobi.cu", 126, 1]
    ]  # fmt: skip
    assert len(trace.sites) == 2


def test_what_an_opcode_does() -> None:
    assert [decode(text) for text in ("STG.E.128.SYS", "RED.E.ADD.F32.FTZ.RN", "ATOMG.E.CAS.64", "LD.E.U8")] == [
        *(("store", 16), ("reduction", 4), ("atomic", 8), ("load", 1))
    ]
    assert decode("UBLKCP.S.G") is None


def test_an_opcode_that_is_not_known_is_counted_and_said(tmp_path: Path) -> None:
    trace = load(write(tmp_path, [line(BASE, op="NEWLOAD.64"), line(BASE, op="NEWLOAD.64"), line(BASE)]))
    assert trace.summary()["bytes"] == 4
    assert trace.not_measured()[["opcode", "accesses", "lanes"]].to_numpy().tolist() == [["NEWLOAD.64", 1, 2]]
    assert any("NEWLOAD" in sentence for sentence in trace.losses())


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_sums_are_those_of_single_lines(tmp_path: Path, data: st.DataObject) -> None:
    """Accesses one after another, each told apart by its thread; with pieces so small that all lie across an edge."""
    some = st.lists(st.integers(0, 3000), min_size=1, max_size=32)
    accesses = data.draw(st.lists(st.tuples(some, st.sampled_from(["STG.E.U8", "LDG.E", "STG.E.128"])), max_size=30))
    lines = [heading()]
    for thread, (offsets, op) in enumerate(accesses):
        lines += [line(BASE + offset, op=op, thread=thread) for offset in offsets]
    if len(lines) == 1:
        return
    piece = text._PIECE, text._READ
    text._PIECE, text._READ = data.draw(st.sampled_from([(64, 16), (5000, 512), piece]))
    try:
        trace = load(write(tmp_path, lines, plain=True))
    finally:
        text._PIECE, text._READ = piece
    width = {"STG.E.U8": 1, "LDG.E": 4, "STG.E.128": 16}
    unit = {"STG.E.U8": 16, "LDG.E": 32, "STG.E.128": 16}
    wire_units = [
        len({byte // unit[op] for offset in offsets for byte in (BASE + offset, BASE + offset + width[op] - 1)})
        for offsets, op in accesses
    ]
    sums = trace.summary()
    assert sums["accesses"] == len(accesses)
    assert sums["lanes"] == sum(len(offsets) for offsets, _ in accesses)
    assert sums["bytes"] == sum(width[op] * len(offsets) for offsets, op in accesses)
    assert sums["wire_units"] == sum(wire_units)
    assert sums["wire_bytes"] == sum(unit[op] * units for (_, op), units in zip(accesses, wire_units, strict=True))
    single = trace.lane_accesses()
    assert sorted(zip(single["address"].tolist(), single["width"].tolist(), strict=True)) == sorted(
        (BASE + offset, width[op]) for offsets, op in accesses for offset in offsets
    )


HOSTILE = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(["STG.E", "0x7f", "-1", "4,5", "9" * 20, "0", "1e9", "", '"', "op_code", "é", "cuMemcpy"]),
             min_size=4, max_size=12).map(",".join),
)  # fmt: skip


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(HOSTILE, max_size=12))
def test_no_line_stops_the_others(tmp_path: Path, lines: list[str]) -> None:
    marks = [line(BASE, thread=7, line=4242), line(BASE + 4, thread=7, line=4242)]
    path = write(tmp_path, [marks[0], marks[1], "x", *lines], plain=True)
    beside(tmp_path)
    for name in ("codeline_log", "data_object_log", "mem_alloc_site_log", "exec_site_log", "exec_context_log",
                 "address_range_log"):  # fmt: skip
        with (tmp_path / f"{name}_77.txt").open("a", encoding="utf-8") as file:
            file.write("\n".join(lines))
    trace = load(path)
    of_marks = trace.by_line().query("line == 4242")
    assert of_marks["lanes"].tolist() == [2]
    assert any("Invalid lines, skipped" in sentence for sentence in trace.losses())


def test_a_folder_of_processes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for pid in (9, 10):
        write(run, [heading(), line(BASE), line(BASE + 4, index=pid)], pid=pid)
    assert cli.main(["import", "snoopie-log", str(run), "-o", str(tmp_path / "x.zst")]) == 0
    trace = snoopie.load(tmp_path)
    assert [path.name for path in trace.paths] == ["x.10.zst", "x.9.zst"]
    assert trace.processes["pid"].tolist() == [10, 9]
    assert trace.matrix().loc["GPU 1", "GPU 0"] == 16
    assert cli.main(["import", "snoopie-log", str(run), "-o", str(tmp_path / "x.zst")]) == 1
    capsys.readouterr()
    assert cli.main(["info", str(tmp_path)]) == 0
    assert "1970" not in capsys.readouterr().out


def test_a_cut_log_is_refused_or_read_as_far_as_it_goes(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    addresses = BASE + 4 * random.integers(0, 1 << 18, 200_000)
    path = write(tmp_path, [heading(), *(line(int(address), thread=place) for place, address in enumerate(addresses))])
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(TruncatedError, match=r"ends too early: it has [\d,]+ complete lines .*--allow-truncated"):
        load(path)
    trace = load(path, allow_truncated=True)
    lanes = int(trace.counts["lanes"].sum())
    assert 0 < lanes < 200_000
    assert any(f"{lanes + 1:,} complete lines" in sentence for sentence in trace.losses())
    found = trace.lane_accesses()["address"].to_numpy()
    assert np.array_equal(np.sort(found), np.sort(addresses[:lanes].astype(np.uint64)))


def test_what_is_no_log_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample = Path(__file__).parents[3] / "sample_traces/ring-4gpu.zst"
    empty = tmp_path / "empty"
    empty.mkdir()
    for source, message in (
        (empty, "has no log"),
        (tmp_path / "absent.zst", "cannot be read"),
        (sample, "is a trace already"),
        (write(tmp_path, ["hello", "world"], pid=1), "no line of a log"),
        (write(tmp_path, [], pid=2), "no line of a log"),
    ):
        with pytest.raises(NotATraceError, match=message):
            import_snoopie_log(source, tmp_path / "out.zst")
    with pytest.raises(SnoopieError, match="more than any machine can move"):
        import_snoopie_log(write(tmp_path, [copy(0, 1, 9 * 10**17)] * 3, pid=4), tmp_path / "out.zst")
    log = write(tmp_path, [REAL], pid=3)
    with pytest.raises(UsageError, match="is the file being imported"):
        import_snoopie_log(log, log, force=True)
    assert cli.main(["import", "nsys", "--allow-truncated", str(log)]) == 2
    assert "cannot be imported in part" in capsys.readouterr().err
    assert not (tmp_path / "out.zst").exists()


def test_nothing_named_means_here_but_never_the_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    log = write(tmp_path, [REAL])
    before = log.read_bytes()
    assert cli.main(["import", "snoopie-log", log.name]) == 0
    assert "wrote snoopie_log_77.trace.zst" in capsys.readouterr().out
    assert log.read_bytes() == before
    assert snoopie.load("snoopie_log_77.trace.zst").summary()["lanes"] == 1


# The lines of the generations that printed JSON, as their sources have them; some lack a quote.
ALLOCATED = '{{"op": "mem_alloc", "dev_id": {owner}, "bytesize": {size}, "start": "{base}", "end": "{end}"}}'
ALLOCATED_EARLY = '{{"op": "mem_alloc", "bytesize": {size}, "start": "{base}", "end": "{end}"}}'
GPUS = '"running_device_id": {issuer}, "mem_device_id": {owner}'
OBJECT = (
    '"object_allocation_pc": "{pc}", "object_variable_name": "a_new", "malloc_index_in_object": 0, '
    '"element_index_in_malloc": 7, "object_allocation_file_name": "jacobi.cu", "object_allocation_func_name": "main", '
    '"object_allocation_line_num": 300, "object_allocation_device_id": 0, "thread_index": 5, "lane_id": 0'
)
SOURCE = (
    '"code_line_index": "9", "code_line_filename": "put.cu", "code_line_dirname": "/home/u", "code_line_linenum": 125, '
    '"code_line_estimated_status": 1'
)
JSON = {
    "2023-01": (
        '{{op: "{op}", addr: {addr}, from: {issuer}, on: {owner}}}',
        '{{op: "mem_alloc", bytesize: {size}, dtpr*: {base}, to: {end}}}',
    ),
    "2023-03-08": (f'{{{{"op": "{{op}}", "addr": "{{addr}}", {GPUS}}}}}', ALLOCATED_EARLY),
    "2023-03-16": (
        '{{"op": "{op}", "addr": "{addr}", "allocation_pc": {pc}", "variable_name": a_new", "file_name": jacobi.cu", '
        f'"func_name": main", "line_num": 300", {GPUS}}}}}',
        ALLOCATED_EARLY,
    ),
    "2023-03-31": (
        '{{"op": "{op}", "addr": "{addr}", "object_allocation_pc": {pc}", "object_variable_name": a_new", '
        '"malloc_index_in_object": "0", "element_index_in_malloc": "7", "object_allocation_file_name": jacobi.cu", '
        '"object_allocation_func_name": main", "object_allocation_line_num": 300", "object_allocation_device_id": 0", '
        f'{GPUS}, "code_line_filename": put.cu, "code_line_dirname": /home/u, "code_line_linenum": 125, '
        '"code_line_estimated_status": 1}}',
        ALLOCATED,
    ),
    "2023-04": (
        '{{"op": "{op}", "kernel_name": "put(std::pair<int, int>, char**)", "addr": "{addr}",'
        f"{OBJECT}, {GPUS}, {SOURCE}}}}}",
        ALLOCATED,
    ),
    "2024-03": (f'{{{{"op": "{{op}}", ", "addr": "{{addr}}",{OBJECT}, {GPUS}, {SOURCE}}}}}', ALLOCATED),
}


def json_log(generation: str) -> list[str]:
    """Two warps of two GPUs, between what the program prints."""
    access, allocation = JSON[generation]
    facts = {"base": f"0x{BASE:016x}", "end": f"0x{BASE + 4096:016x}", "size": 4096, "pc": "0x000055d500401a2f"}
    lines = ["Starting the program", allocation.format(**facts, owner=0)]
    for issuer in (1, 2):
        for lane in range(32):
            address = f"0x{BASE + 128 * issuer + 4 * lane:016x}"
            lines.append(access.format(**facts, op="STG.E", addr=address, issuer=issuer, owner=0))
    return [*lines, "", "norm = 0.25", '{"loss": 3}']


@pytest.mark.parametrize("generation", JSON)
def test_generations_of_json_lines(tmp_path: Path, generation: str) -> None:
    (tmp_path / "out.txt").write_text("\n".join(json_log(generation)) + "\n")
    trace = load(tmp_path / "out.txt")
    columns = ["issuer", "owner", "accesses", "lanes", "bytes", "wire_units"]
    assert trace.counts[columns].to_numpy().tolist() == [[1, 0, 1, 32, 128, 8], [2, 0, 1, 32, 128, 8]]
    assert trace.objects[["address", "bytes", "owner"]].to_numpy().tolist() == [[BASE, 4096, 0]]
    assert trace.by_object()["object"].tolist() == [1]
    if generation >= "2023-03-16":
        assert trace.objects["name"].tolist() == ["a_new"]
        assert frames(trace, int(trace.objects["stack"].iloc[0])) == [("main", "jacobi.cu", 300)]
    if generation >= "2023-03-31":
        assert trace.by_line()[["file", "line"]].to_numpy().tolist() == [["/home/u/put.cu", 125]]
    kernel = "put(std::pair<int, int>, char**)" if generation == "2023-04" else "(unknown kernel)"
    assert trace.by_kernel()["kernel"].tolist() == [kernel]
    assert not any("Invalid" in sentence for sentence in trace.losses())


@pytest.mark.parametrize("generation", ["2023-01", "2023-04"])
def test_json_lines_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, generation: str) -> None:
    path = tmp_path / "out.txt"
    path.write_text("\n".join(json_log(generation)) + "\n")
    whole = load(path)
    monkeypatch.setattr(log, "_PIECE", 3000)
    monkeypatch.setattr(text, "_READ", 1000)
    parts = load(path)
    for table in ("counts", "objects", "records"):
        assert getattr(parts, table).to_numpy().tolist() == getattr(whole, table).to_numpy().tolist()


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_lines_that_are_alike_say_what_patterns_find_in_them(data: st.DataObject) -> None:
    """Values of any length and of any letters, in lines of each generation that quotes its keys."""
    access, allocation = JSON[data.draw(st.sampled_from([name for name in JSON if name > "2023-02"]))]
    value = st.text(st.characters(codec="utf-8", exclude_characters='"\n\r,}\x1c\x1d\x1e\x85\u2028\u2029'), max_size=9)
    number = st.integers(-3, 12_000) | st.sampled_from(["", "-", "x", "1 2", "9" * 19])
    address = st.sampled_from([f"0x{BASE + 4 * place:x}" for place in range(40)] + ["0x", "BASE", "0x12g"])
    draws = st.fixed_dictionaries(
        {"op": st.sampled_from(["STG.E", "LDG.E.64"]), "addr": address, "issuer": number, "owner": st.integers(-1, 3)}
    )
    facts = {"base": f"0x{BASE:016x}", "end": "0x0", "size": 4096, "pc": "0x55d500401a2f"}
    lines = [access.format(**facts, **drawn) for drawn in data.draw(st.lists(draws, max_size=12))]
    # Of the object and the source.
    file, thread = (
        data.draw(st.lists(value, min_size=12, max_size=12)),
        data.draw(st.lists(number, min_size=12, max_size=12)),
    )
    lines = [
        line.replace("put.cu", file[place]).replace('"thread_index": 5', f'"thread_index": {thread[place]}')
        for place, line in enumerate(lines)
    ]
    piece = ("\n".join([allocation.format(**facts, owner=0), *lines]) + "\n").encode()
    found, expected = JsonLines(), JsonLines()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lines, "Alike", _unlike)
        patterns = expected.read(piece)
    alike = found.read(piece)
    names = [alike.opcodes[code] for code in alike.table["opcode"]]
    assert names == [patterns.opcodes[code] for code in patterns.table["opcode"]]
    columns = [name for name in alike.table if name != "opcode"]
    assert alike.table[columns].to_numpy().tolist() == patterns.table[columns].to_numpy().tolist()
    assert alike.address.tolist() == patterns.address.tolist()
    assert (alike.lines, alike.wrong) == (patterns.lines, patterns.wrong)
    assert found.side() == expected.side()
    assert list(found.kernels) == list(expected.kernels)


def _unlike(*_: object) -> None:
    raise UnlikeError


def test_lines_of_one_kind_are_read_without_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the digits of one number grow as those of another shrink."""
    monkeypatch.setattr(JsonLines, "_learnt", lambda *_: pytest.fail("a pattern was made"))
    access, _ = JSON["2023-04"]
    facts = {"pc": "0x55d500401a2f", "op": "STG.E", "issuer": 1, "owner": 0}
    lines = [
        access.format(**facts, addr=f"0x{BASE + 4 * thread:x}")
        .replace('malloc": 7', f'malloc": {10 ** (5 - thread // 8)}')
        .replace('index": 5', f'index": {10 ** (thread // 8)}')
        for thread in range(40)
    ]
    read = JsonLines().read(("\n".join(lines) + "\n").encode())
    assert read.table["thread_indx"].tolist() == [10 ** (thread // 8) for thread in range(40)]
    assert read.address.tolist() == [BASE + 4 * thread for thread in range(40)]
    assert read.wrong == 0


def test_damaged_json_lines_are_counted(tmp_path: Path) -> None:
    lines = json_log("2023-04")
    lines[5] = lines[5][:60]
    lines[9] = lines[9].replace("0x0000", "0xzzzz")
    path = tmp_path / "out.txt"
    path.write_text("\n".join(lines) + "\n")
    trace = load(path)
    assert int(trace.counts["lanes"].sum()) == 62
    assert "Invalid lines, skipped: 2." in trace.losses()


def test_objects_without_frees_are_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    beside(tmp_path)
    load(write(tmp_path, [heading(), line(BASE)]))
    assert cli.main(["memory", "--leaks", str(tmp_path / "out" / "t.zst")]) == 0
    said = capsys.readouterr().out
    assert "unknown: what Snoopie 2023 recorded does not include when memory was freed" in said
    assert "ever freed" not in said


def test_labels_are_of_the_program_not_of_libc(tmp_path: Path) -> None:
    beside(tmp_path)
    (tmp_path / "data_object_log_77.txt").write_text("obj_id,var_name,call_stack\n3,,1<2<3<4\n")
    (tmp_path / "mem_alloc_site_log_77.txt").write_text(
        'pc,func_name,file_name,line_no\n1,"cudaMalloc",,0\n2,"main",,0\n3,"__libc_start_call_main",'
        '../sysdeps/nptl/libc_start_call_main.h,58\n4,"__libc_start_main",../csu/libc-start.c,392\n'
    )
    trace = load(write(tmp_path, [heading(), line(BASE)]))
    assert trace.stack_label(trace.objects["stack"]).tolist()[0] == "main"


@pytest.mark.parametrize(
    "row",
    [
        lambda number: line(BASE + 4 * number, thread=number),
        lambda number: line(BASE + number * number % 10_007 * 4, thread=number // 32),
        lambda number: copy(0, 1, number + 1),
    ],
    ids=["accesses", "scattered", "copies"],
)
def test_memory_does_not_grow_with_the_log(
    row: Callable[[int], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setattr(log, "_PIECE", 1 << 16)
    monkeypatch.setattr(spool, "_SMALL", 1)
    held = []
    for rows in (2_000, 20_000):
        path = write(tmp_path, [row(number) for number in range(rows)], plain=True)
        tracemalloc.start()
        read = read_log(text.TextFile(path), lambda *_: None)
        held.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        assert read.accesses.rows + read.copies.rows >= rows // 32
    # 18,000 rows more, of which none leaves a byte each.
    assert held[1] - held[0] < 18_000
