"""What was recorded of one process → the tables of a trace, some rows at a time: memory does not grow with a text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from snoopie.errors import SnoopieError
from snoopie.importers.amounts import LIMIT
from snoopie.importers.call_tables import CallTables, codes_of
from snoopie.importers.words import NAMELESS
from snoopie.trace.lacks import Lack
from snoopie.trace.writer import HOST, MOST_GPUS, UNKNOWN, Body

Ints = NDArray[np.int64]
Texts = Sequence[str]

_GEOMETRY = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z")
# Each is an open file until its trace is written.
_MOST_PROCESSES = 512


class Agents:
    """The codes of GPUs, by how a text names them: in the order of appearance, or the numbers that they have."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._codes: dict[str, int] = {}

    def code(self, name: str) -> int:
        """The code of a GPU. SnoopieError where there are too many."""
        if name not in self._codes:
            self._codes[name] = self._room(len(self.names))
            self.names.append(name)
        return self._codes[name]

    def numbered(self, number: int) -> int:
        """The code of the GPU of that number, which is its place."""
        while len(self.names) <= self._room(number):
            self.names.append(str(len(self.names)))
        return number

    @staticmethod
    def _room(code: int) -> int:
        if code >= MOST_GPUS:
            raise SnoopieError(
                f"the text names {code + 1:,} GPUs, more than a trace can hold", "import the text of one machine"
            )
        return code


class Recording:
    """One process. What is added is written at once; ``other`` counts are what the notices say of it."""

    def __init__(self) -> None:
        self.body = Body()
        self.agents = Agents()
        self.counts = dict.fromkeys(
            ("local copies", "untimed", "untimed ns", "barriers", "vendor", "marks", "sizeless copies"), 0
        )
        self.start, self.end = 0, 0
        self.copy_bytes = 0
        self._calls = CallTables(self.body)
        self._functions: dict[str, int] = {}
        self._spent = 0.0

    def texts(self, texts: Texts) -> NDArray[np.uint32]:
        """The ids of texts in the trace, which stand for them in all that is added."""
        return codes_of(texts, self.body.intern_all)

    def functions(self, names: Texts) -> Ints:
        """The ids of kernels by their names."""
        codes, distinct = pd.factorize(np.fromiter(names, object, len(names)))
        fresh = [name for name in distinct if name not in self._functions]
        first = len(self._functions) + 1
        self._functions.update((name, first + place) for place, name in enumerate(fresh))
        if fresh:
            known = self.body.intern_all(name or NAMELESS for name in fresh)
            self.body.write("functions", id=np.arange(first, first + len(fresh)), name=known, kernel=1)
        ids: Ints = np.array([self._functions[name] for name in distinct], np.int64)[codes]
        return ids

    def add_kernels(self, kernels: pd.DataFrame) -> None:
        """Kernels: function gpu (code) stream time (of the launch) thread start end (on the GPU, 0 = unknown), and the
        shape, in blocks and in threads."""
        if kernels.empty:
            return
        kernels = kernels.sort_values(["time", "start"], kind="stable", ignore_index=True)
        first = self.body.rows("launches") + 1
        ids = np.arange(first, first + len(kernels))
        self.body.write(
            "launches", id=ids, stream=kernels["stream"].to_numpy(),
            **{name: kernels[name].to_numpy(np.int64) for name in ("function", "gpu", "thread", "time", *_GEOMETRY)},
        )  # fmt: skip
        start, end = (kernels[name].to_numpy(np.int64) for name in ("start", "end"))
        ran = end > 0
        if ran.any():
            self.body.write("spans", launch=ids[ran], start=start[ran], end=end[ran])
        self.counts["untimed"] += int((~ran).sum())
        self._during(np.where(ran, start, kernels["time"]), np.maximum(end, kernels["time"]))

    def add_copies(self, copies: pd.DataFrame) -> None:
        """Copies: name gpu stream start end (on the GPU) source destination (codes) bytes (-1 = not known)."""
        if copies.empty:
            return
        copies = copies.sort_values(["end", "start"], kind="stable", ignore_index=True)
        first = self.body.rows("copies") + 1
        size = copies["bytes"].to_numpy(np.int64)
        moved = np.maximum(size, 0)
        self.body.write(
            "copies", id=np.arange(first, first + len(copies)), call=copies["name"].to_numpy(),
            stream=copies["stream"].to_numpy(), bytes=moved,
            **{name: copies[name].to_numpy(np.int64) for name in ("gpu", "source", "destination", "start", "end")},
        )  # fmt: skip
        self.copy_bytes += int(moved.sum())
        self.counts["sizeless copies"] += int((size < 0).sum())
        self.counts["local copies"] += int(
            ((copies["source"] == copies["destination"]) & (copies["source"] < HOST)).sum()
        )
        self._during(copies["start"], copies["end"])

    def add_calls(self, calls: pd.DataFrame) -> None:
        """Calls: call kernel thread start end code bytes direction."""
        if calls.empty:
            return
        self._calls.add(
            {
                **{
                    name: calls[name]
                    for name in ("call", "kernel", "thread", "start", "end", "code", "bytes", "direction")
                },
                "gpu": np.full(len(calls), UNKNOWN),
            }
        )
        self._spent += float((calls["end"] - calls["start"]).sum())
        self._during(calls["start"], calls["end"])

    def add_barriers(self, barriers: pd.DataFrame) -> None:
        """Barriers: name gpu stream start end."""
        if barriers.empty:
            return
        self.body.write(
            "barriers", name=barriers["name"].to_numpy(), stream=barriers["stream"].to_numpy(),
            **{name: barriers[name].to_numpy(np.int64) for name in ("gpu", "start", "end")},
        )  # fmt: skip
        self.counts["barriers"] += len(barriers)
        self._during(barriers["start"], barriers["end"])

    def add_marks(self, times: Ints, texts: Texts) -> None:
        """Moments with a text."""
        if len(texts):
            self.body.write("marks", time=times, text=self.texts(texts))

    def finish(self, meaning: Callable[[int], str]) -> dict[str, int]:
        """Writes the sums; returns the footer's totals. SnoopieError where they are more than a machine can do."""
        if max(self._spent, float(self.copy_bytes)) >= LIMIT:
            raise SnoopieError("the amounts in the text add up to more than any machine can move", "record it again")
        self._calls.finish(meaning)
        launches = self.body.rows("launches")
        # With copies of unknown size there is no sum.
        sizes = {} if self.counts["sizeless copies"] else {"copy_bytes": self.copy_bytes}
        return {
            "launches_seen": launches, "launches_native": launches, "copies": self.body.rows("copies"), **sizes
        }  # fmt: skip

    @property
    def lacks(self) -> list[Lack]:
        """What this recording lacks, which others of its tool can have."""
        sizes = self._calls.amounts("bytes").any()
        found = [] if sizes else [Lack.CALL_SIZES]
        return [*found, Lack.COPY_SIZES] if self.counts["sizeless copies"] else found

    def _during(self, starts: pd.Series[int] | Ints, ends: pd.Series[int] | Ints) -> None:
        # 0 is not known.
        known = np.asarray(starts)[np.asarray(starts) > 0]
        if len(known):
            self.start = min(self.start or LIMIT, int(known.min()))
            self.end = max(self.end, int(ends.max()))


class Recordings(dict[int, Recording]):
    """The processes of a text by their numbers, made when first asked for."""

    def __missing__(self, process: int) -> Recording:
        if len(self) >= _MOST_PROCESSES:
            raise SnoopieError(
                f"the text is of more than {_MOST_PROCESSES} processes", "import the texts of some at a time"
            )
        self[process] = Recording()
        return self[process]


def numbers(texts: Texts) -> NDArray[np.uint64]:
    """Texts of up to 19 digits."""
    return np.asarray(pc.cast(pa.array(texts, pa.string()), pa.uint64()))


def sane(start: NDArray[np.uint64], end: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which times can be those of something."""
    return (start > 0) & (start <= end) & (end < LIMIT)


def handle(text: str) -> int:
    """The number that a text spells, in any of the usual ways; 0 for none."""
    try:
        number = int(text, 0) if len(text) <= 20 else 0
    except ValueError:
        return 0
    return number if 0 <= number < 1 << 64 else 0


def handles(texts: Texts) -> NDArray[np.uint64]:
    """The same of many texts, of which few are different."""
    codes, distinct = pd.factorize(np.fromiter(texts, object, len(texts)))
    return np.array([handle(text) for text in distinct], np.uint64)[codes]
