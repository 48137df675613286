"""Lanes and what ran in them, as the timeline draws them: labels, bars, names and colours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from snoopie import Trace
from snoopie.analysis.time import activity
from snoopie.figures import colours
from snoopie.words import units
from snoopie.words.text import cut, visible
from visualizer.components.timeline import Bars, Lane
from visualizer.parts import places, streams
from visualizer.pictures.lanes import TITLES, short
from visualizer.session import state

# Letters of a name: no bar is longer.
_LONGEST = 120
# Kernels have so many colours, before the first comes again.
_COLOURS = 20
_NAMED = (activity.KERNEL, activity.LAUNCH)


def lanes(table: pd.DataFrame, apart: bool) -> list[Lane]:
    """Rows for `Trace.activity_lanes`; ``apart``: each of one stream or thread."""
    processes, known = state.trace().processes, places.by_label()
    ranks, named = processes["rank"].to_dict(), streams.names()
    made = []
    for what, place, process, line in table[["what", "place", "process", "line"]].itertuples(index=False):
        parts, about = [TITLES[what]], ""
        if len(processes) > 1 and process >= 0:
            parts.append(f"rank {ranks[process]}" if ranks[process] >= 0 else f"process {process}")
        if apart and what in activity.OF_THREADS:
            parts.append(f"thread {line}")
        elif apart:
            handle = int(line) % (1 << 64)
            parts.append(streams.name(named, process, handle))
            about = f"stream handle {handle:#x}"
        colour = known[place].colour if known[place].kind == "gpu" else colours.NEUTRAL
        made.append(Lane(what, visible(place), " · ".join(parts), colour, about, what == activity.WAIT))
    return made


def bars(blocks: pd.DataFrame, rows: pd.Series[int], names: dict[tuple[str, str], int], what: pd.Series[str]) -> Bars:
    """``rows``: lane → its place in the picture, ``what``: lane → what is in it. ``names`` is added to: what it is and
    its name → a number."""
    kinds = what.loc[blocks["lane"]].tolist()
    numbers = [names.setdefault(key, len(names)) for key in zip(kinds, blocks["name"].tolist(), strict=True)]
    length = (blocks["end"] - blocks["start"]).to_numpy()
    share = np.round(100 * blocks["busy"].to_numpy() / np.maximum(length, 1)).clip(0, 100).astype(np.int64)
    origin = state.trace().period[0]
    about = [""] * len(blocks)
    of_waits = [place for place, kind in enumerate(kinds) if kind == activity.WAIT and blocks["id"].iloc[place]]
    if of_waits:
        table = _waits().loc[blocks["id"].iloc[of_waits]]
        share[of_waits] = [_share(longest, end - start) for longest, start, end in _columns(table, "longest start end")]
        for place, (waits, waited, longest) in zip(of_waits, _columns(table, "waits waited longest"), strict=True):
            about[place] = _of_waits(waits, waited, longest)
    return Bars(
        rows.loc[blocks["lane"]].tolist(),
        (blocks["start"] - origin).tolist(),
        length.tolist(),
        blocks["count"].tolist(),
        blocks["id"].tolist(),
        numbers,
        share.tolist(),
        about,
    )


def _waits() -> pd.DataFrame:
    return state.ask(Trace.waits_by_launch)


def _columns(table: pd.DataFrame, names: str) -> Iterator[tuple[int, ...]]:
    return table[names.split()].itertuples(index=False, name=None)


def _share(longest: int, length: int) -> int:
    """In how much of the time from the first wait of a launch to the end of the last a warp waited at least (percent):
    how the others lie in it is not known."""
    return min(100 * longest // max(length, 1), 100)


def _of_waits(waits: int, waited: int, longest: int) -> str:
    if waits == 1:
        return f"one wait of {units.duration(waited)}"
    return f"{units.duration(waited)} in {waits:,} waits, all warps added up; the longest {units.duration(longest)}"


def said(names: Sequence[tuple[str, str]]) -> list[str]:
    """The names as they stand in bars."""
    return [cut(visible(short(what, name)), _LONGEST) for what, name in names]


def of_names(names: Sequence[tuple[str, str]], by_kernel: bool) -> list[str]:
    """Their colours; "" for that of the lane. A wait has that of the GPU that it is for."""
    own = {(activity.WAIT, name): colour for name, colour in _of_awaited(names).items()}
    if not by_kernel:
        return [own.get(key, "") for key in names]
    # Of the whole trace: a filter changes no colour.
    kernels = sorted(map(str, state.trace().launches["kernel"].unique()))
    palette = colours.of_kernels(min(len(kernels), _COLOURS))
    of_kernel = {kernel: palette[place % len(palette)] for place, kernel in enumerate(kernels)}
    own |= {(what, name): of_kernel[name] for what, name in names if what in _NAMED}
    return [own.get(key, colours.NEUTRAL) for key in names]


def _of_awaited(names: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The colours of waits by their names."""
    if not any(what == activity.WAIT for what, _ in names):
        return {}
    known = places.by_label()
    gpus = {label: place.colour for label, place in known.items() if place.kind == "gpu"}
    awaited = _waits().drop_duplicates("name")
    return {name: gpus.get(of, colours.NEUTRAL) for name, of in zip(awaited["name"], awaited["awaited"], strict=True)}
