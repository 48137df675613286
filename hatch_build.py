"""What a wheel has beside the package: man pages and completion, made by the package's own command line, and snoopie.h.

pip puts them below the environment, where `man` and shells look for those of the programs in its bin.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SharedFiles(BuildHookInterface[Any]):
    """Makes the files; the checkout may be read-only."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Has the wheel take the files along."""
        # The command line needs nothing but Python until a command runs.
        sys.path.insert(0, self.root)
        try:
            from snoopie.cli import completion, manual
        finally:
            sys.path.remove(self.root)
        files = {f"share/man/man1/{name}": text for name, text in manual.pages().items()}
        files |= {place: completion.script(shell) for shell, place in completion.PLACES.items()}
        self._made = TemporaryDirectory()
        for place, text in files.items():
            path = Path(self._made.name, place)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            build_data["shared_data"][str(path)] = place
        build_data["shared_data"][str(Path(self.root, "nvbit_tool/include/snoopie.h"))] = "include/snoopie.h"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """They are in the wheel."""
        self._made.cleanup()
