"""Small recordings of other tools, one of each format and of each way in which it can know less."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snoopie.importers import Imported
from snoopie.importers.alnair import import_alnair
from snoopie.importers.kineto import import_kineto
from snoopie.importers.nccl import import_flight_recorder, import_inspector
from snoopie.importers.nsys import import_nsys
from snoopie.importers.rocm import import_hcc, import_rtg
from snoopie.importers.rocpd import import_rocpd
from snoopie.importers.snoopie_log import import_snoopie_log
from snoopie.trace.lacks import Lack
from tests.support.nsys_export import Export

_START = 1_663_174_512_512_732_618
_BASE = 0x7FA571A00000
_DEPS = "dep1:0 dep2:0 dep3:0 dep4:0 dep5:0"
_ACCESSES, _MEMORY = {Lack.ACCESSES}, {Lack.ALLOCATIONS, Lack.FREES}
_COPIES = {Lack.COPIES}


@dataclass(frozen=True)
class Format:
    """``write`` makes the files in a folder and names what is to be imported; ``lacks``: what nobody can know of it."""

    write: Callable[[Path], Path]
    importer: Callable[..., Imported]
    lacks: set[Lack]


def _text(name: str, *lines: str) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / name
        path.write_text("".join(f"{line}\n" for line in lines))
        return path

    return write


def _alnair(folder: Path) -> Path:
    _SUMS(folder)
    _CALLS(folder)
    return folder


def _log_with_objects(folder: Path) -> Path:
    (folder / "address_range_log_7.txt").write_text(f"offset,size,obj_id,dev_id\n0x{_BASE:016x},4096,3,0\n")
    return _LOG(folder)


def _nsys(folder: Path, *, memory: bool, version: str = "2025", results: bool = True) -> Path:
    export = Export(version)
    call = export.call("cudaMalloc_v3020", 100, 200)
    if memory:
        export.memory(150, _BASE, 1000, call=call)
    export.kernel("step(int)", 1000, 2000, export.call("cudaLaunchKernel_v7000", 500, 510))
    if not results:
        for row in export.rows["CUPTI_ACTIVITY_KIND_RUNTIME"]:
            row["returnValue"] = None
    return Path(export.write(folder / "report.sqlite"))


def _kineto(base: int) -> Callable[[Path], Path]:
    """A file of PyTorch's profiler whose times count from there."""
    ids = {"correlation": 1}
    kernel = ids | {"device": 0, "stream": 7, "grid": [8, 1, 1], "block": [128, 1, 1]}
    copied = {"correlation": 2, "device": 0, "stream": 7, "bytes": 4096}
    events: list[dict[str, Any]] = [
        {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 1.5, "dur": 1, "args": ids},
        {"cat": "kernel", "name": "add", "pid": 0, "tid": 7, "ts": 4, "dur": 2, "args": kernel},
        {"cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": 8, "dur": 2,
         "args": copied},
    ]  # fmt: skip
    whole = {"baseTimeNanoseconds": base, "traceEvents": [{"ph": "X", **event} for event in events]}
    return _text("trace.json", json.dumps(whole))


def _database(name: str, suffix: str = "", **tables: tuple[str, Sequence[Sequence[Any]]]) -> Callable[[Path], Path]:
    """A database with these tables, whose names end so: their columns, and their rows."""

    def write(folder: Path) -> Path:
        with closing(sqlite3.connect(folder / name)) as database:
            for table, (columns, rows) in tables.items():
                database.execute(f"CREATE TABLE {table}{suffix} ({', '.join(columns.split())})")
                database.executemany(
                    f"INSERT INTO {table}{suffix} VALUES ({', '.join('?' * len(columns.split()))})", rows
                )
            database.commit()
        return folder / name

    return write


def _inspector(**times: Any) -> Callable[[Path], Path]:
    """A record of NCCL Inspector, with what it says of times."""
    record = {
        "header": {"id": "0xe6", "rank": 0, "n_ranks": 2, "nnodes": 1},
        "metadata": {"dump_timestamp_us": _START // 1000, "hostname": "node1", "pid": 9},
        "coll_perf": {"coll": "AllReduce", "coll_sn": 1, "coll_msg_size_bytes": 64, **times},
    }
    return _text("node1-pid9.log", json.dumps(record))


def _flight_recorder(folder: Path) -> Path:
    tensors = {f"{side}_{what}": [value] for side in ("input", "output") for what, value in
               (("sizes", [3]), ("dtypes", "Float"))}  # fmt: skip
    entry = {"process_group": ["0", "default_pg"], "profiling_name": "nccl:all_reduce", "time_created_ns": _START}
    dump = {"pg_config": {"0": {"desc": "default_pg", "ranks": "[0, 1]"}}, "entries": [entry | tensors]}
    return _text("nccl_trace_rank_0", json.dumps(dump))(folder)


_SUMS = _text("metrics.log", "name:mem_used,count:4096", "name:cuLaunchKernel,count:5,burst:10")
_CALLS = _text("timeline.log", f"name:cuMemAlloc, start:{_START}, burst:1192, bytes:2097152, kind:-1")
_LOG = _text("snoopie_log_7.txt", f"STG.E,0x{_BASE:016x},10240,1,0,125,1586,1,1,0x{_BASE:016x},4")
_RTG = [
    "HIP: pid:12 tid:13 hipFree ret=0 @1811962118575233 +34010",
    "HSA: pid:12 tid:1 dispatch queue:0 agent:1 signal:3 name:'f' start:1811962118600000 stop:1811962118610000 id:0",
    f"HSA: pid:12 tid:13 copy agent:1 signal:3 start:1811962118620000 stop:1811962118630000 {_DEPS}",
]
_RPD = _database(
    "run.rpd",
    rocpd_string=("id string", [(1, "hipLaunchKernel"), (2, "add(int)"), (3, "KernelExecution")]),
    rocpd_api=("id pid tid start end apiName_id args_id", [(1, 9, 9, 1000, 1100, 1, 1)]),
    rocpd_op=("id gpuId queueId start end description_id opType_id", [(1, 0, 3, 2000, 2500, 2, 3)]),
    rocpd_api_ops=("id api_id op_id", [(1, 1, 1)]),
    rocpd_kernelapi=(
        "api_ptr_id stream gridX gridY gridZ workgroupX workgroupY workgroupZ", [(1, "0x0", 10, 2, 1, 64, 1, 1)]
    ),
)  # fmt: skip
_SDK = _database(
    "run.db", "_00006b5e_d52b_7e1a_8c2d_9f0e1a2b3c4d",
    rocpd_metadata=("id tag value", [(1, "schema_version", "3")]),
    rocpd_string=("id guid string", [(1, "g", "hipLaunchKernel"), (2, "g", "HIP_RUNTIME_API_EXT")]),
    rocpd_info_process=("id guid nid ppid pid command", [(1, "g", 1, 3, 9, "./app")]),
    rocpd_info_thread=("id guid nid pid tid", [(1, "g", 1, 1, 9)]),
    rocpd_info_agent=("id guid nid pid type absolute_index name", [(1, "g", 1, 1, "GPU", 0, "gfx942")]),
    rocpd_event=("id guid category_id stack_id correlation_id", [(1, "g", 2, 10, 0)]),
    rocpd_region=("id guid nid pid tid start end name_id event_id", [(1, "g", 1, 1, 1, 1000, 1100, 1, 1)]),
    rocpd_memory_allocate=(
        "id guid nid pid tid agent_id type level start end address size event_id",
        [(1, "g", 1, 1, 1, 1, "ALLOC", "REAL", 500, 510, 1 << 40, 4096, None)],
    ),
)  # fmt: skip
_TIMES = {
    "event_trace_ts": {
        "coll_start_ts": _START // 1000,
        "coll_stop_ts": _START // 1000 + 2,
        "kernel_events": [{"kernel_start_ts": _START // 1000 + 3, "kernel_stop_ts": _START // 1000 + 9}],
    }
}
_CALLLESS = {Lack.CALLS, Lack.ERRORS, Lack.CALL_SIZES}
_OF_LOG = _CALLLESS | {Lack.DATE, Lack.TIMES, Lack.FREES, Lack.SHAPES}
_OF_ALNAIR = _MEMORY | _ACCESSES | _COPIES | {Lack.ERRORS, Lack.LAUNCHES, Lack.SHAPES}
_OF_HCC = _MEMORY | _ACCESSES | _CALLLESS | {Lack.DATE, Lack.SHAPES}
_OF_NCCL = _MEMORY | _ACCESSES | _CALLLESS | _COPIES | {Lack.SHAPES}
FORMATS = {
    "rtg": Format(
        _text("rtg.txt", *_RTG), import_rtg,
        _MEMORY | _ACCESSES | {Lack.DATE, Lack.CALL_SIZES, Lack.COPY_SIZES},
    ),
    "rtg without copies": Format(
        _text("rtg.txt", *_RTG[:2]), import_rtg, _MEMORY | _ACCESSES | _COPIES | {Lack.DATE, Lack.CALL_SIZES}
    ),
    "hcc": Format(
        _text("hcc.txt", "profile:  kernel;  a;     0.4 us;  83831227991984; 83831227992384; #0.1.2;",
              "profile:    copy;  HostToDevice;  0.4 us;  83831228000000; 83831228001000; #0.1.9; 64 bytes;"),
        import_hcc, _OF_HCC,
    ),
    "hcc without times": Format(
        _text("hcc.txt", "profile:  kernel;  a;     0.4 us;"), import_hcc, _OF_HCC | _COPIES
    ),
    "alnair": Format(_alnair, import_alnair, _OF_ALNAIR),
    "alnair, single calls": Format(_CALLS, import_alnair, _OF_ALNAIR),
    "alnair, sums": Format(_SUMS, import_alnair, _OF_ALNAIR | {Lack.DATE, Lack.TIMES}),
    "snoopie-log": Format(_LOG, import_snoopie_log, _OF_LOG | _COPIES | {Lack.ALLOCATIONS}),
    "snoopie-log with objects": Format(_log_with_objects, import_snoopie_log, _OF_LOG | _COPIES),
    "snoopie-log JSON": Format(
        _text("out.txt",
              f'{{"op": "mem_alloc", "dev_id": 0, "bytesize": 4096, "start": "0x{_BASE:016x}", "end": "0x1"}}',
              f'{{"op": "STG.E", "addr": "0x{_BASE:016x}", "running_device_id": 1, "mem_device_id": 0}}'),
        import_snoopie_log, _OF_LOG | _COPIES,
    ),
    "kineto": Format(_kineto(_START), import_kineto, _MEMORY | _ACCESSES | {Lack.ERRORS}),
    "kineto without a date": Format(_kineto(0), import_kineto, _MEMORY | _ACCESSES | {Lack.ERRORS, Lack.DATE}),
    "rocpd of rocmProfileData": Format(
        _RPD, import_rocpd, _MEMORY | _ACCESSES | _COPIES | {Lack.ERRORS, Lack.DATE}
    ),
    "rocpd of rocprofv3": Format(
        _SDK, import_rocpd, _ACCESSES | _COPIES | {Lack.ERRORS, Lack.DATE, Lack.LAUNCHES, Lack.SHAPES}
    ),
    "inspector": Format(_inspector(), import_inspector, _OF_NCCL | {Lack.LAUNCHES}),
    "inspector, verbose": Format(_inspector(**_TIMES), import_inspector, _OF_NCCL),
    "flight-recorder": Format(_flight_recorder, import_flight_recorder, _OF_NCCL | {Lack.LAUNCHES}),
    "nsys without dates": Format(
        lambda folder: _nsys(folder, memory=True, version="2022"), import_nsys, _ACCESSES | _COPIES | {Lack.DATE}
    ),
    "nsys without results": Format(
        lambda folder: _nsys(folder, memory=True, results=False), import_nsys, _ACCESSES | _COPIES | {Lack.ERRORS}
    ),
    "nsys": Format(lambda folder: _nsys(folder, memory=True), import_nsys, _ACCESSES | _COPIES),
    "nsys without memory": Format(
        lambda folder: _nsys(folder, memory=False), import_nsys, _ACCESSES | _COPIES | _MEMORY
    ),
}  # fmt: skip
