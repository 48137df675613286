"""The app's pages by Streamlit's own test harness: what they say, whatever the browser."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.support import ring
from tests.support.encoder import TraceBuilder
from visualizer import theme

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "visualizer" / "app.py"
VIEWS = ["overview", "graph", "matrix", "kernels", "sites", "source"]
PATIENCE = 60


def start(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> AppTest:
    """The app as `streamlit run` starts it, on its first page."""
    monkeypatch.setattr(sys, "argv", [str(APP), *map(str, arguments)])
    return AppTest.from_file(str(APP), default_timeout=PATIENCE).run()


def view(monkeypatch: pytest.MonkeyPatch, name: str, *arguments: str | Path) -> AppTest:
    """One page alone, with the sidebar."""
    monkeypatch.setattr(sys, "argv", [str(APP), *map(str, arguments)])
    script = f"""
from visualizer import state
from visualizer.views import {name}
if state.is_open():
    state.sidebar()
    {name}.show()
"""
    return AppTest.from_string(script, default_timeout=PATIENCE).run()


def metrics(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def said(app: AppTest) -> str:
    return " ".join(element.value for element in [*app.error, *app.warning, *app.info, *app.success])


@pytest.mark.parametrize("name", VIEWS)
def test_every_view(monkeypatch: pytest.MonkeyPatch, ring_path: Path, name: str) -> None:
    app = view(monkeypatch, name, ring_path)
    assert not app.exception
    assert app.header[0].value.lower() == name


def test_overview(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    app = start(monkeypatch, ring_path)
    assert not app.exception
    assert metrics(app) == {
        "Bytes": "52.2 KiB",
        "Wire bytes": "99 KiB",
        "Wire efficiency": "52.7 %",
        "Accesses": "224",
        "Launches": "11",
        "Records": "224",
    }
    assert "cannot be measured" in said(app)


def test_filters(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    app = start(monkeypatch, ring_path)
    app.multiselect(key="operations").set_value(["load"]).run()
    assert metrics(app)["Accesses"] == "64"
    assert app.query_params["operations"] in ("load", ["load"])  # by Streamlit's version
    app.multiselect(key="operations").set_value([]).run()
    app.multiselect(key="kernels").set_value([ring.BUMP]).run()
    assert metrics(app)["Accesses"] == "96"


def test_filters_from_the_address(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    monkeypatch.setattr(sys, "argv", [str(APP), str(ring_path)])
    app = AppTest.from_file(str(APP), default_timeout=PATIENCE)
    app.query_params["operations"] = ["load", "what is not there"]
    app.run()
    assert not app.exception
    assert metrics(app)["Accesses"] == "64"


def test_two_processes(monkeypatch: pytest.MonkeyPatch, two_process_folder: Path) -> None:
    app = start(monkeypatch, two_process_folder)
    assert not app.exception
    assert metrics(app)["Accesses"] == "224"


def test_source_line_and_its_matrix(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    ring.write_sources(ring_path.parent)
    app = view(monkeypatch, "source", ring_path)
    app.selectbox(key="source_line").set_value(19).run()
    assert not app.exception
    assert theme.plain("ring.cu:19") in [heading.value for heading in app.subheader]


def test_source_that_is_not_there(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    app = view(monkeypatch, "source", ring_path)
    assert not app.exception
    assert "Only folders that you name are looked into" in said(app)
    # The traffic of the lines is there without the text.
    assert [int(option.split(":")[0]) for option in app.selectbox(key="source_line").options] == [6, 19, 18]


def test_source_folder_by_option(monkeypatch: pytest.MonkeyPatch, ring_path: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ring.write_sources(elsewhere)
    app = view(monkeypatch, "source", ring_path, "--source", elsewhere)
    assert not app.exception
    assert "Only folders" not in said(app)
    assert app.selectbox(key="source_line").options[0].startswith("6: if (i < n) next[i]")


def test_no_source_outside_the_named_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("do not show")
    traces = tmp_path / "traces"
    traces.mkdir()
    trace = TraceBuilder(2)
    function = trace.function("k()")
    site = trace.site(function, "STG.E", "store", 4, line=trace.line(str(secret), 1))
    trace.count(trace.launch(function, 0), site, 1, 1, 32, 4)
    app = view(monkeypatch, "source", trace.write(traces / "t.zst"))
    assert not app.exception
    assert "Only folders that you name are looked into" in said(app)
    assert "do not show" not in str(app.selectbox(key="source_line").options)


@pytest.mark.parametrize("name", VIEWS)
def test_nothing_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    app = view(monkeypatch, name, TraceBuilder(2).write(tmp_path / "empty.zst"))
    assert not app.exception
    assert "Nothing was" in said(app) or "No access" in said(app)


def test_no_lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    function = trace.function("k()", has_lines=False)
    trace.count(trace.launch(function, 0), trace.site(function, "STG.E", "store", 4), 1, 1, 32, 4)
    app = view(monkeypatch, "source", trace.write(tmp_path / "t.zst"))
    assert not app.exception
    assert "-lineinfo" in said(app)


def test_without_a_trace(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    app = start(monkeypatch)
    assert not app.exception
    samples = {button.label for button in app.button if (button.key or "").startswith("sample_")}
    folder = ROOT / "sample_traces"
    traces = [*folder.glob("*.zst"), *{path.parent for path in folder.glob("*/*.zst")}]
    assert samples == {theme.plain(path.stem) for path in traces}
    app.text_input(key="path").set_value(str(ring_path))
    next(button for button in app.button if button.label == "Open").click().run()
    assert metrics(app)["Accesses"] == "224"


def test_open_another(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    app = start(monkeypatch, ring_path)
    app.button(key="open_another").click().run()
    assert not app.exception
    assert app.title[0].value == "Snoopie"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"", "empty"), (b"not a trace at all", "is not a Snoopie trace"), (None, "there is no")],
)
def test_bad_files_are_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes | None, sentence: str
) -> None:
    path = tmp_path / "bad.zst"
    if content is not None:
        path.write_bytes(content)
    app = start(monkeypatch, path)
    assert not app.exception
    (error,) = app.error
    assert sentence in error.value.replace("\\", "")


def test_truncated(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    ring_path.write_bytes(ring_path.read_bytes()[:-10])
    app = start(monkeypatch, ring_path)
    assert len(app.error) == 1
    app.button(key="read_truncated").click().run()
    assert metrics(app)["Accesses"] == "224"
    assert not start(monkeypatch, ring_path, "--allow-truncated").error


def test_text_from_a_trace_is_no_markdown() -> None:
    assert theme.plain("a*b* `c` [d](e) <i> $x$ :red[f]\n# g") == (
        r"a\*b\* \`c\` \[d\]\(e\) \<i\> \$x\$ \:red\[f\] \# g"
    )


def test_gpu_colours() -> None:
    assert theme.gpu_colours(4) == theme.gpu_colours(8)[:4]
    assert len(set(theme.gpu_colours(16))) == 16
