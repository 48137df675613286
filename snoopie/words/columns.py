"""The columns of all tables: what stands above each, what its values are, and what it means.

The app, the command line, the report and notebooks take headings, meanings and the writing of amounts from here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from snoopie.words import units
from snoopie.words.text import visible


class Kind(Enum):
    """What the values of a column are, which says how they are written and how much room they need."""

    BYTES = "bytes"
    RATE = "bytes a second"
    COUNT = "count"
    SHARE = "share"
    EFFICIENCY = "share that can be above 1"
    TIMES = "how many times as much"
    DURATION = "ns"
    MOMENT = "ns after the beginning"
    CLOCK = "ns on the host's clock"
    BYTES_CHANGE = "bytes, with their sign"
    AMOUNT = "an amount of a kind that the row or the table names"
    CAPABILITY = "compute capability, 0 if unknown"
    CAPACITY = "bytes, 0 if unknown"
    OFFSET = "bytes into something, in hexadecimal"
    NUMBER = "a number that stands for something"
    LINE = "a line's number"
    FLAG = "yes or no"
    WORD = "a word"
    PLACE = "a GPU, the host or another place"
    NAME = "a name"
    PATH = "a file's name, of which the end says most"
    CODE = "code"
    COLUMN = "the name of a column"

    @property
    def is_amount(self) -> bool:
        """Whether the values are amounts, which have a unit and are never cut."""
        return self in _AMOUNTS or self is Kind.AMOUNT

    @property
    def is_whole(self) -> bool:
        """Whether a fraction is none of its values."""
        return self in (Kind.BYTES, Kind.COUNT)

    @property
    def is_number(self) -> bool:
        """Whether the values stand below one another by their last digit."""
        return self.is_amount or self in (Kind.NUMBER, Kind.LINE, Kind.OFFSET)

    def say(self, value: object) -> str:
        """A value for people. What is negative where nothing can be is not known."""
        # numpy's numbers are none of Python's
        if hasattr(value, "item"):
            value = value.item()
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            return units.NOTHING
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, (int, float)) and self in _LEAST and value < _LEAST[self]:
            return units.NOTHING
        if isinstance(value, (int, float)) and (write := _AMOUNTS.get(self)):
            return write(value)
        if self is Kind.OFFSET and isinstance(value, int):
            return f"{value:#x}"
        return heading(str(value)) if self is Kind.COLUMN else visible(str(value))


_AMOUNTS: Mapping[Kind, Callable[[float], str]] = {
    Kind.BYTES: units.bytes,
    Kind.RATE: units.rate,
    Kind.COUNT: units.count,
    Kind.SHARE: units.percent,
    Kind.EFFICIENCY: units.efficiency,
    Kind.TIMES: units.times,
    Kind.DURATION: units.duration,
    Kind.MOMENT: units.moment,
    Kind.BYTES_CHANGE: lambda value: units.signed(value, units.bytes),
    Kind.CAPABILITY: units.capability,
    Kind.CAPACITY: units.bytes,
}
# Less than these is the trace's way to say that something is not known, or that there is none.
_LEAST = dict.fromkeys((Kind.BYTES, Kind.RATE, Kind.COUNT, Kind.DURATION, Kind.MOMENT, Kind.NUMBER), 0) | dict.fromkeys(
    (Kind.LINE, Kind.CAPABILITY, Kind.CAPACITY), 1
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column: what stands above it, what its values are, and in a sentence what it means."""

    heading: str
    kind: Kind
    meaning: str


def _same(names: str, column: Column) -> dict[str, Column]:
    return dict.fromkeys(names.split(), column)


# Words that every view uses. README.md and the app's hints quote them.
_TRAFFIC = {
    "issuer": Column(
        "Issuer", Kind.PLACE, "The GPU that executes the instruction, or that carries out or starts the copy."
    ),
    "owner": Column("Owner", Kind.PLACE, "The GPU (or host) whose memory is touched."),
    "from": Column("From", Kind.PLACE, "The GPU (or host) that data left."),
    "to": Column("To", Kind.PLACE, "The GPU (or host) where data arrived."),
    "accesses": Column("Accesses", Kind.COUNT, "Executions of a memory instruction, each by one warp."),
    "lanes": Column("Lanes", Kind.COUNT, "Threads that took part in the accesses, up to 32 in each."),
    "bytes": Column(
        "Bytes", Kind.BYTES, "What was asked for: of instructions lanes × width, of copies and memory their size."
    ),
    "unsized": Column(
        "Of unknown size", Kind.COUNT, "Calls whose size was not recorded: the bytes are those of the other calls."
    ),
    "wire_units": Column(
        "Wire units", Kind.COUNT, "Different wire units (32 bytes read, 16 written) that each access touches, added up."
    ),
    "wire_unit": Column(
        "Wire unit",
        Kind.NUMBER,
        "Bytes that NVLink moves at a time: 32 of what is read, 16 of what is written. Traces of format 3 counted "
        "32 for both.",
    ),
    "wire_bytes": Column(
        "Wire bytes",
        Kind.BYTES,
        "What had to move: each wire unit (32 bytes read, 16 written) that an access touches, whole. Of loads it is "
        "the most that moved: data that is read again may come from the L1 cache.",
    ),
    "wire_least": Column(
        "Least wire bytes",
        Kind.BYTES,
        "What moved at least: each wire unit that is read once a launch and SM, and all that is written.",
    ),
    "per_sm": Column(
        "Per SM", Kind.FLAG, "Whether the least counts what each SM read in a launch, not what the launch read."
    ),
    "wire_efficiency": Column(
        "Wire efficiency",
        Kind.EFFICIENCY,
        "Bytes / wire bytes. It is above 100 % where lanes shared addresses: what several asked for moved once.",
    ),
    "share": Column("Share", Kind.SHARE, "Its part of the whole that the table shows."),
    "launches": Column("Launches", Kind.COUNT, "Executions of a kernel."),
    "range": Column("Range", Kind.NAME, "What the program calls it: an NVTX range or a region."),
    "domain": Column("Domain", Kind.NAME, "Of the name: a library's own, or none."),
    "of": Column("Of", Kind.WORD, "Whose calls are in it: those of its thread, or of the whole process."),
    "times": Column("Times", Kind.COUNT, "How often it began."),
    "measured": Column("Measured", Kind.COUNT, "Launches that were measured; each stands for others of its kernel."),
    "library": Column("Library", Kind.WORD, "Whose code moved it: NCCL, NVSHMEM, or the program itself."),
    "device_bytes": Column("By kernels", Kind.BYTES, "Bytes that the instructions of kernels asked for."),
    "host_bytes": Column("By the host", Kind.BYTES, "Bytes of copies that the host started."),
    "direction": Column("Direction", Kind.WORD, "Which way data went."),
}
_CODE = {
    "kernel": Column("Kernel", Kind.NAME, "The function that was launched on a GPU."),
    "function": Column("Function", Kind.NAME, "The function that the code belongs to."),
    "file": Column("File", Kind.PATH, "The source file, as the compiler recorded it."),
    "line": Column("Line", Kind.LINE, "The number of the line in its file."),
    "line_b": Column("Line in B", Kind.LINE, "The number of the line in its file in the second trace."),
    "lines": Column("Lines", Kind.COUNT, "Source lines that moved data."),
    "source": Column("Source", Kind.PATH, "The file and line of the code."),
    "path": Column("Path", Kind.PATH, "Where the file or folder is."),
    "folder": Column("Folder", Kind.FLAG, "Whether it is a folder of files."),
    "depth": Column("Depth", Kind.NUMBER, "How many folders, or calls, it is deep."),
    "code": Column("Code", Kind.CODE, "The text of the source line."),
    "code_b": Column("Code in B", Kind.CODE, "The text of the source line in the second trace."),
    "module": Column("Module", Kind.NAME, "The program or library that contains the code."),
    "site": Column("Site", Kind.NUMBER, "One memory instruction of the compiled code."),
    "sites": Column("Sites", Kind.COUNT, "Memory instructions of the compiled code."),
    "offset": Column("Offset", Kind.OFFSET, "Where the instruction is in its function, in bytes."),
    "sass": Column("SASS", Kind.CODE, "The instruction, in the GPU's assembly language."),
    "opcode": Column("Opcode", Kind.NAME, "What the instruction does, with its modifiers."),
    "operation": Column("Operation", Kind.WORD, "What is done to the memory: load, store, atomic, …, or NCCL's call."),
    "width": Column("Width", Kind.NUMBER, "Bytes that each lane asks for."),
    "uncounted": Column("What cannot be counted", Kind.NAME, "Instructions whose bytes cannot be counted."),
    "stack": Column("Stack", Kind.NUMBER, "The call stack of the program."),
    "frame": Column("Frame", Kind.NUMBER, "A frame of a call stack: one place in the program's code."),
    "parent": Column("Below", Kind.NUMBER, "The row that it is a part of; -1 is none."),
    "level": Column("Level", Kind.NUMBER, "The depth of inlining; 0 is innermost."),
    "python": Column("Python", Kind.FLAG, "Whether it is a Python function."),
    "launched_by": Column("Launched by", Kind.PATH, "The line of the program that launched the kernel."),
}
_OBJECTS = {
    "object": Column("Object", Kind.NUMBER, "One allocation of memory."),
    "objects": Column("Objects", Kind.COUNT, "Allocations of memory."),
    "array": Column("Array", Kind.NUMBER, "The first of the allocations that are the same array of the program."),
    "tensor": Column("Tensor", Kind.NUMBER, "One tensor of PyTorch."),
    "name": Column("Name", Kind.NAME, "Its name."),
    "kind": Column("Kind", Kind.WORD, "What sort of allocation or copy it is."),
    "size": Column("Size", Kind.BYTES, "Its size."),
    "allocations": Column(
        "Copies of it", Kind.COUNT, "Allocations that are one array: of each rank or GPU, as each process sees them."
    ),
    "allocated_by": Column("Allocated by", Kind.PATH, "The line of the program that allocated it."),
    "copied_in": Column("Copied in", Kind.BYTES, "Bytes that the host's copies wrote to it."),
    "copied_out": Column("Copied out", Kind.BYTES, "Bytes that the host's copies read from it."),
    "distinct": Column("Distinct bytes", Kind.BYTES, "Bytes that were touched at least once, for each GPU by itself."),
    "reuse": Column("Reuse", Kind.TIMES, "How often each distinct byte was moved, on average."),
    "exact": Column("Exact", Kind.FLAG, "Whether its amounts are exact, not divided among objects that share pages."),
    "origin": Column(
        "Origin", Kind.WORD, "Who allocated: valid (the stack is known), driver (a driver call without one), invalid."
    ),
    "call_stack": Column("Call stack", Kind.NAME, "The functions and their modules, innermost first."),
    "threads": Column("Threads", Kind.COUNT, "Threads of a block."),
    "block_x": Column("Block x", Kind.NUMBER, "Threads of a block in x."),
    "block_y": Column("Block y", Kind.NUMBER, "Threads of a block in y."),
    "block_z": Column("Block z", Kind.NUMBER, "Threads of a block in z."),
    "allocated_bytes": Column("Allocated", Kind.BYTES, "What was allocated in all, whether or not it was freed."),
    "allocated": Column("Allocated", Kind.CLOCK, "When it was allocated."),
    "freed": Column("Freed", Kind.CLOCK, "When it was freed; 0 if it never was."),
    "at_least": Column("At least", Kind.COUNT, "How often the same bytes were touched at least."),
    "at_most": Column("At most", Kind.COUNT, "How often the same bytes were touched at most."),
}
_COPIES = {
    "call": Column("Call", Kind.NAME, "The function of the CUDA driver that was called."),
    "calls": Column("Calls", Kind.COUNT, "How often it was called."),
    "errors": Column("Errors", Kind.COUNT, "Calls that failed."),
    "returned": Column("Returned", Kind.NUMBER, "The driver's code for the result; 0 is success."),
    "copies": Column("Copies", Kind.COUNT, "Copies that the host started."),
    "copy": Column("Copy", Kind.NUMBER, "One copy that the host started."),
    "bandwidth": Column("Bandwidth", Kind.RATE, "Bytes divided by the time in the calls that wait for the transfer."),
    "asynchronous": Column("Asynchronous", Kind.FLAG, "Whether the calls return before their work is done."),
    "event": Column("Call number", Kind.NUMBER, "One call, in the order of recording."),
    "reduction": Column("Reduction", Kind.WORD, "How a collective combines values: sum, max, …"),
    "type": Column("Type", Kind.WORD, "The type of the elements."),
    "communicator": Column("Communicator", Kind.NAME, "NCCL's group of ranks."),
    "count": Column("Count", Kind.COUNT, "Elements of the call's buffer."),
    "call_bytes": Column("Bytes of calls", Kind.BYTES, "Sizes of the calls' buffers, the larger one of each call."),
    "number": Column("Number", Kind.NUMBER, "Which call of its communicator it is, from 0."),
    "skew": Column("Skew", Kind.DURATION, "From the arrival of the first rank to that of the last."),
    "last_rank": Column("Last rank", Kind.NUMBER, "The rank that arrived last."),
    "took": Column("Took", Kind.DURATION, "From the arrival of the last rank to the end of all."),
    "algorithm": Column("Algorithm", Kind.WORD, "NCCL's algorithm, by the function that moved the bytes."),
    "protocol": Column("Protocol", Kind.WORD, "NCCL's protocol, by the function that moved the bytes."),
    "channels": Column("Channels", Kind.NUMBER, "NCCL's channels: the blocks of its kernel."),
    "expected": Column("Expected", Kind.BYTES, "What a ring or tree of these ranks moves."),
    "bus_bandwidth": Column("Bus bandwidth", Kind.RATE, "As nccl-tests defines it, of the time it took."),
    "peer": Column("Peer", Kind.NUMBER, "The rank at the other end of a call."),
    "collective": Column("Collective", Kind.NUMBER, "One NCCL call."),
    "group": Column("Group", Kind.NUMBER, "NCCL calls that were carried out together."),
}
_TIMES = {
    "host_ns": Column("Host time", Kind.DURATION, "The time that threads of the program spent in the calls."),
    "mean_ns": Column("Mean", Kind.DURATION, "The time in a call, on average."),
    "min_ns": Column("Shortest", Kind.DURATION, "The time in the shortest call."),
    "max_ns": Column("Longest", Kind.DURATION, "The time in the longest call."),
    "p50_ns": Column(
        "50 % within", Kind.DURATION, "Half of the calls took no longer. It is a bound, at most twice too high."
    ),
    "p90_ns": Column(
        "90 % within", Kind.DURATION, "90 % of the calls took no longer. It is a bound, at most twice too high."
    ),
    "p99_ns": Column(
        "99 % within", Kind.DURATION, "99 % of the calls took no longer. It is a bound, at most twice too high."
    ),
    "began": Column(
        "Began at", Kind.MOMENT, "When it began, after the first moment of the trace: one clock for all pages."
    ),
    "start": Column("Start", Kind.CLOCK, "When it began."),
    "end": Column("End", Kind.CLOCK, "When it ended."),
    "time": Column("Time", Kind.CLOCK, "When it happened."),
    "ran": Column("Ran", Kind.DURATION, "From its start to its end."),
    "duration": Column("Duration", Kind.DURATION, "From its start to its end."),
    "busy": Column("Busy time", Kind.DURATION, "When at least one of its kernels or copies ran."),
    "busy_share": Column("Busy", Kind.SHARE, "Busy time as a share of the time from the first start to the last end."),
    "gaps": Column("Idle gaps", Kind.COUNT, "Intervals in which nothing ran on it."),
    "gap": Column("Idle time", Kind.DURATION, "How long nothing ran on it."),
    "others": Column("Others", Kind.DURATION, "How long only what the filters leave out ran on it."),
    "total": Column("Total", Kind.DURATION, "The sum of the times."),
    "average": Column("Average", Kind.DURATION, "The average time."),
    "least": Column("Shortest", Kind.DURATION, "The shortest time."),
    "most": Column("Longest", Kind.DURATION, "The longest time."),
    "rate": Column("Rate", Kind.RATE, "Wire bytes over the time in which something moved them."),
    "capacity": Column("Capacity", Kind.RATE, "The most that the NVLinks can carry in one direction."),
    "capacity_share": Column("Of capacity", Kind.SHARE, "The rate as a share of the most that the NVLinks can carry."),
    "least_time": Column(
        "Least time", Kind.DURATION, "How long the links need for its wire bytes at least, at their full rate."
    ),
    "ahead": Column("Clock ahead", Kind.DURATION, "By how much the GPU's clock is ahead of the host's."),
    "error": Column("Clock error", Kind.DURATION, "By how much the clocks of the GPU and the host can be wrong."),
    "moving": Column("Moving", Kind.DURATION, "How long it moved something, in whole µs."),
    "ended": Column("Ended at", Kind.MOMENT, "When it ended, counted from the beginning of the launch."),
    "spread": Column("Of its run", Kind.SHARE, "The time in which it moved something, as a share of the launches."),
    "densest": Column("Peak rate", Kind.RATE, "Wire bytes of the µs in which most moved."),
    "under": Column("Under others", Kind.BYTES, "What moved while another launch ran on the same GPU."),
    "under_least": Column("At least", Kind.BYTES, "What surely moved while another launch ran on the same GPU."),
    "under_most": Column("At most", Kind.BYTES, "What can have moved while another launch ran on the same GPU."),
    "what": Column("What", Kind.WORD, "A kernel, a copy or a call."),
    "thing": Column("What", Kind.WORD, "A kernel, a copy or a call."),
    "resource": Column("Resource", Kind.PLACE, "A GPU, or the copies."),
    "records": Column("Records", Kind.COUNT, "Single accesses, kernels or copies, each recorded by itself."),
    "launch": Column("Launch", Kind.NUMBER, "One execution of a kernel."),
    "grid": Column("Grid", Kind.PLACE, "The blocks of the launch in x, y and z."),
    "block": Column("Block", Kind.PLACE, "The threads of a block in x, y and z."),
    "shared_memory": Column("Shared memory", Kind.BYTES, "Dynamic shared memory of each block."),
    "stream": Column("Stream", Kind.WORD, "The handle of the CUDA stream."),
    "called": Column("Called", Kind.CLOCK, "When the program launched it."),
    "spanned": Column("Timed", Kind.FLAG, "Whether its times were taken on the GPU, not at its call."),
    "id": Column("Number", Kind.NUMBER, "Its number in its table of the trace."),
    "warp": Column("Warp", Kind.NUMBER, "The warp of the block that made the access."),
    "address": Column("Address", Kind.OFFSET, "The address that was touched."),
    "lane": Column("Lane", Kind.NUMBER, "A thread of the warp, or a row of the timeline."),
    "events": Column("Events", Kind.COUNT, "Entries in a row of the timeline."),
    "place": Column("Place", Kind.WORD, "Where it ran or was called."),
}
# Of recordings without instrumentation.
_NATIVE = {
    "native_launch": Column("Native launch", Kind.NUMBER, "The launch in the clean recording, by its number there."),
    "native_launches": Column("Timed launches", Kind.COUNT, "Launches whose time without instrumentation is known."),
    "native_time": Column(
        "Native time",
        Kind.DURATION,
        "How long its launches ran without instrumentation, added up.",
    ),
    "native_bytes": Column("Timed bytes", Kind.BYTES, "What the launches moved whose native time is known."),
    "native_rate": Column("Native rate", Kind.RATE, "Timed bytes over native time."),
    "least_time": Column(
        "Least time",
        Kind.DURATION,
        "What the NVLinks take at their full capacity for the wire bytes, in the GPU and direction that take longest.",
    ),
    "link_share": Column("Of the link", Kind.SHARE, "Least time over native time: 100 % is as fast as NVLink can."),
    "recording": Column("Recording", Kind.WORD, "The exact recording, or the clean one."),
    "outcome": Column("Outcome", Kind.NAME, "Whether launches were matched, and if not, why not."),
    "communication": Column("Communication", Kind.DURATION, "When kernels or copies ran that moved data between GPUs."),
    "overlapped": Column("Overlapped", Kind.DURATION, "How much of the communication other kernels ran beside."),
    "computation": Column("Computation", Kind.DURATION, "When kernels ran that moved nothing between GPUs."),
    "not_known": Column("Not known", Kind.DURATION, "When kernels ran of which it is not known what they moved."),
    "collectives": Column("Collectives", Kind.COUNT, "NCCL's collectives whose ranks all have native times."),
    "came_last": Column("Came last", Kind.COUNT, "Collectives in which the rank was the last to start."),
    "waited": Column("Waited", Kind.DURATION, "How long the rank waited for the last one, in all collectives."),
    "waited_for": Column("Waited for", Kind.DURATION, "How long the other ranks, added up, waited for this one."),
}
_MEMORY = {
    "device": Column("Device", Kind.PLACE, "The GPU that has the memory, or the host."),
    "state": Column("State", Kind.WORD, "Whether a call freed it, and if not, why not."),
    "peak": Column("Peak", Kind.BYTES, "The largest amount at any time."),
    "peak_time": Column("Time of peak", Kind.CLOCK, "When the amount was largest."),
    "peak_after": Column("Peak after", Kind.DURATION, "When the amount was largest, counted from the program's start."),
    "left": Column("At the end", Kind.BYTES, "How much was left at the end."),
    "counted": Column(
        "Counted", Kind.FLAG, "Whether it adds to the sum; memory that belongs to another object or process does not."
    ),
    "sample": Column("Sample", Kind.WORD, "The driver's report with the most memory in use, or its last one."),
    "after": Column("After", Kind.DURATION, "When it was, counted from the program's start."),
    "used": Column("Used", Kind.BYTES, "Memory in use by all processes, as the driver reports it."),
    "used_change": Column(
        "Change in use", Kind.BYTES_CHANGE, "Memory in use, compared with the driver's first report."
    ),
    "allocated_by_process": Column("Allocated", Kind.BYTES, "What the process had allocated then."),
    "allocated_by_all": Column("Allocated by all", Kind.BYTES, "What all processes of the trace had allocated then."),
    "own": Column("Collector's own", Kind.BYTES, "Memory of the collector itself."),
    "pool_reserved": Column("Reserved by pools", Kind.BYTES, "What the driver's memory pools hold."),
    "pool_used": Column("Used in pools", Kind.BYTES, "How much of the driver's memory pools is in use."),
}
_MACHINE = {
    "gpu": Column("GPU", Kind.PLACE, "The GPU, by its short name."),
    "label": Column("GPU", Kind.WORD, "The GPU, by its short name."),
    "gpus": Column("GPUs", Kind.WORD, "GPUs that it uses."),
    "users": Column("Used by", Kind.NAME, "The processes or ranks that use it."),
    "memory": Column("Memory", Kind.CAPACITY, "How much memory the GPU has."),
    "nvlinks": Column("NVLinks", Kind.COUNT, "How many NVLinks the GPU has."),
    "multiprocessor": Column("SM", Kind.NUMBER, "The streaming multiprocessor that ran it, -1 unknown."),
    "sm": Column("Compute capability", Kind.CAPABILITY, "The generation of the GPU."),
    "pci": Column("PCI", Kind.WORD, "The GPU's address on the PCI bus."),
    "uuid": Column("UUID", Kind.WORD, "The identity of the GPU, on every machine."),
    "visible": Column("Visible", Kind.FLAG, "Whether the program could use the GPU."),
    "access": Column("Access", Kind.FLAG, "Whether the issuer can reach the owner's memory."),
    "native_atomics": Column("Native atomics", Kind.FLAG, "Whether the link supports atomics on the owner's memory."),
    "host": Column("Host", Kind.WORD, "The machine."),
    "run": Column("Run", Kind.NUMBER, "A run of the program, by its number among those of the traces."),
    "run_id": Column("ID", Kind.WORD, "What all processes of a run have in common."),
    "processes": Column("Processes", Kind.COUNT, "How many processes there are."),
    "hosts": Column("Hosts", Kind.WORD, "The machines."),
    "process": Column("Process", Kind.NUMBER, "A process of the program, by its number in the trace."),
    "pid": Column("PID", Kind.NUMBER, "The process ID on its host."),
    "rank": Column("Rank", Kind.NUMBER, "The number that the launcher, or NCCL, gave the process."),
    "link_rank": Column("Link rank", Kind.NUMBER, "How the driver ranks the link; 0 is the fastest."),
    "local_rank": Column("Rank on its host", Kind.NUMBER, "The number of the process on its host."),
    "ranks": Column("Ranks", Kind.NUMBER, "How many ranks there are."),
    "thread": Column("Thread", Kind.NUMBER, "A thread of the program, by its ID on the host."),
    "program": Column("Program", Kind.NAME, "The program that ran."),
    "start_ns": Column("Began", Kind.CLOCK, "When the process began; 0 where that is not known."),
    "exit_ns": Column("Began to exit", Kind.CLOCK, "When the process began to exit; 0 where that is not known."),
    "end_ns": Column("Ended", Kind.CLOCK, "When the trace was complete; 0 where that is not known."),
    "complete": Column("Complete", Kind.FLAG, "Whether the end of the trace is there."),
    "version": Column("Version", Kind.WORD, "The version of the tool that wrote the trace."),
    "imported_from": Column("Imported from", Kind.WORD, "The tool that recorded it, if not Snoopie."),
    "command": Column("Command", Kind.PATH, "The program's command line."),
    "started": Column("Started", Kind.WORD, "Date and time of the start."),
}
_COMPARED = {
    "metric": Column("Amount", Kind.COLUMN, "What is compared."),
    "a": Column("A", Kind.AMOUNT, "The amount in the first trace."),
    "b": Column("B", Kind.AMOUNT, "The amount in the second trace."),
    "change": Column("Change", Kind.AMOUNT, "B − A."),
    "ratio": Column("B / A", Kind.AMOUNT, "B divided by A."),
    "only": Column("Only in", Kind.WORD, "The trace that has it, where the other does not."),
    "meaning": Column("Meaning", Kind.NAME, "What the value means."),
    "kernels": Column("Kernels", Kind.COUNT, "Different kernels that were measured."),
    "copy_bytes": Column(
        "Bytes copied", Kind.BYTES, "Bytes of copies that the host started; they are in no other sum."
    ),
    "peak_memory": Column("Peak memory", Kind.BYTES, "The most memory that was allocated at any time."),
    "leaks": Column("Never freed", Kind.BYTES, "Memory that no call had freed when the program began to exit."),
}
_FINDINGS = {
    "rule": Column("Rule", Kind.WORD, "Which rule found it."),
    "severity": Column("Severity", Kind.WORD, "How much it matters."),
    "title": Column("Finding", Kind.NAME, "What was found."),
    "numbers": Column("Numbers", Kind.NAME, "The numbers that make it a finding."),
    "saved": Column(
        "Could save",
        Kind.DURATION,
        "The most that the remedy could save: what the links need at least for what it spares.",
    ),
    "threshold": Column("Threshold", Kind.NAME, "The limit from which on it is a finding."),
    "remedy": Column("What to do", Kind.NAME, "What to do about it."),
    "basis": Column("Basis", Kind.WORD, "What the numbers are based on."),
    "estimated": Column("Estimated", Kind.FLAG, "Whether the numbers are estimates."),
    "view": Column("View", Kind.WORD, "The view of the app that shows it."),
    "query": Column("Query", Kind.NAME, "What the view shows of it."),
}
_WAITS = {
    "waits": Column("Waits", Kind.COUNT, "How often a warp polled and found nothing new, until it did."),
    "given_up": Column(
        "Given up", Kind.COUNT, "Waits that did not end by the value: by a timeout, or not before the kernel."
    ),
    "polls": Column("Polls", Kind.COUNT, "How often warps looked and found nothing new."),
    "waited": Column("Waited", Kind.DURATION, "The time that warps waited, added up; instrumented."),
    "longest": Column("Longest wait", Kind.DURATION, "The longest that a warp waited at once; instrumented."),
    "held": Column(
        "Held", Kind.DURATION, "The time in which thread blocks had a warp that waited, added up; instrumented."
    ),
    "moving": Column(
        "Moving",
        Kind.DURATION,
        "The time from the first to the last access of each thread block to other memory, less that in which it was "
        "held, added up; instrumented.",
    ),
    "blocks": Column("Blocks", Kind.COUNT, "Thread blocks of a launch that waited, of all launches added up."),
    "first_block": Column("First block", Kind.NUMBER, "The lowest linear index of the thread blocks."),
    "awaited": Column("Waits for", Kind.WORD, "The GPUs that store to the memory that is polled."),
    "stored_by": Column("Stored by", Kind.PATH, "The lines that store to the memory that is polled."),
    "known_by": Column(
        "Known by", Kind.WORD, "How exactly it is known who stores there: by address, by object, or by owner alone."
    ),
}
COLUMNS: Mapping[str, Column] = {
    **_TRAFFIC,
    **_CODE,
    **_OBJECTS,
    **_COPIES,
    **_TIMES,
    **_NATIVE,
    **_MEMORY,
    **_MACHINE,
    **_COMPARED,
    **_FINDINGS,
    **_WAITS,
}


def column(name: str) -> Column:
    """The column of that name. The collector's settings, and columns of a user's own, have only their name."""
    return COLUMNS.get(name) or Column(f"{name[:1].upper()}{name[1:].replace('_', ' ')}", Kind.NAME, "")


def heading(name: str) -> str:
    """What stands above a column."""
    return column(name).heading


def meaning(name: str) -> str:
    """What a column is, in a sentence."""
    return column(name).meaning


def kind(name: str) -> Kind:
    """What the values of a column are."""
    return column(name).kind


def say(name: str, value: object) -> str:
    """A value of a column for people."""
    return kind(name).say(value)


def change(name: str, value: float) -> str:
    """A change of a value of a column, with its sign: "+1.5 KiB"."""
    return units.signed(value, _points if kind(name) is Kind.EFFICIENCY else kind(name).say)


def _points(change: float) -> str:
    """Of a share: exact enough not to be nothing, -0.0003 → "-0.03 %"."""
    text = units.percent(change)
    return f"{100 * change:.2g} %" if text == units.percent(0) and abs(change) > 1e-6 else text
