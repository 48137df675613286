"""Stacks of a process → modules, frames, stacks and symbols of its trace."""

from __future__ import annotations

import os
from collections import abc
from typing import Any

from numpy.typing import NDArray

from snoopie.trace.writer import TableWriter
from snoopie.watch.lines import Line, lines_of
from snoopie.watch.places import Files, Mapping, Mappings, where


class Stacks:
    """Writes each place and each stack when it is first asked for."""

    def __init__(self, writer: TableWriter, pid: int, addresses: abc.Mapping[int, NDArray[Any]], files: Files) -> None:
        self._writer, self._pid, self._addresses, self._files = writer, pid, addresses, files
        self.mappings = Mappings(pid)
        self._known: dict[tuple[int, int], int] = {}
        self._stacks: dict[tuple[int, int], int] = {}
        self._frames: dict[int, int] = {}
        self._modules: dict[str, int] = {}
        # Rows, places and functions of frames in files that have lines, which are asked for all at once.
        self._lined: dict[Mapping, list[tuple[int, int, str]]] = {}
        try:
            status = os.stat(f"/proc/{pid}")
            self._owner: tuple[int, int] | None = status.st_uid, status.st_gid
        except OSError:
            self._owner = None

    def row(self, number: int, caller: int) -> int:
        """The stack of a call: its ``number``, and who ``caller`` is, for the kernel may leave that out. 0 = none."""
        key = (number, caller)
        if key not in self._known:
            self._known[key] = self._write(self._whole(number, caller))
        return self._known[key]

    def _whole(self, number: int, caller: int) -> list[int]:
        # The first address is that of the function itself.
        rest = [int(address) for address in self._addresses.get(number, ())][1:]
        if caller and rest[:1] != [caller]:
            rest.insert(0, caller)
        return rest

    def _write(self, addresses: list[int]) -> int:
        stack = 0
        for address in reversed(addresses):
            frame = self._frame(address)
            if (frame, stack) not in self._stacks:
                self._stacks[frame, stack] = row = len(self._stacks) + 1
                self._writer.write("stacks", id=row, frame=frame, caller=stack)
            stack = self._stacks[frame, stack]
        return stack

    def _frame(self, address: int) -> int:
        if address in self._frames:
            return self._frames[address]
        self._frames[address] = row = len(self._frames) + 1
        # What is on the stack is where the call returns to: the call is before.
        call = address - 1
        mapping = self.mappings.find(call)
        if mapping is None:
            self._writer.write("frames", id=row, module=0, address=address)
            return row
        file = self._files.get(self._pid, mapping)
        place = file.address(call - mapping.start + mapping.offset)
        if mapping.path not in self._modules:
            self._modules[mapping.path] = module = len(self._modules) + 1
            path, build_id = self._writer.intern(mapping.path), self._writer.intern(file.build_id)
            self._writer.write("modules", id=module, path=path, build_id=build_id)
        self._writer.write("frames", id=row, module=self._modules[mapping.path], address=place)
        function = file.function(place)
        if file.has_lines:
            self._lined.setdefault(mapping, []).append((row, place, function))
        else:
            self._name(row, function, [])
        return row

    def finish(self) -> None:
        """Writes what is known of frames in files that have lines."""
        for mapping, frames in self._lined.items():
            there = where(self._pid, mapping)
            places = [place for _, place, _ in frames]
            found = lines_of(there[0], places, self._owner) if there and self._owner else [[] for _ in frames]
            for (row, _, function), lines in zip(frames, found, strict=True):
                self._name(row, function, lines)
        self._lined.clear()

    def _name(self, row: int, function: str, lines: list[Line]) -> None:
        """``function`` is by the file's own table, which has a name for what all others were put into."""
        if lines:
            *inner, outer = lines
            lines = [*inner, outer._replace(function=outer.function or function)]
        elif function:
            lines = [Line(function, "", 0)]
        intern = self._writer.intern
        for level, (function, file, line) in enumerate(lines):
            self._writer.write(
                "symbols", frame=row, level=level, function=intern(function), file=intern(file), line=line
            )
