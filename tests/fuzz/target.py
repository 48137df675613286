"""What is fuzzed: where inputs begin, how they change, and what may become of one."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

# Mutations of one input, mostly few: what is wrong in many places is refused for the first.
_CHANGES = (1, 1, 1, 1, 2, 2, 3, 6)


Seeds = Callable[[], tuple[bytes, ...]]
Mutate = Callable[[bytes, Random], bytes]


@dataclass(frozen=True)
class Target:
    """``check(path, folder)`` raises what is a fault, given a file with an input and an empty folder to work in.

    ``options`` are those of the command line that lead to the same seeds.
    """

    name: str
    seeds: Seeds
    mutate: Mutate
    check: Callable[[Path, Path], None]
    ending: str = ""
    options: str = ""

    def beginning_with(self, folder: Path) -> Target:
        """The same with other seeds: the files of a folder. ValueError where there are none."""
        files = tuple(path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file())
        if not files:
            raise ValueError(f"there is no file in {folder}")
        return replace(self, seeds=lambda: files, options=f"--seeds {shlex.quote(str(folder))} ")

    def input(self, seed: int, number: int) -> bytes:
        """An input: the same for the same numbers."""
        random = Random(f"{self.name} {seed} {number}")
        data = random.choice(self.seeds())
        for _ in range(random.choice(_CHANGES)):
            data = self.mutate(data, random)
        return data


class Fault(AssertionError):
    """What must not become of an input."""
