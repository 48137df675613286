"""A trace with call stacks."""

from __future__ import annotations

from pathlib import Path

import snoopie
from tests.support.encoder import TraceBuilder


class Program:
    """Builds a trace with stacks: each frame is a module, an address and its symbols."""

    def __init__(self) -> None:
        self.builder = TraceBuilder(2)
        self.modules: dict[str, int] = {}
        self.frames = 0

    def frame(self, module: str, *symbols: tuple[str, str, int], code: str = "") -> int:
        """A frame with (function, file, line) of each level; of Python where the module is ""."""
        self.frames += 1
        if module and module not in self.modules:
            self.modules[module] = self.builder.add("modules", path=self.builder.string(module))
        address = 0x1000 * self.frames if module else 0
        frame = self.builder.add("frames", module=self.modules.get(module, 0), address=address)
        for level, (function, file, line) in enumerate(symbols):
            texts = {"function": self.builder.string(function), "file": self.builder.string(file)}
            self.builder.add("symbols", frame=frame, level=level, line=line, code=self.builder.string(code), **texts)
        return frame

    def stack(self, *frames: int) -> int:
        """The stack with these frames, innermost first."""
        caller = 0
        for frame in reversed(frames):
            caller = self.builder.add("stacks", frame=frame, caller=caller)
        return caller

    def load(self, folder: Path) -> snoopie.Trace:
        return snoopie.load(self.builder.write(folder / "stacks.zst"))
