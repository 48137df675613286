"""Flame graphs: the tree by arithmetic, on sums and stacks that chance made, and its files."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest

import snoopie
from snoopie.analysis.source import flame
from snoopie.analysis.source.flame import HOST, KERNEL, LINE, MOST_FRAMES, OWNER, PYTHON
from snoopie.errors import UsageError
from snoopie.exporters import flame as files
from tests.support.call_stacks import Program

KERNEL_NAME = "void app::sweep<float>(float*)"
SVG = "{http://www.w3.org/2000/svg}"


def traced(folder: Path) -> snoopie.Trace:
    """Two lines of Python call a function of C++, with another inlined, that launches; a third launch has no stack."""
    program = Program()
    builder = program.builder
    launch_api = program.frame("/usr/lib/libcudart.so.13", ("cudaLaunchKernel", "", 0))
    stub = program.frame("/home/u/app", (KERNEL_NAME, "/home/u/a.cu", 3))
    step = program.frame("/home/u/app", ("put<4>(int)", "/home/u/a.h", 3), ("step(int)", "/home/u/a.cu", 9))
    first = program.frame("", ("train", "/home/u/train.py", 5))
    second = program.frame("", ("train", "/home/u/train.py", 6))
    kernel = builder.function(KERNEL_NAME)
    near = builder.site(kernel, "STG.E", "store", 4, line=builder.line("/home/u/a.cu", 20))
    far = builder.site(kernel, "STG.E", "store", 4)
    for frame, lanes in ((first, 64), (second, 32)):
        launch = builder.launch(kernel, 0, stack=program.stack(launch_api, stub, step, frame))
        builder.count(launch, near, 1, 2, lanes, 8)
    builder.count(builder.launch(kernel, 1), far, 0, 1, 32, 8)
    return program.load(folder)


def test_from_callers_to_owners(tmp_path: Path) -> None:
    tree = traced(tmp_path).flame_tree()
    assert tree.columns.tolist() == ["parent", "depth", "kind", "name", "file", "line", "bytes"]
    of_launch = [
        (HOST, "step (a.cu:9)", "/home/u/a.cu", 9),
        (HOST, "put (a.h:3)", "/home/u/a.h", 3),
        (KERNEL, "app::sweep<float>", "", 0),
        (LINE, "a.cu:20", "/home/u/a.cu", 20),
        (OWNER, "GPU 1", "", 0),
    ]
    expected: list[tuple[int, int, tuple[str, str, str, int], int]] = [(-1, 0, ("all", "all", "", 0), 512)]
    for line, amount in ((5, 256), (6, 128)):
        for depth, node in enumerate([(PYTHON, f"train (train.py:{line})", "/home/u/train.py", line), *of_launch]):
            expected.append((len(expected) - 1 if depth else 0, depth + 1, node, amount))
    for depth, node in enumerate(
        [(KERNEL, "app::sweep<float>", "", 0), (LINE, "(no source line)", "", 0), (OWNER, "GPU 0", "", 0)]
    ):
        expected.append((len(expected) - 1 if depth else 0, depth + 1, node, 128))
    found = [
        (parent, depth, (kind, name, file, line), amount)
        for parent, depth, kind, name, file, line, amount in tree.itertuples(index=False)
    ]
    assert found == expected


def test_other_values_and_views(tmp_path: Path) -> None:
    trace = traced(tmp_path)
    assert trace.flame_tree("accesses")["accesses"].iloc[0] == 5
    assert trace.select(issuers="GPU 1").flame_tree()["kind"].tolist() == ["all", KERNEL, LINE, OWNER]
    assert len(trace.select(kernels="no such kernel").flame_tree()) == 1
    with pytest.raises(UsageError, match="no value time; choose accesses"):
        trace.flame_tree("time")  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(20))
def test_every_part_is_the_sum_of_what_it_holds(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    program = Program()
    builder = program.builder
    frames = [program.frame("/home/u/app", (f"f{number}", "/home/u/a.cu", number)) for number in range(5)]
    kernel = builder.function("k")
    sites = [builder.site(kernel, "STG.E", "store", 4, line=builder.line("/home/u/a.cu", line)) for line in (1, 2)]
    expected: dict[str, int] = {}
    for _ in range(30):
        chain = [chance.randrange(5) for _ in range(chance.randrange(5))]
        launch = builder.launch(kernel, 0, stack=program.stack(*(frames[number] for number in chain)))
        place, owner, lanes = chance.randrange(2), chance.randrange(2), chance.randrange(1, 33)
        builder.count(launch, sites[place], owner, 1, lanes, 8)
        callers = [f"f{number} (a.cu:{number})" if number else "f0 (a.cu:0)" for number in reversed(chain)]
        path = ";".join([*callers, "k", f"a.cu:{place + 1}", f"GPU {owner}"])
        expected[path] = expected.get(path, 0) + 4 * lanes
    trace = program.load(tmp_path)
    tree = trace.flame_tree()
    inner = tree[tree.index.isin(tree["parent"])]
    held = tree.iloc[1:].groupby("parent")["bytes"].sum()
    assert inner["bytes"].tolist() == held.tolist()
    assert (tree["parent"].iloc[1:] < tree.index[1:]).all()
    lines = files.collapsed(tree, "bytes").splitlines()
    assert {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines} == expected


def test_a_recursion_without_end_is_cut(tmp_path: Path) -> None:
    program = Program()
    kernel = program.builder.function("k")
    frame = program.frame("/home/u/app", ("again", "/home/u/a.cu", 4))
    launch = program.builder.launch(kernel, 0, stack=program.stack(*[frame] * 5000))
    program.builder.count(launch, program.builder.site(kernel, "STG.E", "store", 4), 1, 1, 32, 4)
    tree = program.load(tmp_path).flame_tree()
    assert tree["kind"].tolist() == ["all", *[HOST] * MOST_FRAMES, KERNEL, LINE, OWNER]


def test_speedscope(tmp_path: Path) -> None:
    document = json.loads(files.speedscope(traced(tmp_path).flame_tree(), "bytes"))
    (profile,) = document["profiles"]
    frames = document["shared"]["frames"]
    assert profile["unit"] == "bytes"
    assert profile["endValue"] == sum(profile["weights"]) == 512
    names = [[frames[number]["name"] for number in sample] for sample in profile["samples"]]
    assert names[0] == ["train (train.py:5)", "step (a.cu:9)", "put (a.h:3)", "app::sweep<float>", "a.cu:20", "GPU 1"]
    assert {"name": "a.cu:20", "file": "/home/u/a.cu", "line": 20} in frames


def test_svg(tmp_path: Path) -> None:
    tree = traced(tmp_path).flame_tree()
    root = ElementTree.fromstring(files.svg(tree, "bytes"))
    parts = root.findall(f"{SVG}g")
    assert len(parts) == len(tree)
    assert parts[0].findtext(f"{SVG}title") == "all\n512 B, 100.0%"
    widths = [float(part.find(f"{SVG}rect").get("width", "")) for part in parts]  # type: ignore[union-attr]
    assert widths[1] == pytest.approx(widths[0] / 2, abs=0.01)


def test_hostile_names(tmp_path: Path) -> None:
    program = Program()
    evil = "</title><script>alert(1)</script>\x00\x1b;\n&\ufffe"
    frame = program.frame("", (evil, "/home/u/x\n.py", 1))
    kernel = program.builder.function(evil)
    launch = program.builder.launch(kernel, 0, stack=program.stack(frame))
    program.builder.count(launch, program.builder.site(kernel, "STG.E", "store", 4), 1, 1, 32, 4)
    trace = program.load(tmp_path)
    for name in files.FORMATS:
        path = tmp_path / name
        assert files.export(trace, path, name) == 1
        text = path.read_text(encoding="utf-8")
        assert "<script>" not in text or name != "flamegraph"
    root = ElementTree.parse(tmp_path / "flamegraph").getroot()
    assert root.find(f".//{SVG}script") is None
    assert (tmp_path / "collapsed").read_text().count("\n") == 1
    assert (tmp_path / "collapsed").read_text().count(";") == 3
    assert json.loads((tmp_path / "speedscope").read_text())["profiles"][0]["weights"] == [128]


def test_paths_are_the_leaves(tmp_path: Path) -> None:
    tree = traced(tmp_path).flame_tree()
    assert [tree["kind"][path[-1]] for path in flame.paths(tree)] == [OWNER] * 3
    assert list(flame.paths(tree.head(1))) == []
