"""The app's pages by Streamlit's own test harness: what they say, whatever the browser."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from snoopie.cli.import_ import KINDS
from snoopie.figures import colours
from snoopie.importers.nsys import import_nsys
from tests.support import mixed, ring
from tests.support.encoder import TraceBuilder, without
from tests.support.nsys_export import Export
from tests.support.pages import APP, PATIENCE, ROOT, TITLES, VIEWS, metrics, said, start, table, unfold, view
from visualizer.look import theme


@pytest.mark.parametrize("name", VIEWS)
def test_every_view(monkeypatch: pytest.MonkeyPatch, ring_path: Path, name: str) -> None:
    app = view(monkeypatch, name, ring_path)
    assert not app.exception
    assert app.header[0].value == TITLES[name]


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_of_an_imported_trace(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    export = Export()
    call = export.call("cudaMemcpyPeer", 710, 720)
    export.copy(10, 128, 730, 790, call, ends=(0, 1))
    export.kernel("step(int)", 800, 900, call)
    imported = import_nsys(export.write(tmp_path / "report.sqlite"), tmp_path / "out.zst")
    assert not view(monkeypatch, name, *imported.paths).exception


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_of_imported_texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    log = "STG.E,0x00007fa571b00504,10240,1,0,125,1586,1,1,0x00007fa571a00000,4\n"
    copy = "cuMemcpyDtoDAsync_v2,0x00007fa571b00504,-1,0,1,-1,-1,1,-1,0x0000000000000000,64\n"
    texts = {
        "snoopie-log": log + copy,
        "rtg": "HSA: pid:1 tid:2 dispatch queue:0 agent:1 signal:3 name:'k' start:1000 stop:3000 id:0\n",
        "alnair": "name:cuMemAlloc, start:1663174512512732618, burst:1192, bytes:2097152, kind:-1\n",
    }
    for kind, text in texts.items():
        source = tmp_path / f"{kind}.txt"
        source.write_text(text)
        imported = KINDS[kind].convert(source, tmp_path / f"{kind}.zst", force=False, progress=lambda *_: None)
        assert not view(monkeypatch, name, *imported.paths).exception


# A sample of several processes is a folder.
SAMPLES = sorted(
    {*(ROOT / "sample_traces").glob("*.zst"), *(path.parent for path in ROOT.glob("sample_traces/*/*.zst"))}
)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("name", VIEWS)
def test_every_view_of_a_sample(monkeypatch: pytest.MonkeyPatch, name: str, sample: Path) -> None:
    app = view(monkeypatch, name, sample)
    assert not app.exception
    assert app.header[0].value == TITLES[name]


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


def test_a_file_of_several_names_is_read_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ring_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "link.zst").symlink_to(ring_path)
    (tmp_path / "beside").symlink_to(tmp_path / "run")
    app = start(monkeypatch, tmp_path / "beside", tmp_path / "run", ring_path)
    assert not app.exception
    assert metrics(app)["Accesses"] == "224"


def test_columns_of_text_are_references(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    start(monkeypatch, ring_path)
    assert pd.Series(["put"], dtype="str").dtype == pd.StringDtype("python", na_value=np.nan)


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


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_of_a_run_of_all_paths(monkeypatch: pytest.MonkeyPatch, mixed_folder: Path, name: str) -> None:
    app = view(monkeypatch, name, mixed_folder)
    assert not app.exception
    # The line with the most bytes is NCCL's, whose source is nowhere; it has no allocations and no driver calls.
    assert not app.info or name in ("source", "objects", "memory", "calls")


def test_overview_of_ranks_copies_and_collectives(monkeypatch: pytest.MonkeyPatch, mixed_folder: Path) -> None:
    app = start(monkeypatch, mixed_folder)
    assert not app.exception
    # By the table of tests/support/mixed.py: 2 × (2048 + 1024 + 512 + 32768 + 8192) + 256 bytes.
    assert metrics(app) == {
        "Bytes": "87.2 KiB",
        "Wire bytes": "89 KiB",
        "Wire efficiency": "98 %",
        "Accesses": "218",
        "Launches": "6",
        "Records": "0",
        "GPUs": "2",
        "Processes": "2",
        "Ranks": "0–1",
        "Copies": "8",
        "Bytes copied": "2.3 MiB",
        "NCCL calls": "6",
    }
    captions = " ".join(caption.value for caption in app.caption)
    assert "memory whose owner the collector does not know" in captions
    unfold(app, "overview_machine")
    assert table(app, "gpus")["Used by"] == ["rank 0", "rank 1"]
    processes = table(app, "all_processes")
    assert [processes[heading] for heading in ("Rank", "Ranks", "GPUs")] == [["0", "1"], ["2", "2"], ["GPU 0", "GPU 1"]]


def test_overview_tells_what_happened(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    app = start(monkeypatch, ring_path)
    told = [text.value.replace("\\", "") for text in app.markdown]
    assert told[0] == "### ring.cu:6 sends 61.3 % of all bytes, each GPU to the next one, 100 % efficient."
    # The lines that moved most, and what has none.
    facts = [caption.value.replace("\\", "") for caption in app.caption if "efficient" in caption.value]
    assert len(facts) == 4 and facts[0].startswith("32 KiB · 61.3 % · ")
    # Nothing of what the trace has none of.
    assert not {"Copies", "NCCL calls"} & {*metrics(app)}


def test_what_has_no_line_is_told_apart_by_its_kernels(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    for name, moved in (("after()", 300), ("before()", 100)):
        function = builder.function(name)
        builder.count(builder.launch(function, 0), builder.site(function, "STG.E", "store", 4), 1, 1, moved, moved // 4)
    app = start(monkeypatch, builder.write(tmp_path / "kernels.zst"))
    assert "**The kernels that moved most**" in [text.value for text in app.markdown]
    facts = [caption.value.replace("\\", "") for caption in app.caption if "efficient" in caption.value]
    assert [fact.split(" · ")[:2] for fact in facts] == [["1.2 KiB", "75 %"], ["400 B", "25 %"]]
    function = builder.function("lined()")
    site = builder.site(function, "STG.E", "store", 4, line=builder.line("/x/lined.cu", 7))
    builder.count(builder.launch(function, 0), site, 1, 1, 200, 50)
    app = start(monkeypatch, builder.write(tmp_path / "lines.zst"))
    assert "**The lines that moved most**" in [text.value for text in app.markdown]
    facts = [caption.value.replace("\\", "") for caption in app.caption if "efficient" in caption.value]
    assert [fact.split(" · ")[0] for fact in facts] == ["1.2 KiB", "800 B", "400 B"]


def test_copies_are_of_no_kernel(monkeypatch: pytest.MonkeyPatch, mixed_folder: Path) -> None:
    app = start(monkeypatch, mixed_folder)
    app.multiselect(key="operations").set_value(["store"]).run()
    assert metrics(app)["Copies"] == "0"
    copies = view(monkeypatch, "copies", mixed_folder)
    assert metrics(copies) == {"Copies": "8", "Bytes copied": "2.3 MiB", "Host time": "16 µs"}
    copies.multiselect(key="operations").set_value(["store"]).run()
    assert "Copies belong to no kernel" in said(copies)
    assert "see 8" in said(copies)


@pytest.mark.parametrize("name", ["copies", "collectives"])
def test_a_trace_that_knows_of_no_such_thing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    app = view(monkeypatch, name, TraceBuilder(2, schema=without(name)).write(tmp_path / "t.zst"))
    assert not app.exception
    assert "Record it again" in said(app)


def test_collectives_outside_the_filters(monkeypatch: pytest.MonkeyPatch, mixed_folder: Path) -> None:
    app = view(monkeypatch, "collectives", mixed_folder)
    app.multiselect(key="kernels").set_value([mixed.EXCHANGE]).run()
    assert "Clear the filters to see all calls" in said(app)


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
    expected = {
        "overview": "No access",
        "copies": "The host started no copy",
        "collectives": "No NCCL calls",
        "launches": "No launch was measured",
        "objects": "This trace has no allocations",
        "memory": "This trace has no allocations",
        "compare": "",  # it waits for another trace
    }
    assert expected.get(name, "Nothing was recorded") in said(app)


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
    samples = {button.label.partition(r"\:")[0] for button in app.button if (button.key or "").startswith("sample_")}
    assert samples == {theme.plain(path.stem) for path in SAMPLES}
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
    assert colours.of_gpus(4) == colours.of_gpus(8)[:4]
    assert len(set(colours.of_gpus(16))) == 16


def test_sessions_see_their_own_trace_alone(monkeypatch: pytest.MonkeyPatch, ring_path: Path, tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    for name, accesses in (("secret(int*)", 3), ("hidden(int*)", 4)):
        function = builder.function(name)
        site = builder.site(function, "STG.E", "store", 4)
        builder.count(builder.launch(function, 0), site, 1, accesses, 32 * accesses, 4 * accesses)
    opened = [ring_path, builder.write(tmp_path / "secret.zst")]
    sessions = [start(monkeypatch) for _ in range(3)]
    for app, path in zip(sessions, opened, strict=False):
        app.text_input(key="path").set_value(str(path))
        app.button[0].click().run()
    # In turns, as the browser's ticks do, and by an address that names the other's.
    sessions[2].query_params["with"] = str(opened[1])
    for app in sessions * 2:
        app.run()
        assert not app.exception
    assert [metrics(app).get("Accesses") for app in sessions] == ["224", "7", None]
    shown = [str(list(app.main)) + str(list(app.sidebar)) for app in sessions]
    assert ["ring_put" in text for text in shown] == [True, False, False]
    assert ["secret" in text for text in shown] == [False, True, False]
    assert sessions[2].title[0].value == "Snoopie"
