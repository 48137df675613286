"""Where the collector is, and what it needs before a program starts under it."""

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import snoopie
from snoopie.cli import places
from snoopie.cli.identity import identity
from snoopie.cli.places import LIBRARY
from snoopie.errors import SnoopieError

# Programs that NVBit starts for every function it looks at.
DISASSEMBLERS = ("nvdisasm", "cuobjdump")
# NVBit's scratch folder; it does not follow TMPDIR.
SCRATCH = Path("/tmp")
# Holds the sitecustomize that Python imports when it starts.
HOOKS = Path(snoopie.__file__).resolve().parent / "hooks"


def find_tool(named: str | None, environment: Mapping[str, str]) -> Path:
    """The collector's library: as named, from SNOOPIE_TOOL, in this checkout, built by `snoopie build`, or a site's.

    A tool that was named and is not there is an error; nothing else is then tried. Of those that nobody named, one of
    another version of Snoopie is not used.
    """
    for origin, text in (("--tool", named), ("SNOOPIE_TOOL", environment.get("SNOOPIE_TOOL"))):
        if text:
            tool = Path(text).absolute()
            if not tool.is_file():
                raise SnoopieError(f"{origin} names {text}, which is not a file", f"name the {LIBRARY} that you built")
            return _preloadable(tool)
    there = [tool for tool in places.collectors(environment) if tool.is_file()]
    for tool in there:
        if other_version(tool) is None:
            return _preloadable(tool)
    build = "snoopie build --nvbit /opt/nvbit/core builds it (see README)"
    if there:
        raise SnoopieError(
            f"{there[0]} was built by {other_version(there[0])}, and this is snoopie {snoopie.__version__}",
            f"{build}, or name one with --tool or SNOOPIE_TOOL",
        )
    raise SnoopieError(f"{LIBRARY} is not built", f"{build}, or name one with --tool or SNOOPIE_TOOL")


def find_times(tool: Path) -> Path:
    """What records times without instrumentation: it is built, and installed, beside the collector."""
    beside = tool.resolve().with_name(places.TIMES)
    # Nobody links to one alone.
    for library in (tool.with_name(places.TIMES), beside):
        if library.is_file():
            return _preloadable(library)
    raise SnoopieError(
        f"{places.TIMES} is not beside {tool}",
        "snoopie build makes both (in a checkout: make -C nvbit_tool times), or leave out --with-times",
    )


def other_version(tool: Path) -> str | None:
    """Which other version of Snoopie built the tool; None if it was this one."""
    built_by = identity(tool)
    if built_by is None:
        return "a version that it does not name"
    return None if built_by.version == snoopie.__version__ else f"snoopie {built_by.version}"


def misfit(tool: Path) -> str | None:
    """What is to be said of a tool that names another version and is used because the user named it."""
    if identity(tool) is None or (other := other_version(tool)) is None:
        return None
    return f"{tool} was built by {other}, and this is snoopie {snoopie.__version__}"


def _preloadable(tool: Path) -> Path:
    # The dynamic linker splits LD_PRELOAD at these and knows no quoting.
    if any(c.isspace() or c == ":" for c in str(tool)):
        raise SnoopieError(f"LD_PRELOAD cannot hold a space or colon, as in {tool}", "move or link the tool elsewhere")
    return tool


def toolkit_folders(environment: Mapping[str, str]) -> Iterator[Path]:
    """Where programs of the CUDA toolkit may be, besides PATH."""
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if environment.get(variable):
            yield Path(environment[variable]) / "bin"
    yield Path("/usr/local/cuda/bin")


def find_program(program: str, environment: Mapping[str, str]) -> Path | None:
    """A program of the CUDA toolkit: on PATH, or in one of the toolkit's folders."""
    folders = (environment.get("PATH", os.defpath), *map(str, toolkit_folders(environment)))
    found = next(filter(None, (shutil.which(program, path=folder) for folder in folders)), None)
    return Path(found) if found else None


def search_path(environment: Mapping[str, str]) -> str:
    """The PATH for the program: as it is, and at its end the CUDA folders that hold what PATH lacks."""
    path = environment.get("PATH", os.defpath)
    for program in DISASSEMBLERS:
        if shutil.which(program, path=path):
            continue
        found = find_program(program, environment)
        if found is None:
            raise no_disassembler(program)
        path = f"{path}{os.pathsep}{found.parent}" if path else str(found.parent)
    return path


def no_disassembler(program: str) -> SnoopieError:
    """NVBit needs the program, and it is nowhere."""
    return SnoopieError(
        f"{program} is neither on PATH nor in CUDA_HOME/bin or /usr/local/cuda/bin, and NVBit needs it",
        "install the CUDA toolkit or add its bin folder to PATH",
    )


def unwritable_scratch() -> SnoopieError | None:
    """Why NVBit could not use its scratch folder."""
    if os.access(SCRATCH, os.W_OK | os.X_OK):
        return None
    return SnoopieError(f"{SCRATCH} is not writable, and NVBit puts its temporary files there", "make it writable")


def other_injection(tool: Path | None, environment: Mapping[str, str]) -> SnoopieError | None:
    """Why the driver would load another tool into the program."""
    injected = environment.get("CUDA_INJECTION64_PATH")
    # Of a traced program that has started this one.
    own = (tool, tool.resolve(), places.beside(tool)) if tool else ()
    if not injected or Path(injected).absolute() in own:
        return None
    return SnoopieError(
        f"CUDA_INJECTION64_PATH is already {injected}, and NVBit cannot share a process with another profiler "
        "(nsys, ncu, CUPTI)",
        "unset it",
    )


def check_machine(tool: Path, environment: Mapping[str, str]) -> None:
    """Refuse what would make NVBit fail in the middle of the run."""
    for error in (unwritable_scratch(), other_injection(tool, environment)):
        if error is not None:
            raise error


def clean_environment(times: Path, environment: Mapping[str, str], *, settings: Mapping[str, str]) -> dict[str, str]:
    """The environment for a program whose times are recorded, and nothing else."""
    return {**environment, "LD_PRELOAD": _preload(times, environment), **settings}


def child_environment(
    tool: Path,
    environment: Mapping[str, str],
    *,
    settings: Mapping[str, str],
    tensors: Path | None = None,
) -> dict[str, str]:
    """The environment for a program under the collector; settings that are not given stay as the user has them."""
    child = dict(environment)
    child["PATH"] = search_path(environment)
    child["LD_PRELOAD"] = _preload(tool, environment)
    child |= settings
    if tensors is not None:
        child["SNOOPIE_TENSORS"] = str(tensors)
        others = environment.get("PYTHONPATH")
        child["PYTHONPATH"] = f"{HOOKS}{os.pathsep}{others}" if others else str(HOOKS)
    return child


def _preload(library: Path, environment: Mapping[str, str]) -> str:
    others = environment.get("LD_PRELOAD")
    return f"{library}:{others}" if others else str(library)
