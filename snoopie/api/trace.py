"""The public object: `Trace`. Its attributes and methods are in modules of this package, by subject."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from snoopie.analysis import selection
from snoopie.analysis.selection import Names, PlaceNames
from snoopie.analysis.traffic import counts as _counts
from snoopie.api.expect import ExpectMethods
from snoopie.api.figures import FigureMethods
from snoopie.api.files import FileMethods
from snoopie.api.findings import FindingMethods
from snoopie.api.host import HostMethods
from snoopie.api.moments import MomentMethods
from snoopie.api.notebook import trace_html
from snoopie.errors import warn
from snoopie.words import units


class Trace(HostMethods, FindingMethods, FigureMethods, MomentMethods, ExpectMethods, FileMethods):
    """One or several processes' traffic between GPUs, read-only.

    Tables are attributes (DataFrames, built when first asked for), analyses are methods that return small DataFrames.
    Ids are unique over processes and 0 means none. An issuer or owner is a place in ``gpus``, -1 (host), -2
    (unknown), or a place in ``sets`` (from -3 down). Sums are int64, and exact unless ``estimated``. `select` gives a
    view, which ``launches``, ``counts``, ``records``, ``copies``, ``collectives``, the tables of driver calls,
    ``memory_use`` and all analyses follow.
    """

    def select(
        self,
        kernels: Names = None,
        operations: Names = None,
        issuers: PlaceNames = None,
        owners: PlaceNames = None,
        launches: int | Iterable[int] | None = None,
        files: Names = None,
        processes: int | Iterable[int] | None = None,
        between: tuple[int, int] | None = None,
        ranges: Names = None,
    ) -> Trace:
        """A view that keeps only what is named; None keeps all, and views of views narrow further.

        ``kernels`` (of the launch), ``operations`` and ``files`` are names or, where nothing has that very name,
        patterns with * and ?. ``issuers`` and ``owners`` are places or labels ("GPU 0"), ``launches`` and ``processes``
        ids; ``range(first, last + 1)`` is a range of launches. What is not there selects nothing, with a
        warning. UsageError for a time that ends before it begins.

        ``between``: what was under way at some moment from the first to before the second, host ns, as a whole. A
        launch by its time on its GPU, or, where that is not known, by its call (`timeline`); one without any time is in
        none. Copies and driver calls by their calls.

        ``ranges``: what was called within a range of this name, NAME, NAME@DOMAIN or a pattern: of a pushed range on
        its thread, of a started one anywhere in its process.

        A copy is kept for its issuer, and for the owner of either of its ends. It is no part of a kernel: to name
        kernels, operations, launches or files excludes all copies. A collective is kept for its issuer, process and
        time, and, where kernels or launches are named or were under way, with those that carry it out. Driver calls are
        kept for their process and GPU (``issuers``), single ones (``calls``) also for their time; memory for its
        process, owner and time. All else says nothing of these.
        """
        named: dict[str, Any] = {
            "kernels": kernels,
            "operations": operations,
            "issuers": issuers,
            "owners": owners,
            "launches": launches,
            "files": files,
            "processes": processes,
            "ranges": ranges,
        }
        # What can be gone through only once is gone through here.
        named = {name: list(value) if isinstance(value, Iterator) else value for name, value in named.items()}
        for sentence, remedy in selection.unmatched(self._tables, **named):
            warn(sentence, remedy)
        base = self._selected or selection.everything(self._tables)
        when = None if between is None else self._whole._when
        chosen = selection.narrow(self._tables, base, **named, between=between, when=when)
        return Trace(self._tables, chosen, self._whole, self._cluster)

    def with_times(self, clean: Trace) -> Trace:
        """The same trace, with the native times of another one of the program: a clean recording (``snoopie run
        --with-times``, or ``snoopie_times.so``), or an import of Nsight Systems or PyTorch's profiler.

        Launches are matched by rank, GPU, stream, kernel, shape and order; see `native_matching` for what was not.
        UsageError if the other is instrumented too, or has no times.
        """
        self._check_times(clean)
        whole = Trace(self._tables, cluster=self._cluster)
        whole._clean = clean
        return whole if self._selected is None else Trace(self._tables, self._selected, whole, self._cluster)

    def __repr__(self) -> str:
        sums = _counts.totals(self._sums("operation"))
        about = "≈ " if self.estimated else ""
        parts = [
            units.plural(len(self.gpus), "GPU", "GPUs"),
            units.plural(len(self.launches), "launch", "launches") + (" measured" if self.estimated else ""),
            f"{about}{units.bytes(sums['bytes'])} in {about}{units.count(sums['accesses'])} accesses",
            *([] if self.complete else ["incomplete"]),
        ]
        of = units.plural(len(self.paths), "process", "processes")
        if len(self.runs) > 1:
            of += f" of {len(self.runs)} runs"
        view = "" if self._selected is None else "view of a "
        return f"<{view}Trace of {of}: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        return trace_html(repr(self), self._drawn_matrix()[0], self.by_line(), self.losses())
