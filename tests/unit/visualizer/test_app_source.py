"""The source view by Streamlit's test harness: files, lines, what is said of one line, where sources lie."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from snoopie.analysis.source import finder
from tests.support import ring, waiting
from tests.support.encoder import TraceBuilder
from tests.support.pages import PATIENCE, ROOT, said, sent, until, view
from visualizer.components import file_tree, listing
from visualizer.look import theme
from visualizer.session import source_files

MISSING = "Only folders that you name are looked into"


@pytest.fixture
def sources(ring_path: Path) -> Path:
    """The ring's trace with its sources beside it."""
    ring.write_sources(ring_path.parent)
    return ring_path


def text(lines: list[list[str]]) -> list[str]:
    return ["".join(line[1::2]) for line in lines]


def heading(app: AppTest) -> str:
    return str(app.subheader[0].value)


def captions(app: AppTest) -> str:
    return " ".join(caption.value for caption in app.caption)


def one_line(folder: Path, file: str, line: int = 1) -> Path:
    """A trace of one store."""
    trace = TraceBuilder(2)
    function = trace.function("k()")
    site = trace.site(function, "STG.E", "store", 4, line=trace.line(file, line))
    trace.count(trace.launch(function, 0), site, 1, 1, 32, 4)
    return trace.write(folder / "t.zst")


def test_files_and_lines_are_sent_as_they_are(monkeypatch: pytest.MonkeyPatch, sources: Path) -> None:
    app = view(monkeypatch, "source", sources)
    rows = sent(app, "file_tree")["rows"]
    assert [[row[1], row[2], row[3], row[4], row[6]] for row in rows] == [
        ["/home/u/ring", 0, True, "52.2 KiB", "100 %"],
        ["src", 1, True, "44.2 KiB", "84.7 %"],
        ["ring.cu", 2, False, "44.2 KiB", "84.7 %"],
        ["include", 1, True, "8 KiB", "15.3 %"],
        ["shift.h", 2, False, "8 KiB", "15.3 %"],
    ]
    shown = sent(app, "listing")
    assert text(shown["lines"]) == ring.RING_SOURCE.splitlines()
    assert (shown["chosen"], shown["total"], shown["first"], shown["hot"]) == (6, 20, 0, [6, 18, 19])
    assert shown["traffic"]["18"] == [
        [round(192 / 32768, 4), "192 B", "192 bytes"],
        [0.75, "48", "48 accesses"],
        [0.125, "12.5 %", "12.5 %"],
    ]
    # More than all that went over the wire: the bar ends where the cell does, and the hint says why.
    assert shown["traffic"]["19"][2] == [1, "800 %", "800 % (lanes shared addresses)"]


def test_file_and_line_of_the_address(monkeypatch: pytest.MonkeyPatch, sources: Path) -> None:
    app = view(monkeypatch, "source", sources, source_file=ring.SHIFT_H, source_line="4")
    assert heading(app) == theme.plain("shift.h:4")
    assert theme.plain("inlined: shift.h:4 (shifted(float const *, int)) ← ring.cu:12") in captions(app)
    app = view(monkeypatch, "source", sources, source_line="19")
    assert heading(app) == theme.plain("ring.cu:19")
    # A link within the session, to a line of another file that has the number of the chosen one.
    app = view(monkeypatch, "source", sources, source_line="4")
    assert heading(app) == theme.plain("ring.cu:4")
    app.query_params["source_file"] = ring.SHIFT_H
    app.query_params["source_line"] = "4"
    app.run()
    assert heading(app) == theme.plain("shift.h:4")


def test_a_line_belongs_to_its_file(monkeypatch: pytest.MonkeyPatch, sources: Path) -> None:
    app = view(monkeypatch, "source", sources, source_line="18")
    app.session_state["source_file"] = ring.SHIFT_H
    app.run()
    assert heading(app) == theme.plain("shift.h:4")
    assert "source_line" not in app.query_params
    # The filters exclude the file: another is shown, at its hottest line.
    app.multiselect(key="kernels").set_value([ring.BUMP]).run()
    assert not app.exception
    assert heading(app) == theme.plain("ring.cu:19")


@pytest.mark.parametrize("line", ["0", "-3", "x", "", "9" * 30, "<b>"])
def test_lines_that_are_none(monkeypatch: pytest.MonkeyPatch, sources: Path, line: str) -> None:
    app = view(monkeypatch, "source", sources, source_line=line)
    assert not app.exception
    assert heading(app) == theme.plain("ring.cu:6")


@pytest.mark.parametrize("line", ["7", "20", "21", "2147483647"])
@pytest.mark.parametrize("detail", ["sites", "objects"])
def test_lines_without_traffic(monkeypatch: pytest.MonkeyPatch, sources: Path, line: str, detail: str) -> None:
    app = view(monkeypatch, "source", sources, source_line=line, source_detail=detail)
    assert not app.exception
    assert heading(app) == theme.plain(f"ring.cu:{line}")
    assert "reached no memory outside its GPU" in said(app)


def test_a_file_that_the_trace_does_not_have(monkeypatch: pytest.MonkeyPatch, sources: Path) -> None:
    app = view(monkeypatch, "source", sources, source_file="/etc/<b>passwd</b>")
    assert not app.exception
    assert theme.plain("b> has no traffic in this trace") in said(app)
    assert heading(app) == theme.plain("ring.cu:6")


@pytest.mark.parametrize("detail", ["sites", "pairs", "objects", "stacks", "kernels", "nonsense"])
def test_what_is_said_of_a_line(monkeypatch: pytest.MonkeyPatch, sources: Path, detail: str) -> None:
    app = view(monkeypatch, "source", sources, source_detail=detail)
    assert not app.exception
    assert ("has no call stacks" in captions(app)) == (detail == "stacks")


def test_traces_without_objects_and_stacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = one_line(tmp_path, "/home/u/k.cu")
    assert "This trace has no allocations" in captions(view(monkeypatch, "source", path, source_detail="objects"))
    assert "has no call stacks" in captions(view(monkeypatch, "source", path, source_detail="stacks"))


def test_frames_of_a_launch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    frame = trace.add("frames", module=0, address=0)
    trace.add("symbols", frame=frame, line=12, function=trace.string("step"), file=trace.string("/home/u/train.py"))
    stack = trace.add("stacks", frame=frame, caller=0)
    function = trace.function("k()")
    site = trace.site(function, "STG.E", "store", 4, line=trace.line("/home/u/k.cu", 1))
    trace.count(trace.launch(function, 0, stack=stack), site, 1, 1, 32, 4)
    trace.count(trace.launch(function, 0), site, 1, 2, 64, 8)
    app = view(monkeypatch, "source", trace.write(tmp_path / "t.zst"), source_detail="stacks")
    assert not app.exception
    assert "has no call stacks" not in captions(app)


def test_only_a_window_of_a_large_file_is_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = one_line(tmp_path, "/home/u/k.cu", 3000)
    lines = [f"int a{number}; // {number}" for number in range(1, 5001)]
    (tmp_path / "k.cu").write_text("\n".join(lines))
    app = view(monkeypatch, "source", path)
    shown = sent(app, "listing")
    assert (shown["total"], shown["first"], len(shown["lines"])) == (5000, 2499, listing.WINDOW)
    assert text(shown["lines"]) == lines[2499:3499]
    # Near the end there is nothing beyond to send; a line within the window keeps it.
    app.query_params["source_line"] = "4999"
    app.run()
    assert sent(app, "listing")["first"] == 4000
    app.query_params["source_line"] = "4100"
    app.run()
    assert sent(app, "listing")["first"] == 4000


def test_traffic_beyond_the_end_of_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = one_line(tmp_path, "/home/u/k.cu", 4_000_000_000)
    (tmp_path / "k.cu").write_text("int a;\n")
    app = view(monkeypatch, "source", path)
    assert not app.exception
    assert "it is not the version that was compiled" in captions(app)
    assert sent(app, "listing")["total"] == listing.MOST


def with_text(folder: Path, text: str, **row: int) -> Path:
    """A trace of one store in k.cu, which holds the text of this file."""
    trace = TraceBuilder(2)
    function = trace.function("k()")
    site = trace.site(function, "STG.E", "store", 4, line=trace.line("/home/u/k.cu", 1))
    trace.count(trace.launch(function, 0), site, 1, 1, 32, 4)
    trace.add(
        "source_files", **{"file": trace.string("/home/u/k.cu"), "text": text, "bytes": len(text), "kept": 1} | row
    )
    return trace.write(folder / "t.zst")


RECORDED = "int then;\r\n\tint too;\n"


@pytest.mark.parametrize("here", [None, RECORDED, "int now;\n"])
def test_the_text_of_the_trace_goes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, here: str | None) -> None:
    path = with_text(tmp_path, RECORDED)
    if here is not None:
        (tmp_path / "k.cu").write_bytes(here.encode())
    app = view(monkeypatch, "source", path)
    assert text(sent(app, "listing")["lines"]) == ["int then;", "    int too;"]
    assert "Text recorded with the trace" in captions(app)
    other = theme.plain(f"{tmp_path / 'k.cu'} is a different version.")
    assert (other in captions(app)) == (here is not None and here != RECORDED)
    assert "different version" not in captions(app).replace(other, "")
    assert not said(app)


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize(("size", "why"), [(0, "it was gone when"), (5 << 20, "it was larger than what a trace keeps")])
def test_a_text_that_the_trace_lacks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, size: int, why: str, there: bool
) -> None:
    path = with_text(tmp_path, "", bytes=size, kept=0)
    if there:
        (tmp_path / "k.cu").write_text("int now;\n")
    app = view(monkeypatch, "source", path)
    assert not app.exception
    if there:
        assert text(sent(app, "listing")["lines"]) == ["int now;"]
        assert theme.plain(f"Text from {tmp_path / 'k.cu'}; {why}") in captions(app)
    else:
        assert why in said(app)


def test_thousands_of_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    function = trace.function("k()")
    launch = trace.launch(function, 0)
    for number in range(3000):
        site = trace.site(function, "STG.E", "store", 4, line=trace.line(f"/p/{number % 7}/f{number}.cu", 1))
        trace.count(launch, site, 1, number + 1, 32 * (number + 1), 4)
    last = "/p/0/f0.cu"
    app = view(monkeypatch, "source", trace.write(tmp_path / "t.zst"), source_file=last)
    tree = sent(app, "file_tree")
    # Two rows for /p and /p/0 are there anyway; the chosen file is the one with the fewest bytes.
    assert len(tree["rows"]) == file_tree.LARGEST + 1
    assert len(tree["rows"]) + tree["left_out"] == 3000 + 7 + 1
    assert last in [row[0] for row in tree["rows"]]


def test_sources_by_a_mapping_of_the_command_line(
    monkeypatch: pytest.MonkeyPatch, ring_path: Path, tmp_path: Path
) -> None:
    here = ring.write_sources(tmp_path / "here" / "checkout")
    app = view(monkeypatch, "source", ring_path, "--source-map", f"/home/u/ring={here}")
    assert MISSING not in said(app)
    assert text(sent(app, "listing")["lines"]) == ring.RING_SOURCE.splitlines()
    assert theme.plain(f"built at /home/u/ring → here {here}") in [element.value for element in app.markdown]
    wrong = view(monkeypatch, "source", ring_path, f"--source-map={here}")
    assert not wrong.exception
    assert "is not BUILT=HERE" in said(wrong).replace("\\", "")


def test_a_mapping_comes_and_goes(monkeypatch: pytest.MonkeyPatch, ring_path: Path, tmp_path: Path) -> None:
    here = ring.write_sources(tmp_path / "here" / "checkout")
    lonely = tmp_path / "lonely"
    lonely.mkdir()
    app = view(monkeypatch, "source", ring_path.rename(lonely / "t.zst"))
    assert MISSING in said(app)
    # The traffic of the lines is there without the text.
    assert sent(app, "listing")["numbers"] == [6, 18, 19]
    assert app.text_input(key="source_built_missing").value == "/home/u/ring/src"
    look = [button for button in app.button if button.label == "Look there"]
    app.text_input(key="source_here_missing").set_value(str(tmp_path / "absent"))
    look[-1].click().run()
    assert theme.plain(f"There is no {tmp_path / 'absent'}.") in said(app)
    app.text_input(key="source_built_missing").set_value("/home/u/ring")
    app.text_input(key="source_here_missing").set_value(str(here))
    [button for button in app.button if button.label == "Look there"][-1].click().run()
    assert not app.exception
    assert MISSING not in said(app)
    assert text(sent(app, "listing")["lines"]) == ring.RING_SOURCE.splitlines()
    assert not [key for key in app.query_params if key not in ("source_file", "source_line")]
    app.button(key="source_unmap_0").click().run()
    assert MISSING in said(app)


def test_a_folder_without_a_mapping(monkeypatch: pytest.MonkeyPatch, ring_path: Path, tmp_path: Path) -> None:
    here = ring.write_sources(tmp_path / "here" / "checkout")
    lonely = tmp_path / "lonely"
    lonely.mkdir()
    app = view(monkeypatch, "source", ring_path.rename(lonely / "t.zst"))
    app.text_input(key="source_built_missing").set_value("")
    app.text_input(key="source_here_missing").set_value(str(here))
    [button for button in app.button if button.label == "Look there"][-1].click().run()
    assert MISSING not in said(app)
    app.button(key="source_drop_0").click().run()
    assert MISSING in said(app)


@pytest.mark.parametrize(
    "file", ["/a/b/../secret.txt", "/a/b/../../etc/passwd", "/a/b/link.txt", "/a/b/out/secret.txt"]
)
def test_a_mapping_shows_nothing_outside_its_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str) -> None:
    (tmp_path / "secret.txt").write_text("do not show")
    folder, traces = tmp_path / "folder", tmp_path / "traces"
    folder.mkdir()
    traces.mkdir()
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "out").symlink_to(tmp_path)
    app = view(monkeypatch, "source", one_line(traces, file), f"--source-map=/a/b={folder}")
    assert not app.exception
    assert MISSING in said(app)
    assert sent(app, "listing")["lines"] == []


def test_sources_are_of_no_link(monkeypatch: pytest.MonkeyPatch, ring_path: Path, tmp_path: Path) -> None:
    """What a colleague's address says opens no folder here."""
    here = ring.write_sources(tmp_path / "here")
    lonely = tmp_path / "lonely"
    lonely.mkdir()
    query = {"source_folders": str(here), "source_mappings": f"/home/u/ring={here}", "source_map": f"/={here}"}
    app = view(monkeypatch, "source", ring_path.rename(lonely / "t.zst"), **query)
    assert MISSING in said(app)


def test_hostile_text_is_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    evil = "</span><script>document.title='taken'</script> `$x$` :red[r]"
    (tmp_path / "k.cu").write_text(f"{evil}\n// {evil}\n")
    app = view(monkeypatch, "source", one_line(tmp_path, "/home/u/k.cu"))
    assert text(sent(app, "listing")["lines"]) == [evil, f"// {evil}"]
    for element in [*app.markdown, *app.caption, *app.subheader]:
        assert "<script>" not in element.value.replace("\\<", "")


@pytest.mark.parametrize("sample", ["jacobi-4gpu.zst", "ring-4gpu.zst", "allreduce-4gpu", "halo-4gpu"])
@pytest.mark.parametrize("detail", ["objects", "stacks"])
def test_samples(monkeypatch: pytest.MonkeyPatch, sample: str, detail: str) -> None:
    assert not view(monkeypatch, "source", ROOT / "sample_traces" / sample, source_detail=detail).exception


def test_lines_at_which_kernels_waited_or_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = waiting.write_waiting(tmp_path)
    app = view(monkeypatch, "source", path, source_line=7)
    shown = sent(app, "listing")
    assert shown["amounts"] == ["Bytes", "Accesses", "Wire eff.", "Moving", "Held"]
    # It polls its own GPU's memory, so no byte crossed.
    assert shown["traffic"]["7"] == [[0, "", ""]] * 4 + [[1, "5.5 µs", "5,500 ns held"]]
    assert shown["traffic"]["9"][0][1] == "256 B"
    assert shown["traffic"]["9"][3:] == [[0.35, "350 ns", "350 ns moving"], [0, "", ""]]
    # The arrow keys stop at it.
    assert 7 in shown["hot"]
    assert "This line reached no memory outside its GPU: it waited." in captions(app)
    app = view(monkeypatch, "source", path, source_line=30)
    assert "1 wait did not end by the value." in captions(app)
    # Of a line that moved, how long is said beside what it moved.
    app = view(monkeypatch, "source", path, source_line=23, source_detail="waits")
    assert not app.exception
    assert "accessed other memory from a first to a last time" in captions(app)


def test_files_in_which_kernels_only_waited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = waiting.write_round(tmp_path)
    app = view(monkeypatch, "source", path)
    tree = {row[0]: row[4] for row in sent(app, "file_tree")["rows"]}
    assert (tree[waiting.RING_CU], tree[waiting.SYNC_CUH]) == ("10 KiB", "waited")
    assert sent(app, "file_tree")["chosen"] == waiting.RING_CU
    app = view(monkeypatch, "source", path, source_file=waiting.SYNC_CUH)
    assert not app.exception
    assert sent(app, "listing")["hot"] == [12]
    assert "This line reached no memory outside its GPU: it waited." in captions(app)


def test_a_trace_without_waits_has_no_room_for_them(monkeypatch: pytest.MonkeyPatch, sources: Path) -> None:
    app = view(monkeypatch, "source", sources)
    assert sent(app, "listing")["amounts"] == ["Bytes", "Accesses", "Wire eff."]


def test_a_large_folder_is_gone_through_beside_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The trace lies in one, as in a home: nothing waits for all that is there."""
    released, look = threading.Event(), finder.Finder.look

    def held(self: finder.Finder, entries: int) -> bool:
        if threading.current_thread().name == "source files":
            assert released.wait(PATIENCE)
        return look(self, entries)

    monkeypatch.setattr(finder.Finder, "look", held)
    monkeypatch.setattr(source_files, "_FEW", 1)
    (tmp_path / "far/away").mkdir(parents=True)
    (tmp_path / "far/away/k.cu").write_text("int a;\n")
    app = view(monkeypatch, "source", one_line(tmp_path, "/home/u/k.cu"))
    assert not app.exception
    assert theme.plain(f"Looking for k.cu in {tmp_path} …") in captions(app)
    assert MISSING not in said(app)
    released.set()
    until(app, lambda: "Looking for" not in captions(app))
    assert text(sent(app, "listing")["lines"]) == ["int a;"]
    # Later what is known holds until the folder was gone through once more.
    monkeypatch.setattr(source_files._Looked, "is_old", property(lambda looked: looked.whole.done()))
    released.clear()
    (tmp_path / "far/away/k.cu").rename(tmp_path / "far/k.cu")
    app.run()
    assert "Looking for" not in captions(app)
    released.set()
    until(app, lambda: theme.plain(f"Text from {tmp_path / 'far/k.cu'}") in captions(app))
