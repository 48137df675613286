"""Where the collector's sources are, where `snoopie build` puts what it makes of them, and where else it may be."""

import platform
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import snoopie
from snoopie.errors import SnoopieError

# What is preloaded, and what it opens, from its own folder, when a program uses CUDA.
LIBRARY = "mem_multigpu.so"
COLLECTOR = "libsnoopie_collector.so"
# What records times without it, built beside it.
TIMES = "snoopie_times.so"
# For sites: `make install` fills the second one unless told otherwise.
SITES = (Path(sys.prefix) / "lib" / "snoopie", Path("/usr/local/lib/snoopie"))


def _package() -> Path:
    return Path(snoopie.__file__).resolve().parent


def checkout() -> Path:
    """The collector's folder of a checkout; there is none beside an installed package."""
    return _package().parent / "nvbit_tool"


def sources() -> Path:
    """The folder with the collector's Makefile: a checkout's, or what the installed package brings."""
    for folder in (checkout(), _package() / "_collector"):
        if (folder / "Makefile").is_file():
            return folder
    raise SnoopieError(
        "this installation of snoopie lacks the collector's sources", "install it again: pip install --force-reinstall"
    )


def built(environment: Mapping[str, str]) -> Path:
    """The folder of this user for the collector of this version. A home folder may serve different machines."""
    home = environment.get("XDG_DATA_HOME", "")
    # One that is not absolute is to be ignored, says the XDG specification.
    data = Path(home) if Path(home).is_absolute() else Path(environment.get("HOME") or "/") / ".local" / "share"
    return data / "snoopie" / snoopie.__version__ / platform.machine()


def beside(library: Path) -> Path:
    """The collector that a library opens; one that is named by a link looks where it leads."""
    return library.resolve().parent / COLLECTOR


def collectors(environment: Mapping[str, str]) -> Iterator[Path]:
    """Where `snoopie run` looks for a collector that nobody named, in this order."""
    for folder in (checkout(), built(environment), *SITES):
        yield folder / LIBRARY
