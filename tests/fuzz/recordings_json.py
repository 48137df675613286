"""Small recordings of PyTorch's profiler, of NCCL and of ROCm's newer tools: with them inputs of importers begin."""

from __future__ import annotations

import json
import pickle
import sqlite3
from contextlib import closing
from functools import cache
from typing import Any

_NOW = 1_752_867_229_000_000


def profiler_traces() -> tuple[bytes, ...]:
    """Of PyTorch's profiler: launches, copies, a collective, an operator and memory."""
    nccl = {
        "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "Group size": 2, "dtype": "Half",
        "Process Group Name": "0", "Process Group Ranks": "[1, 3]",
    }  # fmt: skip

    def event(cat: str, name: str, ts: float, dur: float, pid: int = 4711, tid: int = 4712, **args: Any) -> Any:
        return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}

    def on_gpu(cat: str, name: str, ts: float, correlation: int, **args: Any) -> Any:
        return event(cat, name, ts, 7.5, 0, 7, device=0, stream=7, correlation=correlation, **args)

    shape = {"grid": [8, 2, 1], "block": [128, 1, 1]}
    events = [
        {"name": "process_name", "ph": "M", "ts": 1.0, "pid": 4711, "tid": 0, "args": {"name": "python3"}},
        event("cpu_op", "aten::add", 900.0, 50.0, **{"External id": 1, "Input Dims": [[2, 3], []]}),
        event("cuda_runtime", "cudaLaunchKernel", 1000.001, 5.5, correlation=10),
        on_gpu("kernel", "add<float>(int)", 2000.123, 10, **shape),
        {"ph": "s", "id": 10, "pid": 4711, "tid": 4712, "ts": 1000.001, "cat": "ac2g", "name": "ac2g"},
        event("cuda_runtime", "cudaMemcpyPeerAsync", 1020.0, 2, correlation=12),
        on_gpu("gpu_memcpy", "Memcpy PtoP (Device -> Device)", 2200.0, 12, bytes=8192, fromDevice=0, toDevice=1),
        on_gpu("gpu_memset", "Memset (Device)", 2400.0, 13, bytes=512),
        on_gpu("kernel", "ncclDevKernel_AllReduce_Sum_f16_RING_LL()", 2500.0, 14, **shape, **nccl),
        {
            "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 4711, "tid": 4712, "ts": 1070.5,
            "args": {"Device Type": 1, "Device Id": 0, "Addr": 1 << 46, "Bytes": 512, "Total Allocated": 512},
        },
    ]  # fmt: skip
    about = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA H200", "totalGlobalMem": 150_000_000_000}],
        "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 4},
    }
    whole = about | {"traceEvents": events, "baseTimeNanoseconds": 1_735_632_360_000_000_000}
    return json.dumps(whole).encode(), json.dumps(whole, indent=2).encode()


def inspector_logs() -> tuple[bytes, ...]:
    """Of NCCL Inspector: a collective with its events, a message, how many it dropped, and what follows that."""
    head = {
        "header": {"id": "0xe62dedaa97644a", "rank": 2, "n_ranks": 8, "nnodes": 1},
        "metadata": {
            "inspector_output_format_version": "v4.0", "dump_timestamp_us": _NOW, "hostname": "node3", "pid": 4711
        },
    }  # fmt: skip
    events = {
        "coll_start_ts": _NOW - 500,
        "coll_stop_ts": _NOW - 490,
        "kernel_events": [{"channel_id": 0, "kernel_start_ts": _NOW - 480, "kernel_stop_ts": _NOW - 100}],
    }
    reduced = {"coll": "AllReduce", "coll_sn": 7, "coll_msg_size_bytes": 1 << 20, "coll_exec_time_us": 300}
    sent = {"p2p": "Send", "p2p_sn": 8, "p2p_msg_size_bytes": 64, "p2p_exec_time_us": 3, "p2p_peer": 5}
    records = [head | {"coll_perf": reduced | {"event_trace_ts": events}}, head | {"p2p_perf": sent}]
    drops = {"coll_dropped_total": 3, "p2p_dropped_total": 0}
    records.append(head | {"dump_stats": {"coll_records": 1, "p2p_records": 0, "proxy_records": 1, **drops}})
    channel = {"event_type": "KernelCh", "event_trace_ts": events["kernel_events"][0]}
    records += [{"coll_perf": reduced | {"events": [channel]}}, {"proxy_trace": {"proxy_op_sn": 12}}]
    lines = [json.dumps(one).encode() + b"\n" for one in records]
    return b"".join(lines), b"".join(lines[:2])


def flight_records() -> tuple[bytes, ...]:
    """Of PyTorch's flight recorder, as JSON and as pickles."""
    entry = {
        "frames": [{"name": "main", "filename": "train.py", "line": 3}], "record_id": 1, "pg_id": 0,
        "process_group": ["0", "default_pg"], "collective_seq_id": 1, "p2p_seq_id": 0, "op_id": 1,
        "profiling_name": "nccl:all_reduce", "time_created_ns": 1000 * _NOW, "duration_ms": 1.5,
        "input_sizes": [[2, 3]], "input_dtypes": ["Float"], "output_sizes": [[2, 3]], "output_dtypes": ["Float"],
        "state": "completed", "time_discovered_started_ns": None, "time_discovered_completed_ns": None,
        "retired": True, "timeout_ms": 600000, "is_p2p": False,
    }  # fmt: skip
    dump = {
        "version": "2.4",
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 3]"}},
        "entries": [entry, entry | {"profiling_name": "nccl:send 0->3", "is_p2p": True, "record_id": 2}],
    }
    return json.dumps(dump).encode(), pickle.dumps(dump, 2), pickle.dumps(dump, pickle.HIGHEST_PROTOCOL)


@cache
def rocm_databases() -> tuple[bytes, ...]:
    """Of rocmProfileData: a launch, a copy and what the GPU did of them."""
    strings = ["", "hipLaunchKernel", "hipMemcpyAsync", "add(int)", "KernelExecution", "CopyHostToDevice"]
    tables: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
        "rocpd_metadata": ("id tag value", [(1, "schema_version", "2")]),
        "rocpd_string": ("id string", list(enumerate(strings, start=1))),
        "rocpd_api": (
            "id pid tid start end apiName_id args_id",
            [(1, 77, 78, 1000, 1100, 2, 1), (2, 77, 78, 1200, 1300, 3, 1)],
        ),
        "rocpd_op": (
            "id gpuId queueId sequenceId completionSignal start end description_id opType_id",
            [(1, 2, 3, 0, "", 2000, 2500, 4, 5), (2, 2, 3, 0, "", 3000, 3500, 1, 6)],
        ),
        "rocpd_api_ops": ("id api_id op_id", [(1, 1, 1), (2, 2, 2)]),
        "rocpd_kernelapi": (
            "api_ptr_id stream gridX gridY gridZ workgroupX workgroupY workgroupZ groupSegmentSize kernelName_id",
            [(1, "0x0", 10, 2, 1, 64, 1, 1, 512, 4)],
        ),
        "rocpd_copyapi": (
            "api_ptr_id stream size width height kind dst src dstDevice srcDevice sync pinned",
            [(2, "0x0", 2000, "", "", 1, "0x1", "0x2", 0, 0, 0, 0)],
        ),
    }
    with closing(sqlite3.connect(":memory:")) as database:
        for name, (columns, rows) in tables.items():
            database.execute(f'CREATE TABLE "{name}" ({", ".join(columns.split())})')
            database.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(rows[0]))})', rows)
        database.commit()
        return (database.serialize(),)
