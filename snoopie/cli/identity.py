"""What a collector's library says of itself, without being loaded: its version, and what it was built with and for."""

import json
import mmap
from dataclasses import dataclass
from pathlib import Path

# As nvbit_tool/src/preload/identity.cpp writes it.
_WORDS = b"snoopie collector {"
_LONGEST = 4096


@dataclass(frozen=True)
class Identity:
    """The versions of Snoopie, CUDA and NVBit in a library, and the architectures that it can instrument ("90")."""

    version: str
    cuda: str
    nvbit: str
    arches: tuple[str, ...]


def identity(library: Path) -> Identity | None:
    """What the library says; None where it says nothing, or cannot be read."""
    try:
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            start = content.find(_WORDS)
            text = content[start : start + _LONGEST] if start >= 0 else b""
    # An empty file cannot be mapped.
    except (OSError, ValueError):
        return None
    return parse(text)


def parse(text: bytes) -> Identity | None:
    """The identity at the beginning of these bytes."""
    words = text.removeprefix(_WORDS[:-1]).partition(b"\0")[0]
    try:
        said = json.loads(words)
        return Identity(said["version"], said["cuda"], said["nvbit"], tuple(said["arches"].split()))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
