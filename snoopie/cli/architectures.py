"""GPU architectures: as people write them, as nvcc numbers them, and which code runs on which GPU."""

import re
from collections.abc import Iterable

from snoopie.errors import UsageError

# What nvcc takes in their place.
GROUPS = ("all", "all-major", "native")
# 90, sm_90, 9.0; an "a" or "f" stands for code with an architecture's or a family's own instructions.
_ONE = re.compile(r"(?:sm_|compute_)?(\d{1,2})\.?(\d)([af]?)", re.ASCII)


def architectures(text: str) -> tuple[str, ...]:
    """The architectures in a list with commas or spaces, each once: "sm_90,10.0" → "90", "100"."""
    words = text.replace(",", " ").split()
    if len(words) == 1 and words[0] in GROUPS:
        return (words[0],)
    matches = [(word, _ONE.fullmatch(word)) for word in words]
    for word, match in matches:
        if match is None:
            raise UsageError(
                f"{word} is not a GPU architecture", "write 90, sm_90 or 9.0, several with commas, or all alone"
            )
    if not matches:
        raise UsageError("no GPU architecture is named", "write 90, sm_90 or 9.0, several with commas, or all alone")
    return tuple(dict.fromkeys("".join(match.groups()) for _, match in matches if match))


def covers(built: str, gpu: str) -> bool:
    """Whether code for an architecture runs on a GPU of another: of the same generation, and no newer."""
    plain = built.rstrip("af")
    if built.endswith("a") or plain[:-1] != gpu[:-1]:
        return plain == gpu
    return int(plain[-1]) <= int(gpu[-1])


def uncovered(built: Iterable[str], gpus: Iterable[str]) -> tuple[str, ...]:
    """The GPUs' architectures on which none of this code runs."""
    return tuple(gpu for gpu in dict.fromkeys(gpus) if not any(covers(one, gpu) for one in built))
