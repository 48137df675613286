"""How much of a trace a file holds, so that it stays small whatever the trace."""

from __future__ import annotations

from dataclasses import asdict, dataclass

# Of the whole file.
MOST_BYTES = 10_000_000


@dataclass(frozen=True)
class Limits:
    """At most so many of each; what is left out is added up or counted, and the page says how many there are."""

    places: int = 64
    kernels: int = 1000
    lines: int = 4000
    # Sums by kernel, line, operation and pair.
    cells: int = 120_000
    instructions: int = 8000
    files: int = 400
    # Of source text without its colours, all files together.
    text: int = 3 << 20
    lanes: int = 64
    # Launches, waits, copies, collectives and ranges that are drawn by themselves.
    events: int = 40_000
    # What is drawn for several of them.
    blocks: int = 16_000
    # Traffic of a pair in a piece of time.
    moments: int = 40_000

    def halved(self) -> Limits:
        """Half as much of all."""
        return Limits(**{name: max(number // 2, 1) for name, number in asdict(self).items()})
