"""What plain loops make of a random run by the code that moved it: lines, instructions, files and their tree."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from tests.plain.plain_run import Moved, Run, Site
from tests.plain.plain_traffic import Row, kernels_by, launches_by, sums, sums_by

# What makes an instruction of one process that of another.
CODE = ("function", "file", "line", "offset", "opcode", "operation", "width", "wire_unit", "sass")


def line_of(row: Moved) -> tuple[str, int]:
    """The line that stands for a row."""
    return row.site.file, row.site.line


def kernel_of(row: Moved) -> str:
    """The kernel that was launched."""
    return row.launch.kernel


def with_kernels(rows: Iterable[Moved], key: Callable[[Moved], Hashable]) -> dict[Any, Row]:
    """The sums of the rows of each key, and the names of the kernels."""
    every = list(rows)
    kernels = kernels_by(every, key)
    return {name: {"kernel": kernels[name]} | values for name, values in sums_by(every, key).items()}


def with_launches(rows: Iterable[Moved], key: Callable[[Moved], Hashable]) -> dict[Any, Row]:
    """The sums of the rows of each key, and how many launches they are of."""
    every = list(rows)
    launches = launches_by(every, key)
    return {name: launches[name] | values for name, values in sums_by(every, key).items()}


def code(site: Site) -> Row:
    """What is known of an instruction."""
    values = site.function, site.file, site.line, site.offset, site.opcode, site.operation, site.width, site.unit
    return dict(zip(CODE, (*values, site.sass), strict=True))


def sites(run: Run, rows: Iterable[Moved], *, merged: bool) -> dict[int, Row]:
    """The rows of each instruction, by its number; ``merged``: with the same one of other processes, by the lowest."""
    every = list(rows)
    numbers: dict[Any, int] = {}
    for number in sorted({row.site.id for row in every}):
        numbers.setdefault(tuple(code(run.sites[number]).values()) if merged else number, number)

    def number_of(row: Moved) -> int:
        return numbers[tuple(code(row.site).values()) if merged else row.site.id]

    found = with_kernels(every, number_of)
    return {number: code(run.sites[number]) | values for number, values in found.items()}


def launch_stacks(run: Run) -> dict[int, Row]:
    """The measured launches of each stack, and what they moved, as it was counted."""
    found: dict[int, Row] = {}
    for launch in run.launches.values():
        row = found.setdefault(
            launch.stack, {"source": run.stacks.get(launch.stack, ""), "launches": 0, "bytes": 0, "accesses": 0}
        )
        row["launches"] += 1
        for moved in run.traffic:
            if moved.launch is launch:
                row["bytes"] += moved.amounts[3]
                row["accesses"] += moved.accesses
    return found


def files(run: Run) -> dict[str, Row]:
    """The sums of each file, and how many of its lines have traffic."""
    lines: dict[str, set[int]] = defaultdict(set)
    for row in run.traffic:
        lines[row.site.file].add(row.site.line)
    each = sums_by(run.traffic, lambda row: row.site.file)
    return {file: {"lines": len(lines[file])} | values for file, values in each.items()}


def tree(sizes: dict[str, int]) -> list[Row]:
    """Files in their folders, by the paths that they have when ".." and "." are gone."""
    total = sum(sizes.values())
    # The parts of a path, the first of an absolute one is "/"; what has no line lies in no folder.
    parts = {}
    for file in sizes:
        path = posixpath.normpath(file) if file else ""
        parts[file] = ["/", *path[1:].split("/")] if path.startswith("/") else path.split("/")

    def below(folder: list[str], depth: int) -> list[Row]:
        inside = {file: own for file, own in parts.items() if own[: len(folder)] == folder}
        found: list[tuple[int, str, list[Row]]] = []
        for file, own in inside.items():
            if len(own) == len(folder) + 1:
                row = {"path": file, "name": own[-1], "depth": depth, "folder": False, "bytes": sizes[file]}
                found.append((sizes[file], own[-1], [row]))
        for name in {own[len(folder)] for own in inside.values() if len(own) > len(folder) + 1}:
            at = [*folder, name]
            held = [file for file, own in parts.items() if own[: len(at)] == at]
            # On to the first folder in which there is a choice.
            while len({parts[file][len(at)] for file in held}) == 1 and len(parts[held[0]]) > len(at) + 1:
                at = parts[held[0]][: len(at) + 1]
            size = sum(sizes[file] for file in held)
            path, shown = spelled(at), spelled(at[len(folder) :])[:-1] or "/"
            row = {"path": path, "name": shown, "depth": depth, "folder": True, "bytes": size}
            found.append((size, shown, [row, *below(at, depth + 1)]))
        found.sort(key=lambda part: (-part[0], part[1]))
        return [row for _, _, rows in found for row in rows]

    return [row | {"share": row["bytes"] / total if total else 0.0} for row in below([], 0)]


def spelled(parts: list[str]) -> str:
    """A folder's path."""
    return "".join(part if part == "/" else f"{part}/" for part in parts)


def objects(run: Run, rows: Iterable[Moved]) -> dict[int, Row]:
    """The sums of each object that the counts name, 0 for what they do not tell apart."""
    found = {}
    for number, values in sums_by(rows, lambda row: row.object).items():
        owner, kind = run.objects.get(number, (0, ""))
        known = {"owner": run.label(owner) if number else "", "kind": kind, "size": 4096 if number else 0}
        found[number] = known | values | {"exact": True}
    return found


def story(run: Run) -> tuple[str, int, int, int] | None:
    """How the sentence on what moves most begins; its bytes, those of all, its wire bytes. None where nothing moved."""
    rows = run.traffic
    whole = sums(rows)["bytes"]
    if not whole:
        return None
    of_lines = [row for row in rows if row.site.line]
    by_line = sums(of_lines)["bytes"] > whole / 2
    rows, key = (of_lines, line_of) if by_line else (rows, kernel_of)
    each = sums_by(rows, key)
    most = max(values["bytes"] for values in each.values())
    first = min(name for name, values in each.items() if values["bytes"] == most)
    own = [row for row in rows if key(row) == first]
    operations = {name: values["bytes"] for name, values in sums_by(own, lambda row: row.site.operation).items()}
    operation = min(name for name, size in operations.items() if size == max(operations.values()))
    verb = {"store": "sends", "reduction": "sends", "load": "fetches", "atomic": "updates"}[operation]
    name = f"{first[0].split('/')[-1]}:{first[1]}" if by_line else f"Kernel {SHORT[first]}"
    return f"{name} {verb}", most, whole, each[first]["wire_bytes"]


# Names of kernels without return type and arguments.
SHORT = {
    "step<float, 2>(float*)": "step<float, 2>",
    "void n::halo<int>(int)": "n::halo<int>",
    "my_nccl_like(int)": "my_nccl_like",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    "void barrier_on_stream_kernel(int)": "barrier_on_stream_kernel",
}
