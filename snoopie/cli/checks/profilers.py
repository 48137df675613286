"""Variables by which other tools get into a program."""

from collections.abc import Mapping
from pathlib import Path

from snoopie.cli import tool
from snoopie.cli.checks.row import Row, ok, refusal, warning
from snoopie.cli.places import COLLECTOR, LIBRARY
from snoopie.errors import SnoopieError

_NAME = "other profilers"


def rows(library: Path | SnoopieError, environment: Mapping[str, str]) -> list[Row]:
    """Those that are set."""
    made = []
    if error := tool.other_injection(library if isinstance(library, Path) else None, environment):
        made.append(refusal(_NAME, error))
    if injected := environment.get("NVTX_INJECTION64_PATH"):
        made.append(
            warning(_NAME, f"NVTX_INJECTION64_PATH is {injected}", "unset it, unless that tool may run with NVBit")
        )
    preloaded = environment.get("LD_PRELOAD", "").replace(":", " ").split()
    if others := [path for path in preloaded if Path(path).name not in (LIBRARY, COLLECTOR)]:
        made.append(
            warning(_NAME, f"LD_PRELOAD has {', '.join(others)}", "unset it if the program fails under the collector")
        )
    return made or [ok(_NAME, "none")]
