"""Who moved how much to whom: sums of the traffic between places, by kernel and by operation."""

from __future__ import annotations

from functools import cached_property
from typing import Literal, get_args

import pandas as pd

from snoopie.analysis.traffic import bounds, libraries, links, pairs
from snoopie.analysis.traffic import counts as _counts
from snoopie.analysis.traffic.libraries import Library
from snoopie.analysis.traffic.pairs import Cell
from snoopie.analysis.traffic.reading import Initiated, Reading
from snoopie.api.core import PAIR
from snoopie.api.notebook import Matrix, Rows
from snoopie.api.records import RecordMethods
from snoopie.errors import UsageError
from snoopie.trace import wire

# What traffic can be summed by, alone and together.
Key = Literal["kernel", "file", "line", "operation", "issuer", "owner"]


class TrafficMethods(RecordMethods):
    """Sums of the traffic."""

    def summary(self) -> dict[str, int | float]:
        """accesses lanes bytes wire_units wire_bytes wire_efficiency launches measured (of these) kernels gpus records
        copies copy_bytes.

        ``bytes`` are those of accesses alone.
        """
        sums = _counts.totals(self._sums("operation"))
        wire, copied = sums["wire_bytes"], self._copied
        return {
            **sums,
            "wire_efficiency": sums["bytes"] / wire if wire else float("nan"),
            **self._launched,
            "gpus": len(self.gpus),
            "records": self._record_count,
            "copies": copied.copies,
            "copy_bytes": copied.bytes,
        }

    def matrix(
        self,
        value: Cell = "bytes",
        reading: Reading = "issued",
        initiated: Initiated = "device",
        library: Library | None = None,
    ) -> pd.DataFrame:
        """A square over all GPUs (host, unknown, multicast too where the trace has them), zeros included; int64.

        The value ``wire_efficiency`` is float64, and NaN where nothing went over a wire. ``library`` (NCCL, NVSHMEM,
        program) leaves what `by_library` says of it alone.

        ``issued``: rows issuer, columns owner. ``flow``: rows from, columns to; an atomic counts once each way.

        ``device``: instructions of kernels. ``host``: copies that the host started, bytes only; as issued, the column
        is the end that is not the issuer, and a copy between two other ends counts once for each of them. ``both``:
        the sum. UsageError for other values than bytes, and for a square over more than 4,096 places.
        """
        table = pairs.matrix(self._pairs(reading, initiated, library), self._nodes(initiated), value, self.label)
        return Matrix.of(table, value)

    def _drawn_matrix(
        self, value: Cell = "bytes", reading: Reading = "issued", initiated: Initiated = "device",
        most: int = pairs.DRAWN,
    ) -> tuple[pd.DataFrame, int, int]:  # fmt: skip
        """The `matrix`, of more places than can be seen over those with most traffic; how many of its rows are GPUs;
        and how many places were left out."""
        moved, every = self._pairs(reading, initiated), self._nodes(initiated)
        places = pairs.busiest(moved, every, most, value)
        table = pairs.matrix(pairs.among(moved, places), places, value, self.label)
        return Matrix.of(table, value), sum(place >= 0 for place in places), len(every) - len(places)

    def by_pair(
        self, reading: Reading = "issued", initiated: Initiated = "device", library: Library | None = None
    ) -> pd.DataFrame:
        """issuer owner (``flow``: from to) as labels, values; the pairs of `matrix` with traffic, most bytes first.

        ``host`` has the values copies, bytes and host_ns (time in the calls), ``both`` has bytes, device_bytes and
        host_bytes.
        """
        return Rows(pairs.by_pair(self._pairs(reading, initiated, library), self.label))

    def by_library(self, reading: Reading = "issued", initiated: Initiated = "device") -> pd.DataFrame:
        """issuer owner (``flow``: from to) as labels, library (NCCL, NVSHMEM, program), and the values of `by_pair`.

        NCCL: launches that carry out its calls, and its kernels and functions. NVSHMEM: its kernels and functions, also
        inlined ones, and what else touches its symmetric heap. What is both is NCCL's. Copies are the library's whose
        frames are in their call stacks; without stacks, the program's.
        """
        moved, copied = self._of_libraries
        table = pairs.directed(
            self._library_sums.assign(library=moved), self.copies.assign(library=copied), reading, initiated, "library"
        )
        return pairs.by_library(table, self.label)

    def by_route(self) -> pd.DataFrame:
        """from to (GPU, host, multicast, unknown) bytes device_bytes host_bytes: what flowed between these kinds of
        places, most bytes first"""
        return pairs.by_route(self._pairs("flow", "both"))

    def wire_bounds(self, reading: Reading = "issued") -> pd.DataFrame:
        """issuer owner (``flow``: from to) as labels, wire_least wire_bytes per_sm: between what limits the bytes on
        the wire lie, because loads that hit in the L1 cache move nothing; most wire bytes first.

        ``wire_bytes`` has all loads miss. ``wire_least`` has each sector read once a launch and SM where ``per_sm``;
        where not, because the trace does not name the SMs, once a launch, which is less. It is NaN where not every
        load was recorded, and for loads by tensor copies. What is written is the same in both. Goes through all
        records.
        """
        loaded = bounds.merged(self._of_records(bounds.read), tables=self._tables)
        table = bounds.by_pair(self._sums("launch", *PAIR), loaded, reading)
        return Rows(self._labelled(table, reading))

    def about_wire_bytes(self) -> list[str]:
        """Sentences on how exact the wire bytes are, of loads from `wire_bounds`; none where they are exact."""
        sentences = []
        if (self._sums(*PAIR)["operation"] == "load").any():
            sentences.append(bounds.in_words(self.wire_bounds(), "≈ " if self.estimated else ""))
        if wire.READ in bounds.written_units(self.sites.loc[self._sums("site")["site"].unique()]):
            sentences.append(
                "What is written was counted in units of 32 bytes, as in all traces of format 3. NVLink moves 16 at a "
                "time: up to half of the wire bytes of stores, atomics and reductions did not move."
            )
        return sentences

    def link_matrix(self) -> pd.DataFrame:
        """A square over all GPUs: by what the issuer (row) reaches the owner's memory, as far as the driver says.

        "NVLink" (access with native atomics), "PCIe" (without), "no access", "unknown", and "" for a GPU itself.
        """
        return links.matrix(self.gpus, self.links)

    def by_kernel(self) -> pd.DataFrame:
        """kernel launches (with traffic) measured (of these), values"""
        return Rows(_counts.by_kernel(self._sums("kernel", "launch")))

    def by_operation(self) -> pd.DataFrame:
        """operation (load, store, atomic, reduction), values"""
        return Rows(_counts.by_operation(self._sums("operation")))

    def by(self, *keys: Key) -> pd.DataFrame:
        """``keys`` (some of kernel, file, line, operation, issuer, owner; places as labels), values: the traffic by
        several keys at once, most bytes first.
        """
        if not keys or set(keys) - set(get_args(Key)) or len(set(keys)) < len(keys):
            named = ", ".join(keys) or "nothing"
            raise UsageError(f"there is no traffic by {named}", f"name some of {', '.join(get_args(Key))}, each once")
        table = _counts.ranked(_counts.settled(self._sums(*keys), keys), keys)
        for end in {"issuer", "owner"} & set(keys):
            table[end] = pd.Series([self.label(place) for place in table[end]], dtype="str")
        return Rows(table)

    def _pairs(self, reading: Reading, initiated: Initiated, library: Library | None = None) -> pd.DataFrame:
        if library is None:
            return pairs.directed(self._sums(*PAIR), self.copies, reading, initiated)
        moved, copied = self._of_libraries
        sums = libraries.only(self._library_sums, moved, library)
        return pairs.directed(sums, libraries.only(self.copies, copied, library), reading, initiated)

    @property
    def _library_sums(self) -> pd.DataFrame:
        return self._sums("launch", "site", "object", *PAIR)

    @cached_property
    def _of_libraries(self) -> tuple[pd.Series[str], pd.Series[str]]:
        """The library of each row of `_library_sums`, and of each copy."""
        return (
            libraries.of_traffic(self._tables, self._library_sums),
            libraries.of_copies(self._tables, self.copies),
        )

    def _nodes(self, initiated: Initiated) -> list[int]:
        # Of the whole trace also for a view: pictures of views can be compared.
        return pairs.nodes(self._tables, self._whole._sums(*PAIR), initiated)
