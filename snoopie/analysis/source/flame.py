"""A flame graph of traffic: who called whom on the host, the kernel, the line in it, and whose memory it reached.

One tree for all processes: functions of the same name and place are one, whichever rank they ran in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import numpy as np
import pandas as pd

from snoopie.analysis.source.stacks import is_runtime
from snoopie.words.names import bare_name, short_name

ALL, PYTHON, HOST, KERNEL, LINE, OWNER = KINDS = ("all", "python", "host", "kernel", "line", "owner")
NO_LINE = "(no source line)"
# Of the host's frames. What is called from deeper is shown as called from there: no picture has as many rows.
MOST_FRAMES = 256


# Whether it is Python's, its name, file and line.
_Function = tuple[bool, str, str, int]
# frame → its functions, the outermost first: each is inlined into the one before; and whether all are the runtime's.
_Levels = Mapping[int, tuple[Sequence[_Function], bool]]


@dataclass
class _Tree:
    """Nodes, each behind its parent."""

    parent: list[int] = field(default_factory=lambda: [-1])
    depth: list[int] = field(default_factory=lambda: [0])
    kind: list[str] = field(default_factory=lambda: [ALL])
    name: list[str] = field(default_factory=lambda: [ALL])
    file: list[str] = field(default_factory=lambda: [""])
    line: list[int] = field(default_factory=lambda: [0])
    known: dict[tuple[int, str, str, str, int], int] = field(default_factory=dict)

    def below(self, parent: int, kind: str, name: str, file: str = "", line: int = 0) -> int:
        key = (parent, kind, name, file, line)
        node = self.known.setdefault(key, len(self.parent))
        if node == len(self.parent):
            self.parent.append(parent)
            self.depth.append(self.depth[parent] + 1)
            self.kind.append(kind)
            self.name.append(name)
            self.file.append(file)
            self.line.append(line)
        return node


def tree(
    sums: pd.DataFrame,
    value: str,
    stacks: pd.DataFrame,
    places: pd.DataFrame,
    kernels: Iterable[str],
    label: Callable[[int], str],
) -> pd.DataFrame:
    """parent depth kind name file line ``value``: the nodes of the tree, a parent before its children, of which those
    with most come first. The index counts them; the parent of the first, which is all, is -1.

    ``sums`` has stack (0 unknown), kernel, file, line, owner and ``value``. The frames of the runtime that a launch
    went through at last are left out, and so are functions of the names of ``kernels``, which the compiler calls.
    """
    found = _Tree()
    calls = _Calls(found, stacks, _levels(places, kernels))
    amounts: dict[int, int] = {}
    columns = [sums[name].tolist() for name in ("stack", "kernel", "file", "line", "owner", value)]
    for stack, kernel, file, line, owner, amount in zip(*columns, strict=True):
        if amount == 0:
            continue
        in_kernel = found.below(calls.node(stack), KERNEL, short_name(kernel))
        on_line = found.below(in_kernel, LINE, _place(file, line), file, line)
        leaf = found.below(on_line, OWNER, label(owner))
        amounts[leaf] = amounts.get(leaf, 0) + amount
    return _ordered(found, value, amounts)


class _Calls:
    """The nodes of call stacks. Stacks share their callers, and so does the tree: no stack is walked twice."""

    def __init__(self, tree: _Tree, stacks: pd.DataFrame, levels: _Levels) -> None:
        self._tree = tree
        self._caller = dict(zip(stacks.index.tolist(), stacks["caller"].tolist(), strict=True))
        self._frame = dict(zip(stacks.index.tolist(), stacks["frame"].tolist(), strict=True))
        self._levels = levels
        self._nodes = {0: 0}

    def node(self, stack: int) -> int:
        """The node of the innermost frame of a stack that is not the runtime's."""
        while stack and not self._of(stack):
            stack = self._caller[stack]
        inward = []
        while stack not in self._nodes:
            inward.append(stack)
            stack = self._caller[stack]
        node = self._nodes[stack]
        for stack in reversed(inward):
            for python, function, file, line in self._of(stack, all_of_them=True):
                if self._tree.depth[node] < MOST_FRAMES:
                    name = f"{function} ({_place(file, line)})" if file else function
                    node = self._tree.below(node, PYTHON if python else HOST, name, file, line)
            self._nodes[stack] = node
        return node

    def _of(self, stack: int, all_of_them: bool = False) -> Sequence[_Function]:
        """What the frame of a stack is, outermost first; nothing for one of the runtime unless all are asked for."""
        levels, runtime = self._levels.get(self._frame[stack], ((), True))
        return levels if all_of_them or not runtime else ()


def _levels(places: pd.DataFrame, kernels: Iterable[str]) -> _Levels:
    found: dict[int, tuple[list[_Function], bool]] = {}
    ordered = places.assign(runtime=is_runtime(places, kernels)).sort_values(
        ["frame", "level"], ascending=[True, False]
    )
    columns = [ordered[name].tolist() for name in ("frame", "python", "function", "file", "line", "runtime")]
    for frame, python, function, file, line, runtime in zip(*columns, strict=True):
        levels, every = found.get(frame, ([], True))
        levels.append((python, function if python else bare_name(function), file, line))
        found[frame] = (levels, every and runtime)
    return found


def _place(file: str, line: int) -> str:
    return f"{PurePosixPath(file).name}:{line}" if file else NO_LINE


def _ordered(found: _Tree, value: str, amounts: dict[int, int]) -> pd.DataFrame:
    totals = np.zeros(len(found.parent), dtype=np.int64)
    totals[list(amounts)] = list(amounts.values())
    children: list[list[int]] = [[] for _ in found.parent]
    for node in range(len(found.parent) - 1, 0, -1):
        totals[found.parent[node]] += totals[node]
        children[found.parent[node]].append(node)
    order, to_visit = [], [0]
    while to_visit:
        node = to_visit.pop()
        order.append(node)
        # Ties by name: the same trace always gives the same tree.
        to_visit += sorted(children[node], key=lambda child: (totals[child], found.name[child]))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    parents = np.array(found.parent)[order]
    return pd.DataFrame(
        {
            "parent": np.where(parents < 0, -1, place[parents]),
            "depth": np.array(found.depth)[order],
            **{
                name: pd.Series([getattr(found, name)[node] for node in order], dtype="str")
                for name in ("kind", "name", "file")
            },
            "line": np.array(found.line)[order],
            value: totals[order],
        }
    )


def paths(tree: pd.DataFrame) -> Iterator[list[int]]:
    """The leaves of a tree in its order, each as its nodes from the first below the root on."""
    depths = tree["depth"].tolist()
    chain: list[int] = []
    for node in range(1, len(depths)):
        del chain[depths[node] - 1 :]
        chain.append(node)
        if node + 1 == len(depths) or depths[node + 1] <= depths[node]:
            yield list(chain)
