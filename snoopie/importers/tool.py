"""What the header of an imported trace says of the tool that recorded it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import snoopie
from snoopie.trace.lacks import Lack
from snoopie.words import units


def imported_from(name: str, lacks: Iterable[Lack]) -> dict[str, Any]:
    """The header's ``tool``. ``lacks`` is what such a recording does not say, so that it is unknown."""
    known = frozenset(lacks)
    return {
        "version": snoopie.__version__,
        "imported_from": name,
        "lacks": [str(lack) for lack in Lack if lack in known],
    }


def undated(start: int) -> list[Lack]:
    """What a recording lacks whose host times begin there: the date, where they are not since 1970."""
    return [] if units.is_date(start) else [Lack.DATE]
