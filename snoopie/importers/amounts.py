"""Amounts in other tools' files, which can be damaged: what may be added up."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from snoopie.errors import SnoopieError

# Times and amounts of a real recording are far below; sums of some of these stay within 64 bits.
LIMIT = 1 << 61


def check_sums(source: Path, amounts: Iterable[ArrayLike]) -> None:
    """SnoopieError if one of these columns adds up to LIMIT or more."""
    if any(float(np.asarray(values, np.float64).clip(min=0).sum()) >= LIMIT for values in amounts):
        raise SnoopieError(f"the amounts in {source} add up to more than any machine can move", "export it again")
