"""Small recordings of other tools, one of each format and of each way in which it can know less."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from snoopie.importers import Imported
from snoopie.importers.alnair import import_alnair
from snoopie.importers.nsys import import_nsys
from snoopie.importers.rocm import import_hcc, import_rtg
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


def _nsys(folder: Path, *, memory: bool) -> Path:
    export = Export("2025")
    call = export.call("cudaMalloc_v3020", 100, 200)
    if memory:
        export.memory(150, _BASE, 1000, call=call)
    export.kernel("step(int)", 1000, 2000, export.call("cudaLaunchKernel_v7000", 500, 510))
    return Path(export.write(folder / "report.sqlite"))


_SUMS = _text("metrics.log", "name:mem_used,count:4096", "name:cuLaunchKernel,count:5,burst:10")
_CALLS = _text("timeline.log", f"name:cuMemAlloc, start:{_START}, burst:1192, bytes:2097152, kind:-1")
_LOG = _text("snoopie_log_7.txt", f"STG.E,0x{_BASE:016x},10240,1,0,125,1586,1,1,0x{_BASE:016x},4")
_RTG = [
    "HIP: pid:12 tid:13 hipFree ret=0 @1811962118575233 +34010",
    "HSA: pid:12 tid:1 dispatch queue:0 agent:1 signal:3 name:'f' start:1811962118600000 stop:1811962118610000 id:0",
    f"HSA: pid:12 tid:13 copy agent:1 signal:3 start:1811962118620000 stop:1811962118630000 {_DEPS}",
]
_CALLLESS = {Lack.CALLS, Lack.ERRORS, Lack.CALL_SIZES}
_OF_LOG = _CALLLESS | {Lack.DATE, Lack.TIMES, Lack.FREES, Lack.SHAPES}
_OF_ALNAIR = _MEMORY | _ACCESSES | _COPIES | {Lack.ERRORS, Lack.LAUNCHES, Lack.SHAPES}
_OF_HCC = _MEMORY | _ACCESSES | _CALLLESS | {Lack.DATE, Lack.SHAPES}
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
    "nsys": Format(lambda folder: _nsys(folder, memory=True), import_nsys, _ACCESSES | _COPIES),
    "nsys without memory": Format(
        lambda folder: _nsys(folder, memory=False), import_nsys, _ACCESSES | _COPIES | _MEMORY
    ),
}  # fmt: skip
