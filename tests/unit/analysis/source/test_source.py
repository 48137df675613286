"""Finding the source: only inside the folders that were named, and never a wrong file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

import snoopie
from snoopie.analysis.source import finder
from snoopie.analysis.source.finder import MAX_SOURCE, Finder, Mapping, read_source
from snoopie.analysis.source.lines import inlined, ways
from snoopie.errors import UsageError
from tests.support import ring
from tests.support.encoder import TraceBuilder
from tests.support.processes import open_files


def find_source(file: str, folders: Sequence[str | Path], mappings: Sequence[Mapping] = ()) -> Path | None:
    return Finder(folders, mappings).find(file)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project beside a secret."""
    (tmp_path / "secret.cu").write_text("secret")
    return ring.write_sources(tmp_path / "project")


def test_a_recorded_path_is_found_by_its_end(folder: Path) -> None:
    assert find_source(ring.RING_CU, [folder]) == folder / "src/ring.cu"
    assert find_source(ring.SHIFT_H, [folder]) == folder / "include/shift.h"
    assert find_source(ring.RING_CU, [folder / "src"]) == folder / "src/ring.cu"
    assert find_source(ring.RING_CU, [folder.parent]) == folder / "src/ring.cu"
    assert find_source(str(folder / "src/ring.cu"), [folder]) == folder / "src/ring.cu"
    assert find_source("ring.cu", [str(folder)]) == folder / "src/ring.cu"
    assert find_source("./x/../src/ring.cu", [folder]) == folder / "src/ring.cu"
    assert find_source("../../src/ring.cu", [folder]) == folder / "src/ring.cu"


def test_what_is_not_there(folder: Path) -> None:
    for file in ("other.cu", "ring.CU", "ing.cu", "", ".", "..", "/", "src/", "src/..", "a\0b.cu", "src", "x" * 5000):
        assert find_source(file, [folder]) is None
    assert find_source(ring.RING_CU, []) is None
    assert find_source(ring.RING_CU, [folder / "absent", folder / "src/ring.cu"]) is None


@pytest.mark.parametrize("file", ["../secret.cu", "src/../../secret.cu", "/../secret.cu", "secret.cu"])
def test_nothing_outside_the_folder(folder: Path, file: str) -> None:
    assert find_source(file, [folder]) is None
    assert find_source(str(folder.parent / "secret.cu"), [folder]) is None
    assert find_source("/etc/passwd", [folder]) is None


def test_links_that_lead_out(folder: Path) -> None:
    (folder / "secret.cu").symlink_to(folder.parent / "secret.cu")
    (folder / "out").symlink_to(folder.parent)
    assert find_source("secret.cu", [folder]) is None
    assert find_source("out/secret.cu", [folder]) is None
    (folder / "loop.cu").symlink_to(folder / "loop.cu")
    assert find_source("loop.cu", [folder]) is None


def test_links_that_stay_inside(folder: Path) -> None:
    (folder / "alias.cu").symlink_to(folder / "src/ring.cu")
    assert find_source("alias.cu", [folder]) == folder / "src/ring.cu"


def test_things_that_are_no_regular_small_files(folder: Path) -> None:
    os.mkfifo(folder / "pipe.cu")
    (folder / "folder.cu").mkdir()
    (folder / "large.cu").write_bytes(bytes(MAX_SOURCE + 1))
    (folder / "largest.cu").write_bytes(bytes(MAX_SOURCE))
    assert find_source("pipe.cu", [folder]) is None
    assert find_source("folder.cu", [folder]) is None
    assert find_source("large.cu", [folder]) is None
    assert find_source("largest.cu", [folder]) is not None


def test_the_longest_common_end_wins(tmp_path: Path) -> None:
    for name in ("main.cu", "a/main.cu", "b/main.cu", "deep/b/main.cu", "deep/c/b/main.cu"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    assert find_source("/build/a/main.cu", [tmp_path]) == tmp_path / "a/main.cu"
    assert find_source("/build/c/b/main.cu", [tmp_path]) == tmp_path / "deep/c/b/main.cu"
    # As compiled in the folder itself.
    assert find_source("main.cu", [tmp_path]) == tmp_path / "main.cu"
    assert find_source("/build/b/main.cu", [tmp_path]) == tmp_path / "b/main.cu"


def test_no_guess_between_equals(tmp_path: Path) -> None:
    for name in ("a/main.cu", "b/main.cu"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(name)
    assert find_source("main.cu", [tmp_path]) is None
    assert find_source("/elsewhere/main.cu", [tmp_path]) is None
    assert find_source("main.cu", [tmp_path, tmp_path / "b"]) == tmp_path / "b/main.cu"


def test_earlier_folders_win(folder: Path, tmp_path: Path) -> None:
    other = ring.write_sources(tmp_path / "other")
    assert find_source(ring.RING_CU, [other, folder]) == other / "src/ring.cu"


def test_folders_are_gone_through_once_and_when_it_takes_that(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "src/deep").mkdir()
    (folder / "src/deep/far.cu").write_text("far")
    listed: list[str] = []
    scandir = os.scandir

    def noted(path: str) -> object:
        listed.append(os.path.relpath(path, tmp_path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", noted)
    places = Finder([folder])
    assert places.near("/build/src/ring.cu") == folder / "src/ring.cu"
    assert places.near("/build/far.cu") is None
    assert places.find("src/ring.cu") == folder / "src/ring.cu"
    assert listed == []
    # A part of it, then the rest.
    assert not places.look(1)
    assert listed == ["project"]
    assert places.find("/build/far.cu") == folder / "src/deep/far.cu"
    assert places.find("/build/src/ring.cu") == folder / "src/ring.cu"
    assert places.find("/build/include/absent.h") is None
    assert places.look(1)
    assert listed == ["project", "project/include", "project/src", "project/src/deep"]
    # Of a whole disk, the beginning.
    monkeypatch.setattr(finder, "_MAX_ENTRIES", 3)
    assert Finder([folder]).look(1 << 30)
    assert find_source("/build/far.cu", [folder]) is None


def test_reading(folder: Path) -> None:
    path = find_source(ring.RING_CU, [folder])
    assert path is not None
    assert read_source(path).splitlines()[5].strip() == "if (i < n) next[i] = T{};"
    (folder / "latin.cu").write_bytes(b"// \xe9t\xe9\n")
    assert read_source(folder / "latin.cu") == "// �t�\n"


def test_files_that_changed_after_they_were_found(folder: Path) -> None:
    os.mkfifo(folder / "pipe.cu")
    (folder / "large.cu").write_bytes(bytes(MAX_SOURCE + 1))
    for name in ("pipe.cu", "large.cu", "absent.cu", "src"):
        with pytest.raises(UsageError):
            read_source(folder / name)


@pytest.mark.parametrize("swapped", ["src/ring.cu", "src", "."])
def test_a_link_that_comes_after_it_was_found_leads_nowhere(folder: Path, swapped: str) -> None:
    outside = folder.parent / "outside"
    (outside / "src").mkdir(parents=True)
    for secret in (outside / "src/ring.cu", outside / "ring.cu"):
        secret.write_text("secret")
    path = find_source(ring.RING_CU, [folder])
    assert path is not None and "ring_put" in read_source(path)
    place = folder / swapped
    place.rename(folder.parent / "moved")
    place.symlink_to({"src": outside / "src", ".": outside}.get(swapped, outside / "ring.cu"))
    assert path.read_text() == "secret"
    with pytest.raises(UsageError, match=r"ring\.cu cannot be read"):
        read_source(path)
    assert not [file for file in open_files() if file.startswith(str(folder.parent))]


@pytest.mark.parametrize("after", range(1, 8))
@pytest.mark.parametrize("mapped", [False, True])
def test_a_link_that_comes_while_it_is_looked_for_leads_nowhere(
    folder: Path, monkeypatch: pytest.MonkeyPatch, after: int, mapped: bool
) -> None:
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "ring.cu").write_text("secret")
    resolve, looked = Path.resolve, 0

    def then_swapped(path: Path, strict: bool = False) -> Path:
        nonlocal looked
        real = resolve(path, strict)
        looked += path.name == "ring.cu"
        if looked == after and not (folder / "src").is_symlink():
            (folder / "src").rename(folder.parent / "moved")
            (folder / "src").symlink_to(outside)
        return real

    monkeypatch.setattr(Path, "resolve", then_swapped)
    found = find_source(ring.RING_CU, [] if mapped else [folder], [mapping("/home/u/ring", folder)] if mapped else [])
    assert looked > 0
    assert found is None or found.is_relative_to(folder)


def test_chain_of_an_inlined_line(ring_path: Path) -> None:
    trace = snoopie.load(ring_path)
    assert trace.line_chain(4) == [(ring.SHIFT_H, 4, "shifted(float const *, int)"), (ring.RING_CU, 12, "")]
    assert trace.line_chain(1) == [(ring.RING_CU, 6, "")]
    assert trace.line_chain(0) == []
    with pytest.raises(UsageError, match="99"):
        trace.line_chain(99)


def test_how_lines_were_inlined(ring_path: Path) -> None:
    trace = snoopie.load(ring_path)
    chain = "inlined: shift.h:4 (shifted(float const *, int)) ← ring.cu:12"
    assert inlined(trace.lines, [1, 4, 0, 4]) == ["", chain, "", chain]
    assert inlined(trace.lines, []) == []
    assert inlined(trace.lines.iloc[:0], [0]) == [""]
    assert ways(["", chain, "", chain]) == [chain]
    assert ways(map(str, range(11))) == ["0", "1", "2", "3", "4", "5", "6", "7", "inlined in 3 other ways"]


def test_of_long_chains_the_innermost(tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    line = 0
    for depth in range(100, 0, -1):
        line = builder.line("/x/deep.cuh", depth, inlined_at=line)
    site = builder.site(builder.function("k()"), "STG.E", "store", 4, line=line)
    builder.count(builder.launch(1, 0), site, 1, 1, 32, 4)
    (chain,) = inlined(snoopie.load(builder.write(tmp_path / "t.zst")).lines, [line])
    assert chain.split(" ← ")[::31] == ["inlined: deep.cuh:1", "deep.cuh:32"]
    assert chain.endswith("deep.cuh:32 ← …")


def mapping(built: str, here: Path | str) -> Mapping:
    return Mapping(built, str(here))


def test_what_was_built_elsewhere_lies_here(folder: Path, tmp_path: Path) -> None:
    to_folder = mapping("/home/u/ring", folder)
    assert find_source(ring.RING_CU, [], [to_folder]) == folder / "src/ring.cu"
    assert find_source(ring.SHIFT_H, [], [mapping("/home/u/ring/", folder)]) == folder / "include/shift.h"
    assert find_source("/home/u/x/../ring/./src//ring.cu", [], [to_folder]) == folder / "src/ring.cu"
    # Another name, another file of that name, or a part of a folder's name is not what was built there.
    for file in ("/home/u/ring2/src/ring.cu", "/home/ring/src/ring.cu", "home/u/ring/src/ring.cu", "/home/u/ring"):
        assert find_source(file, [], [to_folder]) is None
    # A mapping goes before the folders, of several the longest before others, and one that leads nowhere is passed by.
    other = ring.write_sources(tmp_path / "other")
    several = [to_folder, mapping("/home/u/ring/src", other / "src"), mapping("/home/u/ring/src/ring.cu", "/absent")]
    assert find_source(ring.RING_CU, [folder], several) == other / "src/ring.cu"
    assert find_source(ring.SHIFT_H, [other], several) == folder / "include/shift.h"
    assert find_source("elsewhere/shift.h", [other], several) == other / "include/shift.h"


def test_mappings_of_one_file_and_of_relative_paths(folder: Path) -> None:
    one = mapping("/build/generated/ring_17.cu", folder / "src/ring.cu")
    assert find_source("/build/generated/ring_17.cu", [], [one]) == folder / "src/ring.cu"
    assert find_source("/build/generated/ring_17.cu/x", [], [one]) is None
    assert find_source("src/ring.cu", [], [mapping("src", folder / "src")]) == folder / "src/ring.cu"
    assert find_source("./src/ring.cu", [], [mapping(".", folder)]) == folder / "src/ring.cu"
    assert find_source("/src/ring.cu", [], [mapping(".", folder)]) is None
    assert find_source("/src/ring.cu", [], [mapping("/", folder)]) == folder / "src/ring.cu"


@pytest.mark.parametrize(
    "file",
    [
        "/a/b/../../etc/passwd",
        "/a/b/../secret.cu",
        "/a/b/src/../../secret.cu",
        "/a/b/../../../../../../../etc/passwd",
        "/etc/passwd",
        "/a/b//etc/passwd",
        "/a/b",
        "/a/b/",
        "/a/b/src",
        "/a/b/.",
        "/a/b/x/..",
        "/a/b/\0",
        "/a/b/secret.cu\0.cu",
        "/a/b/out/secret.cu",
        "/a/b/linked.cu",
        "/a/b/pipe.cu",
        "/a/b/large.cu",
    ],
)
def test_a_mapping_opens_nothing_outside_its_folder(folder: Path, file: str) -> None:
    (folder / "out").symlink_to(folder.parent)
    (folder / "linked.cu").symlink_to(folder.parent / "secret.cu")
    os.mkfifo(folder / "pipe.cu")
    (folder / "large.cu").write_bytes(bytes(MAX_SOURCE + 1))
    assert find_source(file, [], [mapping("/a/b", folder)]) is None
    assert find_source(file, [], [mapping("/a/b", folder / "absent"), mapping("/a/b", "\0")]) is None


def test_a_link_that_the_user_names_may_lead_anywhere(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    assert find_source("/a/src/ring.cu", [], [mapping("/a", tmp_path / "link")]) == folder / "src/ring.cu"


def test_mappings_as_they_are_written() -> None:
    assert Mapping.parse("/a/b=/c/d") == Mapping("/a/b", "/c/d")
    assert Mapping.parse(" /a = /c=d ") == Mapping("/a", "/c=d")
    assert str(Mapping("/a/b", "/c/d")) == "/a/b=/c/d"
    for text in ("", "=", "/a", "/a=", "=/c", " = "):
        with pytest.raises(UsageError, match="BUILT=HERE"):
            Mapping.parse(text)
