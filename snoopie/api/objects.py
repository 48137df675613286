"""Traffic by the memory that it touched: allocations, their parts, tensors."""

from __future__ import annotations

import os
from collections.abc import Collection
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from snoopie.analysis import selection
from snoopie.analysis.objects import alike, heat, pitch, reuse, tensors
from snoopie.analysis.objects import by_object as _by_object
from snoopie.analysis.objects.reuse import Touched as Reused
from snoopie.analysis.source import stacks, variables
from snoopie.analysis.traffic import counts
from snoopie.api.arguments import Positive
from snoopie.api.notebook import Rows
from snoopie.api.stacks import StackMethods
from snoopie.errors import UsageError
from snoopie.importers import torch_memory


class ObjectMethods(StackMethods):
    """Traffic by object."""

    def by_object(self, *, merged: bool = False) -> pd.DataFrame:
        """object owner (label) kind name source size (bytes) call stack allocated freed (host ns), values, exact,
        copied_in copied_out (bytes by copies of the host); most bytes first. Object 0 is memory of no known object, of
        which copies are left out.

        ``name`` is the variable that receives the allocation, as far as the source's line shows one; ``source`` the
        `stack_label` of who allocated it.

        ``merged``: objects that are one array of the program, because all ranks made them at the same place, or one
        process for each GPU, are one row: that of the busiest, with ``allocations``, how many there are, sums, all
        owners and the largest size, from the first ``allocated`` to the last ``freed``, and named by who made it where
        no variable is known. What other GPUs touched most comes first.

        ``exact`` is False where objects share pages and not every access was recorded: what they have in common is
        then divided in proportion to the records, as wire_bytes always are among such objects.
        """
        table = self._divided
        copied = _by_object.copied(self._tables, self.copies)
        every = self._named(_by_object.by_object(table, copied, self.objects, self.label))
        return Rows(alike.merged(every, self.arrays()) if merged else every)

    def arrays(self) -> pd.DataFrame:
        """object → array (the first object of the same array of the program), name: its variable, or who allocated
        it. The n-th object that a process makes at a place is the n-th of all ranks and GPUs.
        """
        return self._arrays

    def object_offsets(
        self, object: int, bins: Positive = 256, start: int = 0, stop: int | None = None
    ) -> pd.DataFrame:
        """offset (bytes from the object's beginning) issuer (label) operation accesses lanes bytes: what of one object,
        or of its bytes from ``start`` to ``stop``, the recorded accesses touched, in at most ``bins`` parts of equal
        length, those without left out.

        An access counts in each part in which one of its lanes begins, with all bytes of these lanes; a bulk access
        begins once. `object_heat` spreads bytes. UsageError for an object or bytes that the trace does not have.
        """
        limits = heat.checked_range(self._object_size(object), start, stop)
        work = partial(_by_object.offsets, object=object, bins=bins, limits=limits)
        return _by_object.merged_offsets(self._of_records(work), self.sites, self.label)

    def object_heat(
        self,
        object: int | Collection[int],
        bins: Positive = 512,
        start: int = 0,
        stop: int | None = None,
        *,
        width: Positive = 1,
        operations: Collection[str] = (),
    ) -> pd.DataFrame:
        """issuer (label) × offset (of each part's first byte): bytes that recorded accesses moved in each part of an
        object, or of its bytes from ``start`` to ``stop``: in at most ``bins`` parts, of whole elements of ``width``
        bytes. int64; issuers that did not touch the object have no row.

        What a lane moved is spread over the bytes that it touched, so parts add up, and an element's bytes / ``width``
        is how often it was touched. Several objects, the copies of one array, are added up. The first call goes through
        all records, further ones, of whatever object, through their sums. UsageError as `object_offsets`.
        """
        limits = heat.checked_range(self._object_size(object), start, stop)
        part = heat.cells((0, 1), limits, (1, bins), width)
        table = heat.along(self._touches(object, None, operations), part)
        return table.set_axis(pd.Index([self.label(place) for place in table.index], name="issuer", dtype="str"))

    def object_rows(
        self,
        object: int | Collection[int],
        length: int,
        start: int = 0,
        stop: int | None = None,
        *,
        rows: tuple[int, int] | None = None,
        columns: tuple[int, int] | None = None,
        width: Positive = 1,
        issuer: int | str | None = None,
        operations: Collection[str] = (),
        cells: tuple[Positive, Positive] = (256, 512),
    ) -> pd.DataFrame:
        """row × offset in it: bytes moved, as in `object_heat`, in a matrix of rows of ``length`` bytes that begins at
        the object's byte ``start``, in at most ``cells`` cells down and across.

        ``rows`` and ``columns`` (bytes of a row) choose a part of it, from … to. ``issuer`` is a place or a label.
        """
        first, last = heat.checked_range(self._object_size(object), start, stop)
        if length < 1:
            raise UsageError(f"a row cannot have {length} bytes", "give the number of bytes in a row")
        down, across = rows or (0, -(-(last - first) // length)), columns or (0, min(length, last - first))
        if not (0 <= down[0] < down[1] and 0 <= across[0] < across[1] <= length):
            raise UsageError(
                f"there are no rows {down}, bytes {across}", "take both from 0 on, and the lower end first"
            )
        part = heat.cells(down, across, cells, width)
        return heat.in_rows(self._touches(object, issuer, operations), first, last, length, part)

    def object_reuse(
        self, object: int | Collection[int], issuer: int | str | None = None, operations: Collection[str] = ()
    ) -> pd.DataFrame:
        """at_least at_most (times) bytes: how often recorded accesses touched how many bytes of an object, by
        powers of two; those of each issuer for itself.
        """
        self._object_size(object)
        return heat.how_often(self._touches(object, issuer, operations))

    def row_length(self, object: int | Collection[int]) -> int:
        """Bytes of a row of the matrix that an object, or the copies of one, may hold, guessed from what recorded
        accesses touched: columns and tiles lie a row apart, whole rows begin at its multiples. 0 where nothing tells.
        """
        size = self._object_size(object)
        pieces = self._touches(object, None, ()).pieces
        return pitch.guess(pieces.starts, pieces.ends, size)

    def reuse(self, by: Literal["object", "site"] = "object") -> pd.DataFrame:
        """object [site] accesses bytes distinct (bytes) reuse: how often the same bytes were moved to the same issuer,
        as far as accesses were recorded; what could have been saved most first.
        """
        if by not in ("object", "site"):
            raise UsageError(f"there is no reuse by {by!r}", "use 'object' or 'site'")
        keys = ["object"] if by == "object" else ["object", "site"]
        return reuse.by(self._reused, keys, self.sites["process"])

    def tensors(self, snapshot: str | os.PathLike[str] | None = None) -> pd.DataFrame:
        """tensor | process address bytes gpu allocated freed (host ns) file line function: of PyTorch's allocator.

        ``snapshot``: what torch.cuda.memory._dump_snapshot wrote, or the folder of what `snoopie run --tensors` wrote
        (default: beside the trace). NotATraceError where there is none. ``file`` … are of the innermost frame that is
        not PyTorch's own.
        """
        return torch_memory.tensors(self._tables, None if snapshot is None else Path(snapshot))

    def by_tensor(self, snapshot: str | os.PathLike[str] | None = None) -> pd.DataFrame:
        """tensor gpu size (bytes) file line function allocated freed, values, exact, copied_in copied_out: as
        `by_object`, by tensor; tensor 0 is memory that is no tensor's.

        Tensors of another process are not found: it has them at other addresses.
        """
        known = self.tensors(snapshot)
        lookups = tensors.lookups(known)
        recorded = _by_object.merged(self._of_records(partial(_by_object.touched, lookups=lookups)))
        # Objects say nothing of tensors: what was counted of several was recorded, or not, as one.
        sums = counts.summarise(self._sums("launch", "site", "owner"), ["launch", "site", "owner"]).assign(object=0)
        copied = _by_object.copied(self._tables, self.copies, lookups)
        return tensors.by_tensor(_by_object.divided(sums, recorded), copied, known)

    def _named(self, by_object: pd.DataFrame) -> pd.DataFrame:
        """A table of objects with the names of their variables and where they were made."""
        names = self._object_names.reindex(by_object["object"].to_numpy(), fill_value="").to_numpy()
        by_object.insert(3, "name", names)
        by_object.insert(4, "source", self.stack_label(by_object["stack"]))
        return by_object

    @cached_property
    def _object_names(self) -> pd.Series[str]:
        """object → its own name in the program, else the variable in the innermost line of its stack that has one."""
        own = self.objects
        made = own["stack"].to_numpy()
        # A library's variables say nothing to who wrote the program.
        different = np.unique(made[made > 0])
        codes = stacks.own_code(self.stacks, self._frame_places, different)
        received = dict(zip(different.tolist(), map(variables.named, codes), strict=True))
        named = [name or received.get(stack, "") for name, stack in zip(own["name"], made.tolist(), strict=True)]
        return pd.Series(named, index=own.index, dtype="str")

    @cached_property
    def _arrays(self) -> pd.DataFrame:
        return alike.arrays(self.objects, self._object_names, self.stack_label(self.objects["stack"]))

    @cached_property
    def _touched(self) -> pd.DataFrame:
        if self._selected is not None:
            # All records are read once, not once a view.
            every = self._whole._touched
            return every[self._selected.rows(self._tables, every)]
        return _by_object.merged(self._of_records(_by_object.touched))

    @cached_property
    def _divided(self) -> pd.DataFrame:
        return _by_object.divided(self._sums("launch", "site", "owner", "object"), self._touched)

    @cached_property
    def _reused(self) -> Reused:
        return reuse.merged(self._of_records(reuse.touched))

    def _object_size(self, object: int | Collection[int]) -> int:
        """The size of an object, or of the largest of several."""
        chosen = _several(object)
        for one in chosen:
            if one not in self.objects.index:
                raise UsageError(f"there is no object {one}", "take one of trace.objects")
        if not chosen:
            raise UsageError("no object is named", "take some of trace.objects")
        return int(self.objects["bytes"].loc[chosen].max())

    def _touches(self, object: int | Collection[int], issuer: int | str | None, operations: Collection[str]) -> Reused:
        """How often each byte of an object, or of several, was touched, by its offset."""
        place = selection.place_of(self._tables, issuer) if isinstance(issuer, str) else issuer
        chosen = _several(object)
        begin = self.objects["address"].loc[chosen].tolist()
        whole = heat.of_objects(self._reused, dict(zip(chosen, begin, strict=True)))
        return heat.chosen(whole, self.sites["operation"], place, operations)


def _several(object: int | Collection[int]) -> list[int]:
    return list(object) if isinstance(object, Collection) else [object]
