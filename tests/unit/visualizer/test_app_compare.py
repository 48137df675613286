"""The view Compare by Streamlit's test harness: which trace may be B, and what is said of the two."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from snoopie.figures import colours
from tests.support import compared, mixed, ring
from tests.support.contrast import ENOUGH, contrast
from tests.support.encoder import TraceBuilder
from tests.support.pages import metrics, said, view
from visualizer.look import theme


@pytest.fixture
def later_path(tmp_path: Path) -> Path:
    return compared.write_later(tmp_path)


def deltas(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.delta for metric in app.metric}


def charts(app: AppTest) -> list[list[list[float | None]]]:
    """The cells of each heatmap."""
    return [json.loads(chart.proto.spec)["data"][0]["z"] for chart in app.get("plotly_chart")]


def in_address(app: AppTest) -> str:
    """What the address calls B."""
    given = app.query_params["with"]
    return given if isinstance(given, str) else given[-1]


def open_as_b(app: AppTest, path: Path) -> None:
    app.text_input(key="other_path").set_value(str(path))
    next(button for button in app.button if button.label == "Compare").click().run()


def test_opened_by_its_path(monkeypatch: pytest.MonkeyPatch, ring_path: Path, later_path: Path) -> None:
    app = view(monkeypatch, "compare", ring_path)
    assert not app.metric
    open_as_b(app, later_path)
    assert not app.exception
    assert metrics(app) == {
        "Bytes": "61.2 KiB",
        "Wire bytes": "164 KiB",
        "Wire efficiency": "37.3 %",
        "Accesses": "296",
        "Launches": "12",
        "Bytes copied": "1 MiB",
        "Peak memory": "10 MiB",
        "Never freed": "10 MiB",
    }
    assert deltas(app)["Bytes"] == "+9 KiB"
    assert deltas(app)["Wire efficiency"] == "-15.4 %"
    # By a name that nobody can guess.
    name = in_address(app)
    assert re.fullmatch("[0-9a-f]{16}", name)
    # Another one.
    app.button(key="other_another").click().run()
    assert not app.metric
    app.button(key=f"other_known_{later_path}").click().run()
    assert metrics(app)["Accesses"] == "296"


def test_the_three_matrices(monkeypatch: pytest.MonkeyPatch, ring_path: Path, later_path: Path) -> None:
    app = view(monkeypatch, "compare", ring_path, f"--compare={later_path}")
    a, b, change = charts(app)
    assert [row[:4] for row in a[:4]] == [[cell or None for cell in row] for row in ring.ISSUED_BYTES]
    assert a[4] == [None] * 5
    assert b[0] == [None, 12288, 1024, None, None]
    # What moved the same is no change; what moved nothing in either is empty.
    assert change[1] == [0, None, 2048, None, None]
    assert change[0][2] == 1024


@pytest.mark.parametrize("dark", [False, True])
def test_numbers_of_changes_can_be_read(
    monkeypatch: pytest.MonkeyPatch, ring_path: Path, later_path: Path, dark: bool
) -> None:
    monkeypatch.setattr(theme, "is_dark", lambda: dark)
    app = view(monkeypatch, "compare", ring_path, f"--compare={later_path}")
    for chart in app.get("plotly_chart"):
        cells, numbers = json.loads(chart.proto.spec)["data"]
        palette = [colour for _, colour in cells["colorscale"]]
        assert len(numbers["text"]) == sum(cell is not None for row in cells["z"] for cell in row)
        for x, y, ink in zip(numbers["x"], numbers["y"], numbers["textfont"]["color"], strict=True):
            share = (cells["z"][y][x] - cells["zmin"]) / (cells["zmax"] - cells["zmin"])
            assert contrast(ink, colours.at(palette, share)) >= ENOUGH


def test_a_sample(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    app = view(monkeypatch, "compare", ring_path)
    next(button for button in app.button if button.label == r"jacobi\-4gpu").click().run()
    assert not app.exception
    assert metrics(app)["Accesses"] == "15.4 K"


def test_named_on_the_command_line(monkeypatch: pytest.MonkeyPatch, ring_path: Path, later_path: Path) -> None:
    app = view(monkeypatch, "compare", ring_path, f"--compare={later_path}", "--compare=/nowhere.zst")
    assert metrics(app)["Accesses"] == "296"
    assert "with" not in app.query_params
    # The second one by its address.
    app = view(monkeypatch, "compare", ring_path, f"--compare={later_path}", "--compare=/nowhere.zst",
               **{"with": "/nowhere.zst"})  # fmt: skip
    assert [error.value for error in app.error] == [r"there is no \/nowhere\.zst\; check the path"]


def test_an_address_opens_nothing(monkeypatch: pytest.MonkeyPatch, ring_path: Path, later_path: Path) -> None:
    app = view(monkeypatch, "compare", ring_path, **{"with": str(later_path)})
    assert not app.exception
    assert not app.metric
    assert "which has not been opened here" in said(app)
    # It goes on saying so until something is opened.
    assert "which has not been opened here" in said(app.run())
    open_as_b(app, later_path)
    assert "which has not been opened here" not in said(app)
    assert metrics(app)["Accesses"] == "296"


def test_a_path_that_another_session_opened_is_nobody_elses(
    monkeypatch: pytest.MonkeyPatch, ring_path: Path, later_path: Path
) -> None:
    first = view(monkeypatch, "compare", ring_path)
    open_as_b(first, later_path)
    name = in_address(first)
    other = view(monkeypatch, "compare", ring_path, **{"with": str(later_path)})
    assert "which has not been opened here" in said(other)
    assert not other.metric
    assert f"other_known_{later_path}" not in {button.key for button in other.button}
    # Who was sent the address, or reloads the page, has its name.
    again = view(monkeypatch, "compare", ring_path, **{"with": name})
    assert metrics(again)["Accesses"] == "296"


def test_a_wrong_path_leaves_the_form(monkeypatch: pytest.MonkeyPatch, ring_path: Path, later_path: Path) -> None:
    app = view(monkeypatch, "compare", ring_path)
    open_as_b(app, Path("/nowhere.zst"))
    assert "there is no" in app.error[0].value
    open_as_b(app, later_path)
    assert not app.error
    assert metrics(app)["Accesses"] == "296"


def test_a_trace_and_itself(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    app = view(monkeypatch, "compare", ring_path, f"--compare={ring_path}")
    assert not app.exception
    assert "No difference: every amount of the two traces" in said(app)
    assert "No difference in bytes between any two places." in said(app)
    assert "No difference in bytes by kernels: 3 compared." in said(app)
    assert set(deltas(app).values()) == {"no change"}


@pytest.mark.parametrize("by", ["Kernels", "Lines", "Objects", "Pairs"])
@pytest.mark.parametrize("initiated", ["device", "host"])
def test_every_table(
    monkeypatch: pytest.MonkeyPatch, ring_path: Path, later_path: Path, by: str, initiated: str
) -> None:
    app = view(monkeypatch, "compare", ring_path, f"--compare={later_path}", by=by, initiated=initiated)
    assert not app.exception
    assert not app.info
    drawn = [one.proto.id for one in app.get("bidi_component") if one.proto.component_name == "snoopie_table"]
    # Beside all amounts. Objects have no times.
    assert len([one for one in drawn if not one.endswith("-compare_summary")]) == 1 + (by != "Objects")


def test_source_side_by_side(monkeypatch: pytest.MonkeyPatch, ring_path: Path, later_path: Path) -> None:
    query = {"by": "Lines", "compare_file": ring.SHIFT_H}
    app = view(monkeypatch, "compare", ring_path, f"--compare={later_path}", **query)
    assert not app.exception
    (drawn,) = [element.proto.body for element in app.get("html") if "side-by-side" in element.proto.body]
    # Without the text in the traces or beside them, the line that moved something stands alone.
    assert drawn.count("<tr>") == 2
    assert "+8 KiB" in drawn
    assert 'title="A 8 KiB, B 16 KiB"' in drawn
    folder = ring.write_sources(ring_path.parent / "sources")
    app = view(monkeypatch, "compare", ring_path, f"--compare={later_path}", f"--source={folder}", **query)
    (drawn,) = [element.proto.body for element in app.get("html") if "side-by-side" in element.proto.body]
    assert drawn.count("    return from[64 * i];</td>") == 2
    assert drawn.count("+8 KiB") == 1


def test_efficiencies_are_not_compared(monkeypatch: pytest.MonkeyPatch, ring_path: Path, later_path: Path) -> None:
    """They are no sums: bytes are compared."""
    query = {"value": "wire_efficiency"}
    app = view(monkeypatch, "compare", ring_path, f"--compare={later_path}", **query)
    assert not app.exception
    assert any("bytes are compared" in caption.value for caption in app.caption)
    assert charts(app)[2][0][2] == 1024


def test_filters_hold_for_both(monkeypatch: pytest.MonkeyPatch, ring_path: Path, later_path: Path) -> None:
    query = {"kernels": ring.BUMP}
    app = view(monkeypatch, "compare", ring_path, f"--compare={later_path}", **query)
    assert not app.exception
    # B has no kernel of that name; "unsigned int *" in it is no pattern.
    assert (metrics(app)["Accesses"], deltas(app)["Accesses"]) == ("0", "-96")
    assert any(
        caption.value.startswith("Both traces are filtered") and "ring" in caption.value for caption in app.caption
    )
    app = view(monkeypatch, "compare", ring_path, f"--compare={later_path}", operations="load")
    assert (metrics(app)["Accesses"], deltas(app)["Accesses"]) == ("128", "+64")


def test_filters_of_places_hold_for_both(monkeypatch: pytest.MonkeyPatch, ring_path: Path, later_path: Path) -> None:
    app = view(monkeypatch, "compare", ring_path, f"--compare={later_path}", issuers="GPU 0")
    assert (metrics(app)["Bytes"], deltas(app)["Bytes"]) == ("13 KiB", "+3 KiB")
    assert not any("left out" in caption.value for caption in app.caption)


def test_filters_of_one_run_are_left_out(monkeypatch: pytest.MonkeyPatch, ring_path: Path, later_path: Path) -> None:
    app = view(monkeypatch, "compare", ring_path, f"--compare={later_path}", launches="1-2")
    assert not app.exception
    assert metrics(app)["Accesses"] == "296"
    assert any("process, time and launch do not carry over to another run" in text.value for text in app.caption)


def test_a_name_with_a_star_is_no_pattern(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, kernel in (("a", "k(int*)"), ("b", "k(int**)")):
        trace = TraceBuilder(2)
        function = trace.function(kernel)
        trace.count(trace.launch(function, 0), trace.site(function, "STG.E", "store", 4), 1, 1, 32, 4)
        trace.write(tmp_path / f"{name}.zst")
    app = view(monkeypatch, "compare", tmp_path / "a.zst", f"--compare={tmp_path / 'b.zst'}", kernels="k(int*)")
    assert (metrics(app)["Accesses"], deltas(app)["Accesses"]) == ("0", "-1")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"not a trace at all", "is not a Snoopie trace"),
        (b"\x28\xb5\x2f\xfd" + bytes(64), "bad.zst"),
        (None, "there is no"),
    ],
)
def test_a_bad_b_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, ring_path: Path, tmp_path: Path, content: bytes | None, sentence: str
) -> None:
    path = tmp_path / "bad.zst"
    if content is not None:
        path.write_bytes(content)
    app = view(monkeypatch, "compare", ring_path, f"--compare={path}")
    assert not app.exception
    (error,) = app.error
    assert sentence in error.value.replace("\\", "")
    app.button(key="other_another").click().run()
    assert not app.error


@pytest.mark.parametrize("name", ["~nobody-has-this-name/x", "x" * 5000, "a\0b", "/dev/null", "/"])
def test_what_is_no_path(monkeypatch: pytest.MonkeyPatch, ring_path: Path, name: str) -> None:
    app = view(monkeypatch, "compare", ring_path, f"--compare={name}")
    assert not app.exception
    assert len(app.error) == 1


def test_a_cut_b(monkeypatch: pytest.MonkeyPatch, ring_path: Path, tmp_path: Path) -> None:
    cut = compared.later_builder().write(tmp_path / "cut.zst", footer=False)
    app = view(monkeypatch, "compare", ring_path, f"--compare={cut}")
    assert len(app.error) == 1
    app.button(key="other_read_truncated").click().run()
    assert not app.exception
    assert metrics(app)["Never freed"] == "not known"
    assert metrics(app)["Accesses"] == "296"


def test_a_hostile_b(monkeypatch: pytest.MonkeyPatch, ring_path: Path, tmp_path: Path) -> None:
    hostile = compared.later_builder()
    for row in hostile.rows["strings"]:
        row["text"] = row["text"].replace("ring_scale", "<img src=x onerror=alert(1)>[a](http://x)")
    hostile.notice("**bold** [link](http://x)")
    app = view(monkeypatch, "compare", ring_path, f"--compare={hostile.write(tmp_path / 'h.zst')}", by="Lines")
    assert not app.exception
    assert not any("](http" in text.value for text in [*app.markdown, *app.caption, *app.info])


def test_runs_of_all_paths(monkeypatch: pytest.MonkeyPatch, ring_path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    mixed.write_mixed(folder)
    app = view(monkeypatch, "compare", ring_path, f"--compare={folder}", initiated="both")
    assert not app.exception
    assert len(charts(app)[0]) == 8
    quiet = TraceBuilder(2).write(tmp_path / "quiet.zst")
    app = view(monkeypatch, "compare", quiet, f"--compare={quiet}")
    assert not app.exception
    assert "Neither trace has such traffic." in said(app)
