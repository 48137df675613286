"""Records of NCCL's calls: what comes out is what stands in them."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import snoopie
from snoopie import cli
from snoopie.api.trace import Trace
from snoopie.errors import NotATraceError, SnoopieError, TruncatedError
from snoopie.importers import Imported
from snoopie.importers.nccl import import_flight_recorder, import_inspector

NOW = 1_752_867_229_000_000
# A hash of 64 bits: a signed number does not hold each.
COMMUNICATOR = "0xe12dedaa9700644a"
COLUMNS = ["operation", "type", "count", "bytes", "peer", "rank", "ranks", "issuer", "start", "end"]


def check(done: Imported) -> Trace:
    trace = snoopie.load(done.paths)
    assert set(trace.notices["text"]) == set(done.notices)
    return trace


# NCCL Inspector


def record(name: str, size: Any, rank: int = 2, *, verbose: bool = False, **more: Any) -> dict[str, Any]:
    kind = "p2p" if name in ("Send", "Recv") else "coll"
    facts = {kind: name, f"{kind}_sn": 7, f"{kind}_msg_size_bytes": size, f"{kind}_exec_time_us": 300, **more}
    if verbose:
        facts["event_trace_ts"] = {
            f"{kind}_start_ts": NOW - 500, f"{kind}_stop_ts": NOW - 490,
            "kernel_events": [
                {"channel_id": 0, "kernel_start_ts": NOW - 480, "kernel_stop_ts": NOW - 100},
                {"channel_id": 1, "kernel_start_ts": NOW - 470, "kernel_stop_ts": NOW - 90},
            ],
        }  # fmt: skip
    return {
        "header": {"id": COMMUNICATOR, "rank": rank, "n_ranks": 8, "nnodes": 1},
        "metadata": {
            "inspector_output_format_version": "v4.0", "dump_timestamp_us": NOW, "hostname": "node3", "pid": 4711,
        },
        f"{kind}_perf": facts,
    }  # fmt: skip


RECORDS = [
    record("AllReduce", 1 << 20, verbose=True),
    record("AllGather", 4096),
    record("Send", 64, p2p_peer=5),
]


@pytest.mark.parametrize("indent", [None, 2])
def test_inspector(tmp_path: Path, indent: int | None) -> None:
    path = tmp_path / "node3-pid4711.log"
    path.write_text("\n".join(json.dumps(one, indent=indent) for one in RECORDS) + "\n")
    trace = check(import_inspector(path, tmp_path / "out.zst"))
    assert trace.processes[["host", "pid", "rank", "ranks"]].to_numpy().tolist() == [["node3", 4711, 2, 8]]
    assert trace.collectives[COLUMNS].to_numpy().tolist() == [
        ["AllReduce", "", -1, 1 << 20, -1, 2, 8, 0, 1000 * (NOW - 500), 1000 * (NOW - 490)],
        # The larger buffer has one message of each rank.
        ["AllGather", "", -1, 8 * 4096, -1, 2, 8, 0, 1000 * NOW, 1000 * NOW],
        ["Send", "", -1, 64, 5, 2, 8, 0, 1000 * NOW, 1000 * NOW],
    ]
    assert set(trace.collectives["communicator"]) == {COMMUNICATOR}
    assert trace.spans[["start", "end"]].to_numpy().tolist() == [[1000 * (NOW - 480), 1000 * (NOW - 90)]]
    rows = trace.by_collective().set_index("operation")
    assert rows["launches"].to_dict() == {"AllReduce": 1, "AllGather": 0, "Send": 0}
    assert any("shown when they were dumped: 2." in sentence for sentence in trace.losses())


def test_inspector_of_several_processes_and_gpus(tmp_path: Path) -> None:
    folder = tmp_path / "nccl-inspector-17"
    folder.mkdir()
    for pid in (1, 2):
        about = {**RECORDS[0]["metadata"], "pid": pid}
        rows = [{**record("AllReduce", 8, rank), "metadata": about} for rank in ((0, 1) if pid == 1 else (2,))]
        (folder / f"node3-pid{pid}.log").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = import_inspector(folder, tmp_path / "run.zst")
    assert [path.name for path in done.paths] == ["run.1.zst", "run.2.zst"]
    trace = check(done)
    assert trace.gpus["uuid"].tolist() == ["nccl-node3-2"]
    assert sorted(trace.collectives["issuer"]) == [-2, -2, 0]
    assert trace.collectives["communicator"].nunique() == 1


def dumped(rank: int = 2, **stats: Any) -> dict[str, Any]:
    """What version 4.1 and later write of a communicator whenever they write."""
    told = record("AllReduce", 8, rank)
    del told["coll_perf"]
    return told | {"dump_stats": stats}


def marker(**records: Any) -> dict[str, Any]:
    """That many records of each kind follow."""
    return dumped(**{f"{kind}_records": number for kind, number in records.items()})


def bare(one: dict[str, Any]) -> dict[str, Any]:
    """As format 4.3 has it: without what the marker says."""
    return {name: value for name, value in one.items() if name not in ("header", "metadata")}


def nested(one: dict[str, Any]) -> dict[str, Any]:
    """With the channels among the call's events, beside those of the network's proxy."""
    ((kind, facts),) = bare(one).items()
    times = dict(facts.get("event_trace_ts", {}))
    channels = times.pop("kernel_events", [])
    events = [{"event_type": "KernelCh", "channel_id": each["channel_id"], "event_trace_ts": each} for each in channels]
    events.append({"event_type": "ProxyOp", "proxy_start_ts": NOW - 600, "proxy_stop_ts": NOW, "events": []})
    return one | {kind: facts | {"event_trace_ts": times, "events": events}}


@pytest.mark.parametrize(
    "written",
    [
        [nested(one) for one in RECORDS],
        [marker(coll=2, p2p=1), *map(bare, RECORDS)],
        [marker(coll=2), *map(bare, RECORDS[:2]), marker(coll=0), marker(p2p=1), bare(RECORDS[2])],
    ],
    ids=["4.1 with events", "4.3", "4.3 in three dumps"],
)
def test_later_formats_of_inspector_say_the_same(tmp_path: Path, written: list[dict[str, Any]]) -> None:
    found = []
    for number, records in enumerate((RECORDS, written)):
        path = tmp_path / f"{number}.log"
        path.write_text("\n".join(map(json.dumps, records)))
        done = import_inspector(path, tmp_path / f"{number}.zst")
        trace = check(done)
        found.append([done.notices, trace.collectives[COLUMNS].to_dict(), trace.spans[["start", "end"]].to_dict()])
    assert found[0] == found[1]


def test_what_inspector_records_beside_calls(tmp_path: Path) -> None:
    """It has no place in a trace, but makes sense."""
    about = {name: RECORDS[0][name] for name in ("header", "metadata")}
    proxy = {"proxy_trace": {"record_type": "proxy_op", "proxy_op_sn": 12, "total_us": 70}}
    function = about | {"coll_api": {"start_ts": NOW - 9, "stop_ts": NOW - 1, "func": "AllReduce", "count": 2}}
    path = tmp_path / "x.log"
    path.write_text("\n".join(map(json.dumps, [function, marker(coll=1, proxy=1), bare(RECORDS[1]), proxy])))
    done = import_inspector(path, tmp_path / "out.zst")
    assert len(check(done).collectives) == 1
    assert "Records of the network's proxy, of NCCL's functions or of launches, not in this trace: 2." in done.notices
    assert not any("make no sense" in notice for notice in done.notices)
    path.write_text(json.dumps(function))
    with pytest.raises(NotATraceError, match="no collective, send or receive of NCCL Inspector"):
        import_inspector(path, tmp_path / "none.zst")


def test_calls_without_a_marker_are_nobodys(tmp_path: Path) -> None:
    """More than it announces, or before the first: whose they are would be a guess."""
    path = tmp_path / "x.log"
    calls = [
        bare(RECORDS[1]),
        marker(coll=1),
        *[bare(one) for one in RECORDS[:2]],
        marker(coll="many"),
        bare(RECORDS[1]),
    ]
    path.write_text("\n".join(map(json.dumps, calls)))
    done = import_inspector(path, tmp_path / "out.zst")
    assert check(done).collectives["operation"].tolist() == ["AllReduce"]
    assert "Records that make no sense, skipped: 3." in done.notices


def dropped(calls: Any, messages: Any, rank: int = 2) -> dict[str, Any]:
    return dumped(rank, coll_dropped_total=calls, p2p_dropped_total=messages)


def test_what_inspector_dropped(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    told = [dropped(0, 0), dropped(7, 1), RECORDS[1], dropped(30, 2), dropped(5, 0, rank=3), dropped("many", -1)]
    path.write_text("\n".join(map(json.dumps, told)))
    done = import_inspector(path, tmp_path / "out.zst")
    assert len(check(done).collectives) == 1
    (sentence,) = [notice for notice in done.notices if "had no room for" in notice]
    assert sentence.endswith("not in this trace: 37.")
    assert not any("make no sense" in notice for notice in done.notices)


def test_inspector_that_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text("\n".join(map(json.dumps, RECORDS))[:-30])
    with pytest.raises(TruncatedError, match="after 2 records; import the complete"):
        import_inspector(path, tmp_path / "out.zst")
    done = import_inspector(path, tmp_path / "out.zst", allow_truncated=True)
    assert len(check(done).collectives) == 2


ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(-(1 << 70), 1 << 70), st.floats(), st.text(max_size=5), st.just([1, [2]]),
    st.just({"a": 1}), st.just("0x10"),
)  # fmt: skip


def changed(value: Any, path: list[Any], to: Any) -> Any:
    """A copy in which something along a path is gone ("gone") or is something else."""
    copied = pickle.loads(pickle.dumps(value))
    of = copied
    for step in path[:-1]:
        of = of[step]
    if to == "gone":
        del of[path[-1]]
    else:
        of[path[-1]] = to
    return copied


def paths(value: Any, before: tuple[Any, ...] = ()) -> list[list[Any]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for step, inner in steps for found in ([*before, step], *paths(inner, (*before, step)))]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(paths(RECORDS[0])), st.one_of(st.just("gone"), ANYTHING))
def test_no_value_of_inspector_stops_the_others(tmp_path: Path, where: list[Any], to: Any) -> None:
    path = tmp_path / "x.log"
    path.write_text("\n".join(json.dumps(one) for one in (changed(RECORDS[0], where, to), RECORDS[1])))
    trace = check(import_inspector(path, tmp_path / "out.zst", force=True))
    assert "AllGather" in trace.collectives["operation"].tolist()
    for made in tmp_path.glob("out*.zst"):
        assert cli.main(["check", str(made)]) == 0
        made.unlink()


# PyTorch's flight recorder


def entry(
    name: str, sizes: list[Any], results: list[Any], *, group: str = "0", kind: str = "Float", **more: Any
) -> dict[str, Any]:
    return {
        "frames": [{"name": "main", "filename": "train.py", "line": 3}], "record_id": 1, "pg_id": 0,
        "process_group": (group, "default_pg"), "collective_seq_id": 1, "p2p_seq_id": 0, "op_id": 1,
        "profiling_name": f"nccl:{name}", "time_created_ns": 1000 * NOW, "duration_ms": 1.5, "input_sizes": sizes,
        "input_dtypes": [kind] * len(sizes), "output_sizes": results, "output_dtypes": [kind] * len(results),
        "state": "completed", "time_discovered_started_ns": None, "time_discovered_completed_ns": None,
        "retired": True, "timeout_ms": 600000, "is_p2p": False, **more,
    }  # fmt: skip


DUMP: dict[str, Any] = {
    "version": "2.4",
    "pg_config": {
        "0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"},
        "5": {"name": "5", "desc": "pair", "ranks": "[1, 3]"},
    },
    "pg_status": {"0": {"last_enqueued_collective": 3}},
    "entries": [
        entry("all_reduce", [[3, 4]], [[3, 4]]),
        entry("_all_gather_base", [[10]], [[40]], kind="BFloat16"),
        entry("all_reduce", [[2], [5]], [[2], [5]], group="5", state="started"),
        entry("send 3->0", [[7]], [[7]], is_p2p=True, state="scheduled"),
    ],
}
EXPECTED = [
    ["all_reduce", "float32", 12, 48, -1, 3, 4],
    ["_all_gather_base", "bfloat16", 10, 80, -1, 3, 4],
    ["all_reduce", "float32", 7, 28, -1, 1, 2],
    ["Send", "float32", 7, 28, 0, 3, 4],
]


def write_dump(folder: Path, dump: Any, rank: int = 3, *, as_json: bool = False) -> Path:
    path = folder / f"nccl_trace_rank_{rank}"
    path.write_bytes(json.dumps(dump).encode() if as_json else pickle.dumps(dump, protocol=2))
    return path


@pytest.mark.parametrize("as_json", [False, True])
def test_flight_recorder(tmp_path: Path, as_json: bool) -> None:
    path = write_dump(tmp_path, DUMP, as_json=as_json)
    assert cli.main(["import", str(path), "-o", str(tmp_path / "out.zst")]) == 0
    trace = snoopie.load(tmp_path / "out.zst")
    assert trace.processes[["rank", "ranks"]].to_numpy().tolist() == [[3, 4]]
    rows = trace.collectives[[*COLUMNS[:-3], "start"]].to_numpy().tolist()
    names = {"all_reduce": "AllReduce", "_all_gather_base": "AllGather"}
    assert rows == [[names.get(row[0], row[0]), *row[1:], 1000 * NOW] for row in EXPECTED]
    assert trace.collectives["communicator"].nunique() == 2
    assert any("had not completed when the dump was made: 2." in sentence for sentence in trace.losses())


def test_flight_recorders_of_several_ranks(tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    folder.mkdir()
    for rank in (1, 3):
        write_dump(folder, DUMP, rank)
    done = import_flight_recorder(folder, tmp_path / "run.zst")
    assert [path.name for path in done.paths] == ["run.rank1.zst", "run.rank3.zst"]
    trace = check(done)
    (run,) = trace.runs["run_id"].tolist()
    assert trace.gpus["uuid"].tolist() == [f"nccl-{run}-rank1", f"nccl-{run}-rank3"]
    assert trace.collectives.groupby("communicator")["rank"].agg(list).tolist() in (
        [[1, 1, 1, 3, 3, 3], [0, 1]], [[0, 1], [1, 1, 1, 3, 3, 3]],
    )  # fmt: skip


@pytest.mark.parametrize("as_json", [False, True])
def test_torchcomms_writes_the_same_with_names_of_its_own(tmp_path: Path, as_json: bool) -> None:
    """Its groups are named by the program and described by their backend, and the file may be named otherwise."""

    def call(name: str, *sides: list[Any], group: str = "main") -> dict[str, Any]:
        return entry("x", *sides, group=group) | {"profiling_name": f"ncclx:{name}", "process_group": (group, "ncclx")}

    dump = {
        "version": "2.10", "comm_lib_version": "2.29", "pg_status": {},
        "pg_config": {
            "main": {"name": "main", "desc": "ncclx", "ranks": "[0,1,2,3]"},
            "odd": {"name": "odd", "desc": "ncclx", "ranks": "[1,3]"},
        },
        "entries": [
            call("split", [], []),
            call("all_gather_single", [[10]], [[40]]),
            call("reduce_scatter_single", [[40]], [[10]]),
            call("all_to_all_v_single", [[8]], [[9]], group="odd"),
            call("recv", [], [[7]]),
            call("barrier", [], []),
        ],
    }  # fmt: skip
    path = write_dump(tmp_path, dump, as_json=as_json).rename(tmp_path / "comm_lib_trace_rank_3")
    done = import_flight_recorder(path, tmp_path / "out.zst")
    assert check(done).collectives[list(COLUMNS[:-3])].to_numpy().tolist() == [
        ["AllGather", "float32", 10, 160, -1, 3, 4],
        ["ReduceScatter", "float32", 10, 160, -1, 3, 4],
        ["AlltoAll", "float32", 8, 36, -1, 1, 2],
        ["Recv", "float32", 7, 28, -1, 3, 4],
        ["AllReduce", "", 0, 0, -1, 3, 4],
    ]
    assert "Calls that are no collective, left out: 1." in done.notices


class _Runs:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("made-by-a-pickle",)


def test_a_pickle_that_would_run_something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_dump(tmp_path, {**DUMP, "entries": [_Runs()]})
    with pytest.raises(NotATraceError, match="it names "):
        import_flight_recorder(path, tmp_path / "out.zst")
    assert not (tmp_path / "made-by-a-pickle").exists()


@pytest.mark.parametrize(
    ("name", "data", "match"),
    [
        ("nccl_trace_rank_0", b"", "no dump of"),
        ("nccl_trace_rank_0", b"{}", "no dump of"),
        ("nccl_trace_rank_0", pickle.dumps([1]), "no dump of"),
        ("dump.pickle", pickle.dumps(DUMP), "does not say its rank"),
    ],
)
def test_what_is_no_dump(tmp_path: Path, name: str, data: bytes, match: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(SnoopieError, match=match):
        import_flight_recorder(path, tmp_path / "out.zst")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(paths(DUMP["entries"][1])), st.one_of(st.just("gone"), ANYTHING), st.booleans())
def test_no_value_of_a_dump_stops_the_others(tmp_path: Path, where: list[Any], to: Any, as_json: bool) -> None:
    dump = {**DUMP, "entries": [DUMP["entries"][0], changed(DUMP["entries"][1], where, to), "no entry"]}
    trace = check(import_flight_recorder(write_dump(tmp_path, dump, as_json=as_json), tmp_path / "out.zst", force=True))
    assert "AllReduce" in trace.collectives["operation"].tolist()
    assert cli.main(["check", str(tmp_path / "out.zst")]) == 0
