"""What connects the GPUs, as `nvidia-smi topo -m` shows it, and which of them reach each other's memory."""

import re
from collections import Counter
from collections.abc import Mapping

from snoopie.cli.checks.driver import Driver
from snoopie.cli.checks.programs import says
from snoopie.cli.checks.row import Row, ok, warning

COMMAND = ("nvidia-smi", "topo", "-m")
# It underlines the first line, on a terminal or not.
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
_GPU = re.compile(r"GPU\d+")


def matrix(environment: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """The link of each pair of GPUs."""
    return parse(says(COMMAND, environment) or "")


def parse(text: str) -> dict[tuple[str, str], str]:
    """("GPU0", "GPU1") → "NV18", "PIX", "SYS", …, the first one with the lower number."""
    lines = [_ESCAPE.sub("", line).split() for line in text.splitlines()]
    columns: list[str] = []
    links = {}
    for cells in filter(None, lines):
        if not columns:
            # NICs and affinities follow the GPUs.
            columns = [cell for cell in cells if _GPU.fullmatch(cell)]
        elif _GPU.fullmatch(cells[0]) and cells[0] in columns:
            row = columns.index(cells[0])
            links.update(
                {(cells[0], columns[at]): cells[at + 1] for at in range(row + 1, min(len(columns), len(cells) - 1))}
            )
    return links


def rows(links: Mapping[tuple[str, str], str], driver: Driver) -> list[Row]:
    """How fast the GPUs are connected, and whether a kernel on one can touch the other's memory."""
    made = []
    if links:
        kinds = Counter(links.values())
        found = (
            f"{next(iter(kinds))} between all {len({gpu for pair in links for gpu in pair})} GPUs"
            if len(kinds) == 1
            else ", ".join(f"{kind} between {count} of {len(links)} pairs" for kind, count in kinds.most_common())
        )
        made.append(ok("links", found))
    if driver.unreachable:
        pairs = ", ".join(f"{one} → {other}" for one, other in driver.unreachable[:4])
        more = len(driver.unreachable) - 4
        made.append(
            warning(
                "peer access",
                f"not possible: GPU {pairs}{f' and {more} more' if more > 0 else ''}",
                "what these move between them goes through the host: compare nvidia-smi topo -p2p rw",
            )
        )
    elif len(driver.arches) > 1:
        made.append(ok("peer access", "between all GPUs"))
    return made
