"""`snoopie report --interactive`: what the page knows, that it stays small, and that nothing in a trace is believed."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import snoopie
from snoopie import cli
from snoopie.report.interactive import listings, page
from snoopie.report.interactive.cells import AMOUNTS, cells
from snoopie.report.interactive.limits import MOST_BYTES, Limits
from snoopie.report.interactive.payload import payload
from snoopie.report.interactive.timeline import timeline
from snoopie.trace.lacks import Lack
from snoopie.trace.schema import OPERATIONS
from snoopie.words.remedies import in_shell_words
from tests.support import hostile_report, mixed, ring, waiting
from tests.support.encoder import HOST, START_NS, TraceBuilder
from tests.support.other_tools import FORMATS

ALONE = {"script", "style"}
# Elements that load or run something; a page has one script, and its data.
ACTIVE = {"iframe", "object", "embed", "form", "base", "img", "link", "video", "audio", "svg"}


class Markup(HTMLParser):
    """The elements of a page, and what stands in scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.alone: dict[str, list[str]] = {name: [] for name in ALONE}
        self.texts: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        self._inside = tag if tag in ALONE else ""

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        (self.alone[self._inside] if self._inside else self.texts).append(data)


def harmless(text: str) -> Markup:
    """The page, which can load nothing and run nothing but its own script."""
    read = Markup(text)
    assert not ACTIVE & set(read.tags)
    assert not [name for name, _ in read.attributes if name.startswith("on") or name in ("href", "src", "style")]
    data, script = read.alone["script"]
    (style,) = read.alone["style"]
    (policy,) = (value for name, value in read.attributes if value.startswith("default-src"))
    assert policy == (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    assert re.fullmatch(r"[A-Za-z0-9+/]+=*", data)
    assert "://" not in script + style
    assert "@import" not in style
    assert "url(" not in style
    return read


def digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def known(text: str) -> dict[str, Any]:
    """What the page knows of the trace."""
    content: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(harmless(text).alone["script"][0])))
    return content


def texts(value: Any) -> list[str]:
    """All texts in it, names of members too."""
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in texts(part)]
    return [value] if isinstance(value, str) else []


def written(lines: list[list[str]]) -> list[str]:
    """The text of lines that are kind and characters one after another."""
    return ["".join(line[1::2]) for line in lines]


@pytest.fixture
def trace(ring_path: Path) -> snoopie.Trace:
    return snoopie.load(ring_path)


def test_the_page_knows_what_the_trace_shows(trace: snoopie.Trace, tmp_path: Path) -> None:
    content = known(page.render(trace, [ring.write_sources(tmp_path / "src")]))
    assert content["story"] == trace.story()
    assert content["places"] == ["GPU 0", "GPU 1", "GPU 2", "GPU 3"]
    assert content["unknown"] == ""
    assert ["Bytes", "52.2 KiB"] in [numbers[:2] for numbers in content["totals"][0]["numbers"]]
    found = trace.findings()
    assert [finding["title"] for finding in content["findings"]] == list(found["title"])
    assert [finding["line"] for finding in content["findings"]] == [
        f"{row.file}:{row.line}" if row.line else "" for row in found.itertuples()
    ]
    assert content["losses"][0]["texts"] == [in_shell_words(sentence) for sentence in trace.losses()]
    (file,) = (file for file in content["files"] if file["name"] == "ring.cu")
    assert file["origin"] == "not recorded with the trace, but from the source folders that were named"
    ((first, lines),) = file["parts"]
    assert first == 1
    assert "if (i < n) next[i] = T{};" in written(lines)[5]
    assert lines[0] == ["directive", "#include", "", " ", "string", '"shift.h"']
    sites = trace.by_site(merged=True)
    assert content["instructions"]["all"] == len(sites)
    assert content["instructions"]["code"] == [row.sass or row.opcode for row in sites.itertuples()]
    assert content["instructions"]["bytes"] == list(sites["bytes"])
    header = next(number for number, other in enumerate(content["files"]) if other["name"] == "shift.h")
    of_line = content["lines"].index([header, 4])
    assert content["instructions"]["inlined"] == {
        str(of_line): ["inlined: shift.h:4 (shifted(float const *, int)) ← ring.cu:12"]
    }


def test_findings_have_their_line_and_remedy(tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    site = builder.site(builder.function("k()"), "STG.E", "store", 4, line=builder.line("/x/k.cu", 7))
    builder.count(builder.launch(1, 0), site, 1, 10**6, 32 * 10**6, 32 * 10**6)
    trace = snoopie.load(builder.write(tmp_path / "t.zst"))
    content = known(page.render(trace))
    found = trace.findings()
    assert len(found) >= 1
    assert content["all_findings"] == len(found)
    assert [finding["remedy"] for finding in content["findings"]] == list(found["remedy"])
    # Another one is about the pair.
    assert {finding["line"] for finding in content["findings"]} == {"/x/k.cu:7", ""}


@pytest.mark.parametrize("limits", [Limits(), Limits(places=2, kernels=1, lines=1, cells=1)])
def test_sums_are_those_of_the_trace_however_few_are_kept(trace: snoopie.Trace, limits: Limits) -> None:
    made = cells(trace, limits)
    whole = trace.summary()
    assert made.table[list(AMOUNTS)].sum().to_dict() == {name: whole[name] for name in AMOUNTS}
    kernel, line = trace.by_kernel().iloc[0], trace.by_line().iloc[0]
    assert made.kernels[0] == kernel["kernel"]
    assert made.lines[0] == (line["file"], line["line"])
    if limits == Limits():
        assert made.table.groupby("kernel")["bytes"].sum()[0] == kernel["bytes"]
        assert made.table.groupby("line")["bytes"].sum()[0] == line["bytes"]
        pairs = made.table.groupby(["issuer", "owner"])["bytes"].sum()
        named = {(made.places[a], made.places[b]): moved for (a, b), moved in pairs.items()}  # type: ignore[misc]
        own = trace.by_pair()
        assert named == dict(zip(zip(own["issuer"], own["owner"], strict=True), own["bytes"], strict=True))
        assert made.left == {"places": 0, "kernels": 0, "lines": 0}
        assert made.margins == {}
    else:
        assert len(made.places) == 2
        assert made.margins["kernel"].set_index("kernel")["bytes"][0] == kernel["bytes"]
        assert made.margins["line"].set_index("line")["bytes"][0] == line["bytes"]
        assert made.margins["pair"][list(AMOUNTS)].sum().to_dict() == {name: whole[name] for name in AMOUNTS}
        assert made.left["lines"] == len(trace.by_line()) - 1
        assert made.together == len(trace.by("kernel", "file", "line", "operation", "issuer", "owner")) - 1


def test_a_view_is_shown_as_such(trace: snoopie.Trace) -> None:
    text = page.render(trace.select(operations="load"), part="Only a part of the trace: operation load.")
    assert "Only a part of the trace: operation load." in text
    content = known(text)
    assert sum(content["cells"]["bytes"]) == trace.select(operations="load").summary()["bytes"]
    assert {content["operations"][number] for number in content["cells"]["operation"]} == {"load"}


def test_source_is_quoted_from_the_trace_and_else_only_from_named_folders(ring_path: Path, tmp_path: Path) -> None:
    builder = ring.ring_builder()
    (file,) = {line["file"] for line in builder.rows["lines"] if line["line"] == 6}
    recorded = "\n".join(f"// recorded {number}\t<b>\u202e" for number in range(1, 30))
    builder.add("source_files", file=file, text=recorded, bytes=len(recorded.encode()), kept=1)
    trace = snoopie.load(builder.write(tmp_path / "with.zst"))
    ring.write_sources(ring_path.parent)
    origins = {file["name"]: (file["origin"], file["parts"]) for file in known(page.render(trace))["files"]}
    origin, ((_, lines),) = origins["ring.cu"]
    assert origin == "as the trace holds it"
    assert lines[5] == ["comment", "// recorded 6   <b> "]
    assert origins["shift.h"] == ("its text is not in the trace; --source DIR quotes it from a folder", [])
    without = known(page.render(trace, None))
    assert not [text for text in texts(without) if "// recorded" in text]
    assert {file["origin"] for file in without["files"] if file["path"]} == {"no source is quoted (--no-source)"}


def test_of_a_long_file_what_is_around_lines_with_traffic(tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    text = "\n".join(f"line {number} {'x' * 90}" for number in range(1, 5001))
    function = builder.function("k()")
    for line in (100, 150, 4000):
        site = builder.site(function, "STG.E", "store", 4, line=builder.line("/x/long.cu", line))
        builder.count(builder.launch(function, 0), site, 1, 10, 320, 40)
    file = builder.string("/x/long.cu")
    builder.add("source_files", file=file, text=text, bytes=len(text), kept=1)
    trace = snoopie.load(builder.write(tmp_path / "t.zst"))
    limits = Limits(text=len(text) // 2)
    (content,) = listings.files(trace, cells(trace, limits), (), limits)
    assert content["origin"] == "as the trace holds it, around the lines with traffic"
    spans = [(first, first + len(lines) - 1) for first, lines in content["parts"]]
    assert spans == [(60, 190), (3960, 4040)]
    assert written(content["parts"][1][1])[0].startswith("line 3960 x")
    limits = Limits(text=100)
    (content,) = listings.files(trace, cells(trace, limits), (), limits)
    assert (content["origin"], content["parts"]) == ("its text is more than this file holds", [])


# over time


def timed(gpus: int, launches: int, every: int) -> TraceBuilder:
    """A launch of 1 µs each so many ns, one GPU after the other; behind half of them nothing happens for 1 s."""
    builder = TraceBuilder(gpus)
    function = builder.function("k()")
    site = builder.site(function, "STG.E", "store", 4)
    for number in range(launches):
        start = START_NS + 1000 + every * number + (10**9 if number >= launches // 2 else 0)
        launch = builder.launch(function, number % gpus)
        builder.add("spans", launch=launch, start=start, end=start + 1000)
        builder.count(launch, site, (number + 1) % gpus, 1, 32, 4)
    return builder


def test_idle_time_is_folded(tmp_path: Path) -> None:
    trace = snoopie.load(timed(2, 10, 2000).write(tmp_path / "t.zst"))
    shown = timeline(trace, cells(trace, Limits()), Limits())
    assert shown["parts"] == [(0, 9000), (10**9 + 10_000, 10**9 + 19_000)]
    assert [lane["events"] for lane in shown["lanes"]] == [5, 5]
    assert shown["blocks"]["lane"] == []
    assert sum(shown["events"]["bytes"]) == sum(shown["traffic"]["bytes"]) == trace.summary()["bytes"]
    assert shown["events"]["names"] == [("k()", "k", 0)]


def test_of_crowded_lanes_the_longest_and_all_together_in_blocks(tmp_path: Path) -> None:
    builder = timed(2, 1000, 2000)
    spans = builder.rows["spans"]
    for number in (100, 101, 900):
        spans[number]["end"] += 500
    trace = snoopie.load(builder.write(tmp_path / "t.zst"))
    limits = Limits(events=6, blocks=40)
    shown = timeline(trace, cells(trace, limits), limits)
    assert [(lane["events"], lane["single"]) for lane in shown["lanes"]] == [(500, 3), (500, 3)]
    assert sorted(shown["events"]["length"])[-3:] == [1500, 1500, 1500]
    assert len(shown["events"]["lane"]) == 6
    blocks = pd.DataFrame(shown["blocks"])
    assert blocks.groupby("lane")["count"].sum().to_dict() == {0: 500, 1: 500}
    assert len(blocks) < 100
    assert sum(shown["traffic"]["bytes"]) == trace.summary()["bytes"]


def test_waits_have_a_lane_below_the_kernels(tmp_path: Path) -> None:
    trace = snoopie.load(waiting.write_round(tmp_path))
    made = cells(trace, Limits())
    shown = timeline(trace, made, Limits())
    assert [(lane["place"], lane["what"], lane["events"], lane["moves"]) for lane in shown["lanes"][4:]] == [
        (f"GPU {gpu}", what, waiting.ROUNDS, what == "kernels") for gpu in (2, 3) for what in ("kernels", "waits")
    ]
    events, waits = shown["events"], pd.DataFrame(shown["waits"])
    assert [events["lane"][row] for row in waits["event"]] == [lane for lane in (1, 3, 5, 7) for _ in range(20)]
    own, first = trace.waits_by_launch(), trace.period[0] + shown["begin"]
    for row in waits.itertuples():
        wait = own.loc[events["id"][row.event]]
        assert events["start"][row.event] + first == wait["start"]
        assert events["length"][row.event] == wait["end"] - wait["start"]
        assert events["names"][events["name"][row.event]] == (wait["name"], wait["name"], -2)
        assert made.kernels[row.kernel] == wait["kernel"]
        assert made.places[row.awaited] == wait["awaited"]
        assert [row.waits, row.waited, row.longest] == wait[["waits", "waited", "longest"]].tolist()
    # Nothing crossed at the line that polls.
    assert set(waits["line"]) == {-1}
    assert trace.about_waits()[0] in shown["about"]


def test_accesses_have_a_lane_and_no_bytes_of_their_own(tmp_path: Path) -> None:
    trace = snoopie.load(waiting.write_moving(tmp_path))
    shown = timeline(trace, cells(trace, Limits()), Limits())
    assert [(lane["what"], lane["moves"]) for lane in shown["lanes"][9:]] == [
        ("kernels", True), ("accesses", False), ("waits", False)
    ]  # fmt: skip
    events = shown["events"]
    own = [row for row, lane in enumerate(events["lane"]) if lane == 10]
    assert [events["names"][events["name"][row]][0] for row in own] == ["GPU 0 at ring.cu:40"] * waiting.ROUNDS
    assert {events["bytes"][row] for row in own} == {-1}
    assert {events["length"][row] for row in own} == {695 * waiting.US}


def test_where_and_for_whom_was_waited_may_not_be_known(tmp_path: Path) -> None:
    """A wait at the line that stores, and one for the host, to which nobody does."""
    builder = waiting.round_builder()
    (store,) = {row["line"] for row in builder.rows["sites"] if row["operation"] == OPERATIONS.index("store")}
    poll = builder.site(1, "LDG.E", "load", 4, line=store)
    times = {name: builder.rows["waits"][0][name] for name in ("first", "last")} | {"waited": 9**9, "longest": 9**9}
    builder.add("waits", launch=1, site=poll, owner=HOST, blocks=1, waits=1, **times)
    trace = snoopie.load(builder.write(tmp_path / "t.zst"))
    made = cells(trace, Limits())
    waits = timeline(trace, made, Limits())["waits"]
    assert made.lines[waits["line"][0]][1] == 40
    assert (waits["awaited"][0], waits["waits"][0], waits["waited"][0]) == (len(made.places), 5, 9**9 + 200_000)
    builder.rows["counts"], builder.rows["records"] = [], []
    moved_nothing = snoopie.load(builder.write(tmp_path / "nothing.zst"))
    waits = timeline(moved_nothing, cells(moved_nothing, Limits()), Limits())["waits"]
    assert {*waits["kernel"], *waits["line"]} == {-1}


def test_of_waits_without_times_there_is_no_lane(tmp_path: Path) -> None:
    trace = snoopie.load(waiting.write_waiting(tmp_path))
    shown = timeline(trace, cells(trace, Limits()), Limits())
    assert [lane["what"] for lane in shown["lanes"]] == ["launch calls", "launch calls"]
    assert shown["waits"] == {"event": []}
    assert "Kernels moved or waited, but not when is known: their launches have no GPU timestamps." in shown["about"]


def test_a_trace_without_times_says_so(tmp_path: Path) -> None:
    content = known(page.render(snoopie.load(TraceBuilder(2).write(tmp_path / "empty.zst"))))
    assert content["timeline"] == {"lanes": [], "absent": "nothing in the trace has a time"}
    assert content["cells"]["bytes"] == []
    assert content["story"].startswith("No kernel reached memory outside its GPU.")


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_unknown_is_not_0(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (imported,) = FORMATS[name].importer(FORMATS[name].write(folder), tmp_path / "t.zst").paths
    content = known(page.render(snoopie.load(imported)))
    said = texts(content)
    lacks = FORMATS[name].lacks
    assert bool(content["unknown"]) == (Lack.ACCESSES in lacks)
    if Lack.ACCESSES in lacks:
        assert {value for name, value, _ in content["totals"][0]["numbers"] if name == "Bytes"} == {"unknown"}
    assert all(any(f"not include {lack}" in text for text in said) for lack in lacks & {Lack.ACCESSES, Lack.COPY_SIZES})
    if Lack.COPY_SIZES in lacks:
        lanes = content["timeline"]["lanes"]
        of_copies = [number for number, lane in enumerate(lanes) if lane["what"].startswith("cop")]
        events = content["timeline"].get("events", {"lane": [], "bytes": []})
        assert all(
            moved == -1 for lane, moved in zip(events["lane"], events["bytes"], strict=True) if lane in of_copies
        )


# nothing of a trace is believed


def test_names_never_become_markup(tmp_path: Path) -> None:
    trace = snoopie.load(hostile_report.builder(3, 12).write(tmp_path / "t.zst"))
    text = page.render(trace, title=hostile_report.NAME)
    read = harmless(text)
    assert read.tags.count("script") == 2
    assert read.tags.count("b") == 5  # of the foot
    assert "49" not in read.texts
    content = known(text)
    assert any("<script>alert(1)</script>" in text for text in texts(content))
    # Text that steers or turns what stands beside it.
    assert not set("\x00\x1b\u202e") & set(text + "".join(texts(content)))


def test_a_name_of_ten_megabytes_is_cut(tmp_path: Path) -> None:
    builder = hostile_report.builder(2, 12)
    for row in builder.rows["strings"]:
        row["text"] = row["text"].encode() + b"\xff\x00\xe2\x80\xae"
    builder.rows["strings"][0]["text"] += b"<b>" * ((10 << 20) // 3)
    text = page.render(snoopie.load(builder.write(tmp_path / "t.zst"), trust=True))
    assert max(map(len, texts(known(text)))) < 2000
    assert not set("\x00\u202e") & set("".join(texts(known(text))))


def test_a_page_is_no_larger_than_it_may_be(tmp_path: Path) -> None:
    trace = snoopie.load(hostile_report.builder(150, 3000).write(tmp_path / "t.zst"))
    whole = page.render(trace)
    assert len(whole.encode()) < MOST_BYTES
    most = len(whole.encode()) - 2000
    smaller = page.render(trace, most=most)
    assert len(smaller.encode()) <= most
    content = known(smaller)
    assert sum(content["cells"]["bytes"]) == trace.summary()["bytes"]
    assert content["left"]["lines"] + len(content["lines"]) == 150


def test_limits_end_at_one_of_each() -> None:
    limits = Limits()
    for _ in range(40):
        limits = limits.halved()
    assert limits == limits.halved()


# the command


def test_command(ring_path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.html"
    words = ["report", str(ring_path), "--interactive", "-o", str(path), "--title", "Ring <1>", "--operation", "load"]
    assert cli.main(words) == 0
    done = capfd.readouterr()
    assert done.out == f"wrote {path}, {path.stat().st_size:,} bytes\n"
    assert done.err.splitlines()[-1] == f"Next: open {path.as_uri()} in a browser"
    text = path.read_text(encoding="utf-8")
    assert "<title>Ring &lt;1&gt;</title>" in text
    assert "Only a part of the trace: operation load." in text
    assert cli.main(words) == 1
    assert "already exists" in capfd.readouterr().err
    assert cli.main([*words, "--force"]) == 0
    capfd.readouterr()
    assert cli.main(["report", str(ring_path), "--interactive", "-o", "-"]) == 0
    assert known(capfd.readouterr().out)["story"] == snoopie.load(ring_path).story()


def test_collectives_and_copies(tmp_path: Path) -> None:
    trace = snoopie.load(mixed.write_mixed(tmp_path))
    path = tmp_path / "report.html"
    trace.report(path, interactive=True)
    content = known(path.read_text(encoding="utf-8"))
    captions = [table["caption"] for table in content["tables"]]
    assert captions == [
        "NCCL calls, with the traffic of the kernels that carried them out",
        "Copies by the host, by ends and call",
    ]
    assert payload(trace, (), Limits())["gpus"][:2] == [True, True]
