"""A JSON file of PyTorch's profiler → its events, a chunk of the text at a time.

The file can be larger than the memory, so it is never loaded whole. A chunk is cut where one event ends and the next
begins, and Python's own JSON reader takes it from there; a reader of another package would not be faster after what is
left out: events of kinds that nobody asked for, most of a file, are dropped before they are parsed. That needs the
layout of the profiler's own writer, in which each event begins with "ph". In any other layout, and where a chunk turns
out to be cut at a wrong place, events are read one by one.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Container, Iterator
from typing import Any, NoReturn

from snoopie.errors import CorruptError, NotATraceError, SnoopieError, TruncatedError
from snoopie.importers.text import TextFile

# Characters that are parsed at once, and those that one event or member may have.
_PIECE = 1 << 20
_LONGEST = 64 << 20
_SPACE = re.compile(r"[ \t\r\n]*")
# Between two events, up to where the kind of the second stands. No string of JSON holds a bare quotation mark, so this
# is never inside of one.
_SEPARATOR = re.compile(r'\}([ \t\r\n]*,[ \t\r\n]*\{)([ \t\r\n]*"ph"[ \t\r\n]*:[ \t\r\n]*")')
_CATEGORY = re.compile(r'[Xi]"[ \t\r\n]*,[ \t\r\n]*"cat"[ \t\r\n]*:[ \t\r\n]*"([^"\\]*)"')
# Arrows between events, ranges in two halves, counters, …: nothing that is imported.
_NEVER = tuple(f'{letter}"' for letter in "sftbneNODPcC")
_MOST_PREFIXES = 64


def _number(digits: str) -> int | None:
    return int(digits) if len(digits) <= 20 else None


# Numbers with a fraction stay text: as binary ones, times since 1970 would lose their nanoseconds.
_QUICK = json.JSONDecoder(parse_float=str, parse_constant=lambda _: None, strict=False)
_CAREFUL = json.JSONDecoder(parse_float=str, parse_constant=lambda _: None, parse_int=_number, strict=False)


class EventFile:
    """The events of ``wanted`` categories, and ``metadata``, after `chunks`: of the members beside them those of
    ``members``. ``events``: how many went by, wanted or not.
    """

    def __init__(self, text: TextFile, wanted: Container[str], members: Container[str] = ()) -> None:
        self.metadata: dict[str, Any] = {}
        self.events = 0
        self.cut = ""
        self._text = text
        self._wanted, self._members = wanted, members
        self._pieces = text.data()
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._buffer, self._at, self._ended = "", 0, False
        self._separator = self._gap = self._opening = ""
        self._learned = False
        self._dropped: tuple[str, ...] = _NEVER
        self._kept: tuple[str, ...] = ('M"',)

    def chunks(self) -> Iterator[list[Any]]:
        """Lists of events as JSON spells them; some of kinds that are not wanted may be among them.

        Raises an error of the family where the file is no JSON or ends too early; with the text's ``allow_truncated``
        what comes before is read, and ``cut`` is a sentence about it.
        """
        try:
            yield from self._document()
        except (CorruptError, TruncatedError) as error:
            if not self._text.allow_truncated:
                raise
            self.cut = f"{error.problem}; only what comes before is in this trace."
        self.cut = self.cut or self._text.cut

    def _document(self) -> Iterator[list[Any]]:
        self._fill(1)
        self._buffer = self._buffer.removeprefix("\ufeff")
        opening = self._next()
        if opening not in ("{", "["):
            raise NotATraceError(f"{self._text.path} is not JSON", "give what PyTorch's profiler exported")
        self._at += 1
        if opening == "[":
            yield from self._array()
            return
        while (character := self._next()) != "}":
            if character == ",":
                self._at += 1
                continue
            name = self._value()
            if self._next() != ":":
                self._fail()
            self._at += 1
            if name == "traceEvents" and self._next() == "[":
                self._at += 1
                yield from self._array()
                continue
            value = self._value()
            if isinstance(name, str) and (name == "traceEvents" or name in self._members):
                self.metadata[name] = value

    def _array(self) -> Iterator[list[Any]]:
        while (character := self._next()) != "]":
            if character == ",":
                self._at += 1
            elif not character:
                self._fail()
            else:
                yield self._chunk()
        self._at += 1

    def _chunk(self) -> list[Any]:
        """The events up to a cut, at least one."""
        self._fill(_PIECE)
        if not self._learned:
            self._learn()
        end = self._buffer.rfind(self._separator, self._at) if self._separator else -1
        if end > self._at:
            events = self._parsed(self._buffer[self._at : end])
            if events is not None:
                self._at = end + 1
                return events
        return self._one_by_one()

    def _learn(self) -> None:
        self._learned = True
        if found := _SEPARATOR.search(self._buffer, self._at):
            self._separator, self._gap, self._opening = found[0], "}" + found[1], "{" + found[2]

    def _parsed(self, text: str) -> list[Any] | None:
        """The wanted events of a text that lacks the bracket that ends its last; None where it is something else."""
        if not text.startswith(self._opening):
            wanted = text
            number = text.count(self._separator) + 1
        else:
            pieces = text[len(self._opening) :].split(self._separator)
            number = len(pieces)
            kept = [piece for piece in pieces if not piece.startswith(self._dropped) or self._gap in piece]
            unknown = [piece for piece in kept if not piece.startswith(self._kept)]
            if unknown and self._sort(unknown):
                kept = [piece for piece in kept if not piece.startswith(self._dropped) or self._gap in piece]
            if not kept:
                self.events += number
                return []
            wanted = self._opening + ("}," + self._opening).join(kept)
        try:
            events = _QUICK.decode(f"[{wanted}}}]")
        except (ValueError, RecursionError):
            return None
        self.events += number
        return list(events)

    def _sort(self, pieces: list[str]) -> bool:
        """Learns how events of each kind begin; True if some of these can be dropped."""
        dropped = len(self._dropped)
        for piece in pieces:
            found = _CATEGORY.match(piece)
            if found is None or piece.startswith(self._dropped + self._kept):
                continue
            if found[1] in self._wanted and len(self._kept) < _MOST_PREFIXES:
                self._kept += (found[0],)
            elif found[1] not in self._wanted and len(self._dropped) < _MOST_PREFIXES:
                self._dropped += (found[0],)
        return len(self._dropped) > dropped

    def _one_by_one(self) -> list[Any]:
        events: list[Any] = []
        while self._at < len(self._buffer):
            character = self._buffer[self._at]
            if character in " \t\r\n,":
                self._at += 1
                continue
            if character == "]":
                break
            try:
                event, end = _CAREFUL.raw_decode(self._buffer, self._at)
            except (ValueError, RecursionError):
                if events:
                    break
                event, end = self._value(), self._at
            # A number or a word at the end of what was read may go on.
            if end == len(self._buffer) and not self._ended and events:
                break
            self._at = end
            events.append(event)
        self.events += len(events)
        return events

    def _value(self) -> Any:
        """One whole value, of which more and more is read."""
        self._next()
        while True:
            try:
                value, end = _CAREFUL.raw_decode(self._buffer, self._at)
                if end < len(self._buffer) or self._ended:
                    self._at = end
                    return value
            except RecursionError:
                self._fail()
            except ValueError:
                if self._ended:
                    self._fail()
            if len(self._buffer) - self._at > _LONGEST:
                self._fail()
            self._fill(2 * (len(self._buffer) - self._at) + _PIECE)

    def _next(self) -> str:
        """The next character that is not space, which stays; "" at the end."""
        while True:
            found = _SPACE.match(self._buffer, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._buffer) or self._ended:
                return self._buffer[self._at : self._at + 1]
            self._fill(_PIECE)

    def _fill(self, size: int) -> None:
        """Has at least so many characters ahead, as far as there are any."""
        if len(self._buffer) - self._at >= size or self._ended:
            return
        parts = [self._buffer[self._at :]]
        ahead = len(parts[0])
        while ahead < size and not self._ended:
            data = next(self._pieces, None)
            self._ended = data is None
            parts.append(self._decoder.decode(data or b"", self._ended))
            ahead += len(parts[-1])
        self._buffer, self._at = "".join(parts), 0

    def _fail(self) -> NoReturn:
        after = f"after {self.events:,} events"
        path = self._text.path
        remedy = "export it again, or import the complete events with --allow-truncated"
        error: type[SnoopieError] = CorruptError
        what = f"is no valid JSON {after}"
        if self._ended and self._unfinished():
            error, what = TruncatedError, f"ends too early, {after}"
        raise error(f"{path} {what}", remedy)

    def _unfinished(self) -> bool:
        """Whether the text ends in the middle of a value, rather than having a wrong one."""
        rest = self._buffer[self._at :].rstrip()
        try:
            _CAREFUL.raw_decode(rest)
        except json.JSONDecodeError as error:
            return error.pos >= len(rest) or error.msg.startswith("Unterminated string")
        except (ValueError, RecursionError):
            return False
        return True
