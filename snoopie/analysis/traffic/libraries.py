"""Which library moved it: NCCL, NVSHMEM, or the program by itself.

NCCL: launches that carry out its calls, its kernels, and instructions of its functions. NVSHMEM: its kernels,
instructions of its functions (also inlined ones), and whatever touches its symmetric heap, if only through an address
of nvshmem_ptr. A copy is the library's that has a frame in the copy's call stack.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import numpy as np
import pandas as pd

from snoopie.errors import UsageError
from snoopie.joined.tables import Tables
from snoopie.trace import chains
from snoopie.trace.tables import Ints
from snoopie.words.names import bare_name

Library = Literal["NCCL", "NVSHMEM", "program"]
LIBRARIES: tuple[Library, ...] = ("NCCL", "NVSHMEM", "program")
_PROGRAM = LIBRARIES.index("program")

# Of names without return type, template and argument list.
_FUNCTIONS = {"NCCL": re.compile(r"(?:^|:)_*nccl"), "NVSHMEM": re.compile(r"(?:^|:)_*nvshmem")}
# Kernels of NVSHMEM's host library have names such as barrier_on_stream_kernel too.
_KERNELS = _FUNCTIONS | {"NVSHMEM": re.compile(_FUNCTIONS["NVSHMEM"].pattern + "|_on_stream_kernel")}
_MODULES = {"NCCL": re.compile("(?:^|/)libnccl[^/]*$"), "NVSHMEM": re.compile("(?:^|/)(?:lib)?nvshmem[^/]*$")}


def is_header(library: str, path: str) -> bool:
    """Whether a file is one of a library's headers, as they are installed: below a folder of its name or, below
    include, of such a name. A program's own file may have the library in its name."""
    # Not by a pattern: a path that means harm could make the search for one take as long as it likes.
    name = f"/{library.lower()}"
    folder, include = path.find(name), path.find("/include/")
    below = path.find("/", folder + 1) if folder >= 0 else -1
    return (below >= 0 and "/include/" in path[below:]) or (include >= 0 and name in path[include + len("/include") :])


def of_traffic(tables: Tables, traffic: pd.DataFrame) -> pd.Series[str]:
    """For each row of a table with launch, site and object the library, as a categorical."""
    launches = tables.launch_places.of(traffic["launch"].to_numpy())
    sites = tables.site_places.of(traffic["site"].to_numpy())
    codes = np.minimum(_of_launches(tables)[launches], _of_sites(tables)[sites])
    symmetric = tables.objects.index[(tables.objects["kind"] == "symmetric").to_numpy()]
    heap = traffic["object"].isin(symmetric).to_numpy()
    codes[heap] = np.minimum(codes[heap], LIBRARIES.index("NVSHMEM"))
    return _named(codes, traffic.index)


def of_copies(tables: Tables, copies: pd.DataFrame) -> pd.Series[str]:
    """For each copy the library that started it, as a categorical; the program where its stack is not known."""
    stacks = tables.stacks
    modules = pd.Series(_matching(tables.modules["path"], _MODULES), tables.modules.index)
    frames = modules.reindex(tables.frames["module"].to_numpy()).fillna(_PROGRAM).to_numpy(np.int64)
    named = pd.Series(_matching(tables.symbols["function"], _FUNCTIONS, bare_name), tables.symbols["frame"].to_numpy())
    named = named.groupby(level=0).min().reindex(tables.frames.index).fillna(_PROGRAM)
    frames = np.minimum(frames, named.to_numpy(np.int64))
    own = pd.Series(frames, tables.frames.index).reindex(stacks["frame"].to_numpy()).fillna(_PROGRAM)
    codes = _of_chains(own.to_numpy(np.int64), stacks.index.get_indexer(pd.Index(stacks["caller"])))
    started = pd.Series(codes, stacks.index).reindex(copies["stack"].to_numpy()).fillna(_PROGRAM)
    return _named(started.to_numpy(np.int64), copies.index)


def only(table: pd.DataFrame, libraries: pd.Series[str], library: Library) -> pd.DataFrame:
    """The rows that are of one library."""
    return table[(libraries == checked(library)).to_numpy()]


def checked(library: Library) -> Library:
    """The library; UsageError where there is none of the name."""
    if library not in LIBRARIES:
        raise UsageError(f"there is no library {library!r}", f"use one of {', '.join(LIBRARIES)}")
    return library


def _of_launches(tables: Tables) -> Ints:
    codes = _matching(tables.launches["kernel"], _KERNELS, bare_name)
    codes[(tables.launches["group"] > 0).to_numpy()] = LIBRARIES.index("NCCL")
    return codes


def _of_sites(tables: Tables) -> Ints:
    lines = tables.lines
    own = np.minimum(_matching(lines["function"], _FUNCTIONS, bare_name), _first_library(lines["file"], is_header))
    chains = _of_chains(own, lines.index.get_indexer(pd.Index(lines["inlined_at"])))
    inlined = pd.Series(chains, lines.index).reindex(tables.sites["line_id"].to_numpy()).fillna(_PROGRAM)
    codes: Ints = np.minimum(_matching(tables.sites["kernel"], _FUNCTIONS, bare_name), inlined.to_numpy(np.int64))
    return codes


def _of_chains(own: Ints, outward: Ints) -> Ints:
    """For each link of chains the first library among itself and the links outward; -1 ends a chain."""
    return chains.lowest(own, outward)


def _matching(names: pd.Series[str], patterns: dict[str, re.Pattern[str]], spelled: Callable[[str], str] = str) -> Ints:
    """The library whose pattern a name has, as a place in LIBRARIES; each different name is looked at once."""
    return _first_library(names, lambda library, name: patterns[library].search(name) is not None, spelled)


def _first_library(
    names: pd.Series[str], fits: Callable[[str, str], bool], spelled: Callable[[str], str] = str
) -> Ints:
    """The first library that a name fits, as a place in LIBRARIES; each different name is looked at once."""
    codes, present = pd.factorize(names)
    found = [_PROGRAM] * (len(present) + 1)
    for place, name in enumerate(map(spelled, present)):
        fitting = (LIBRARIES.index(library) for library in LIBRARIES[:_PROGRAM] if fits(library, name))
        found[place] = next(fitting, _PROGRAM)
    return np.array(found, np.int64)[codes]


def _named(codes: Ints, index: pd.Index) -> pd.Series[str]:
    return pd.Series(pd.Categorical.from_codes(codes, categories=pd.Index(LIBRARIES, dtype="str")), index)
