"""How much memory there was, whose, and what was never freed."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

import pandas as pd

from snoopie.analysis.memory import curve
from snoopie.analysis.memory import usage as _usage
from snoopie.analysis.source import stacks
from snoopie.api.arguments import Positive
from snoopie.api.stacks import StackMethods
from snoopie.errors import UsageError
from snoopie.importers import nvidia_smi
from snoopie.trace.lacks import Lack
from snoopie.words import units


class MemoryMethods(StackMethods):
    """How much memory there was."""

    def memory_events(self, device: int | str | None = None, process: int | None = None) -> pd.DataFrame:
        """process pid device (label) time (host ns) operation (allocation, free) kind bytes address call name (of the
        variable) origin (valid: the stack is known, driver: a driver call without one, invalid: no call is known) stack
        call_stack: each allocation and free in the order of time.

        ``call_stack`` is "function(module) -> function(module)", innermost first; of a stack deeper than 256 frames, or
        than fewer where there are more than 78,000 rows, the rest is "…".
        """
        objects, _, _ = self._memory(device, process)
        table = _usage.events(objects, self.processes["pid"], self.label)
        return table.assign(call_stack=stacks.spelled(self.stacks, self._frame_places, table["stack"]))

    def memory_usage(
        self, device: int | str | None = None, process: int | None = None, *, by_origin: bool = False
    ) -> pd.DataFrame:
        """process device (label) kind counted time (host ns) bytes objects: how much memory there was from each moment
        on, until the next of the same process, device and kind.

        Kinds that are not ``counted`` show memory that another object is, or another process's. ``device`` is a place
        in ``gpus``, a UUID, a label or "host"; UsageError for what the trace does not have. ``by_origin``: in the place
        of the kind stands the origin, as in `memory_events`.
        """
        objects, changes, _ = self._memory(device, process)
        if by_origin:
            changes = _usage.summarise(objects[objects["counted"]].assign(kind=_usage.origins(objects)))
        return _usage.usage(changes, self.label)

    def memory_curve(
        self, device: int | str | None = None, process: int | None = None, points: Positive = 2000
    ) -> pd.DataFrame:
        """time (host ns), and the bytes of each kind that counts from then on, of all devices and processes asked for
        together: at most about so many rows, with the peak, and the last of which is at the end of the trace. "other
        kinds" are managed static, pageable and unknown, which imported traces alone have."""
        _, changes, use = self._memory(device, process)
        usage = _usage.running(changes[changes["counted"]], ["kind"])
        ends = self.processes["end_ns"] if process is None else self.processes["end_ns"][[process]]
        end = max(
            int(times.max(initial=0)) for times in (ends.to_numpy(), usage["time"].to_numpy(), use["time"].to_numpy())
        )
        return curve.curve(usage, end, points)

    def memory_by_kind(
        self, device: int | str | None = None, process: int | None = None, *, by_origin: bool = False
    ) -> pd.DataFrame:
        """process device (label) kind counted peak (bytes) peak_time (host ns) left (bytes at the end) objects (then):
        `memory_usage` in few rows."""
        return _usage.by_kind(self.memory_usage(device, process, by_origin=by_origin))

    def memory_watermark(
        self, device: int | str | None = None, process: int | None = None, *, total: bool = False
    ) -> pd.DataFrame:
        """process device (label) time (host ns) peak (bytes) stack source call kind objects bytes: the
        allocations at each process's peak on each device, by call site; most bytes first.

        ``total``: when all processes and devices together had most; process is then `memory.usage.ALL`.
        """
        objects, changes, _ = self._memory(device, process)
        return _usage.watermark(objects, changes, self.label, self.stack_label, total=total)

    def leaks(self, device: int | str | None = None, process: int | None = None) -> pd.DataFrame:
        """process device (label) state stack source call kind objects bytes: memory that no call had freed when the
        program began to exit, by call site; by state, then most bytes first.

        ``state`` is "never freed", or says why nothing is known, or why it lives so long by design: freed at exit,
        ended with its context, module static, held by a graph, held by a pool (bytes alone).
        """
        there, _, use = self._memory(device, process)
        # Their ends as they are, also after the time of a view.
        objects = self._memory_objects.loc[there.index]
        if self._selected is not None:
            objects = self._selected.at_times(objects, "allocated")
        freeless = self._lacking(Lack.FREES)
        return _usage.leaks(objects, self.processes, use, self.label, self.stack_label, freeless)

    def memory_agreement(
        self, device: int | str | None = None, process: int | None = None, points: Positive | None = None
    ) -> pd.DataFrame:
        """process device (label) time (host ns) used used_change own pool_reserved pool_used allocated_by_process
        allocated_by_all.

        What the driver reported (``used`` by everybody, ``used_change`` since the first sample, ``own``; -1 unknown)
        beside what the process, and all processes of the trace, had allocated then, in bytes. Contexts, loaded code
        and the collector's own memory are in what the driver reports alone. With ``points`` at most about so many
        samples of each process and device, those with the most in use.
        """
        _, _, use = self._memory(device, process)
        table = _usage.agreement(self._whole._memory_changes, use, self.label)
        return table if points is None else _usage.thinned(table, points)

    def nvidia_smi(self, path: str | os.PathLike[str], device: int | str | None = None) -> pd.DataFrame:
        """time (host ns) device (label) used (bytes): what a log of nvidia-smi says of the trace's GPUs.

        The log is one of --query-gpu=timestamp,memory.used --format=csv, with index, uuid or pci.bus_id where there are
        several GPUs, recorded on the same machine and in the same time zone. UsageError or `SnoopieError` otherwise.
        """
        place = None if device is None else _usage.place_of(self.gpus, device)
        header = self._tables.sources[0].header
        machine = [gpu.uuid.casefold() for gpu in sorted(header.gpus, key=lambda gpu: gpu.pci.casefold())]
        buses = {nvidia_smi.bus(gpu.pci): gpu.uuid.casefold() for gpu in header.gpus if gpu.pci}
        table = _usage.logged(nvidia_smi.read(Path(path)), self.gpus, machine, place, buses)
        labels = pd.Series([self.label(owner) for owner in table["owner"]], dtype="str")
        return table.assign(device=labels)[["time", "device", "used"]]

    @cached_property
    def _memory_objects(self) -> pd.DataFrame:
        if self._selected is not None:
            return self._selected.of_memory(self._whole._memory_objects)
        physical = [
            number
            for number, source in enumerate(self._tables.sources)
            if "physical" in source.header.codes.lists["object_kinds"]
        ]
        return _usage.live_times(self.objects, physical)

    @cached_property
    def _memory_there(self) -> pd.DataFrame:
        """``_memory_objects`` in the time of a view."""
        between = None if self._selected is None else self._selected.between
        return self._memory_objects if between is None else _usage.within(self._memory_objects, between)

    @cached_property
    def _memory_changes(self) -> pd.DataFrame:
        return _usage.summarise(self._memory_there)

    def _memory(self, device: int | str | None, process: int | None) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """The objects, their changes and the rows of ``memory_use`` of a device and a process."""
        if process is not None and process not in self.processes.index:
            raise UsageError(f"there is no process {process}", f"the trace has {units.numbers(self.processes.index)}")
        place = None if device is None else _usage.place_of(self.gpus, device)
        use = _usage.chosen(self.memory_use.rename(columns={"gpu": "owner"}), place, process)
        return (
            _usage.chosen(self._memory_there, place, process),
            _usage.chosen(self._memory_changes, place, process),
            use.rename(columns={"owner": "gpu"}),
        )
