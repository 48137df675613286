"""Where the collector is, and what it needs before a program starts under it."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import snoopie
from snoopie.errors import SnoopieError

LIBRARY = "mem_multigpu.so"
# Programs that NVBit starts for every function it looks at.
DISASSEMBLERS = ("nvdisasm", "cuobjdump")
# NVBit's scratch folder; it does not follow TMPDIR.
SCRATCH = Path("/tmp")
# Holds the sitecustomize that Python imports when it starts.
HOOKS = Path(snoopie.__file__).resolve().parent / "hooks"


def _checkout() -> Path:
    return Path(snoopie.__file__).resolve().parents[1]


def find_tool(named: str | None, environment: Mapping[str, str]) -> Path:
    """The collector's library: as named, from SNOOPIE_TOOL, in this checkout, or installed beside Python.

    A tool that was named and is not there is an error; nothing else is then tried.
    """
    for origin, text in (("--tool", named), ("SNOOPIE_TOOL", environment.get("SNOOPIE_TOOL"))):
        if text:
            tool = Path(text).absolute()
            if not tool.is_file():
                raise SnoopieError(f"{origin} names {text}, which is not a file", f"name the {LIBRARY} that you built")
            return _preloadable(tool)
    source = _checkout() / "nvbit_tool"
    for tool in (source / LIBRARY, Path(sys.prefix) / "lib" / "snoopie" / LIBRARY):
        if tool.is_file():
            return _preloadable(tool)
    folder = source if source.is_dir() else Path("nvbit_tool")
    raise SnoopieError(
        f"{LIBRARY} is not built",
        f"make -C {folder} ARCH=90 NVBIT_PATH=/opt/nvbit/core (see README), or name one with --tool or SNOOPIE_TOOL",
    )


def _preloadable(tool: Path) -> Path:
    # The dynamic linker splits LD_PRELOAD at these and knows no quoting.
    if any(c.isspace() or c == ":" for c in str(tool)):
        raise SnoopieError(f"LD_PRELOAD cannot hold a space or colon, as in {tool}", "move or link the tool elsewhere")
    return tool


def _toolkit_folders(environment: Mapping[str, str]) -> Iterator[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if environment.get(variable):
            yield Path(environment[variable]) / "bin"
    yield Path("/usr/local/cuda/bin")


def search_path(environment: Mapping[str, str]) -> str:
    """The PATH for the program: as it is, and at its end the CUDA folders that hold what PATH lacks."""
    path = environment.get("PATH", os.defpath)
    for program in DISASSEMBLERS:
        if shutil.which(program, path=path):
            continue
        folder = next((f for f in _toolkit_folders(environment) if shutil.which(program, path=str(f))), None)
        if folder is None:
            raise SnoopieError(
                f"{program} is neither on PATH nor in CUDA_HOME/bin or /usr/local/cuda/bin, and NVBit needs it",
                "install the CUDA toolkit or add its bin folder to PATH",
            )
        path = f"{path}{os.pathsep}{folder}" if path else str(folder)
    return path


def check_machine(tool: Path, environment: Mapping[str, str]) -> None:
    """Refuse what would make NVBit fail in the middle of the run."""
    if not os.access(SCRATCH, os.W_OK | os.X_OK):
        raise SnoopieError(f"{SCRATCH} is not writable, and NVBit puts its temporary files there", "make it writable")
    injected = environment.get("CUDA_INJECTION64_PATH")
    if injected and Path(injected).absolute() != tool:
        raise SnoopieError(
            f"CUDA_INJECTION64_PATH is already {injected}, and NVBit cannot share a process with another profiler "
            "(nsys, ncu, CUPTI)",
            "unset it",
        )


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
    others = environment.get("LD_PRELOAD")
    child["LD_PRELOAD"] = f"{tool}:{others}" if others else str(tool)
    child |= settings
    if tensors is not None:
        child["SNOOPIE_TENSORS"] = str(tensors)
        others = environment.get("PYTHONPATH")
        child["PYTHONPATH"] = f"{HOOKS}{os.pathsep}{others}" if others else str(HOOKS)
    return child
