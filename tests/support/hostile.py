"""Trace files that mean harm: small ones that want much time or memory, and ones that are wrong where few look.

Each has its checksums right, so that only a reader who expects such files refuses them. `FILES` names all, and what
each is made of.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from snoopie.trace.limits import LIMITS
from tests.support.encoder import FOOTER, HEADER, SCHEMA, START_NS, TraceBuilder, encode_block

_TABLES = {table["name"]: table for table in SCHEMA}
_FULL = 64 << 20
_compressor = zstandard.ZstdCompressor(write_checksum=True, write_content_size=True)

# (table, rows, content, what of the entry is wrong)
Part = tuple[int, int, bytes, dict[str, int]]


def absurd_counts(blocks: int = 24) -> bytes:
    """Blocks as full as a block may be, of one row of counts over and over."""
    trace = _one_launch()
    columns = _TABLES["counts"]["columns"]
    width = sum(np.dtype(column["type"]).itemsize for column in columns)
    block = rows("counts", _FULL // width, launch=1, site=1, owner=1, accesses=1, lanes=32, wire_units=4)
    return whole(trace, [block] * blocks)


def as_many_counts_as_allowed() -> bytes:
    """As many rows as the limits let a file of less than a mebibyte have, but for a thousandth, which all else is."""
    width = sum(np.dtype(column["type"]).itemsize for column in _TABLES["counts"]["columns"])
    number = LIMITS.small * 999 // 1000 // width
    full = _FULL // width
    same = {"launch": 1, "site": 1, "owner": 1, "accesses": 1, "lanes": 32, "wire_units": 4}
    return whole(_one_launch(), [rows("counts", full, **same), rows("counts", number - full, **same)])


def strings_that_blow_up(blocks: int = 16) -> bytes:
    """Bytes that are no UTF-8, each of which would be shown as four letters."""
    return whole(_one_launch(), [texts(first, [b"\xff" * (60 << 20)]) for first in range(1000, 1000 + blocks)])


def empty_notices(blocks: int = 8) -> bytes:
    """Millions of notices without a letter."""
    number = _FULL // 12
    block = (_TABLES["notices"]["id"], number, b"\0" * (12 * number), {})
    return whole(_one_launch(), [block] * blocks)


def long_names_everywhere(places: int = 20_000) -> bytes:
    """One long name that thousands of rows have."""
    trace = TraceBuilder(2)
    function = trace.function("kernel<" + "int, " * 10_000 + "int>(float*)")
    for place in range(places):
        site = trace.site(function, "STG.E", "store", 4, line=trace.line("/src/" + "deep/" * 5_000 + "x.cu", place + 1))
        if place == 0:
            launch = trace.launch(function, 0)
        trace.count(launch, site, 1, 1, 32, 4)
    return trace.encode()


def path_for_backtracking() -> bytes:
    """Source paths in which a search for the toolkit's headers starts anew at each letter."""
    paths = [
        "/cuda" * 200_000,
        "/nccl/include" * 80_000,
        "/targets/a" * 100_000,
        "/gcc/" + "1." * 500_000,
        "/" * 1_000_000,
    ]
    return _with_source(paths, ["x = y"], "STG.E [R2], R4")


def code_for_backtracking() -> bytes:
    """Code of calls that allocate, in which a search for the variable tries all ways to cut it."""
    codes = [
        *("a " * 40 + ";", "a* " * 60 + "!", "a<> " * 60, "a<" * 200, "a::" * 400 + "(", "alloc" * 200_000),
        *("x" + "[a]" * 20_000 + "!", "cudaMalloc(" + "(" * 100_000, "cudaMalloc(" + "(a)" * 30_000),
        *("a" + ", a" * 30_000, "alloc<" * 50_000, " " * 900_000 + "="),
    ]
    return _with_source(["/src/x.cu"], codes, "STG.E [R2], R4")


def sass_for_backtracking() -> bytes:
    """An instruction as long as a book."""
    return _with_source(["/src/x.cu"], ["x = y"], "STG.E " + "[R2+" * 100_000 + "@!P0 " * 100_000)


def names_for_backtracking() -> bytes:
    """Kernels whose names open brackets and close none."""
    trace = TraceBuilder(2)
    for name in (
        "void k<" + "a<" * 300_000,
        "(" * 900_000,
        ": " * 450_000,
        "a<" * 200_000 + ">" * 200_000,
        "_" * 900_000,
    ):
        launch = trace.launch(function := trace.function(name), 0)
        trace.count(launch, trace.site(function, "STG.E", "store", 4), 1, 1, 32, 4)
    return trace.encode()


def long_names(number: int = 70) -> bytes:
    """Kernels whose names are as long as a string may be."""
    trace = TraceBuilder(2)
    for place in range(number):
        launch = trace.launch(function := trace.function(f"_Z{place}" + "N" * 900_000, mangled="k"), 0)
        trace.count(launch, trace.site(function, "STG.E", "store", 4), 1, 1, 32, 4)
    return trace.encode()


def long_modules(number: int = 65) -> bytes:
    """Files whose names go on and on; frames without a function are named after them."""
    trace = TraceBuilder(2)
    function = trace.function("kernel(float*)")
    for place in range(1, number + 1):
        module = trace.add("modules", path=trace.string(f"/lib/libc-{place}" + ".so." * 240_000 + "!"))
        stack = trace.add("stacks", frame=trace.add("frames", module=module, address=4096 + place))
        trace.allocation("device", 4096, 1, place, call="cudaMalloc", stack=stack, address=4096 * place)
        launch = trace.launch(function, 0, stack=stack)
        trace.count(launch, trace.site(function, "STG.E", "store", 4), 1, 1, 32, 4)
    return trace.encode()


def many_symbols(number: int = 3_800_000) -> bytes:
    """One frame that is inlined into itself more often than any program has functions."""
    trace = _one_launch()
    trace.add("modules", path=trace.string("/home/u/app"))
    trace.add("frames", module=1, address=4096)
    trace.allocation("device", 4096, 1, 0, call="cudaMalloc", stack=trace.add("stacks", frame=1))
    named = {name: trace.string(f"/src/{name}.cu") for name in ("function", "file", "code")}
    full = _FULL // sum(np.dtype(column["type"]).itemsize for column in _TABLES["symbols"]["columns"])
    parts = [
        rows("symbols", min(full, number - first), frame=1, level=np.arange(min(full, number - first)) % 256, **named)
        for first in range(0, number, full)
    ]
    return whole(trace, parts)


def inline_chain(depth: int = 20_000) -> bytes:
    """An instruction inlined as deep as no compiler goes, each line in a header of the toolkit."""
    trace = TraceBuilder(2)
    line = 0
    for level in range(depth):
        line = trace.line("/usr/local/cuda/include/x.h", level + 1, "f", line)
    function = trace.function("kernel(float*)")
    launch, site = trace.launch(function, 0), trace.site(function, "STG.E", "store", 4, line=line)
    trace.count(launch, site, 1, 1, 32, 4)
    return trace.encode()


def deep_stacks(depth: int = 200_000) -> bytes:
    """Call stacks of which each is one frame deeper than the one before."""
    trace = _one_launch()
    trace.add("modules", path=trace.string("/lib/libcuda.so"))
    trace.add("frames", module=1, address=4096)
    trace.allocation("device", 4096, 1, 0, call="cudaMalloc", stack=depth)
    ids = np.arange(1, depth + 1)
    return whole(trace, [rows("stacks", depth, id=ids, frame=1, caller=ids - 1)], before="objects")


def long_stacks_of_objects(depth: int = 5_000, objects: int = 20_000) -> bytes:
    """Allocations that all come from the ends of deep stacks."""
    trace = _one_launch()
    trace.add("modules", path=trace.string("/lib/libcuda.so"))
    trace.add("frames", module=1, address=4096)
    ids = np.arange(1, depth + 1)
    stacks = rows("stacks", depth, id=ids, frame=1, caller=ids - 1)
    number = np.arange(objects)
    made = rows(
        "objects", objects, id=number + 1, address=4096 * (number + 1), bytes=4096, owner=1, time=START_NS, stack=depth
    )
    return whole(trace, [stacks, made], before="objects")


def nested_objects(depth: int = 100_000) -> bytes:
    """Allocations each of which is a part of the one before."""
    ids = np.arange(1, depth + 1)
    made = rows("objects", depth, id=ids, address=4096, bytes=4096, owner=1, time=START_NS, inside=ids - 1)
    return whole(_one_launch(record=True), [made], before="objects")


def lives_and_accesses(number: int = 20_000) -> bytes:
    """Each access at another time, with another allocation alive."""
    trace = _one_launch()
    ids = np.arange(1, number + 1)
    made = rows("objects", number, id=ids, address=4096 * ids, bytes=4096, owner=1, time=START_NS + ids)
    launches = rows("launches", number, id=ids + 1, function=1, gpu=0, time=START_NS + ids, grid_x=1, block_x=32)
    patterns = rows("patterns", number, id=ids, launch=ids + 1, site=1, issuer=0, owner=1, mask=1, stride=0)
    records = differences("records", number, pattern=ids, base=4096 * ids, time=START_NS + ids, block=0 * ids)
    return whole(trace, [made, launches, patterns, records])


def many_gpus(number: int) -> bytes:
    """A machine with more GPUs than there are."""
    trace = _one_launch(number)
    trace.header["links"] = []
    trace.header["owners"] = {"host": number + 1, "unknown": number + 2, "first_set": number + 1}
    return trace.encode()


def as_many_gpus_as_a_byte_names() -> bytes:
    """GPUs that all reach each other."""
    trace = TraceBuilder(250)
    trace.header["links"] = []
    trace.header["owners"] = {"host": 254, "unknown": 255, "first_set": 254}
    function = trace.function("kernel(float*)")
    site = trace.site(function, "STG.E", "store", 4)
    for issuer in range(250):
        launch = trace.launch(function, issuer)
        for owner in range(250):
            if owner != issuer:
                trace.count(launch, site, owner, 1, 32, 4)
    return trace.encode()


def endless_header() -> bytes:
    """A header of as much JSON as may be, all of it nothing."""
    trace = _one_launch()
    trace.header["settings"] = {f"x{number}": [[]] * 20 for number in range(100_000)}
    return trace.encode()


def nested_header() -> bytes:
    """A header of lists in lists in lists."""
    content = json.dumps(_one_launch().header).encode()
    content = content.replace(b'"settings": {', b'"settings": {"x": ' + b"[" * 500_000 + b"]" * 500_000 + b", ", 1)
    return _joined([(HEADER, 1, content, {}), *_parts(_one_launch())[1:]])


def claimed_rows() -> bytes:
    """A block of records that says that it has 2^32 − 1 rows; a column of strings makes its size anybody's guess."""
    trace = TraceBuilder(2, schema=_with_text("records"))
    function = trace.function("kernel(float*)")
    launch, site = trace.launch(function, 0), trace.site(function, "STG.E", "store", 4)
    trace.count(launch, site, 1, 1, 32, 4)
    trace.record(launch, site, 1, 4096, 4, extra="")
    parts = [
        (table, (1 << 32) - 1 if table == _TABLES["records"]["id"] else number, content, wrong)
        for table, number, content, wrong in _parts(trace)
    ]
    return _joined(parts)


def tiny_frames(number: int = 1_000_000) -> bytes:
    """Blocks without a row."""
    return whole(_one_launch(), [(_TABLES["counts"]["id"], 0, b"", {})] * number)


def header_not_utf8() -> bytes:
    """Bytes in the header that no encoding explains, in names and in what is named."""
    trace = _one_launch()
    trace.header["process"] |= {
        "host": "HOST",
        "program": "PROGRAM",
        "command": ["COMMAND"],
        "ranks": {"RANK": "RANKS"},
    }
    content = json.dumps(trace.header).encode()
    for word in (b"HOST", b"PROGRAM", b"COMMAND", b"RANKS", b"NVIDIA H200", b"sample_size"):
        content = content.replace(b'"' + word + b'"', b'"\xff\xfe\xed\xa0\x80' + word + b'\xc3"')
    return _joined([(HEADER, 1, content, {}), *_parts(trace)[1:]])


def addresses_that_wrap() -> bytes:
    """Accesses at the end of all addresses, and in the middle, where signed numbers end."""
    trace = TraceBuilder(2)
    function = trace.function("kernel(float*)")
    launch = trace.launch(function, 0)
    store, copy = trace.site(function, "STG.E.128", "store", 16), trace.site(function, "UBLKCP", "store", 1)
    top = 1 << 64
    places = [
        *((top - 1, 16), (top - 16, 16), (top - 256, 16), ((top >> 1) - 8, 16), (0, 16), (512, -16)),
        *((1, -(1 << 62)), (0, (1 << 63) - 1), (top - 1, -(1 << 63)), (top >> 1, 0), (4096, 16)),
    ]
    for base, stride in places:
        trace.record(launch, store, 1, base, stride)
    for base, size in [(top - 1, 1 << 40), (4096, (1 << 61) - 1), ((top >> 1) - 1, 1 << 20), (0, 1)]:
        trace.bulk(launch, copy, 1, base, size)
    trace.scattered(launch, store, 1, {0: 0, 1: top - 1, 2: top >> 1, 3: (top >> 1) - 1, 4: 77})
    trace.count(launch, store, 1, 12, 384, 48)
    for base, size in [(top - 4096, 1 << 40), (4096, 1 << 50)]:
        trace.allocation("device", size, 1, 0, address=base)
    return trace.encode()


def source_of_newlines(files: int = 60, lines: int = 1_000_000) -> bytes:
    """Source files of nothing but empty lines, each with traffic on one of them."""
    trace = TraceBuilder(2)
    function = trace.function("kernel(float*)")
    launch = trace.launch(function, 0)
    for place in range(files):
        path = f"/src/f{place}.cu"
        trace.add("source_files", file=trace.string(path), text="\n" * lines, bytes=lines, kept=1)
        site = trace.site(function, "STG.E", "store", 4, line=trace.line(path, 1 + place % 3))
        trace.count(launch, site, 1, 1, 32, 4)
    return trace.encode()


def equal_waits(number: int = 790_000) -> bytes:
    """Nearly as many waits as the limits allow, all of them alike, for stores of one instruction."""
    trace = _one_launch()
    trace.header["settings"]["waits"] = "on"
    same = {"launch": 1, "site": 1, "blocks": 1, "owner": 1, "waits": 1, "polls": 2, "waited": 1, "longest": 1}
    times = {"first": START_NS, "last": START_NS + 1}
    halves = np.split(np.arange(number), 2)
    parts = [rows("waits", len(half), address=4096 + 8 * half, **same, **times) for half in halves]
    return whole(trace, parts)


def waits_for_many_stores(addresses: int = 100_000, stores: int = 10_000) -> bytes:
    """Each of many addresses that are polled may be what each of many instructions stores to."""
    trace = _one_launch()
    trace.header["settings"]["waits"] = "on"
    ids, text = np.arange(stores) + 2, trace.string("STG.E")
    sites = rows(
        "sites", stores, id=ids, function=1, sass=text, opcode=text, operation=1, width=4, measured=1, wire_unit=4
    )
    counts = rows("counts", stores, launch=1, site=ids, owner=1, accesses=1, lanes=1, wire_units=1)
    waits = rows(
        "waits", addresses, launch=1, site=1, block=np.arange(addresses), blocks=1, owner=1,
        address=4096 + 8 * np.arange(addresses), waits=1, polls=2, first=START_NS, last=START_NS + 1,
    )  # fmt: skip
    return whole(trace, [sites, counts, waits])


def overlapping_copies(number: int = 150_000) -> bytes:
    """Copies that all go on until the last of them has begun."""
    ids = np.arange(number)
    copies = rows(
        "copies", number, id=ids + 1, source=0, destination=1, bytes=1, start=START_NS + 3 * ids,
        end=START_NS + 10**9 + 3 * ids,
    )  # fmt: skip
    return whole(_one_launch(), [copies])


def many_records(number: int, *, stride: int = 4, apart: int = 0) -> bytes:
    """Records of accesses whose lanes are so many bytes from each other, and each so many from the last."""
    trace, ids = TraceBuilder(2), np.arange(1, number + 1)
    function = trace.function("kernel(float*)")
    launch, site = trace.launch(function, 0), trace.site(function, "LDG.E", "load", 4)
    trace.count(launch, site, 1, number, 32 * number, 32 * number)
    trace.allocation("device", 4096, 1, 0, address=4096)
    pattern = rows("patterns", 1, id=1, launch=1, site=1, issuer=0, owner=1, mask=0xFFFF_FFFF, stride=stride)
    records = differences("records", number, pattern=1, base=4096 + apart * ids, time=START_NS + ids, block=0 * ids)
    return whole(trace, [pattern, records])


def places_apart(number: int = 2_300_000) -> bytes:
    """Records whose lanes are as far from each other as memory is large."""
    return many_records(number, stride=1 << 40, apart=64)


def write_many_gpus(folder: Path, files: int = 100, gpus: int = 200) -> None:
    """A folder of traces, each of as many GPUs of its own as a real machine never has, few of which have traffic."""
    for number in range(files):
        trace = TraceBuilder(gpus, pid=number + 1, host=f"h{number}")
        trace.header["links"] = []
        trace.header["owners"] = {"host": 254, "unknown": 255, "first_set": 254}
        trace.header["process"]["run"] = {"id": "one", "of": "run"}
        function = trace.function("kernel(float*)")
        site = trace.site(function, "STG.E", "store", 4)
        for gpu in range(5):
            trace.count(trace.launch(function, gpu), site, gpu + 1, 1, 32, 4)
        for gpu in trace.header["gpus"]:
            gpu["uuid"] = f"GPU-{number}-{gpu['uuid']}"
        trace.write(folder / f"{number}.zst")


FILES: dict[str, Callable[[], bytes]] = {
    "absurd-counts": absurd_counts,
    "counts-allowed": as_many_counts_as_allowed,
    "strings": strings_that_blow_up,
    "notices": empty_notices,
    "names-everywhere": long_names_everywhere,
    "path": path_for_backtracking,
    "code": code_for_backtracking,
    "sass": sass_for_backtracking,
    "names": names_for_backtracking,
    "long-names": long_names,
    "long-modules": long_modules,
    "symbols": many_symbols,
    "symbols-allowed": lambda: many_symbols(LIMITS.small_symbols),
    "inline-chain": inline_chain,
    "inline-chain-allowed": lambda: inline_chain(900),
    "deep-stacks": deep_stacks,
    "stacks-of-objects": long_stacks_of_objects,
    "stacks-of-many-objects": lambda: long_stacks_of_objects(9_990, 300_000),
    "nested-objects": nested_objects,
    "lives": lives_and_accesses,
    "3000-gpus": lambda: many_gpus(3_000),
    "20000-gpus": lambda: many_gpus(20_000),
    "250-gpus": as_many_gpus_as_a_byte_names,
    "endless-header": endless_header,
    "nested-header": nested_header,
    "claimed-rows": claimed_rows,
    "tiny-frames": lambda: tiny_frames(10_000),
    "not-utf8": header_not_utf8,
    "wrapping": addresses_that_wrap,
    "source-of-newlines": source_of_newlines,
    "equal-waits": equal_waits,
    "waits-for-many-stores": waits_for_many_stores,
    "overlapping-copies": overlapping_copies,
    "places-apart": places_apart,
    "records": lambda: many_records(2_700_000),
    "records-allowed": lambda: many_records(2_550_000),
}


def write(folder: Path, names: Iterable[str] = FILES) -> dict[str, Path]:
    """Writes hostile files; name → path."""
    paths = {name: folder / f"{name}.zst" for name in names}
    for name, path in paths.items():
        path.write_bytes(FILES[name]())
    return paths


def rows(table: str, number: int, **columns: Any) -> Part:
    """A block of plain numbers; what is not named is 0."""
    arrays = [
        np.broadcast_to(np.asarray(columns.get(column["name"], 0)).astype(f"<{column['type']}"), number)
        for column in _TABLES[table]["columns"]
    ]
    return _TABLES[table]["id"], number, b"".join(array.tobytes() for array in arrays), {}


def differences(table: str, number: int, **columns: Any) -> Part:
    """A block with columns of differences, whose values rise."""
    content = b""
    for column in _TABLES[table]["columns"]:
        values = np.broadcast_to(np.asarray(columns.get(column["name"], 0)), number)
        if column["type"].startswith("delta"):
            size = int(column["type"][5:])
            stored = (2 * np.diff(values, prepend=values[:1])).astype(f"<u{size}")
            content += values[:1].astype("<u8").tobytes() + stored.view(np.uint8).reshape(-1, size).T.tobytes()
        else:
            content += values.astype(f"<{column['type']}").tobytes()
    return _TABLES[table]["id"], number, content, {}


def texts(first: int, values: list[bytes]) -> Part:
    """A block of strings with ids from the first on."""
    ids = np.arange(first, first + len(values), dtype="<u4").tobytes()
    content = ids + np.array([len(value) for value in values], "<u4").tobytes() + b"".join(values)
    return _TABLES["strings"]["id"], len(values), content, {}


def whole(trace: TraceBuilder, parts: list[Part], *, before: str = "") -> bytes:
    """The file of a builder with other blocks before those of one table, or before the footer."""
    own = _parts(trace)
    numbers = [table for table, _, _, _ in own]
    place = numbers.index(_TABLES[before]["id"]) if before and _TABLES[before]["id"] in numbers else len(own) - 1
    return _joined([*own[:place], *parts, *own[place:]])


def _parts(trace: TraceBuilder) -> list[Part]:
    """The blocks of a builder that have rows."""
    contents = [content for content in trace.contents() if content[1]]
    footer = json.dumps(trace.footer()).encode()
    blocks = [(HEADER, 1, json.dumps(trace.header).encode()), *contents, (FOOTER, 1, footer)]
    return [(table, number, content, {}) for table, number, content in blocks]


def _joined(parts: list[Part]) -> bytes:
    # Many are one and the same.
    frames: dict[int, bytes] = {}
    for _, _, content, _ in parts:
        if id(content) not in frames:
            frames[id(content)] = _compressor.compress(content)
    return b"".join(
        encode_block(sequence, table, number, content, data=frames[id(content)], **wrong)
        for sequence, (table, number, content, wrong) in enumerate(parts)
    )


def _one_launch(gpus: int = 2, *, record: bool = False) -> TraceBuilder:
    trace = TraceBuilder(gpus if gpus < 100 else 2)
    if gpus >= 100:
        trace.header["gpus"] = [{"uuid": f"GPU-{number}"} for number in range(gpus)]
    function = trace.function("kernel(float*)")
    launch, site = trace.launch(function, 0), trace.site(function, "STG.E", "store", 4)
    trace.count(launch, site, 1, 1, 32, 4)
    if record:
        trace.record(launch, site, 1, 4096, 4)
    return trace


def _with_source(paths: list[str], codes: list[str], sass: str) -> bytes:
    """Lines, call stacks and instructions with such texts."""
    trace = TraceBuilder(2)
    function = trace.function("kernel(float*)")
    launch = trace.launch(function, 0)
    for place, path in enumerate(paths):
        inner = trace.line("/usr/local/cuda/include/x.h", 1, "f", trace.line(path, place + 1, "g"))
        site = trace.site(function, "STG.E", "store", 4, line=inner, sass=f"{sass} {place}")
        trace.count(launch, site, 1, 1, 32, 4)
    for path in ("/home/u/app", "/lib/ld-linux" + "-.so." * 100_000 + "!", "/lib/libc-" + ".so." * 100_000 + "!"):
        trace.add("modules", path=trace.string(path))
    for place, code in enumerate(codes):
        frame = trace.add("frames", module=1 + place % 3, address=4096 + place)
        named = {"function": trace.string("main"), "file": trace.string(paths[place % len(paths)])}
        trace.add("symbols", frame=frame, line=1, code=trace.string(code), **named)
        stack = trace.add("stacks", frame=frame)
        trace.allocation("device", 4096, 1, place, call="cudaMalloc", stack=stack, address=4096 * (place + 1))
        trace.copy(0, 1, 4096, gpu=0, stack=stack)
    return trace.encode()


def _with_text(name: str) -> list[dict[str, Any]]:
    """The declaration of all tables, one with a column of strings more."""
    more = {"name": "extra", "type": "utf8", "unit": "", "role": "", "ref": "", "required": False, "doc": ""}
    return [{**table, "columns": [*table["columns"], more]} if table["name"] == name else table for table in SCHEMA]
