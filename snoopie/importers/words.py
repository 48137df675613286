"""What importers say alike of the recordings that they read."""

from __future__ import annotations

from collections.abc import Iterable

# In the place of a kernel's name.
NAMELESS = "(a kernel without a name)"


def without_accesses(tool: str) -> str:
    """Of all tools but Snoopie's own."""
    return (
        f"{tool} does not record which memory kernels access: the traffic of their loads and stores is not in this "
        "trace."
    )


def timed_on_gpus(tool: str) -> str:
    """Of copies."""
    return f"Copies have their times on the GPU, as {tool} measured them, not those of the calls."


def counted(amounts: Iterable[tuple[str, int]]) -> list[str]:
    """A sentence on each of what there was some of."""
    return [f"{what}: {number:,}." for what, number in amounts if number]
