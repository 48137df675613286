"""Runs of several processes whose rows are known: their places and ids are those among all processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from snoopie.api.trace import Trace
from tests.plain.drawing import loaded
from tests.support import encoder
from tests.support.encoder import TraceBuilder

HOST, UNKNOWN = -1, -2
_CODES = {HOST: encoder.HOST, UNKNOWN: encoder.UNKNOWN}


class Site(NamedTuple):
    id: int
    process: int
    kernel: str
    operation: str
    width: int
    wire_unit: int
    file: str
    line: int
    sass: str


class Launch(NamedTuple):
    """``start`` and ``end`` are ``called`` where nothing is known of the GPU's times."""

    id: int
    process: int
    kernel: str
    gpu: int
    stream: int
    thread: int
    called: int
    start: int
    end: int
    spanned: bool
    shape: tuple[int, int, int]


class Count(NamedTuple):
    launch: Launch
    site: Site
    owner: int
    accesses: int
    lanes: int
    wire_units: int
    object: int

    @property
    def bytes(self) -> int:
        return self.lanes * self.site.width

    @property
    def wire_bytes(self) -> int:
        return self.wire_units * self.site.wire_unit


class Copy(NamedTuple):
    id: int
    process: int
    source: int
    destination: int
    bytes: int
    issuer: int
    stream: int
    thread: int
    start: int
    end: int
    on_gpu: bool
    sized: bool


class Collective(NamedTuple):
    id: int
    process: int
    operation: str
    bytes: int
    issuer: int
    stream: int
    thread: int
    start: int
    end: int


class Call(NamedTuple):
    id: int
    process: int
    call: str
    gpu: int
    bytes: int
    thread: int
    start: int
    end: int


class Range(NamedTuple):
    """``end``: 0 of one that did not end."""

    id: int
    process: int
    name: str
    domain: str
    pushed: bool
    thread: int
    start: int
    end: int


class Ran(NamedTuple):
    """A launch that was not measured, or a barrier."""

    gpu: int
    name: str
    start: int
    end: int


@dataclass
class Run:
    """``places``: of each process those of its GPUs. Ids are those among all processes."""

    random: Random
    builders: list[TraceBuilder] = field(default_factory=list)
    places: list[list[int]] = field(default_factory=list)
    # place → compute capability and NVLinks; pairs of places that reach each other by other ways
    gpus: list[tuple[int, int]] = field(default_factory=list)
    apart: set[tuple[int, int]] = field(default_factory=set)
    imported: list[bool] = field(default_factory=list)
    # Those whose tool does not record how much was copied.
    sizeless: list[bool] = field(default_factory=list)
    sites: list[Site] = field(default_factory=list)
    launches: list[Launch] = field(default_factory=list)
    counts: list[Count] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    collectives: list[Collective] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    ranges: list[Range] = field(default_factory=list)
    # process, time, text
    marks: list[tuple[int, int, str]] = field(default_factory=list)
    unmeasured: list[Ran] = field(default_factory=list)
    barriers: list[Ran] = field(default_factory=list)
    # process → ids
    objects: list[list[int]] = field(default_factory=list)

    def among_all(self, table: str, process: int, number: int) -> int:
        """The id among all processes of a row of a process's file."""
        return number + sum(len(builder.rows[table]) for builder in self.builders[:process])

    def own(self, table: str, process: int, number: int) -> int:
        """The same the other way round."""
        return number - sum(len(builder.rows[table]) for builder in self.builders[:process])

    def code(self, process: int, place: int) -> int:
        """What a process's file calls a place."""
        return _CODES.get(place) or self.places[process].index(place)

    def load(self, seed: int) -> Trace:
        return loaded(self.builders, seed)


def label(place: int) -> str:
    return {HOST: "host", UNKNOWN: "unknown"}.get(place, f"GPU {place}")
