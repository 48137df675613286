"""Where the traces of a run go, and which files those were afterwards."""

import glob
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from snoopie.cli import settings
from snoopie.errors import SnoopieError

DEFAULT_NAME = settings.BY_VARIABLE["SNOOPIE_OUTPUT"].default
_PLACEHOLDER = re.compile("%(.?)")


@dataclass(frozen=True)
class OutputFiles:
    """The files that a pattern of SNOOPIE_OUTPUT can become. `pattern` is absolute."""

    pattern: str

    def existing(self) -> set[Path]:
        """Files that fit the pattern now. Several processes, on several hosts, may have written them."""
        pattern = self._glob()
        # The collector numbers a name that an earlier process has: x.zst, x-2.zst, …
        stem, ending = os.path.splitext(pattern)
        names = [*glob.glob(pattern), *glob.glob(f"{stem}-[0-9]*{ending}")]
        return {Path(name) for name in names if os.path.isfile(name)}

    def beside(self, prefix: str) -> "OutputFiles":
        """Files in the same places whose names begin with a word more."""
        folder, name = os.path.split(self.pattern)
        return OutputFiles(os.path.join(folder, prefix + name))

    @property
    def folder(self) -> Path | None:
        """The folder of them all; None where its name depends on the process."""
        folder = os.path.dirname(self.pattern)
        return None if _PLACEHOLDER.search(folder.replace("%%", "")) else Path(folder.replace("%%", "%"))

    def _glob(self) -> str:
        parts = _PLACEHOLDER.split(self.pattern)  # text, letter, text, letter, …, text
        return "".join(
            glob.escape(part) if index % 2 == 0 else "%" if part == "%" else "*" for index, part in enumerate(parts)
        )


def run_folder(program: str, run: str) -> str:
    """The folder of a run where nobody named another, as a value of -o: "snoopie-ring-20261122-224003-3fa9/"."""
    name = re.sub(r"[^A-Za-z0-9._+-]", "_", os.path.basename(program))
    return f"snoopie-{name}-{run}/"


def output_files(named: str | None, environment: Mapping[str, str], directory: Path, default: str) -> OutputFiles:
    """What an allowed value of -o means: a folder, or a file name with placeholders.

    Without -o, the user's SNOOPIE_OUTPUT, else `default` in `directory`. Folders that are missing are made, because the
    collector makes none. A name without a placeholder that already exists is refused.
    """
    text = named if named is not None else environment.get("SNOOPIE_OUTPUT", "").strip() or default
    pattern = os.path.join(str(directory).replace("%", "%%"), text)
    plain = pattern.replace("%%", "%") if not _PLACEHOLDER.search(pattern.replace("%%", "")) else None
    if pattern.endswith("/") or (plain is not None and os.path.isdir(plain)):
        pattern = os.path.join(pattern, DEFAULT_NAME)
    elif plain is not None and os.path.exists(plain):
        raise SnoopieError(f"{plain} already exists and is not overwritten", "choose another name, or delete it")
    files = OutputFiles(pattern)
    if files.folder is not None:
        _make(files.folder)
    return files


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SnoopieError(f"{folder} cannot be created ({error.strerror})", "name another place with -o") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise SnoopieError(f"{folder} is not writable, so no trace can be put there", "name another place with -o")
