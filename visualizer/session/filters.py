"""What of a trace is looked at, in the words of the filters."""

from __future__ import annotations

from dataclasses import dataclass, fields

import snoopie


@dataclass(frozen=True)
class Filters:
    """What they are set to, which `controls.filters` does, in the words of `Trace.select`; what is empty keeps all."""

    processes: tuple[int, ...] = ()
    issuers: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    between: tuple[int, ...] = ()  # host ns: the first moment, and the one after the last
    launches: tuple[int, ...] = ()  # the first and the last
    ranges: tuple[str, ...] = ()

    @property
    def active(self) -> tuple[str, ...]:
        """The names of the filters that are set."""
        return tuple(name for name in FILTERS if getattr(self, name))

    def of(self, whole: snoopie.Trace) -> snoopie.Trace:
        """The part of a trace that the filters let through."""
        if not self.active:
            return whole
        first, after = self.between or (None, None)
        return whole.select(
            processes=self.processes or None,
            issuers=self.issuers or None,
            owners=self.owners or None,
            kernels=self.kernels or None,
            operations=self.operations or None,
            between=None if first is None or after is None else (first, after),
            ranges=self.ranges or None,
            launches=range(self.launches[0], self.launches[1] + 1) if self.launches else None,
        )


FILTERS = tuple(field.name for field in fields(Filters))
