"""The names of calls, without what versions of CUDA add to them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from snoopie.importers.nsys.export import Export, Ints

# cudaMalloc_v3020, cuMemAlloc_v2: since when the call is as it is. cudaMemcpy_ptds_v7000: which stream it means by 0.
# A name has few: without a limit, time would grow with the square of a hostile name's length.
_SUFFIXES = re.compile(r"(?:_v\d{1,9}|_pt(?:sz|ds)){1,4}$")


def call_name(text: str) -> str:
    """What a call is called by those who call it: names that differ in what is cut off here are one call's."""
    return _SUFFIXES.sub("", text)


class CallNames:
    """The names of a report's calls by their ids in StringIds."""

    def __init__(self, export: Export) -> None:
        self._export = export
        self._names: dict[int, str] = {}

    def of(self, ids: Iterable[int]) -> list[str]:
        """The name of each id; "" where there is none."""
        wanted = list(ids)
        if fresh := set(wanted) - self._names.keys():
            self._names |= {number: call_name(text) for number, text in self._export.strings(fresh).items()}
        return [self._names[number] for number in wanted]

    def codes(self, ids: Ints) -> Ints:
        """A number for each id that is the same where the names are."""
        distinct, places = np.unique(ids, return_inverse=True)
        codes: dict[str, int] = {}
        of_distinct = [codes.setdefault(name, len(codes)) for name in self.of(distinct.tolist())]
        return np.array(of_distinct, np.int64)[places]
