"""Call stacks: the frames of one, and a line that says which of the user's own code a stack comes from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from snoopie.errors import UsageError
from snoopie.trace import chains
from snoopie.trace.tables import Ints
from snoopie.words.libraries import are_libraries
from snoopie.words.names import short_name

# Modules that calls pass through on their way to the driver.
_MODULES = ("libcuda", "libcudart", "libnccl", "libtorch", "libc10", "libc", "libpthread", "libstdc++", "libgcc_s",
            "libffi")  # fmt: skip
# Of these, whatever the names go on with.
_ALL_MODULES = ("ld-linux", "libpython")
# Modules of CUDA: what is in them is nobody's own.
_DRIVERS = re.compile(r"lib(?:cuda|cupti|nccl)|nvcuda|cudart|cupti", re.IGNORECASE)
# Functions of the C library that start a program or a thread.
_STARTS = re.compile(r"^(?:_start|__libc_start\w*|__libc_init\w*|start_thread|_*clone3?)(?:@|\(|$)")
# A label is cut at so many letters, as the collector cuts names.
_LONGEST = 1000
# Functions of the runtime and of the driver, also where they are linked into the program, and nvcc's own for a launch.
_RUNTIME = re.compile(r"^_*(?:cuda[A-Z]|cu[A-Z]|libcudart_static|cudart::|nccl[A-Z]|device_stub__)")


def frames_of(stacks: pd.DataFrame, stack: int) -> list[int]:
    """The frames of a stack, innermost first; [] for 0. UsageError for a stack that is not there."""
    if stack == 0:
        return []
    if stack not in stacks.index:
        raise _absent(stack)
    frames, callers = stacks["frame"].to_numpy(), stacks["caller"].to_numpy()
    chain = []
    while stack:
        place = stacks.index.get_loc(stack)
        chain.append(int(frames[place]))
        stack = int(callers[place])
    return chain


def _absent(stack: int) -> UsageError:
    return UsageError(f"there is no stack {stack}", "take one from the column stack of launches, copies or objects")


def places(frames: pd.DataFrame, modules: pd.DataFrame, symbols: pd.DataFrame) -> pd.DataFrame:
    """frame level function file line code module (path) python: all frames, each followed by those it is inlined into.

    The function of a frame without a name is its place in its file, "libx.so+0x1234".
    """
    named = symbols.sort_values(["frame", "level"], kind="stable")
    table = frames.rename_axis("frame").reset_index().merge(named, on="frame", how="left")
    path = modules["path"].reindex(table["module"].to_numpy()).fillna("").to_numpy(dtype=object)
    texts = {name: table[name].fillna("").astype("str") for name in ("function", "file", "code")}
    address = table["address"].to_numpy()
    python = (table["module"] == 0).to_numpy() & (address == 0) & (texts["file"] != "").to_numpy()
    unknown = np.flatnonzero((texts["function"] == "").to_numpy() & ~python)
    function = texts["function"].to_numpy(dtype=object).copy()
    for row in unknown:
        file = str(path[row]).rpartition("/")[2]
        function[row] = f"{file}+{address[row]:#x}" if file else f"{address[row]:#x}"
    return pd.DataFrame(
        {
            "frame": table["frame"].to_numpy(),
            "level": table["level"].fillna(0).astype(np.int64),
            "function": pd.Series(function, dtype="str"),
            "file": texts["file"],
            "line": table["line"].fillna(0).astype(np.int64),
            "code": texts["code"],
            "module": pd.Series(path, dtype="str"),
            "python": python,
        }
    )


def stack(places: pd.DataFrame, chain: Sequence[int]) -> pd.DataFrame:
    """The rows of `places` of these frames, in their order."""
    few = places[places["frame"].isin(chain)]
    rows = few.groupby("frame", sort=False).indices
    # A recursion has a frame many times.
    return few.iloc[[row for frame in chain for row in rows[frame]]].reset_index(drop=True)


# Frames of one spelled stack, and of all rows that have one together: each stack has some in any case.
_SPELLED, _SPELLED_IN_ALL, _SPELLED_LEAST = 256, 20_000_000, 8


def spelled(stacks: pd.DataFrame, places: pd.DataFrame, of_rows: pd.Series[int]) -> pd.Series[str]:
    """Of the stack of each row "function(module) -> function(module)", innermost first; "" for 0. UsageError for a
    stack that is not there.

    Of a deep one "…" stands for what follows 256 frames, or fewer where the rows are more than 78,000.
    """
    frames: dict[int, str] = {}
    for frame, function, module, file in places[["frame", "function", "module", "file"]].itertuples(index=False):
        text = f"{function}({module.rpartition('/')[2] or file})"
        frames[frame] = f"{frames[frame]} -> {text}" if frame in frames else text
    most = max(_SPELLED_LEAST, min(_SPELLED, _SPELLED_IN_ALL // max(len(of_rows), 1)))
    callers = zip(stacks["frame"].tolist(), stacks["caller"].tolist(), strict=True)
    above = dict(zip(stacks.index.tolist(), callers, strict=True))
    found = {0: ""}
    for stack in of_rows.unique().tolist():
        chain: list[str] = []
        at = stack
        while at and len(chain) < most:
            if at not in above:
                raise _absent(at)
            frame, at = above[at]
            chain.append(frames[frame])
        found[stack] = " -> ".join([*chain, "…"] if at else chain)
    return of_rows.map(found).astype("str")


def labels(stacks: pd.DataFrame, places: pd.DataFrame, kernels: Iterable[str] = ()) -> pd.Series:
    """stack → "train.py:12 step": the innermost frame of the user's own, else the innermost in no library,
    else the innermost that is none of CUDA's.

    Functions of the names of ``kernels`` are what the compiler calls to launch them, and nobody's own.
    """
    text, rank = _frame_labels(places, set(kernels))
    at = text.index.get_indexer(pd.Index(stacks["frame"]))
    # Ids begin at 1: a caller of 0 is not found, and is -1.
    best = chains.first_highest(rank[at], stacks.index.get_indexer(pd.Index(stacks["caller"])))
    return pd.Series(text.to_numpy(dtype=object)[at[best]], index=stacks.index, dtype="str")


def label_of(labels: pd.Series, stacks: Iterable[int]) -> pd.Series:
    """The labels of some stacks, with their index where they have one; "" for 0 and for what is not there."""
    wanted = stacks if isinstance(stacks, pd.Series) else pd.Series(np.fromiter(stacks, np.int64), dtype=np.int64)
    found = labels.reindex(wanted.to_numpy()).fillna("").astype("str").to_numpy()
    return pd.Series(found, index=wanted.index, dtype="str")


def own_code(stacks: pd.DataFrame, places: pd.DataFrame, wanted: Iterable[int]) -> Iterator[Iterator[str]]:
    """Of each of the ``wanted`` stacks, the source lines of its frames that are of no library, innermost first."""
    own = places[(places["code"] != "").to_numpy() & ~are_libraries(places["file"], places["function"])]
    codes = own.groupby("frame", sort=False)["code"].agg(list).to_dict()
    frames, callers = stacks["frame"].tolist(), stacks.index.get_indexer(pd.Index(stacks["caller"])).tolist()

    def lines(at: int) -> Iterator[str]:
        while at >= 0:
            yield from codes.get(frames[at], ())
            at = callers[at]

    return map(lines, stacks.index.get_indexer(pd.Index(wanted)).tolist())


def is_runtime(places: pd.DataFrame, kernels: Iterable[str] = ()) -> NDArray[np.bool_]:
    """Of each row of `places` whether it is a function of the CUDA runtime, the driver or NCCL, or one that the
    compiler made to launch one of the ``kernels``, whose name it has. No function of Python is."""
    module = _file_names(places["module"])
    return ~places["python"].to_numpy(bool) & (
        places["function"].isin(list(kernels)).to_numpy(bool)
        | places["function"].str.match(_RUNTIME).to_numpy(bool)
        | module.str.match(_DRIVERS).to_numpy(bool)
    )


def _frame_labels(places: pd.DataFrame, kernels: set[str]) -> tuple[pd.Series, Ints]:
    """frame → the label of its best level, and how good that is.

    3 = of the user's own, 2 = in no file that is known, and in no module that calls pass through, 1 = not of CUDA, 0.
    """
    file, name = places["file"], _file_names(places["module"])
    runtime = is_runtime(places, kernels)
    library = are_libraries(file, places["function"]) | _is_passed(name)
    starts = places["function"].str.match(_STARTS).to_numpy(bool) & ~places["python"].to_numpy(bool)
    rank = np.select([runtime | starts, library, (file == "").to_numpy()], [0, 1, 2], 3)
    # The innermost of the best levels of each frame.
    best = pd.DataFrame({"frame": places["frame"], "worse": -rank, "level": places["level"]})
    rows = best.sort_values(["frame", "worse", "level"], kind="stable").drop_duplicates("frame").index
    chosen = places.loc[rows]
    text = [
        f"{file.rpartition('/')[2]}:{line} {_short(function, python)}" if file else _short(function, python)
        for file, line, function, python in zip(
            chosen["file"], chosen["line"], chosen["function"], chosen["python"], strict=True
        )
    ]
    shown = [label if len(label) <= _LONGEST else f"{label[: _LONGEST - 1]}…" for label in text]
    return pd.Series(shown, index=chosen["frame"].to_numpy(), dtype="str"), rank[rows]


def _file_names(paths: pd.Series) -> pd.Series:
    """The last parts of paths, of Windows too."""
    return paths.str.split(r"[/\\]", regex=True).str[-1]


def _is_passed(names: pd.Series) -> NDArray[np.bool_]:
    """Which files are modules that calls pass through; each different name is looked at once."""
    codes, present = pd.factorize(names)
    return np.array([passes_calls_on(str(name)) for name in present], np.bool_)[codes]


def passes_calls_on(name: str) -> bool:
    """Whether a file is a module that calls pass through on their way to the driver: "libc.so.6", "libtorch_cpu.so"."""
    if name.startswith(_ALL_MODULES):
        return _is_shared(name)
    for module in _MODULES:
        rest = name.removeprefix(module)
        if rest != name and (
            rest == ".so" or rest.startswith(".so.") or (rest[:1] in tuple("-_.") and _is_shared(rest[1:]))
        ):
            return True
    return False


def _is_shared(name: str) -> bool:
    return name.endswith(".so") or ".so." in name


def _short(function: str, python: bool) -> str:
    return function if python else short_name(function)
