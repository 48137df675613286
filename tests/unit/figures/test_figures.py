"""Figures: what is drawn, how it is written, and `snoopie plot`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import snoopie
from snoopie import cli
from snoopie.analysis.traffic import pairs
from snoopie.errors import UsageError
from snoopie.figures import lines, matrix, picture, timeline
from tests.support import mixed, ring
from tests.support.encoder import TraceBuilder

MAGIC = {"png": b"\x89PNG\r\n", "svg": b"<?xml", "pdf": b"%PDF-"}
FIGURES = ("matrix", "timeline", "lines", "memory")


@pytest.fixture
def trace(ring_path: Path) -> snoopie.Trace:
    return snoopie.load(ring_path)


@pytest.fixture
def mixed_trace(tmp_path: Path) -> snoopie.Trace:
    (tmp_path / "mixed").mkdir()
    return snoopie.load(mixed.write_mixed(tmp_path / "mixed"))


def texts(figure: Figure) -> list[str]:
    """What is written in a figure, but for its axes."""
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def square(size: int, **cells: int) -> pd.DataFrame:
    labels = [f"GPU {number}" for number in range(size)]
    table = pd.DataFrame(0, pd.Index(labels, name="issuer"), pd.Index(labels, name="owner"))
    for place, amount in cells.items():
        table.iloc[int(place[1]), int(place[2])] = amount
    return table


# matrix


def test_matrix_has_its_numbers_in_one_unit(trace: snoopie.Trace) -> None:
    figure = trace.plot_matrix(title="Ring")
    axes, scale = figure.axes
    largest = max(map(max, ring.ISSUED_BYTES))
    assert largest == 14400
    numbers = sorted(text.get_text() for text in axes.texts)
    assert numbers == sorted(
        f"{cell / 1024:.1f}".removesuffix(".0") for row in ring.ISSUED_BYTES for cell in row if cell
    )
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("Issuer", "Owner")
    assert scale.get_ylabel() == "Bytes (KiB)"
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["GPU 0", "GPU 1", "GPU 2", "GPU 3"]
    assert figure.texts[0].get_text() == "Ring"
    # One cell is darkest: that of the largest number, GPU 3 on GPU 0.
    filled = {patch.get_xy(): sum(patch.get_facecolor()[:3]) for patch in axes.patches if patch.get_fill()}
    darkest = min(filled, key=lambda place: filled[place])
    assert (int(darkest[0]), int(darkest[1])) == (0, 3)
    assert len(filled) == len(numbers)


def test_matrix_keeps_other_places_apart(mixed_trace: snoopie.Trace) -> None:
    figure = mixed_trace.plot_matrix()
    axes = figure.axes[0]
    columns = [tick.get_text() for tick in axes.get_xticklabels()]
    assert columns == ["GPU 0", "GPU 1", "host", "unknown", "multicast 0", "multicast 1"]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["GPU 0", "GPU 1"]  # the others issue nothing
    gaps = np.diff(axes.get_xticks())
    assert gaps[1] > gaps[0] == gaps[2]
    left = sorted({round(patch.get_x(), 3) for patch in axes.patches if isinstance(patch, Rectangle)})
    assert np.allclose(np.diff(left), gaps)


def test_matrix_by_flow_and_values(mixed_trace: snoopie.Trace) -> None:
    figure = mixed_trace.plot_matrix("accesses", "flow")
    assert (figure.axes[0].get_ylabel(), figure.axes[0].get_xlabel()) == ("From", "To")
    assert figure.axes[1].get_ylabel() == "Accesses"
    assert "96" in texts(figure)
    with pytest.raises(UsageError, match="no accesses, only bytes"):
        mixed_trace.plot_matrix("accesses", initiated="host")


@pytest.mark.parametrize(("gpus", "numbers"), [(2, True), (8, True), (64, False)])
def test_matrix_from_few_to_many(gpus: int, numbers: bool, tmp_path: Path) -> None:
    table = square(gpus, c01=1 << 30, c10=1 << 20)
    figure = matrix.draw(table, "bytes", gpus=gpus)
    assert [text.get_text() for text in figure.axes[0].texts] == (["1", "<0.1"] if numbers else [])
    assert figure.get_size_inches()[0] == 3.5
    picture.write(figure, tmp_path / "m.svg")
    assert (tmp_path / "m.svg").stat().st_size < 200_000


def test_matrix_of_more_places_than_can_be_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(pairs, "LARGEST", 12)
    builder = TraceBuilder(200)
    builder.header["links"] = []
    builder.header["owners"] = {"host": 254, "unknown": 255, "first_set": 254}
    function = builder.function("kernel(float*)")
    site = builder.site(function, "STG.E", "store", 4)
    for issuer, owner, accesses in [(7, 150, 9), (3, 7, 4), (8, 9, 1)]:
        builder.count(builder.launch(function, issuer), site, owner, accesses, 32 * accesses, 4 * accesses)
    trace = snoopie.load(builder.write(tmp_path / "many.zst"))
    table, gpus, left = trace._drawn_matrix(most=3)
    assert (list(table.index), gpus, left) == (["GPU 3", "GPU 7", "GPU 150"], 3, 197)
    assert table.loc["GPU 7", "GPU 150"] == trace.by_pair()["bytes"].max()
    assert table.to_numpy().sum() == trace.by_pair()["bytes"].iloc[:2].sum()
    figure = matrix.draw(table, "bytes", gpus=gpus, left=left)
    assert [text.get_text() for text in figure.texts] == ["Of 200 places the 3 with most traffic"]
    with pytest.raises(UsageError, match=r"a square of 200 places is too large, and the limit is 12; ask for by_pair"):
        trace.matrix()


def test_no_number_is_too_small_to_read() -> None:
    for gpus in range(2, 24):
        figure = matrix.draw(square(gpus, c01=12345, c10=678), "lanes", gpus=gpus, width=2.5)
        assert all(text.get_fontsize() >= 3.8 for text in figure.axes[0].texts)


def test_memory_of_many_devices_is_drawn_together(tmp_path: Path) -> None:
    trace = TraceBuilder(20)
    for gpu in range(20):
        trace.allocation("device", 1 << 20, gpu, 1000)
    (axes,) = snoopie.load(trace.write(tmp_path / "many.zst")).plot_memory().axes
    assert axes.get_title(loc="left") == "All processes and devices"


def test_empty_figures_say_why(tmp_path: Path) -> None:
    trace = snoopie.load(TraceBuilder(2).write(tmp_path / "empty.zst"))
    assert texts(trace.plot_matrix()) == ["No traffic to show"]
    assert texts(trace.plot_lines()) == ["No line reached memory outside its GPU"]
    assert texts(trace.plot_timeline()) == ["Nothing in this trace has a time"]
    assert texts(trace.plot_memory()) == ["No memory in this trace"]


# lines


def test_lines_have_amounts_and_efficiency(trace: snoopie.Trace) -> None:
    figure = trace.plot_lines()
    (axes,) = figure.axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [
        "ring.cu:6",
        "ring.cu:19",
        "shift.h:4",
        "ring.cu:18",
    ]
    assert [text.get_text() for text in axes.texts] == [
        "32 KiB, 100 %",
        "12 KiB, 800 %",
        "8 KiB, 12.5 %",
        "192 B, 12.5 %",
    ]
    wire, asked = axes.containers
    assert [bar.get_width() for bar in asked] == [32, 12, 8, 192 / 1024]
    assert [bar.get_width() for bar in wire] == [32, 1.5, 64, 1.5]
    assert axes.get_xlabel() == "Bytes (KiB)"
    assert axes.get_xlim()[1] > 64


def test_lines_left_out_are_summed(trace: snoopie.Trace) -> None:
    (axes,) = trace.plot_lines(top=2).axes
    assert [tick.get_text() for tick in axes.get_yticklabels()][-1] == "2 more lines"
    assert axes.texts[-1].get_text() == "8.2 KiB"
    (axes,) = trace.plot_lines("accesses", top=1).axes
    assert [text.get_text() for text in axes.texts] == ["64", "160"]
    with pytest.raises(UsageError, match="no value 'launch'"):
        trace.plot_lines("launch")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="0 lines"):
        trace.plot_lines(top=0)


def test_names_of_lines_tell_files_apart() -> None:
    files = ["/a/x/k.cu", "/b/x/k.cu", "/c/other.cu", ""]
    assert lines.names(files, [1, 2, 3, 0]) == ["a/x/k.cu:1", "b/x/k.cu:2", "other.cu:3", "(no source line)"]
    assert lines.names(["/a/" + 80 * "n" + ".cu"], [12345], 12) == ["…nn.cu:12345"]


# timeline


def test_timeline_has_a_row_for_each_pair(mixed_trace: snoopie.Trace) -> None:
    figure = mixed_trace.plot_timeline(initiated="both")
    ran, moved = figure.axes
    assert [tick.get_text() for tick in ran.get_yticklabels()] == ["GPU 0", "GPU 1"]
    names = [tick.get_text() for tick in moved.get_yticklabels()]
    assert names[:2] == ["GPU 0 → GPU 1", "GPU 0 → host"]
    totals = {name: text.get_text() for name, text in zip(names, moved.texts, strict=True)}
    # 2048 + 32768 + 8192 by kernels, 2 × 65536 by copies
    assert totals["GPU 0 → GPU 1"] == "170 KiB"
    assert moved.get_xlabel() == "Time (µs)"
    assert ran.get_title(loc="left") == "Launches, at the time of their calls"


def test_timeline_of_spans(tmp_path: Path) -> None:
    builder = ring.ring_builder()
    for launch in builder.rows["launches"]:
        builder.add("spans", launch=launch["id"], start=launch["time"] + 500, end=launch["time"] + 900)
    ran, moved = snoopie.load(builder.write(tmp_path / "t.zst")).plot_timeline().axes
    assert ran.get_title(loc="left") == "Launches"
    assert moved.get_title(loc="left").startswith("Bytes by issuer → owner; a full row is 8 KiB in 1 µs")


def test_timeline_sums_what_does_not_fit() -> None:
    moved = pd.DataFrame(
        [(f"GPU {a}", f"GPU {b}", 1000, 2000, 10 + 100 * (a == 0)) for a in range(5) for b in range(5) if a != b],
        columns=["issuer", "owner", "start", "end", "bytes"],
    )
    nothing = pd.DataFrame({"gpu": [], "issuer": [], "start": [], "end": [], "spanned": []}).astype("int64")
    figure = timeline.draw(moved, nothing, nothing, {place: f"GPU {place}" for place in range(5)}, gpus=5)
    names = [tick.get_text() for tick in figure.axes[1].get_yticklabels()]
    assert len(names) == 12
    assert names[-1] == "9 other pairs"
    assert figure.axes[1].texts[-1].get_text() == "90 B"


def test_bars_near_each_other_are_one() -> None:
    launches = pd.DataFrame({"gpu": 0, "start": range(0, 10**6, 2), "end": range(1, 10**6, 2), "spanned": True})
    copies = pd.DataFrame({"issuer": [0], "start": [10**7], "end": [10**7]})
    moved = pd.DataFrame(columns=["issuer", "owner", "start", "end", "bytes"])
    figure = timeline.draw(moved, launches, copies, {0: "GPU 0"}, gpus=1)
    assert [len(collection.get_paths()) for collection in figure.axes[0].collections] == [1, 1]


# files


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("suffix", picture.SUFFIXES)
def test_plot_writes_the_same_file_again(
    figure: str, suffix: str, ring_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"{figure}{suffix}"
    words = ["plot", str(ring_path), "--figure", figure, "-o", str(path), "--dpi", "60"]
    assert cli.main(words) == 0
    done = capsys.readouterr()
    assert done.out.startswith(f"wrote {path}, {3.5 if figure in ('matrix', 'lines') else 7.16:.2f} × ")
    assert done.err.splitlines()[-1] == f"Next: snoopie report {ring_path} -o report.html"
    first = path.read_bytes()
    assert first.startswith(MAGIC[suffix[1:]])
    assert cli.main(words) == 1
    assert "already exists" in capsys.readouterr().err
    assert cli.main([*words, "--force"]) == 0
    assert path.read_bytes() == first
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []
    if suffix == ".svg":
        assert b"<dc:date>" not in first
    if suffix == ".pdf":
        assert b"CreationDate" not in first
        assert b"/Type3" not in first


def test_text_in_an_svg_is_text(ring_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "x.svg"
    assert cli.main(["plot", str(ring_path), "--figure", "matrix", "--reading", "flow", "-o", str(path)]) == 0
    written = re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text())
    assert {"GPU 0", "GPU 3", "From", "To", "12.1", "Bytes (KiB)"} <= set(written)


def test_width_and_kernels(ring_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.svg"
    words = ["plot", str(ring_path), "--figure", "lines", "-o", str(path), "--width", "89mm", "-k", "ring_put"]
    assert cli.main(words) == 0
    assert capsys.readouterr().out.startswith(f"wrote {path}, 3.50 × ")
    assert "ring.cu:6" in path.read_text()
    assert "ring.cu:19" not in path.read_text()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--figure", "matrix", "-o", "x.gif"], "a picture cannot be written as x.gif"),
        (["--figure", "matrix", "-o", "x.pdf", "--top", "3"], "--figure matrix has no --top; it is for lines"),
        (["--figure", "matrix", "-o", "x.pdf", "-k", "none"], "no kernel is called none"),
        (["--figure", "matrix", "-o", "x.pdf", "--width", "900in"], "a figure cannot be 900 inches wide"),
        (["--figure", "matrix", "-o", "/dev/null/x.pdf"], "cannot be written"),
    ],
)
def test_wrong_usage_is_one_line(
    words: list[str], sentence: str, ring_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["plot", str(ring_path), *words]) in (1, 2)
    err = capsys.readouterr().err
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_names_are_drawn_as_they_stand(tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    hostile = "/x/$\\frac{<script>\x1b]0;&amp;\u202e.cu"
    site = builder.site(builder.function("k()"), "STG.E", "store", 4, line=builder.line(hostile, 3))
    builder.count(builder.launch(1, 0), site, 1, 1, 32, 4)
    figure = snoopie.load(builder.write(tmp_path / "t.zst")).plot_lines(title="$\\alpha<b>")
    picture.write(figure, tmp_path / "t.svg")
    drawn = (tmp_path / "t.svg").read_text()
    assert "$\\frac{&lt;script&gt;\N{REPLACEMENT CHARACTER}]0;&amp;amp;\N{REPLACEMENT CHARACTER}.cu:3" in drawn
    assert "$\\alpha&lt;b&gt;" in drawn
    shown = picture.inline_svg(figure, '"><script>')
    assert shown.startswith('<svg role="img" aria-label="&quot;&gt;&lt;script&gt;"')
    assert "<script>" not in shown
    assert "currentColor" in shown


def test_a_notebook_shows_a_figure(trace: snoopie.Trace) -> None:
    content, size = trace.plot_matrix(width=4)._repr_png_()  # type: ignore[attr-defined]
    assert content.startswith(MAGIC["png"])
    assert size["width"] == 384
