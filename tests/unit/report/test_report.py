"""`snoopie report`: what stands in it, how large it gets, and that nothing in a trace becomes markup."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import snoopie
from snoopie import cli
from snoopie.report import page, parts
from snoopie.report.file import write
from snoopie.report.parts import MOST_ROWS
from tests.support import hostile_report, mixed, ring
from tests.support.encoder import START_NS, TraceBuilder

MOST_BYTES = 5_000_000
# Elements that never stand in a report, and attributes that load or run something.
ACTIVE = {"script", "iframe", "object", "embed", "form", "base", "img", "link", "video", "audio"}


class Page(HTMLParser):
    """The tags, links and texts of a page."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.ids: list[str] = []
        self.texts: list[str] = []
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id" and tag == "section"]

    def handle_data(self, data: str) -> None:
        self.texts.append(data.strip())


def harmless(markup: str) -> Page:
    """The page, of which no part loads or runs anything."""
    read = Page(markup)
    assert not ACTIVE & set(read.tags)
    assert not [name for name, _ in read.attributes if name.startswith("on")]
    links = [value for name, value in read.attributes if name in ("href", "src", "xlink:href")]
    assert all(value.startswith(("#", "data:image/png;base64,")) for value in links), links
    assert not re.findall(r"url\((?!#)", markup)
    assert "default-src 'none'" in markup
    return read


def sections(read: Page) -> set[str]:
    return set(read.ids)


@pytest.fixture
def mixed_folder(tmp_path: Path) -> Path:
    (tmp_path / "mixed").mkdir()
    return mixed.write_mixed(tmp_path / "mixed")


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of text: pictures take longer than all else, and others look at them."""
    monkeypatch.setattr(parts, "inline_svg", lambda figure, caption: "<svg></svg>")


def test_a_report_of_kernels(ring_path: Path, tmp_path: Path) -> None:
    trace = snoopie.load(ring_path)
    read = harmless(page.render(trace, [ring.write_sources(tmp_path / "src")]))
    assert sections(read) == {
        *(
            "totals",
            "lacks",
            "findings",
            "pairs",
            "timeline",
            "lines",
            "kernels",
            "objects",
            "memory",
            "leaks",
            "machine",
        ),
        "absent",
    }
    text = "\n".join(read.texts)
    for expected in (
        "Traffic of ring",
        "52.2 KiB",
        "99 KiB",
        "GPU 3",
        "14.1 KiB",
        "ring.cu:6",
        "UTMALDG",
        "0000:1b:00.0",
    ):
        assert expected in text, expected
    assert html.unescape("if (i &lt; n) next[i] = T{};") in text  # the source around a line
    assert "Collectives: no NCCL call was recorded." in text
    assert "Driver calls: driver calls were not recorded." in text
    assert read.tags.count("svg") == 4  # matrix, timeline, lines, memory


def test_a_report_of_copies_and_collectives(mixed_folder: Path) -> None:
    read = harmless(page.render(snoopie.load(mixed_folder)))
    assert {"collectives", "copies"} <= sections(read)
    assert {"2 × Recv + Send", "Recv + Send"} & set(read.texts)
    assert "cuMemcpyHtoDAsync_v2" in read.texts
    assert any("snoopie info names them" in text for text in read.texts)


@pytest.mark.usefixtures("undrawn")
def test_source_is_quoted_from_the_trace_and_else_only_from_named_folders(ring_path: Path, tmp_path: Path) -> None:
    trace = snoopie.load(ring_path)
    ring.write_sources(ring_path.parent)
    assert "threadIdx" not in page.render(trace)
    (tmp_path / "other").mkdir()
    lacking = "Not in the trace, nor in the source folders that were named: ring.cu, shift.h."
    assert lacking in page.render(trace, [tmp_path / "other"])
    from_folders = "Not recorded with the trace, but from the source folders that were named: ring.cu, shift.h."
    assert from_folders in page.render(trace, [ring_path.parent])

    builder = ring.ring_builder()
    (file,) = {line["file"] for line in builder.rows["lines"] if line["line"] == 6}
    recorded = "\n".join(f"// recorded {number} <b>" for number in range(1, 30))
    builder.add("source_files", file=file, text=recorded, bytes=len(recorded), kept=1)
    trace = snoopie.load(builder.write(tmp_path / "with.zst"))
    with_folder = page.render(trace, [ring_path.parent])
    assert "// recorded 6 &lt;b&gt;" in with_folder
    assert "but from the source folders that were named: shift.h." in with_folder
    alone = page.render(trace)
    assert "// recorded 6 &lt;b&gt;" in alone
    assert "Not in the trace: shift.h." in alone
    assert "// recorded" not in page.render(trace, None)


@pytest.mark.usefixtures("undrawn")
def test_memory_and_calls(tmp_path: Path) -> None:
    builder = TraceBuilder(1)
    builder.allocation("device", 3 << 20, 0, 10, call="cuMemAlloc_v2")
    builder.exit_ns = START_NS + 10**9
    builder.memory_use(0, 20, 5 << 20)
    call = builder.string("cuMemAlloc_v2")
    builder.add("call_totals", time=START_NS, call=call, gpu=0, calls=7, total=7000, least=500, most=2000)
    builder.add("call_errors", call=call, gpu=0, code=2, name=builder.string("CUDA_ERROR_OUT_OF_MEMORY"), calls=1)
    read = harmless(page.render(snoopie.load(builder.write(tmp_path / "t.zst"))))
    assert {"memory", "leaks", "calls"} <= sections(read)
    assert {"Peak of GPU 0: 3 MiB after 10 ns", "CUDA_ERROR_OUT_OF_MEMORY", "7 µs"} <= set(read.texts)
    assert {"pairs", "lines", "kernels"}.isdisjoint(sections(read))


@pytest.mark.usefixtures("undrawn")
def test_findings_have_their_line_and_remedy(tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    line = builder.line(f"/x/{hostile_report.NAME}.cu", 7)
    site = builder.site(builder.function(hostile_report.NAME), "STG.E", "store", 4, line=line)
    builder.count(builder.launch(1, 0), site, 1, 10**6, 32 * 10**6, 32 * 10**6)
    trace = snoopie.load(builder.write(tmp_path / "t.zst"))
    read = harmless(page.render(trace))
    found = trace.findings()
    assert len(found) >= 1
    assert read.tags.count("article") == len(found)
    assert any("wire efficiency 12.5 %" in text for text in read.texts)
    assert set(found["remedy"]) <= set(read.texts)


def test_an_empty_trace_has_a_report(tmp_path: Path) -> None:
    read = harmless(page.render(snoopie.load(TraceBuilder(2).write(tmp_path / "empty.zst"))))
    assert "Who reached whom: no kernel reached memory outside its GPU." in read.texts


# Nothing of a trace is believed.


def test_names_never_become_markup(tmp_path: Path) -> None:
    trace = snoopie.load(hostile_report.builder(3, 12).write(tmp_path / "t.zst"))
    markup = page.render(trace, title=hostile_report.NAME)
    read = harmless(markup)
    assert {"lines", "kernels", "copies", "collectives", "memory", "calls"} <= sections(read)
    assert read.tags.count("b") == 5  # of the footer
    assert "49" not in read.texts
    assert "\x00" not in markup
    assert "\x1b" not in markup
    # It would turn what stands beside it, too.
    assert "\u202e" not in markup
    assert any("<script>alert(1)</script>" in text for text in read.texts)


def test_a_name_of_ten_megabytes_is_cut(tmp_path: Path) -> None:
    builder = hostile_report.builder(2, 12)
    for row in builder.rows["strings"]:
        row["text"] = row["text"].encode() + b"\xff\x00\xe2\x80\xae"
    builder.rows["strings"][0]["text"] += b"<b>" * ((10 << 20) // 3)
    builder.header["process"]["host"] += "\u2067" * 10_000
    trace = snoopie.load(builder.write(tmp_path / "t.zst"), trust=True)
    markup = page.render(trace)
    harmless(markup)
    assert len(markup.encode()) < MOST_BYTES
    assert not set("\x00\x1b\u202e\u2067") & set(markup)


def test_a_report_stays_small(tmp_path: Path) -> None:
    trace = snoopie.load(hostile_report.builder(150, 3000).write(tmp_path / "t.zst"))
    markup = page.render(trace)
    harmless(markup)
    assert len(markup.encode()) < MOST_BYTES
    assert f"… and {150 - MOST_ROWS} more: snoopie stats --by kernel lists them all" in markup


# the command


def test_command(ring_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.html"
    words = ["report", str(ring_path), "-o", str(path), "--title", "Ring <1>"]
    assert cli.main(words) == 0
    done = capsys.readouterr()
    assert done.out == f"wrote {path}, {path.stat().st_size:,} bytes\n"
    assert done.err.splitlines()[-1] == f"Next: open {path.as_uri()} in a browser"
    assert "<title>Ring &lt;1&gt;</title>" in path.read_text(encoding="utf-8")
    assert cli.main(words) == 1
    assert "already exists" in capsys.readouterr().err
    assert cli.main([*words, "--force"]) == 0
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["-o", "/dev/null/report.html"], "cannot be written"),
        (["-o", "x.html", "--source", "/nowhere"], "there is no folder /nowhere"),
    ],
)
def test_wrong_usage(words: list[str], sentence: str, ring_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", str(ring_path), *words]) == 1
    err = capsys.readouterr().err
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_a_failure_leaves_nothing_behind(ring_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("snoopie.report.page.render", full)
    folder = tmp_path / "out"
    with pytest.raises(snoopie.SnoopieError, match="No space left on device"):
        write(snoopie.load(ring_path), folder / "x.html")
    assert list(folder.iterdir()) == []
