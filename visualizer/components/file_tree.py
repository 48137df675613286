"""Files in their folders with what they moved; a click or the keyboard opens one, a search shortens the tree."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
import pandas as pd

from snoopie.words import units
from snoopie.words.text import briefly
from visualizer.components import component, event

# Rows that are sent; of more, those with the most bytes.
LARGEST = 1000
COLUMNS = ["path", "name", "depth", "folder", "bytes", "share"]

_mount = component("file_tree", "elements")


def show(
    key: str,
    tree: pd.DataFrame,
    chosen: str,
    nameless: str,
    *,
    about: str,
    waited: Collection[str],
    on_choose: Callable[[str], None],
) -> None:
    """Draws a tree as `Trace.file_tree` has it, LARGEST rows at most.

    ``nameless`` is shown for what has no file, ``about`` stands before amounts that are estimates; in files ``waited``
    nothing moved, but kernels waited. ``on_choose`` is told the path of a file, which is one of the tree's.
    """
    files, only_waited = set(tree.loc[~tree["folder"], "path"]), set(waited)

    def changed() -> None:
        path = event(key, "file")
        if isinstance(path, str) and path in files:
            on_choose(path)

    some = _largest(tree, chosen)
    rows = []
    for path, name, depth, folder, moved, share in some[COLUMNS].values.tolist():
        amount = "waited" if path in only_waited else f"{about}{units.bytes(moved)}"
        # The path says which file is meant, as it is written in the trace; the last text is for people.
        whole = briefly(path, keep_end=True) or nameless
        shares = round(share, 4), units.percent(share)
        rows.append([path, briefly(name) or nameless, depth, folder, amount, *shares, whole])
    _mount(key=key, data={"rows": rows, "chosen": chosen, "left_out": len(tree) - len(some)}, on_file_change=changed)


def _largest(tree: pd.DataFrame, chosen: str) -> pd.DataFrame:
    """The rows with the most bytes, and the chosen one with its folders. A folder has at least what it holds."""
    if len(tree) <= LARGEST:
        return tree
    kept = np.zeros(len(tree), np.bool_)
    kept[np.argsort(-tree["bytes"].to_numpy(), kind="stable")[:LARGEST]] = True
    depths = tree["depth"].to_numpy()
    (found,) = np.nonzero((tree["path"] == chosen).to_numpy() & ~tree["folder"].to_numpy())
    depth = int(depths[found[0]]) + 1 if len(found) else 0
    for place in range(int(found[0]) if len(found) else -1, -1, -1):
        if depths[place] < depth:
            depth = int(depths[place])
            kept[place] = True
    return tree[kept]
