"""What the host did: launches, copies, collectives and driver calls."""

from __future__ import annotations

import pandas as pd

from snoopie.analysis.host import calls, copies, launches
from snoopie.analysis.host.copies import Order
from snoopie.analysis.host.launches import Order as LaunchOrder
from snoopie.analysis.source import flame
from snoopie.analysis.traffic import collectives, sequence
from snoopie.analysis.traffic import counts as _counts
from snoopie.api.arguments import Natural
from snoopie.api.native import NativeMethods
from snoopie.api.notebook import Rows
from snoopie.api.stacks import StackMethods
from snoopie.errors import UsageError, warn
from snoopie.trace.lacks import Lack


class HostMethods(NativeMethods, StackMethods):
    """What the host did."""

    def by_launch(self) -> pd.DataFrame:
        """launch kernel issuer (label) process time (ns), values; measured launches with traffic only, never scaled"""
        return _counts.by_launch(self._sums("launch"), self._tables.launches)

    def single_launches(self, order: LaunchOrder = "bytes", limit: Natural = 1000) -> pd.DataFrame:
        """launch kernel issuer (label) process rank stream thread grid block ("4 × 2") shared_memory (bytes) began (ns
        after the first moment of the trace) ran (ns on its GPU, -1 unknown) bytes accesses wire_efficiency group stack:
        the ``limit`` first measured launches with the most bytes, that ran longest or have the earliest ``start``.
        Never scaled, and also those without traffic. UsageError for another order.
        """
        ranks, origin = self.processes["rank"], self.period[0]
        return launches.single(
            self.launches, self.timeline(), self._sums("launch"), ranks, self.label, order, limit, origin
        )

    def by_launch_stack(self) -> pd.DataFrame:
        """stack source launches bytes accesses: of the measured launches by the call stack that made them, most bytes
        first; never scaled. ``source`` is the `stack_label`.
        """
        table = launches.by_stack(self.launches, self._sums("launch"))
        table.insert(1, "source", self.stack_label(table["stack"]))
        return table

    def flame_tree(self, value: _counts.Value = "bytes") -> pd.DataFrame:
        """parent depth kind name file line ``value``: the tree of a flame graph. Below the root, which is all: the
        functions that called one another on the host (``kind`` python or host), the kernel, the source line, the owner
        of the memory. A parent comes before its children, of which those with most come first; ``parent`` is a row, -1
        for the root. UsageError for another value.
        """
        if value not in _counts.VALUES:
            raise UsageError(f"there is no value {value}", f"choose {', '.join(_counts.VALUES)}")
        keys = ("kernel", "file", "line", "owner")
        own = self._with_launches(self._sums(*keys, "launch"), "stack")
        sums = _counts.plain(_counts.settled(own, ["stack", *keys], [value]))
        kernels = self.functions.loc[self.functions["kernel"], "name"]
        return flame.tree(sums, value, self.stacks, self._frame_places, kernels, self.label)

    def by_process(self) -> pd.DataFrame:
        """process, launches (with traffic), measured (of these), values"""
        return Rows(_counts.by_process(self._with_launches(self._sums("launch", "kernel"), "process")))

    def by_stack(self) -> pd.DataFrame:
        """stack source kernel launches (with traffic) measured (of these), values: by the calls that launched the
        kernels. ``source`` is the `stack_label` of the stack, 0 and "" where it is not known.
        """
        table = _counts.by_stack(self._with_launches(self._sums("launch", "kernel"), "stack"))
        table.insert(1, "source", self.stack_label(table["stack"]))
        return Rows(table)

    def by_copy(self) -> pd.DataFrame:
        """from to (labels) kind call copies bytes host_ns (time in the calls), most bytes first"""
        return Rows(copies.by_copy(self.copies, self.label))

    def single_copies(self, order: Order = "bytes", limit: Natural = 1000) -> pd.DataFrame:
        """copy process from to issuer (labels) kind call bytes stream thread began (ns after the first moment of the
        trace) host_ns (time in the call): the ``limit`` first ones with the most bytes, the longest calls or the
        earliest ``start``. UsageError for another order.
        """
        return copies.single(self.copies, self.label, order, limit, self.period[0])

    def collective_sequence(self) -> pd.DataFrame:
        """communicator number operation reduction type call_bytes ranks (0 unknown) called (of these, in the trace)
        began (ns after the first moment of the trace) skew last_rank took (ns) algorithm protocol channels bytes
        expected bus_bandwidth: each collective once, the n-th call of a communicator on all its ranks. -1 is unknown.

        ``skew``: from the first rank's arrival to the last's; ``took``: from then on to the last end; on the GPUs where
        these times are known of every rank, else of the calls. ``bytes``: what the kernels moved between GPUs and the
        host, where no other call shared them; ``expected``: what a ring or tree moves. ``bus_bandwidth`` is as
        nccl-tests defines it, of ``took``: instrumented, unless imported.
        """
        sums = self._sums("launch", "site")
        return sequence.by_sequence(self.collectives, self.launches, self.timeline(), sums, self.sites, self.period[0])

    def by_collective(self) -> pd.DataFrame:
        """operation reduction type communicator calls launches call_bytes, values of the launches' traffic.

        What a kernel carries out at once is one row, "2 × AllReduce" or "Recv + Send": its traffic is never divided.
        Launches whose calls the trace does not have are in a row with the operation "".
        """
        return Rows(collectives.by_collective(self._sums("launch"), self._weighted_launches, self.collectives))

    def calls_behind(
        self, operation: str, reduction: str, type: str, communicator: str, limit: Natural = 1000
    ) -> pd.DataFrame:
        """collective process issuer (label) operation reduction type count bytes peer communicator rank ranks stream
        thread began (ns after the first moment of the trace) host_ns (time in the call) group: the ``limit`` earliest
        calls in the row of `by_collective` that begins with these four.
        """
        return collectives.behind(
            self.collectives, (operation, reduction, type, communicator), self.label, limit, self.period[0]
        )

    def by_call(self, *keys: str) -> pd.DataFrame:
        """``keys`` (some of process, thread, gpu) call calls errors host_ns (in the calls) mean_ns min_ns max_ns p50_ns
        p90_ns p99_ns bytes (copied, set or allocated) unsized, longest in the calls first.

        Driver calls; of a view those of its processes and GPUs (``issuers``), at any time. A percentile is a bound:
        that share of the calls took less, and it is less than twice too high. Errors: cuEventQuery and the like answer
        "not ready", which is none. Of imported traces the size of ``unsized`` calls can be unknown: the bytes are those
        of the others. If the time of some is, host_ns and mean_ns are of the others, min_ns and max_ns NaN.
        """
        keys = (*calls.checked_keys(keys), "call")
        return self._with_unknown(calls.by_call(self.call_totals, self.call_times, self.label, keys))

    def by_thread(self) -> pd.DataFrame:
        """process thread, and the values of `by_call`, of all its driver calls"""
        return self._with_unknown(calls.by_call(self.call_totals, self.call_times, self.label, ("process", "thread")))

    def by_launched_kernel(self, *keys: str) -> pd.DataFrame:
        """kernel, ``keys`` (some of process, thread, gpu), launches (calls that succeeded) errors host_ns (in the
        calls) mean_ns min_ns max_ns, longest in the calls first.

        Every kernel that the host launched by itself, measured or not; a view divides them as `by_call`. A launch
        while a graph is captured is such a call; the launch of a graph is none of its kernels.
        """
        return self._with_unknown(calls.by_kernel(self.call_totals, self.label, calls.checked_keys(keys)))

    def by_direction(self, *keys: str) -> pd.DataFrame:
        """direction, ``keys`` (some of process, thread, gpu), call asynchronous (bool) calls errors bytes host_ns (in
        the calls) bandwidth (bytes a second), most bytes first.

        All copy calls, also within one memory; a view divides them as `by_call`. ``bandwidth`` is NaN where the call
        does not wait for the transfer: asynchronous ones, and all between GPUs or within one.
        """
        return self._with_unknown(calls.by_direction(self.call_totals, self.label, calls.checked_keys(keys)))

    def _with_unknown(self, table: pd.DataFrame) -> pd.DataFrame:
        return calls.known(table, errors=not self.lacks(Lack.ERRORS), sizes=not self.lacks(Lack.CALL_SIZES))

    def single_calls(self, call: str, order: Order = "host_ns", limit: Natural = 1000) -> pd.DataFrame:
        """event process thread gpu (label) kernel direction began (ns after the first moment of the trace) host_ns (in
        the call) bytes returned (a code, 0 = success): of the single ``calls`` of that name, which CALLS=all records,
        the ``limit`` longest, earliest ("start") or those with the most "bytes". UsageError for another order.
        """
        if not (self._tables.calls["call"] == call).any():
            warn(f"call: nothing is called {call}", 'take a name of trace.calls["call"], recorded with CALLS=all')
        return calls.single(self.calls, call, self.label, order, limit, self.period[0])

    def by_error(self, *keys: str) -> pd.DataFrame:
        """call, ``keys`` (some of process, thread, gpu), returned (a code) name (of it) calls: failed driver calls,
        which a view divides as `by_call`
        """
        return calls.by_error(self.call_errors, self.label, calls.checked_keys(keys))
