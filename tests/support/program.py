"""A program of a kernel a line, which moves as much as a test says."""

from __future__ import annotations

from typing import Any

from tests.support.encoder import START_NS, TraceBuilder

FILE = "/home/u/app/app.cu"
MIB = 1 << 20
SECTORS = MIB // 32
HEAP = 0x7F00_0000_0000
ACCESSES = SECTORS // 8  # of a GPU, for a MiB on the wire


class App:
    """A program of a kernel a line; an access is 32 lanes of 4 bytes unless said."""

    def __init__(self, gpus: int = 2, **options: Any) -> None:
        self.trace = TraceBuilder(gpus, **options)
        self._sites: dict[tuple[str, int], int] = {}

    def moves(
        self, operation: str, issuer: int, owner: int, sectors: int, *, lanes: int | None = None, line: int = 7,
        object: int = 0, accesses: int | None = None, time: int | None = None,
    ) -> tuple[int, int]:  # fmt: skip
        """Traffic of one launch, with full sectors unless ``lanes`` says otherwise; the launch and the site."""
        key = operation, line
        if key not in self._sites:
            kernel = self.trace.function(f"k{line}(int*)")
            self._sites[key] = self.trace.site(kernel, operation, operation, 4, line=self.trace.line(FILE, line))
        site = self._sites[key]
        lanes = 8 * sectors if lanes is None else lanes
        when = {} if time is None else {"time": START_NS + time}
        launch = self.trace.launch(self.trace.rows["sites"][site - 1]["function"], issuer, **when)
        accesses = -(-lanes // 32) if accesses is None else accesses
        self.trace.add("counts", launch=launch, site=site, owner=owner, accesses=accesses, lanes=lanes,
                       wire_units=sectors, object=object)  # fmt: skip
        return launch, site

    def both_ways(self, operation: str, sectors: int, **options: Any) -> None:
        """The same by GPU 0 on GPU 1 and by GPU 1 on GPU 0, half of it each."""
        lanes = options.pop("lanes", None)
        for issuer in (0, 1):
            half = {} if lanes is None else {"lanes": lanes // 2}
            self.moves(operation, issuer, 1 - issuer, sectors // 2, **half, **options)


def reads(app: App, positions: int, accesses: int, launches: int = 1, every: int = 1) -> None:
    """Each GPU reads 128 bytes an access, from so many places in turn; one in ``every`` access is recorded."""
    for gpu in (0, 1):
        for _ in range(launches):
            launch, site = app.moves("load", gpu, 1 - gpu, 4 * accesses)
            for number in range(0, accesses, every):
                app.trace.record(launch, site, 1 - gpu, HEAP + 128 * (number % positions), 4)
