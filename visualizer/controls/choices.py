"""What a picture of who sent to whom shows. Chosen once, it holds on every page and stands in the URL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from snoopie.analysis.traffic import libraries
from snoopie.analysis.traffic.libraries import Library
from snoopie.analysis.traffic.pairs import Cell
from snoopie.analysis.traffic.reading import Initiated, Reading
from snoopie.words import columns, units
from visualizer.session import address

_CELLS: tuple[Cell, ...] = ("bytes", "wire_bytes", "accesses", "lanes", "wire_efficiency")
VALUES: dict[Cell, str] = {name: columns.heading(name) for name in _CELLS}
READINGS: dict[Reading, str] = {"issued": "Who issued", "flow": "Where data flowed"}
INITIATED: dict[Initiated, str] = {"device": "Device", "host": "Host", "both": "Both"}
ALL = "all"
LIBRARIES = {ALL: "All", "NCCL": "NCCL", "NVSHMEM": "NVSHMEM", "program": "Program"}

# The first of each is the default, which the URL leaves out.
_CHOICES: dict[str, Sequence[str]] = {
    "value": [*VALUES],
    "reading": [*READINGS],
    "initiated": [*INITIATED],
    "library": [*LIBRARIES],
}
_ISSUED = {
    "device": "{0} executed the instructions; {1} owns the memory that they touched.",
    "host": "{0} carried out the copies; {1} is at their other end. A copy between two others counts once for each.",
    "both": "{0} executed the instructions or carried out the copies; {1} owns the memory at the other end.",
}
_FLOW = "Data left {0} and arrived at {1}."
_ATOMICS = " An atomic that returns a value counts both ways."
_EFFICIENCY = f" {columns.heading('wire_efficiency')}: {columns.meaning('wire_efficiency')}"
_BYTES_ONLY = " Copies have bytes only, no accesses or lanes."
_SIDES = "Device: instructions of kernels. Host: copies that the host started, such as cudaMemcpy."
_LIBRARIES = (
    "NCCL: its kernels and functions. NVSHMEM: its kernels and functions, and all else that touches its symmetric "
    "heap. A copy belongs to the library in its call stack."
)

IN_MATRIX = ("the row", "the column")
IN_BOTH = ("the row (where an arrow begins)", "the column (where it ends)")


@dataclass(frozen=True)
class Shown:
    """What a picture shows, in the words of `Trace.matrix`."""

    value: Cell
    reading: Reading
    initiated: Initiated = "device"
    library: Library | None = None

    @property
    def key(self) -> str:
        """Part of the keys of elements that change with it."""
        return f"{self.value}_{self.reading}_{self.initiated}_{self.library or ALL}"

    def amount(self, number: float) -> str:
        """A number of the value for people, short enough for a cell or an arrow."""
        return units.percent(number) if self.value == "wire_efficiency" else columns.say(self.value, number)

    def explained(self, ends: tuple[str, str]) -> str:
        """How to read it, with names for the two ends."""
        sentence = (_ISSUED[self.initiated] if self.reading == "issued" else _FLOW).format(*ends)
        sentence += _ATOMICS if self.reading == "flow" and self.initiated != "host" else ""
        sentence += _EFFICIENCY if self.value == "wire_efficiency" else ""
        return sentence[0].upper() + sentence[1:] + ("" if self.initiated == "device" else _BYTES_ONLY)


def keep() -> None:
    """Takes the choices from the address at first, and keeps them while a page is open that has no such control."""
    for name, options in _CHOICES.items():
        address.keep_one(name, options)


def forget() -> None:
    """Back to the defaults."""
    address.forget(*_CHOICES)


def of_kernels(ends: tuple[str, str] = IN_MATRIX) -> Shown:
    """The controls of a picture of instructions alone."""
    with st.container(horizontal=True, gap="large"):
        shown = Shown(_value(), _reading())
    st.caption(shown.explained(ends))
    return shown


def of_all(ends: tuple[str, str] = IN_BOTH) -> Shown:
    """The controls of a picture of instructions, of copies that the host started, or of both, by any library."""
    with st.container(horizontal=True, gap="medium"):
        side = st.segmented_control(
            "Initiated by", list(INITIATED), format_func=INITIATED.__getitem__, key="initiated", help=_SIDES
        )
        initiated: Initiated = side or "device"
        library = _library()
        shown = Shown(_value() if initiated == "device" else _bytes_only(), _reading(), initiated, library)
    st.caption(shown.explained(ends))
    return shown


def _library() -> Library | None:
    chosen = st.segmented_control(
        "Library", list(LIBRARIES), format_func=LIBRARIES.__getitem__, key="library", help=_LIBRARIES
    )
    return next((library for library in libraries.LIBRARIES if library == chosen), None)


def _value() -> Cell:
    return st.segmented_control("Value", list(VALUES), format_func=VALUES.__getitem__, key="value") or "bytes"


def _bytes_only() -> Cell:
    """The same control, which cannot be used; what was chosen in it comes back with the device's side."""
    st.segmented_control(
        "Value", list(VALUES), format_func=VALUES.__getitem__, default="bytes", disabled=True, key="value_bytes_only"
    )
    return "bytes"


def _reading() -> Reading:
    return st.segmented_control("Reading", list(READINGS), format_func=READINGS.__getitem__, key="reading") or "issued"
