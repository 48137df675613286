"""Which line of an inline chain stands for an instruction."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# Headers of the CUDA toolkit and of NVIDIA's libraries, as installed by themselves, by a distribution, or from PyPI.
_TOOLKIT = re.compile(
    r"(^|/)targets/[^/]+/include/"
    r"|(^|/)((cuda|nvidia)[^/]*|nvshmem([-_]?[\d.]+)?)/(.*/)?include/"
    r"|(^|/)include/nvshmem([-_]?[\d.]+)?/"
)


def is_toolkit(file: str) -> bool:
    """Whether a file is a header that came with CUDA and not with the program."""
    return _TOOLKIT.search(file) is not None


def own_lines(lines: pd.DataFrame) -> NDArray[np.int64]:
    """For each row of ``lines``, the row that stands for it: the first outward that is not in a header of the toolkit.

    `atomicAdd` and its like are inlined functions of such a header: their instruction belongs to the line that calls
    them. Where the whole chain is in headers the row stands for itself.
    """
    rows = np.arange(len(lines), dtype=np.int64)
    own = rows.copy()
    files = lines["file"].to_numpy(dtype=object)
    toolkit: NDArray[Any] = np.array([is_toolkit(str(file)) for file in files], np.bool_)
    outward = pd.Index(lines.index).get_indexer(lines["inlined_at"].to_numpy())
    for row in rows[toolkit]:
        at = outward[row]
        while at >= 0 and toolkit[at]:
            at = outward[at]
        own[row] = at if at >= 0 else row
    return own
