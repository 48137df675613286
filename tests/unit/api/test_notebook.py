"""How tables and traces show themselves in a notebook, and that the tutorial shows what it makes.

SNOOPIE_UPDATE_DOCS=1 writes the tutorial's outputs anew.
"""

from __future__ import annotations

import copy
import os
import pickle
import re
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from nbclient import NotebookClient

import snoopie
from snoopie.api.notebook import MOST_ROWS, Matrix, Rows, matrix_html, rows_html
from tests.support import ring
from tests.support.encoder import TraceBuilder

ROOT = Path(__file__).resolve().parents[3]
TUTORIAL = ROOT / "docs" / "tutorial.ipynb"


@pytest.fixture
def trace(ring_path: Path) -> snoopie.Trace:
    return snoopie.load(ring_path)


def cells(markup: str) -> list[str]:
    return re.findall(r"<t[hd](?: [^>]*)?>(.*?)</t[hd]>", markup)


def test_matrix_shows_scaled_amounts_and_exact_ones_on_hover(trace: snoopie.Trace) -> None:
    shown = trace.matrix()._repr_html_()
    assert cells(shown)[:5] == ["Issuer ↓ Owner →", "GPU 0", "GPU 1", "GPU 2", "GPU 3"]
    assert cells(shown)[-5:] == ["GPU 3", "14.1 KiB", "·", "·", "·"]
    assert 'title="14,400"' in shown
    shades = [float(alpha) for alpha in re.findall(r"rgba\(1, 115, 178, ([0-9.]+)\)", shown)]
    assert max(shades) <= 0.55  # text stays readable, in light and dark
    counted = trace.matrix("accesses")._repr_html_()
    assert "64" in cells(counted)
    assert "KiB" not in counted


def test_lines_show_bars(trace: snoopie.Trace) -> None:
    shown = trace.by_line()._repr_html_()
    assert cells(shown)[:3] == ["File", "Line", "Kernel"]
    assert "32 KiB" in cells(shown)
    assert "transparent 100.0%" in shown
    assert "transparent 37.5%" in shown  # 12288 of 32768


def test_tables_are_data_frames(trace: snoopie.Trace) -> None:
    by_line, matrix = trace.by_line(), trace.matrix()
    assert isinstance(by_line, pd.DataFrame)
    for derived in (by_line.head(2), by_line[["file", "bytes"]], by_line.copy(), matrix.T, matrix / 1024):
        assert type(derived) is pd.DataFrame
    pd.testing.assert_frame_equal(matrix, trace.matrix())
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(matrix)), matrix)
    assert pickle.loads(pickle.dumps(matrix))._repr_html_() == matrix._repr_html_()
    assert matrix.to_numpy().tolist() == ring.ISSUED_BYTES
    with pd.option_context("display.notebook_repr_html", False):
        assert matrix._repr_html_() is by_line._repr_html_() is None


def test_a_terminal_shows_every_number(trace: snoopie.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for table in (trace.by_line(), trace.by_site(), trace.matrix(), trace.single_launches(), trace.by_operation()):
        said = repr(table)
        assert "..." not in said
        assert max(map(len, said.splitlines())) <= 80
        numbers = {str(value) for name in table for value in table[name] if isinstance(value, int)}
        assert numbers <= set(said.split())
    assert repr(trace.matrix()).split()[-5:] == ["3", "14400", "0", "0", "0"]
    # What is cut are names: of a path its end is kept.
    assert "/home/u/ring/src/ring.cu" in repr(trace.by_line())
    long = Rows(pd.DataFrame({"file": ["/x" * 99 + "/end.cu"], "kernel": ["begin" + "x" * 99], "bytes": [12345678]}))
    assert "/end.cu" in repr(long) and "begin" in repr(long) and "12345678" in repr(long)
    with pd.option_context("display.max_rows", 2):
        assert repr(trace.by_line()).endswith("… and 2 more rows")


def test_control_characters_do_not_reach_a_terminal() -> None:
    assert "\x1b" not in repr(Rows(pd.DataFrame({"kernel": ["\x1b[31mred"], "bytes": [1]})))


def test_what_was_divided_is_no_number_of_bytes() -> None:
    table = Rows(pd.DataFrame({"bytes": [1024], "accesses": [5]}))
    assert cells(table._repr_html_() or "")[2:] == ["1 KiB", "5"]
    table["bytes"] = table["bytes"] / 4
    assert cells(table._repr_html_() or "")[2:] == ["256.0", "5"]


def test_large_tables_are_cut() -> None:
    shown = rows_html(pd.DataFrame({"line": range(MOST_ROWS + 7)}))
    assert shown.count("<tr>") == MOST_ROWS + 1
    assert "… and 7 more rows" in shown
    assert rows_html(pd.DataFrame({"line": []}, dtype="int64")).count("<tr>") == 1
    square = pd.DataFrame(1, range(200), range(200))
    assert len(matrix_html(square, "bytes")) < 600_000
    assert Matrix.of(square, "bytes").shape == (200, 200)


def test_hostile_names_are_escaped(tmp_path: Path) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    builder = TraceBuilder(2)
    site = builder.site(builder.function(hostile), "STG.E", "store", 4, line=builder.line(f"/{hostile}", 1))
    builder.count(builder.launch(1, 0), site, 1, 1, 32, 4)
    builder.notice(hostile)
    trace = snoopie.load(builder.write(tmp_path / "t.zst"))
    for shown in (trace._repr_html_(), trace.by_line()._repr_html_(), trace.by_kernel()._repr_html_()):
        assert "<img" not in shown
        assert "&lt;img src=x" in shown
    assert "<b>" not in matrix_html(pd.DataFrame([[1]], ["<b>"], ["<b>"]), "bytes")


def test_a_trace_shows_matrix_lines_and_losses(trace: snoopie.Trace) -> None:
    shown = trace._repr_html_()
    for text in ("1 process: 4 GPUs, 11 launches", "14.1 KiB", "/home/u/ring/src/ring.cu", "UTMALDG", "100 %"):
        assert text in shown
    assert len(shown) < 10_000


# the tutorial


@pytest.fixture(scope="module")
def tutorial() -> nbformat.NotebookNode:
    return nbformat.read(TUTORIAL, as_version=4)


@pytest.fixture(scope="module")
def executed(tutorial: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The tutorial with the outputs of now, without what differs from one execution to the next."""
    notebook = copy.deepcopy(tutorial)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        NotebookClient(
            notebook,
            timeout=240,
            kernel_name="python3",
            record_timing=False,
            resources={"metadata": {"path": TUTORIAL.parent}},
        ).execute()
    for cell in code(notebook):
        cell.execution_count = None
        for output in cell.outputs:
            if "execution_count" in output:
                output.execution_count = None
    notebook.metadata = tutorial.metadata
    if os.environ.get("SNOOPIE_UPDATE_DOCS"):
        nbformat.write(notebook, TUTORIAL)
        tutorial.cells = copy.deepcopy(notebook.cells)
    return notebook


def code(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def text(cell: nbformat.NotebookNode) -> list[object]:
    """What a cell shows, but for the points of pictures: these depend on the versions of libraries and fonts."""
    return [
        output.text if output.output_type == "stream" else {k: v for k, v in output.data.items() if k != "image/png"}
        for output in cell.outputs
    ]


def test_the_tutorial_shows_what_it_makes(tutorial: nbformat.NotebookNode, executed: nbformat.NotebookNode) -> None:
    for kept, now in zip(code(tutorial), code(executed), strict=True):
        assert text(kept) == text(now), (
            "docs/tutorial.ipynb is old: SNOOPIE_UPDATE_DOCS=1 pytest tests/unit/api/test_notebook.py"
        )
        assert [set(output.get("data", ())) for output in kept.outputs] == [
            set(output.get("data", ())) for output in now.outputs
        ]


def test_the_tutorial_runs(executed: nbformat.NotebookNode) -> None:
    shown = [output for cell in code(executed) for output in cell.outputs]
    kinds = [kind for output in shown for kind in output.get("data", {})]
    assert kinds.count("image/png") >= 3
    assert kinds.count("text/html") >= 5
    assert not [output for output in shown if output.output_type == "stream" and output.name == "stderr"]


@pytest.mark.parametrize(
    "method",
    ["findings", "compare", "memory_watermark", "leaks", "by_call", "by_launch_stack", "stack", "flame_tree", "expect"],
)
def test_the_tutorial_covers(tutorial: nbformat.NotebookNode, method: str) -> None:
    assert [cell for cell in code(tutorial) if f".{method}(" in cell.source and cell.outputs]


def test_the_tutorial_holds_nothing_of_one_execution(tutorial: nbformat.NotebookNode) -> None:
    nbformat.validate(tutorial)
    for cell in code(tutorial):
        assert cell.execution_count is None
        assert not cell.metadata
        assert all(output.get("execution_count") is None for output in cell.outputs)
    assert str(ROOT) not in TUTORIAL.read_text("utf-8")
