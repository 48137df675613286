"""Where the memory went: usage over time, what was there at the peak, what was never freed, and what the driver says.

Sums are of one process and device each, unless totals are asked for: ``summarise(block)`` → changes at moments, and
``merge(tables)``, which is associative; `running` makes totals over time of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.analysis.memory import curve
from snoopie.errors import UsageError
from snoopie.joined.gpus import HOST, UNKNOWN

# Kinds of module variables, which imported traces have as objects.
STATICS = ("device static", "managed static")
# Kinds of objects that are memory. All others show memory that another object is, or that another process's is.
COUNTED = frozenset(
    ["device", "pool", "array", "physical", "managed", "host", "graph", "pageable", "unknown", *STATICS]
)
# What became of memory that no call freed before the program began to exit: the first is a leak, of the second nothing
# can be said because the trace ends before its process did, the rest lives until then by design.
NEVER_FREED = "never freed"
NOT_KNOWN = "not known: the trace is incomplete"
NOT_RECORDED = "not known: no frees were recorded"
AT_EXIT = "freed at exit"
WITH_CONTEXT = "ended with its context"
STATIC = "module static"
IN_GRAPH = "held by a graph"
IN_POOL = "held by a pool"
STATES = (NEVER_FREED, NOT_KNOWN, NOT_RECORDED, AT_EXIT, WITH_CONTEXT, STATIC, IN_GRAPH, IN_POOL)
# In the place of a process or a device: the total over several.
ALL = -9
_PLACE = ["process", "owner"]
_BY_KIND = [*_PLACE, "kind"]
_VALUES = ["bytes", "objects"]

Label = Callable[[int], str]
# Of a column of stacks.
StackLabel = Callable[[Iterable[int]], "pd.Series[str]"]
Times = NDArray[np.int64]


# --- which memory ---


def live_times(objects: pd.DataFrame, physical: Collection[int]) -> pd.DataFrame:
    """The objects with a column ``counted``, and an end (``freed``) never before their beginning.

    ``physical``: processes whose trace has the physical memory behind mappings. Of others the mappings count.
    """
    kind = objects["kind"].astype("str")
    mapped = kind.eq("mapping") & ~objects["process"].isin(list(physical))
    freed = np.where(objects["freed"] > 0, np.maximum(objects["freed"], objects["allocated"]), 0)
    return objects.assign(counted=kind.isin(COUNTED) | mapped, freed=freed)


def chosen(table: pd.DataFrame, place: int | None, process: int | None) -> pd.DataFrame:
    """The rows of a device (a place, in the column owner) and a process; None keeps all."""
    if place is not None:
        table = table[table["owner"] == place]
    if process is not None:
        table = table[table["process"] == process]
    return table


def origins(objects: pd.DataFrame) -> pd.Series[str]:
    """For each object one of `curve.ORIGINS`: whether it is known who allocated it."""
    driver = objects["call"].astype("str").str.match(r"cu[A-Z]").to_numpy(bool)
    found = np.where(objects["stack"] > 0, curve.VALID, np.where(driver, curve.DRIVER, curve.INVALID))
    return pd.Series(found, objects.index, dtype="str")


def events(objects: pd.DataFrame, pids: pd.Series[int], label: Label) -> pd.DataFrame:
    """process pid device (label) time operation (allocation, free) kind bytes address call name origin stack: each
    allocation and each free, in the order of time."""
    table = objects.assign(origin=origins(objects), pid=objects["process"].map(pids))
    made = table.assign(time=table["allocated"], operation="allocation")
    ended = table[table["freed"] > 0].assign(operation="free")
    ended = ended.assign(time=ended["freed"])
    both = pd.concat([made, ended]).sort_values("time", kind="stable", ignore_index=True)
    columns = "process pid device time operation kind bytes address call name origin stack"
    return _with_device(both, label)[columns.split()]


def within(objects: pd.DataFrame, between: tuple[int, int]) -> pd.DataFrame:
    """The `live_times` of a time (host ns) alone: what there was before it begins with it, what outlives it stays."""
    first, after = between
    alive = (objects["allocated"] < after) & ((objects["freed"] == 0) | (objects["freed"] > first))
    some = objects[alive]
    return some.assign(
        allocated=some["allocated"].clip(lower=first), freed=some["freed"].where(some["freed"] < after, 0)
    )


def place_of(gpus: pd.DataFrame, device: int | str) -> int:
    """The place that a user means by a number, a UUID, a label such as "GPU 0", or "host". UsageError for others."""
    text = str(device).strip()
    if text == "host":
        return HOST
    found = gpus.index[(gpus["uuid"] == text) | (gpus["label"] == text) | (gpus.index.astype(str) == text)]
    if len(found) == 0:
        known = ", ".join(f"{place} ({uuid})" for place, uuid in gpus["uuid"].items())
        raise UsageError(f"there is no device {text}", f"the trace has {known or 'none'}, and host")
    return int(found[0])


# --- usage ---


def summarise(block: pd.DataFrame) -> pd.DataFrame:
    """process owner kind counted time bytes objects: by how much some `live_times` change what is there, when."""
    ended = block[block["freed"] > 0]
    born = block.assign(time=block["allocated"], objects=1)
    died = ended.assign(time=ended["freed"], objects=-1, bytes=-ended["bytes"])
    columns = [*_BY_KIND, "counted", "time", *_VALUES]
    return merge([born[columns], died[columns]])


def merge(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Adds up what `summarise` made of several blocks."""
    keys = [*_BY_KIND, "counted", "time"]
    return pd.concat(list(tables), ignore_index=True).groupby(keys, observed=True)[_VALUES].sum().reset_index()


def running(changes: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """keys, time, bytes, objects: what there is from each moment on, until the next of the same keys."""
    table = changes.groupby([*keys, "time"], observed=True)[_VALUES].sum().reset_index()
    if keys:
        table[_VALUES] = table.groupby(list(keys), observed=True)[_VALUES].cumsum()
    else:
        table[_VALUES] = table[_VALUES].cumsum()
    return table


def together(changes: pd.DataFrame) -> pd.DataFrame:
    """The changes as if all processes and devices were one."""
    return changes.assign(process=ALL, owner=ALL)


def usage(changes: pd.DataFrame, label: Label) -> pd.DataFrame:
    """process device (label) kind counted time bytes objects: running totals, in the order of time."""
    table = running(changes, [*_BY_KIND, "counted"])
    table = table.sort_values(["time", *_BY_KIND], ignore_index=True)
    return _with_device(table, label)[["process", "device", "kind", "counted", "time", *_VALUES]]


def by_kind(usage: pd.DataFrame) -> pd.DataFrame:
    """process device kind counted peak (bytes) peak_time (host ns) left (bytes at the end) objects (then): the `usage`
    of each process, device and kind; what counts first, highest peak first.
    """
    keys = ["process", "device", "kind", "counted"]
    groups = usage.groupby(keys)
    highest = usage.loc[groups["bytes"].idxmax()].set_index(keys)
    last = groups[_VALUES].last().reindex(highest.index)
    table = pd.DataFrame(
        {
            "peak": highest["bytes"],
            "peak_time": highest["time"],
            "left": last["bytes"],
            "objects": last["objects"],
        }
    ).reset_index()
    order = ["process", "device", "counted", "peak", "kind"]
    return table.sort_values(order, ascending=[True, True, False, False, True], ignore_index=True)


def at(times: Times, totals: pd.DataFrame) -> NDArray[np.int64]:
    """The bytes of running totals (one series, in the order of time) at some moments."""
    before = np.searchsorted(totals["time"].to_numpy(), times, side="right")
    values = np.concatenate([[0], totals["bytes"].to_numpy(np.int64)])
    found: NDArray[np.int64] = values[before]
    return found


# --- the peak ---


def peaks(changes: pd.DataFrame) -> pd.DataFrame:
    """process owner time bytes objects: the earliest moment with the most bytes, of each process and device."""
    totals = running(changes[changes["counted"]], _PLACE)
    return totals.loc[totals.groupby(_PLACE)["bytes"].idxmax()].reset_index(drop=True)


def watermark(
    objects: pd.DataFrame, changes: pd.DataFrame, label: Label, stack_label: StackLabel, *, total: bool = False
) -> pd.DataFrame:
    """process device (label) time peak (bytes) stack source (of the stack) call kind objects bytes: the
    allocations at the peak of each process and device, by call site, most bytes first.

    ``total``: at the peak of their sum; process is then ALL and the device "all".
    """
    objects = objects[objects["counted"]]
    if total:
        objects, changes = together(objects), together(changes)
    parts = [_there_at(objects, peak) for peak in peaks(changes).to_dict("records")]
    columns = ["process", "owner", "time", "peak", "stack", "call", "kind", *_VALUES]
    none = pd.DataFrame({name: pd.Series(dtype=np.int64) for name in columns}).astype({"call": "str", "kind": "str"})
    table = pd.concat([part for part in parts if len(part)] or [none], ignore_index=True)
    table = table.sort_values(
        ["peak", *_PLACE, "bytes", "stack", "call", "kind"],
        ascending=[False, True, True, False, True, True, True],
        ignore_index=True,
    )
    table = _with_source(_with_device(table, label), stack_label)
    return table[["process", "device", "time", "peak", "stack", "source", "call", "kind", *_VALUES]]


def _there_at(objects: pd.DataFrame, peak: dict[Any, Any]) -> pd.DataFrame:
    time = peak["time"]
    live = (objects["allocated"] <= time) & ((objects["freed"] == 0) | (objects["freed"] > time))
    here = (objects["process"] == peak["process"]) & (objects["owner"] == peak["owner"])
    table = _by_stack(objects[live & here], _PLACE)
    return table.assign(time=time, peak=peak["bytes"])


def _by_stack(objects: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    table = objects.assign(objects=1)
    return table.groupby([*keys, "stack", "call", "kind"], observed=True)[_VALUES].sum().reset_index()


# --- leaks ---


def leaks(
    objects: pd.DataFrame, processes: pd.DataFrame, use: pd.DataFrame, label: Label, stack_label: StackLabel,
    freeless: Collection[int] = (),
) -> pd.DataFrame:  # fmt: skip
    """process device (label) state (one of STATES) stack source (of the stack) call kind objects bytes: what no call
    had freed when the program began to exit, by call site; by state, then most bytes first.

    ``freeless``: processes of which no frees were recorded. Of pools: the bytes that they held at the end and had not
    handed out, by the driver (``use``, of memory_use), as 0 objects.
    """
    objects = objects[objects["counted"]]
    state = _states(objects, processes)
    state[objects["process"].isin(list(freeless)) & (state == NEVER_FREED)] = NOT_RECORDED
    kept = objects[state != ""].assign(state=state[state != ""])
    table = pd.concat([_by_stack(kept, [*_PLACE, "state"]), _in_pools(use)], ignore_index=True)
    table = table.assign(order=[STATES.index(text) for text in table["state"]])
    table = table.sort_values(
        ["order", "bytes", *_PLACE, "stack", "call", "kind"],
        ascending=[True, False, True, True, True, True, True],
        ignore_index=True,
    )
    table = _with_source(_with_device(table, label), stack_label)
    return table[["process", "device", "state", "stack", "source", "call", "kind", *_VALUES]]


def _states(objects: pd.DataFrame, processes: pd.DataFrame) -> pd.Series[str]:
    """One of STATES for each object, "" for what a call freed while the program ran."""
    number = objects["process"].to_numpy()
    exit_ns = processes["exit_ns"].reindex(number).to_numpy()
    complete = processes["complete"].reindex(number, fill_value=False).to_numpy(np.bool_)
    kind, freed = objects["kind"], objects["freed"].to_numpy()
    ended = freed > 0
    late = ended & complete & (freed >= exit_ns)
    by_context = objects["with_context"].to_numpy(np.bool_)
    state = np.full(len(objects), "", dtype=object)
    # Of rules that all fit, the last one holds.
    state[late & ~by_context] = AT_EXIT
    state[ended & ~late & by_context] = WITH_CONTEXT
    # A context that ends because the process does has freed nothing that the program would have.
    never = ~ended | (late & by_context)
    state[never] = np.where(complete, NEVER_FREED, NOT_KNOWN)[never]
    state[never & kind.eq("graph").to_numpy()] = IN_GRAPH
    state[never & kind.isin(STATICS).to_numpy()] = STATIC
    return pd.Series(state, objects.index, dtype="str")


def _in_pools(use: pd.DataFrame) -> pd.DataFrame:
    last = use.sort_values("time", kind="stable").groupby(["process", "gpu"], as_index=False).last()
    spare = last[(last["pool_used"] >= 0) & (last["pool_reserved"] > last["pool_used"])]
    return pd.DataFrame(
        {
            "process": spare["process"],
            "owner": spare["gpu"],
            "state": pd.Series(IN_POOL, spare.index, dtype="str"),
            "stack": np.int64(0),
            "call": pd.Series("", spare.index, dtype="str"),
            "kind": pd.Series("pool", spare.index, dtype="str"),
            "bytes": spare["pool_reserved"] - spare["pool_used"],
            "objects": np.int64(0),
        }
    )


# --- what the driver says ---


def agreement(changes: pd.DataFrame, use: pd.DataFrame, label: Label) -> pd.DataFrame:
    """process device (label) time used used_change own pool_reserved pool_used allocated_by_process
    allocated_by_all (bytes).

    ``used`` is by everybody on the device, as the driver reports it (-1 unknown), ``used_change`` that against the
    process's first sample, ``allocated_by_process`` what it had allocated then, ``allocated_by_all`` what all
    processes of the trace had. Contexts, loaded code and the collector's own memory are in ``used`` alone.
    """
    counted = changes[changes["counted"]]
    own, every = running(counted, _PLACE), running(counted, ["owner"])
    parts = []
    table = use.rename(columns={"gpu": "owner"}).sort_values([*_PLACE, "time"], ignore_index=True)
    for _, rows in table.groupby(_PLACE):
        process, owner = rows["process"].iloc[0], rows["owner"].iloc[0]
        known = rows.loc[rows["used"] >= 0, "used"]
        first = int(known.iloc[0]) if len(known) else 0
        times = rows["time"].to_numpy()
        part = rows.assign(
            used_change=np.where(rows["used"] >= 0, rows["used"] - first, 0),
            allocated_by_process=at(times, own[(own["process"] == process) & (own["owner"] == owner)]),
            allocated_by_all=at(times, every[every["owner"] == owner]),
        )
        parts.append(part)
    none = table.iloc[:0].assign(
        used_change=np.int64(0), allocated_by_process=np.int64(0), allocated_by_all=np.int64(0)
    )
    table = pd.concat(parts, ignore_index=True) if parts else none
    columns = ["used", "used_change", "own", "pool_reserved", "pool_used", "allocated_by_process", "allocated_by_all"]
    return _with_device(table, label)[["process", "device", "time", *columns]]


def thinned(agreement: pd.DataFrame, most: int) -> pd.DataFrame:
    """At most ``most`` + 2 samples of each process and device, those with the most in use."""
    rows = agreement.groupby(["process", "device"], sort=False).indices.values()
    kept = [own[curve.highest(agreement["used"].to_numpy()[own], most)] for own in rows]
    return agreement.iloc[np.concatenate([*kept, np.empty(0, np.int64)])].reset_index(drop=True)


def logged(
    log: pd.DataFrame, gpus: pd.DataFrame, machine: Sequence[str], place: int | None,
    buses: Mapping[str, str] | None = None,
) -> pd.DataFrame:  # fmt: skip
    """time owner (place) used (bytes): the rows of a log of nvidia-smi that are about GPUs of the trace.

    ``machine``: the UUIDs of its GPUs in the order of nvidia-smi; ``buses``: those by their place on the PCI bus, as
    the log spells it. Rows that do not say which GPU are of ``place``, or of the only GPU that the trace has.
    UsageError where no row is about one of them, or such rows are of several GPUs.
    """
    uuids = np.array([uuid.casefold() for uuid in log["uuid"]], dtype=object)
    index = log["index"].to_numpy()
    on_bus = (log["pci"] != "").to_numpy() & (uuids == "")
    uuids[on_bus] = [(buses or {}).get(bus, "another's") for bus in log["pci"][on_bus]]
    named = (index >= 0) & (uuids == "") & (index < len(machine))
    uuids[named] = np.array([*machine, ""], dtype=object)[index[named]]
    places = {uuid.casefold(): number for number, uuid in enumerate(gpus["uuid"]) if uuid}
    owner = np.array([places.get(uuid, UNKNOWN) for uuid in uuids], np.int64)
    unnamed = (uuids == "") & (index < 0)
    if unnamed.any():
        only = 0 if place is None and len(gpus) == 1 else place
        if _of_several(log["time"].to_numpy()[unnamed]):
            raise UsageError(
                "the log of nvidia-smi has rows of several GPUs and does not say which",
                "record with --query-gpu=timestamp,uuid,memory.used",
            )
        if only is None:
            raise UsageError(
                "the log of nvidia-smi does not say which GPU its rows are of",
                "name one with --owner, or record with --query-gpu=timestamp,uuid,memory.used",
            )
        owner[unnamed] = only
    table = pd.DataFrame({"time": log["time"], "owner": owner, "used": log["used"] * (1 << 20)})
    table = chosen(table[table["owner"] >= 0], place, None)
    if len(table) == 0:
        raise UsageError(
            "the log of nvidia-smi has no row of these GPUs", "give the log of the machine that recorded the trace"
        )
    return table.reset_index(drop=True)


def _of_several(times: np.ndarray) -> bool:
    """Whether rows that name no GPU are of several: nvidia-smi asks these within microseconds of one another, and none
    again within milliseconds. Times in whole seconds, as old ones are, do not tell."""
    fine = (times % 10**9 != 0).any()
    return bool(fine and (np.diff(np.sort(times)) <= 2_000_000).any())


def _with_device(table: pd.DataFrame, label: Label) -> pd.DataFrame:
    names = ["all" if place == ALL else label(place) for place in table["owner"].tolist()]
    return table.assign(device=pd.Series(names, table.index, dtype="str"))


def _with_source(table: pd.DataFrame, stack_label: StackLabel) -> pd.DataFrame:
    labels = stack_label(table["stack"])
    return table.assign(source=pd.Series(labels.to_numpy(), table.index, dtype="str"))
