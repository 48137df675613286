"""Which line of an inline chain stands for an instruction."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.trace import chains

_VERSION = frozenset("0123456789.")


def is_toolkit(file: str) -> bool:
    """Whether a file is a header that came with CUDA and not with the program: of the toolkit and of NVIDIA's
    libraries, as installed by themselves, by a distribution, or from PyPI."""
    # Part by part: a search for a pattern in a path that means harm can take as long as that likes.
    *folders, _ = file.split("/")
    if "include" not in folders:
        return False
    last = len(folders) - 1 - folders[::-1].index("include")
    above = folders[:last]
    if any(part.startswith(("cuda", "nvidia")) or _is_nvshmem(part) for part in above):
        return True
    below = pairwise(folders)
    if any(part == "include" and _is_nvshmem(next_) for part, next_ in below):
        return True
    # targets/x86_64-linux/include
    return any(
        first == "targets" and second and third == "include"
        for first, second, third in zip(folders, folders[1:], folders[2:], strict=False)
    )


def _is_nvshmem(part: str) -> bool:
    """ "nvshmem", or with a version: "nvshmem-3.4.5", "nvshmem_12"."""
    if not part.startswith("nvshmem"):
        return False
    version = part.removeprefix("nvshmem")
    number = version[1:] if version[:1] in ("-", "_") else version
    return not version or (number != "" and _VERSION.issuperset(number))


def own_lines(lines: pd.DataFrame) -> NDArray[np.int64]:
    """For each row of ``lines``, the row that stands for it: the first outward that is not in a header of the toolkit.

    `atomicAdd` and its like are inlined functions of such a header: their instruction belongs to the line that calls
    them. Where the whole chain is in headers the row stands for itself.
    """
    codes, files = pd.factorize(lines["file"])
    own = np.array([not is_toolkit(str(file)) for file in files], np.int64)[codes]
    return chains.first_highest(own, pd.Index(lines.index).get_indexer(lines["inlined_at"].to_numpy()))
