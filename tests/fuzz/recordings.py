"""Small recordings of other tools, as they write them: what the inputs of importers begin with.

One input can be several files: each begins with a line ``==> name <==``.
"""

from __future__ import annotations

import json
import pickle
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import zstandard

from tests.support.nsys_export import Export

BASE = 0x7FA571A00000
_DEPENDS = "dep1:0 dep2:0 dep3:0 dep4:0 dep5:0"

RTG = f"""\
HIP: pid:12 tid:13 hipFree ret=0 @100 +20
HIP: pid:12 tid:14 hipModuleLaunchKernel(0x1, {{2, ret=3}}, "a b") [copy<float, 2>] ret=701 @300 +40
HSA: pid:12 tid:13 hsa_signal_wait_scacquire (1, 2) ret=void @310 +5
HSA: pid:12 tid:13 dispatch queue:0 agent:1 signal:3 name:'step(int)' tick:205 id:0 workgroup:{{64,2,1}} grid:{{9,2,1}}
HSA: pid:12 tid:13 dispatch queue:0 agent:1 signal:3 name:'step(int)' start:1000 stop:3000 id:0
HSA: pid:13 tid:15 barrier queue:0 agent:1 signal:3 {_DEPENDS} tick:4 id:2
HSA: pid:12 tid:13 barrier queue:0 agent:1 signal:3 start:3000 stop:3001 {_DEPENDS} id:2
HSA: pid:12 tid:13 copy agent:2 signal:3 start:20000 stop:21000 {_DEPENDS}
RTX: pid:12 tid:13 epoch 1 @400 +10
RTX: pid:12 tid:13 mark @500
"""
HCC = """\
profile:  kernel;  step(int);  3.1 us;  83831227978000; 83831227981384; #0.1.8;
profile:    copy;  DeviceToDevice_async_fast;     13.1 us;  83831227978264; 83831227991384; #0.1.9; 4004 bytes; 0.0 MB;
profile:    copy;  HostToDevice;  1.1 us;  83831227998264; 83831227999364; #1.2.10; 4096 bytes; 0.0 MB; 0.3 GB/s;
a line of the program
"""
ALNAIR = """\
==> metrics.log <==
name:mem_used,count:452984832
name:cuLaunchKernel,count:523848,burst:1436854
==> timeline.log <==
name:cuMemAlloc, start:1663174512512732618, burst:1192, bytes:2097152, kind:-1
name:cuMemcpy, start:1663174512512732623, burst:11, bytes:64, kind:1
name:cuMemFree, start:1663174512512732625, burst:3, bytes:0
"""
_COLUMNS = (
    "op_code, addr, thread_indx, running_dev_id, mem_dev_id, code_linenum, code_line_index, code_line_context, "
    "code_line_estimated_status, obj_offset, mem_range"
)
_BESIDE = f"""\
==> address_range_log_77.txt <==
offset,size,obj_id,dev_id
0x{BASE:016x},1056768,3,0
0x00007fa580000000,64,4,999
==> data_object_log_77.txt <==
obj_id,var_name,call_stack
3,a_new,94374356148629<94374356158660
4,,94374356158660
==> mem_alloc_site_log_77.txt <==
pc,func_name,file_name,line_no
94374356148629,"cudaMallocHost(void**, unsigned long, unsigned int)",,0
94374356158660,"main",/home/u/src/jacobi.cu,300
==> codeline_log_77.txt <==
code_line_index, dir_path, file, code_linenum, code_line_estimated_status
1586,/home/u/src,jacobi.cu,125,1
==> exec_site_log_77.txt <==
site_id,file,code_linenum
5000,"/home/u/m.cpp,50
5001,"/home/u/main.cpp,7
==> exec_context_log_77.txt <==
context_id,call_stack
1,5000<5001
"""
NVIDIA_SMI = (
    "timestamp, index, uuid, memory.used [MiB]\n"
    "2026/11/21 14:03:07.123, 0, GPU-a5ad34e5-52a9-aaaa-bbbb-0123456789ab, 12345 MiB\n"
    "2026/11/21 14:03:07.223, 1, GPU-a5ad34e5-52a9-aaaa-bbbb-0123456789ac, 0 MiB\n",
    "2026/11/21 14:03:07.123, 0, 12345\n2026/11/21 14:03:08, 1, 17\n",
    "2026/11/21 14:03:07.123, 12345 MiB\n",
)


def snoopie_logs() -> tuple[bytes, ...]:
    """Of two generations, with the files beside them and without, and compressed."""
    lanes = [f"STG.E,0x{BASE + 4 * lane:016x},{lane},1,0,125,1586,1,1,0x{BASE:016x},4" for lane in range(32)]
    copied = f"cuMemcpyDtoDAsync_v2,0x{BASE:016x},-1,0,1,-1,-1,1,-1,0x{0:016x},4096"
    log = "\n".join([_COLUMNS, *lanes[:4], copied, *lanes[4:], ""])
    older = _COLUMNS.replace("code_line_context, ", "").replace(", obj_offset, mem_range", "")
    old = "\n".join([older, f"LDG.E.64,0x{BASE:016x},0,1,0,125,1586,1", ""])
    return (
        f"==> snoopie_log_77.zst <==\n{log}{_BESIDE}".encode(),
        f"==> snoopie_log_77.zst <==\n{old}".encode(),
        b"==> snoopie_log_77.zst <==\n" + zstandard.compress(log.encode()),
        f"==> snoopie_log_77.zst <==\n{old}==> snoopie_log_78.zst <==\n{log}{_BESIDE}".encode(),
    )


def _export(version: str) -> Export:
    export = Export(version)
    main, inner = ("main", "/home/u/app", 0x401000), ("make(int)", "/home/u/app", 0x402000)
    chain = export.chain(("cuMemAlloc", "/usr/lib/libcuda.so.1", 0x10), inner, main)
    address = 0x7F00_0000_0000
    export.memory(150, address, 1000, call=export.call("cudaMalloc_v3020", 100, 200, tid=11, chain=chain))
    export.memory(350, address, 500, device=1, call=export.call("cudaMalloc_v3020", 300, 400, tid=12))
    export.memory(430, address + 8192, 32, kind=5, name="table")
    export.memory(450, address, 1000, free=True, call=export.call("cudaFree_v3020", 440, 460, tid=13))
    export.call("cudaMalloc_v3020", 470, 480, tid=12, code=2)
    export.kernel("step(int)", 1000, 2000, export.call("cudaLaunchKernel_v7000", 500, 510, tid=12, chain=chain))
    export.copy(10, 128, 730, 790, export.call("cudaMemcpyPeer_v4000", 710, 720, tid=12), ends=(0, 1))
    export.copy(8, 4096, 805, 809, export.call("cudaMemcpy_v3020", 800, 810, tid=12, pid=4712), pid=4712)
    return export


@cache
def nsys_exports() -> tuple[bytes, ...]:
    """Of the oldest version that is read, and of the newest."""
    with tempfile.TemporaryDirectory() as folder:
        return tuple(
            _export(version).write(Path(folder) / f"{version}.sqlite").read_bytes() for version in ("2022", "2025")
        )


def _snapshot() -> dict[str, Any]:
    heap, start = 0x7F00_0000_0000, 1_790_000_000_000_000
    ours = {"filename": "/home/u/train.py", "line": 12, "name": "step"}
    allocator = {"filename": "??", "line": 0, "name": "torch::unwind::unwind()"}
    gradient = {"filename": "", "line": 0, "name": "torch::autograd::generated::MulBackward0::apply(std::vector<>&&)"}

    def event(action: str, address: int, size: int, time: int, *frames: dict[str, Any]) -> dict[str, Any]:
        return {
            "action": action, "addr": address, "size": size, "stream": 0, "time_us": start + time, "frames": [*frames]
        }  # fmt: skip

    older = {"address": heap + 4096, "size": 1024, "requested_size": 1000, "state": "active_allocated", "frames": []}
    events = [
        event("segment_alloc", heap, 1 << 21, 0),
        event("alloc", heap, 1024, 1, allocator, ours | {"filename": "/usr/lib/python3/x.py"}, ours),
        event("free_requested", heap, 1024, 3),
        event("free_completed", heap, 1024, 4),
        {"action": "oom", "device_free": 77, "size": 1 << 40, "stream": 0, "time_us": start + 5, "frames": []},
        event("alloc", heap, 512, 6, allocator, gradient),
    ]
    segment = {"address": heap, "device": 1, "blocks": [older, {"address": heap, "size": 512, "state": "inactive"}]}
    return {"segments": [segment], "device_traces": [[], events], "allocator_settings": {}}


def snapshots() -> tuple[bytes, ...]:
    """Of PyTorch's allocator: as JSON, which `importing` makes a pickle of, and as pickles."""
    return (
        json.dumps(_snapshot()).encode(),
        *(pickle.dumps(_snapshot(), protocol) for protocol in (2, pickle.HIGHEST_PROTOCOL)),
    )


def text(*texts: str) -> tuple[bytes, ...]:
    return tuple(one.encode() for one in texts)
