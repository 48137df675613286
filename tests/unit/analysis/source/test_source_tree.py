"""Files in their folders: what is one folder, in which order, and paths that are no ordinary ones."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import snoopie
from snoopie.analysis.source.tree import tree
from tests.support import ring


def drawn(files: dict[str, int]) -> list[str]:
    """The tree as it is read: indented, with the bytes."""
    table = tree(pd.DataFrame({"file": list(files), "bytes": list(files.values())}))
    return [f"{'  ' * row.depth}{row.name}{' +' * row.folder} {row.bytes}" for row in table.itertuples(index=False)]


def test_the_ring(ring_path: Path) -> None:
    trace = snoopie.load(ring_path)
    assert trace.by_file()[["file", "lines", "accesses", "bytes"]].values.tolist() == [
        [ring.RING_CU, 3, 160, 32768 + 192 + 12288],
        [ring.SHIFT_H, 1, 64, 8192],
    ]
    assert trace.file_tree().values.tolist() == [
        ["/home/u/ring/", "/home/u/ring", 0, True, 53440, 1.0],
        ["/home/u/ring/src/", "src", 1, True, 45248, 45248 / 53440],
        [ring.RING_CU, "ring.cu", 2, False, 45248, 45248 / 53440],
        ["/home/u/ring/include/", "include", 1, True, 8192, 8192 / 53440],
        [ring.SHIFT_H, "shift.h", 2, False, 8192, 8192 / 53440],
    ]
    assert trace.select(kernels="ring_get*").file_tree()["path"].tolist() == ["/home/u/ring/include/", ring.SHIFT_H]
    assert trace.select(kernels="none").file_tree().empty


def test_most_bytes_first_in_each_folder() -> None:
    files = {"/p/a/one.cu": 1, "/p/a/two.cu": 5, "/p/b/x/y/three.h": 4, "/p/main.cu": 5, "/p/b/x/y/four.h": 4}
    assert drawn(files) == [
        "/p + 19",
        "  b/x/y + 8",
        "    four.h 4",
        "    three.h 4",
        "  a + 6",
        "    two.cu 5",
        "    one.cu 1",
        "  main.cu 5",
    ]


def test_a_folder_with_a_file_of_its_own_stays_apart() -> None:
    assert drawn({"/a/b/c/x.cu": 2, "/a/y.cu": 1}) == ["/a + 3", "  b/c + 2", "    x.cu 2", "  y.cu 1"]


def test_relative_and_absolute_paths_are_different_places() -> None:
    assert drawn({"src/a.cu": 3, "/src/a.cu": 2, "b.cu": 1}) == [
        "src + 3",
        "  a.cu 3",
        "/src + 2",
        "  a.cu 2",
        "b.cu 1",
    ]


def test_ways_back_and_double_slashes_lead_to_the_same_folder() -> None:
    table = tree(
        pd.DataFrame({"file": ["/a/b/../c/x.cu", "/a//c/./y.cu", "/../z.cu", "../../o.cu"], "bytes": [4, 3, 2, 1]})
    )
    assert table[["path", "name"]].values.tolist() == [
        ["/", "/"],
        ["/a/c/", "a/c"],
        ["/a/b/../c/x.cu", "x.cu"],
        ["/a//c/./y.cu", "y.cu"],
        ["/../z.cu", "z.cu"],
        ["../../", "../.."],
        ["../../o.cu", "o.cu"],
    ]


def test_names_that_are_none() -> None:
    assert drawn({"": 9, "/": 3, ".": 2, "..": 1}) == [" 9", "/ 3", ". 2", ".. 1"]
    assert drawn({"<i>/*x*": 1}) == ["<i> + 1", "  *x* 1"]


def test_paths_of_thousands_of_parts_and_thousands_of_files() -> None:
    deep = "/" + "a/" * 20_000 + "x.cu"
    table = tree(pd.DataFrame({"file": [deep, "/b.cu"], "bytes": [2, 1]}))
    assert table["depth"].tolist() == [0, 1, 2, 1]
    many = pd.DataFrame({"file": [f"/p/{n % 70}/{n}.cu" for n in range(5000)], "bytes": range(5000)})
    assert len(tree(many)) == 5000 + 70 + 1
