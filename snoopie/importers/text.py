"""Text files that other tools wrote, plain or compressed with zstd or gzip → pieces of whole lines."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import zstandard

from snoopie.errors import CorruptError, LimitError, NotATraceError, SnoopieError, TruncatedError
from snoopie.trace import limits
from snoopie.words import units

# Bytes of text that are handed out at once, to what reads columns of bytes and to what reads strings; and the longest
# line that is not taken for something else than text.
_PIECE = 32 << 20
_SMALL_PIECE = 8 << 20
_LONGEST = 16 << 20
_READ = 1 << 20
# Of zstd, which hands out at once all that is in what it is given: four bytes can be 128 KiB of text.
_READ_ZSTD = 1 << 8
# Text that is unpacked of a compressed file of less than a mebibyte, and how many times the size of a larger one: what
# programs log all day compresses to a fiftieth or a hundredth.
_SMALL, _RATIO = 64 << 20, 1024
_NEWLINE = ord("\n")
_ZSTD = b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x53\x2a\x4d\x18"
_GZIP = b"\x1f\x8b"


@dataclass
class TextFile:
    """``cut``, after `pieces`: a sentence if the end of the file is missing, else "". ``read``: bytes of it so far."""

    path: Path
    allow_truncated: bool = False
    cut: str = ""
    read: int = 0

    def pieces(self, least: int = _PIECE) -> Iterator[bytes]:
        """The text in pieces of whole lines, each line with its newline, and of at least so many bytes.

        Raises an error of the family where the file cannot be read, LimitError where a compressed one holds far more
        than real ones do, and TruncatedError where it ends too early; with ``allow_truncated`` what can be
        decompressed is read, up to its last whole line.
        """
        pending: list[bytes] = []
        size = 0
        for data in self._text():
            end = data.rfind(b"\n") + 1
            if end and size + end >= least:
                yield b"".join([*pending, data[:end]])
                pending, size = [data[end:]], len(data) - end
                continue
            pending.append(data)
            size += len(data)
            if size > least + _LONGEST:
                raise SnoopieError(f"{self.path} has a line of {size:,} bytes", "give a text file")
        rest = b"".join(pending)
        if self.cut:
            # Of the last line, nobody knows what is missing.
            rest = rest[: rest.rfind(b"\n") + 1]
        elif rest and not rest.endswith(b"\n"):
            rest += b"\n"
        if rest:
            yield rest

    def texts(self) -> Iterator[str]:
        """The text in pieces of whole lines; bytes that are not UTF-8 are spelled out."""
        for piece in self.pieces(_SMALL_PIECE):
            yield piece.decode("utf-8", "backslashreplace")

    def lines(self) -> Iterator[str]:
        """The lines without their ends; bytes that are not UTF-8 are spelled out."""
        for text in self.texts():
            yield from text.replace("\r\n", "\n").split("\n")[:-1]

    @property
    def share(self) -> float:
        """How much of the file was read."""
        return self.read / max(self.path.stat().st_size, 1)

    def data(self) -> Iterator[bytes]:
        """The text in pieces that end anywhere, for what has no lines; raises as `pieces` does."""
        return self._text()

    def head(self, size: int) -> bytes:
        """The beginning of the text: at least ``size`` bytes of it, or all; raises as `pieces` does."""
        found = b""
        for part in self._text():
            found += part
            if len(found) >= size:
                break
        return found

    def _text(self) -> Iterator[bytes]:
        try:
            with self.path.open("rb") as file:
                start = file.peek(12)  # what is read from a pipe cannot be read again
                if start[:4] == _SKIPPABLE and start[8:12] == b"SNPB":
                    raise NotATraceError(f"{self.path} is a trace already", f"open it: snoopie view {self.path}")
                if start[:2] == _GZIP:
                    yield from self._bounded(self._unzipped(self._parts(file)))
                elif start[:4] not in (_ZSTD, _SKIPPABLE):
                    yield from self._parts(file)
                else:
                    yield from self._bounded(self._decompressed(self._parts(file)))
        except OSError as error:
            raise NotATraceError(
                f"{self.path} cannot be read ({error.strerror or error})", "give the path of a file"
            ) from None

    def _parts(self, file: IO[bytes]) -> Iterator[bytes]:
        while part := file.read(_READ):
            self.read += len(part)
            yield part

    def _bounded(self, texts: Iterator[bytes]) -> Iterator[bytes]:
        """The texts, until they are more than a file of this size holds: a few bytes can be made to hold any amount."""
        size = self.path.stat().st_size
        most = limits.by_size(size, _SMALL, _RATIO)
        read = 0
        for text in texts:
            read += len(text)
            # What comes through a pipe has no size.
            if read > most and self.path.is_file():
                raise LimitError(
                    f"{self.path} holds more than {units.bytes(most)} of text in a file of {units.bytes(size)}",
                    "if you trust who made it, unpack it and import the text",
                )
            yield text

    def _decompressed(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        read = lines = 0
        frame = zstandard.ZstdDecompressor().decompressobj()
        for part in (chunk[at : at + _READ_ZSTD] for chunk in parts for at in range(0, len(chunk), _READ_ZSTD)):
            while part:
                if frame.eof:
                    frame = zstandard.ZstdDecompressor().decompressobj()
                try:
                    text = frame.decompress(part)
                except zstandard.ZstdError as error:
                    self._end(CorruptError, f"is damaged after {lines:,} lines ({read:,} bytes) of text ({error})")
                    return
                part = frame.unused_data if frame.eof else b""
                read += len(text)
                lines += int(np.count_nonzero(np.frombuffer(text, np.uint8) == _NEWLINE))
                yield text
        if not frame.eof:
            self._end(TruncatedError, f"ends too early: it has {lines:,} complete lines ({read:,} bytes) of text")

    def _unzipped(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        read = 0
        member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
        for part in parts:
            while part:
                if member.eof:
                    # Zeros may fill the file up behind its last member.
                    part = part.lstrip(b"\0")
                    member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
                try:
                    text = member.decompress(part, _READ)
                except zlib.error as error:
                    self._end(CorruptError, f"is damaged after {read:,} bytes of text ({error})")
                    return
                part = member.unused_data if member.eof else member.unconsumed_tail
                read += len(text)
                yield text
        if not member.eof:
            self._end(TruncatedError, f"ends too early: it has {read:,} bytes of text")

    def _end(self, error: type[SnoopieError], what: str) -> None:
        if not self.allow_truncated:
            raise error(f"{self.path} {what}", "import the complete lines with --allow-truncated")
        self.cut = f"{self.path.name} {what}; only that is in this trace."


def side_by_side(texts: Sequence[TextFile]) -> Iterator[list[str]]:
    """Pieces of several texts that were written at the same time: first one of each, then of those that are behind."""
    left = {number: text.texts() for number, text in enumerate(texts)}
    while left:
        least = min(texts[number].share for number in left)
        parts = []
        for number in [number for number in left if texts[number].share <= least]:
            part = next(left[number], None)
            if part is None:
                del left[number]
            else:
                parts.append(part)
        if parts:
            yield parts
