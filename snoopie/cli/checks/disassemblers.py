"""nvdisasm and cuobjdump, which NVBit starts for what it instruments."""

import re
from collections.abc import Mapping, Sequence

from snoopie.cli import tool
from snoopie.cli.architectures import covers
from snoopie.cli.checks.programs import says
from snoopie.cli.checks.row import Row, ok, problem, refusal

_RELEASE = re.compile(r"release (\d+\.\d+)")
# In the help of --binary: 'SM90','SM90a'.
_KNOWN = re.compile(r"'SM(\d+)'")


def rows(arches: Sequence[str], environment: Mapping[str, str]) -> list[Row]:
    """Where they are, and whether they know the GPUs' code."""
    made = []
    for program in tool.DISASSEMBLERS:
        path = tool.find_program(program, environment)
        if path is None:
            made.append(refusal(program, tool.no_disassembler(program)))
            continue
        version = release(says([str(path), "--version"], environment) or "")
        found = f"{version or 'unknown release'} at {path}"
        unknown = strange(says([str(path), "--help"], environment) or "", arches) if program == "nvdisasm" else ()
        made.append(
            problem(
                program,
                f"{found}, which does not know {' '.join(unknown)}",
                "use a newer CUDA toolkit's, first on PATH",
            )
            if unknown
            else ok(program, found)
        )
    return made


def release(text: str) -> str:
    """The toolkit's release that `--version` names; "" if none."""
    match = _RELEASE.search(text)
    return match[1] if match else ""


def strange(text: str, arches: Sequence[str]) -> tuple[str, ...]:
    """The architectures that nvdisasm's help does not list; none where it lists none at all."""
    known = _KNOWN.findall(text)
    return tuple(arch for arch in arches if known and not any(covers(one, arch) for one in known))
