"""The timeline by Streamlit's own test harness: what its picture is given, and what the page says beside it."""

from __future__ import annotations

import json
import re
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from snoopie.analysis.time.folding import Folding
from tests.support import busy, mixed, waiting
from tests.support.busy import AT, MS, US
from tests.support.encoder import HOST, TraceBuilder
from tests.support.pages import PATIENCE, ROOT, metrics, sent, until, view
from visualizer.components import timeline
from visualizer.components.timeline import Asked
from visualizer.look import theme
from visualizer.parts import tables
from visualizer.pictures import lanes, time_axis
from visualizer.session import background
from visualizer.session.question import Question

Patch = pytest.MonkeyPatch


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return busy.write_busy(tmp_path_factory.mktemp("busy"))


def picture(app: AppTest) -> dict[str, Any]:
    return sent(app, "timeline")


def rows(app: AppTest) -> list[str]:
    """What is written before the lanes."""
    return [f"{lane['place']}: {lane['label']}" for lane in picture(app)["lanes"]]


def bars(app: AppTest, found: bool = False) -> list[tuple[int, int, int, int, str]]:
    """Lane, start, length, count and name of each."""
    drawn = picture(app)
    columns = drawn["found" if found else "bars"]
    names = [drawn["names"][place] for place in columns["name"]]
    return list(zip(*(columns[name] for name in ("lane", "start", "length", "count")), names, strict=True))


def captions(app: AppTest) -> str:
    return " ".join(caption.value for caption in app.caption)


def test_lanes_and_traffic(monkeypatch: Patch, path: Path) -> None:
    app = view(monkeypatch, "timeline", path)
    assert not app.exception
    assert rows(app) == [
        "GPU 0: kernels · stream 7",
        "GPU 0: kernels · stream 8",
        "GPU 0: copies (calls) · stream 7",
        "GPU 1: kernels · stream 9",
        "GPU 1: NCCL (calls) · stream 9",
        "host: driver calls · thread 4711",
        "host: driver calls · thread 4712",
    ]
    drawn = bars(app)
    # 100 of step, 10 copies, 40 of reduce, 5 calls, 102 calls; the ticks are drawn together.
    assert len(drawn) < 100 + 10 + 40 + 5 + 102 + 300
    assert sum(count > 1 for _, _, _, count, _ in drawn) > 10
    counts = [sum(count for lane, _, _, count, _ in drawn if lane == number) for number in range(7)]
    assert counts == [100, 4000, 10, 40, 5, 100, 2]
    assert {name for lane, *_, name in drawn if lane == 0} == {"step"}
    traffic = picture(app)["traffic"]
    assert {one["name"]: sum(one["bytes"]) for one in traffic["series"]} == {
        "GPU 0 → GPU 1": 100 * 4096,
        "GPU 1 → GPU 0": 40 * 2048,
    }
    assert "Instrumentation slows kernels" in captions(app)


def test_little_is_sent(monkeypatch: Patch, path: Path) -> None:
    """Of 4157 things, a few kilobytes."""
    app = view(monkeypatch, "timeline", path, lanes="together")
    assert len(json.dumps(picture(app), separators=(",", ":"))) < 30_000


def test_a_part_of_the_time_by_the_address(monkeypatch: Patch, path: Path) -> None:
    """5 ms to 5.1 ms: one of step, one of reduce; times in the address are after the first moment of all."""
    app = view(monkeypatch, "timeline", path, time_from=str(5 * MS + 7 * US), time_to=str(5 * MS + 107 * US))
    assert not app.exception
    assert picture(app)["shown"] == [5 * MS + 7 * US, 5 * MS + 107 * US]
    kernels = [bar for bar in bars(app) if bar[0] in (0, 3)]
    assert kernels == [
        (0, 5 * MS + 7 * US, 80 * US, 1, "step"),
        (3, 5 * MS + 7 * US, 100 * US, 1, "reduce<4>"),
    ]
    assert app.number_input(key="timeline_from").value == pytest.approx(5.007)
    app.button(key="timeline_further").click().run()
    assert app.query_params["time_from"] in (["4957000"], "4957000")
    app.number_input(key="timeline_from").set_value(2.007)
    app.button(key="timeline_go").click().run()
    assert app.query_params["time_from"] in (["2007000"], "2007000")
    assert app.query_params["time_to"] in (["5157000"], "5157000")
    # An end before the beginning moves both.
    app.number_input(key="timeline_to").set_value(1.0)
    app.button(key="timeline_go").click().run()
    assert not app.exception
    assert app.query_params["time_to"] in (["3150000"], "3150000")
    app.button(key="timeline_all").click().run()
    assert "time_from" not in app.query_params
    assert "time_to" not in app.query_params


def test_what_is_done_before_the_address_follows_counts(monkeypatch: Patch, path: Path) -> None:
    """With the second of two quick acts the browser tells the address of before the first."""
    app = view(monkeypatch, "timeline", path, time_from=str(4 * MS), time_to=str(5 * MS))
    before = dict(app.query_params)
    app.button(key="timeline_earlier").click().run()
    earlier = picture(app)["shown"]
    assert earlier == [3.5 * MS, 4.5 * MS]
    app.query_params.update(before)
    app.segmented_control(key="idle").set_value("whole").run()
    assert picture(app)["shown"] == earlier
    assert picture(app)["folds"] == []
    assert app.query_params["time_from"] in (["3500000"], "3500000")
    # Where nothing was done the address is news, as of a link or of a step back.
    app.query_params.update(before)
    app.run()
    assert picture(app)["shown"] == [4 * MS, 5 * MS]


def test_busy_and_idle_follow_the_time(monkeypatch: Patch, path: Path) -> None:
    """Of 100 µs, step ran 80."""
    shown: dict[str, pd.DataFrame] = {}
    monkeypatch.setattr(tables, "grid", lambda table, names, key, **_: shown.update({key: table}))
    view(monkeypatch, "timeline", path, time_from=str(5 * MS + 7 * US), time_to=str(5 * MS + 107 * US))
    table = shown["timeline_resources"]
    assert dict(zip(table["resource"], table["busy"], strict=True)) == {"GPU 0": 80 * US, "GPU 1": 100 * US}
    view(monkeypatch, "timeline", path)
    rows = shown["timeline_by_resource"]
    idle = rows[rows["kind"] == "idle"].groupby("resource")["name"].agg(list).to_dict()
    assert idle == {"GPU 0": ["20 µs to 50 µs", "less than 10 µs"], "GPU 1": ["100 µs to 1 ms"]}


@pytest.mark.parametrize("many", [False, True])
def test_a_page_waits_for_one_answer_alone(monkeypatch: Patch, many: bool) -> None:
    """It asks for several, which come one after the other; of many records no first one is there soon."""
    released, answer, result = threading.Event(), background._Worker.answer, Future.result
    waited: list[float] = []

    def held(self: background._Worker, question: Question[Any]) -> object:
        assert released.wait(PATIENCE)
        return answer(self, question)

    def seen(self: Future[Any], timeout: float | None = None) -> object:
        waited.extend([] if timeout is None else [timeout])
        return result(self, timeout)

    # What other tests have asked for may not be answered yet.
    for cached in (background._asked, background._line, background._queue, background._answered):
        cached.clear()
    monkeypatch.setattr(background._Worker, "answer", held)
    monkeypatch.setattr(background, "_FEW", 0)
    if many:
        monkeypatch.setattr(background, "_MANY", 0)
    monkeypatch.setattr(Future, "result", seen)
    app = view(monkeypatch, "timeline", ROOT / "sample_traces" / "halo-4gpu")
    assert not app.exception
    assert waited == [0 if many else background._PROMPT, 0, 0]
    released.set()
    until(app, lambda: "Bytes are where their accesses were recorded" in captions(app))
    # Its sums are there now.
    until(app, lambda: not background._line())
    waited.clear()
    app.button(key="timeline_closer").click().run()
    assert waited[0] == background._PROMPT


def test_filter_to_the_time(monkeypatch: Patch, path: Path) -> None:
    app = view(monkeypatch, "timeline", path, time_from=str(5 * MS + 7 * US), time_to=str(5 * MS + 107 * US))
    app.button(key="timeline_filter").click().run()
    assert not app.exception
    assert app.session_state["between"] == [AT + 5 * MS, AT + 5 * MS + 100 * US]
    # Now that is all there is to look at.
    assert app.button(key="timeline_filter").disabled
    calls = view(monkeypatch, "calls", path, between=app.query_params["between"][0])
    assert not calls.exception


def test_lanes_of_gpus_and_only_some(monkeypatch: Patch, path: Path) -> None:
    app = view(monkeypatch, "timeline", path, lanes="together", only="kernel")
    assert rows(app) == ["GPU 0: kernels", "GPU 1: kernels"]
    app.session_state["only"] = ["call", "copy call"]
    app.run()
    assert len(rows(app)) == 2
    assert not app.exception


def test_pairs_of_an_issuer_are_told_apart(monkeypatch: Patch) -> None:
    drawn = picture(view(monkeypatch, "timeline", ROOT / "sample_traces" / "halo-4gpu"))
    series = drawn["traffic"]["series"]
    assert {one["name"].partition(" → ")[0] for one in series} == {"GPU 0", "GPU 1", "GPU 2", "GPU 3"}
    assert len({one["colour"] for one in series}) == len(series) > 4


def test_colours(monkeypatch: Patch, path: Path) -> None:
    """By kernel, each has its own, and what is no kernel none of them; by GPU, those of the lanes."""
    by_kernel = picture(view(monkeypatch, "timeline", path))
    own = dict(zip(by_kernel["names"], by_kernel["colours"], strict=True))
    kernels = {own[name] for name in ("step", "tick", "reduce<4>")}
    assert len(kernels) == 3
    assert own["AllReduce"] not in kernels
    by_gpu = picture(view(monkeypatch, "timeline", path, colour="gpu"))
    assert not any(by_gpu["colours"])
    first, *_, last = (lane["colour"] for lane in by_gpu["lanes"] if lane["what"] == "kernel")
    assert first != last


@pytest.mark.parametrize(
    ("event", "facts"),
    [
        ("kernel:1", {"On": "GPU 0", "Took": "80 µs", "Bytes": "4 KiB", "Stream": "7"}),
        ("copy call:2", {"On": "GPU 0", "Took": "60 µs", "Bytes": "1 MiB"}),
        ("collective:1", {"On": "GPU 1", "Took": "20 µs", "Bytes": "4 KiB"}),
        ("call:1", {"Took": "6 µs", "Thread": "4711"}),
    ],
)
def test_what_was_chosen(monkeypatch: Patch, path: Path, event: str, facts: dict[str, str]) -> None:
    app = view(monkeypatch, "timeline", path, event=event)
    assert not app.exception
    shown = metrics(app)
    assert {name: shown[name] for name in facts} == {name: theme.plain(value) for name, value in facts.items()}
    app.button(key="timeline_event_closer").click().run()
    assert not app.exception


def test_a_selection_is_added_up(monkeypatch: Patch, path: Path) -> None:
    """From 5 ms to 6 ms on GPU 0: 10 of step, which take 80 of 100 µs and store 4 KiB each, and a copy. In the first 50
    µs of it, one of step and one of reduce are cut."""
    first = 5 * MS + 7 * US
    app = view(monkeypatch, "timeline", path, selection=f"{first}-{first + MS}-0-0")
    assert metrics(app) == {"Kernels": "10", "Bytes of kernels": "40 KiB", "Busy": "800 µs (80 %)"}
    app = view(monkeypatch, "timeline", path, selection=f"{first}-{first + 50 * US}-0-3")
    assert metrics(app)["Busy, on average"] == "50 µs (100 %)"
    app = view(monkeypatch, "timeline", path, selection=f"{first}-{first + MS}-2-2")
    assert metrics(app) == {"Copies": "1", "Bytes copied": "1 MiB"}


@pytest.mark.parametrize("selection", ["5-3-0-0", "1-2-0-7", "1-2-1-0", "x-2-0-0", "1-2", "-", f"1-{'9' * 19}-0-0"])
def test_no_selection(monkeypatch: Patch, path: Path, selection: str) -> None:
    app = view(monkeypatch, "timeline", path, selection=selection)
    assert not app.exception
    assert not metrics(app)
    assert picture(app)["selection"] is None
    assert "selection" not in app.query_params


def test_a_search(monkeypatch: Patch, path: Path) -> None:
    app = view(monkeypatch, "timeline", path, search="REDUCE<")
    assert picture(app)["search"] == {"text": "REDUCE<", "number": 1, "total": 40}
    found = bars(app, found=True)
    assert {(lane, name) for lane, _, _, _, name in found} == {(3, "reduce<4>")}
    assert sum(count for _, _, _, count, _ in found) == 40
    nothing = picture(view(monkeypatch, "timeline", path, search="<b>"))
    assert (nothing["search"]["total"], nothing["found"]) == (0, None)


def test_ranges_have_lanes_of_their_own(monkeypatch: Patch, tmp_path: Path) -> None:
    path = mixed.write_mixed(tmp_path)
    app = view(monkeypatch, "timeline", path, event="range:1", only="range")
    assert not app.exception
    assert rows(app) == ["host: ranges · rank 0 · thread 4711"]
    assert {name: metrics(app)[name] for name in ("On", "Took", "Thread")} == {
        "On": "host",
        "Took": "1 µs",
        "Thread": "4711",
    }
    app.button(key="timeline_event_range").click().run()
    assert not app.exception
    assert app.multiselect(key="ranges").value == ["exchange"]


@pytest.mark.parametrize("event", ["kernel:99999", "x:1", "kernel:-1", "kernel:1e9", "::", "<b>"])
def test_nonsense_in_the_address(monkeypatch: Patch, path: Path, event: str) -> None:
    app = view(monkeypatch, "timeline", path, event=event, time_from="-5", time_to="9" * 19, lanes="x", only="y")
    assert not app.exception
    assert not metrics(app)
    assert len(rows(app)) == 7


def test_launches_without_a_time_on_the_gpu(monkeypatch: Patch, ring_path: Path) -> None:
    app = view(monkeypatch, "timeline", ring_path)
    assert not app.exception
    assert "are shown as marks at the time of their host call" in captions(app)
    assert all("launches (calls)" in row for row in rows(app))
    assert "This trace has no GPU timestamps" in captions(app)


def test_names_from_a_trace_are_text(monkeypatch: Patch, tmp_path: Path) -> None:
    """The component writes them as text; what looks like a control character is written as what it is."""
    trace = TraceBuilder(1)
    evil = trace.function("<img src=x onerror=alert(1)>\x1b[2J")
    trace.add("spans", launch=trace.launch(evil, 0), start=AT, end=AT + 100)
    app = view(monkeypatch, "timeline", trace.write(tmp_path / "t.zst"), event="kernel:1")
    assert not app.exception
    assert not any("\x1b" in name for name in picture(app)["names"])
    assert any(theme.plain("<img src=x onerror=alert(1)>") in text.value for text in app.markdown)


def test_many_lanes(monkeypatch: Patch, tmp_path: Path) -> None:
    """All are named, and only of those in sight bars are sent."""
    trace = TraceBuilder(1)
    kernel = trace.function("k()")
    for stream in range(60):
        trace.launch(kernel, 0, stream=stream + 10)
    path = trace.write(tmp_path / "t.zst")
    assert len(rows(view(monkeypatch, "timeline", path))) == 1
    app = view(monkeypatch, "timeline", path, lanes="streams")
    assert len(rows(app)) == 60
    assert picture(app)["sent"] == [0, timeline.ROWS + timeline.BESIDE + 1]
    assert {lane for lane, *_ in bars(app)} == set(range(timeline.ROWS + timeline.BESIDE + 1))
    app.session_state["timeline_top"] = 50
    app.run()
    assert {lane for lane, *_ in bars(app)} == set(range(50 - timeline.BESIDE, 60))


def test_it_opens_on_what_happened(monkeypatch: Patch, tmp_path: Path) -> None:
    """Of a second, in which kernels run early and within 1 ms, the time between is folded; it can be seen whole."""
    trace = TraceBuilder(1)
    kernel = trace.function("k()")
    for start in (0, *(900 * MS + number * 100 * US for number in range(10))):
        launch = trace.launch(kernel, 0, time=AT + start)
        trace.add("spans", launch=launch, start=AT + start, end=AT + start + 50 * US)
    trace.copy(0, HOST, 64, gpu=0, start=AT + 1000 * MS, end=AT + 1000 * MS + US)
    path = trace.write(tmp_path / "t.zst")
    app = view(monkeypatch, "timeline", path)
    drawn = picture(app)
    assert drawn["shown"] == drawn["whole"] == [0, 1000 * MS + US + 1]
    (first, last), (after, end) = drawn["folds"]
    assert 50 * US < first < 0.1 * MS and 899.9 * MS < last < 900 * MS
    assert 900 * MS + 950 * US < after < 901 * MS and 999.9 * MS < end < 1000 * MS
    rest = 1000 * MS - (last - first) - (end - after)
    assert rest < 1.2 * MS
    assert "without the idle gaps that are folded" in captions(app)
    # No kernel is lost, and each is by itself.
    assert sum(bar[3] for bar in bars(app)) == 12
    assert sum(bar[2] == 50 * US for bar in bars(app)) == 11
    assert picture(view(monkeypatch, "timeline", path, idle="whole"))["folds"] == []


def test_a_step_closer_does_not_fall_into_a_fold(monkeypatch: Patch, tmp_path: Path) -> None:
    """Half of what is seen, not of the second."""
    trace = TraceBuilder(1)
    kernel = trace.function("k()")
    for start in (0, 1000 * MS):
        launch = trace.launch(kernel, 0, time=AT + start)
        trace.add("spans", launch=launch, start=AT + start, end=AT + start + MS)
    app = view(monkeypatch, "timeline", trace.write(tmp_path / "t.zst"))
    app.button(key="timeline_closer").click().run()
    first, last = picture(app)["shown"]
    assert 0.4 * MS < first < 0.6 * MS and 1000.4 * MS < last < 1000.6 * MS
    app.button(key="timeline_all").click().run()
    assert "time_from" not in app.query_params


# What comes back from the browser


def answers(monkeypatch: Patch, name: str, value: object) -> list[object]:
    """What the callbacks were told when the browser sent a value."""
    told: list[object] = []
    mounted: dict[str, Any] = {}
    monkeypatch.setattr(timeline, "_mount", lambda **options: mounted.update(options))
    monkeypatch.setattr(timeline, "event", lambda _, asked: value if asked == name else None)
    picture = timeline.Picture(
        "", (0, 10), (0, 10), [], [], (0, 0), [], [], timeline.Bars(), None, None, "", None, timeline.Search(), None, 0
    )
    timeline.show(
        "key",
        picture,
        on_look=told.append,
        on_choose=told.append,
        on_select=told.append,
        on_search=lambda text, by: told.append((text, by)),
    )
    for change in ("look", "choose", "select", "search"):
        mounted[f"on_{change}_change"]()
    return told


def test_what_the_browser_asks(monkeypatch: Patch) -> None:
    assert answers(monkeypatch, "look", {"shown": [1, 5], "top": 2, "asked": 3}) == [Asked(1, 5, 2, 3)]
    assert answers(monkeypatch, "choose", "kernel:1") == ["kernel:1"]
    assert answers(monkeypatch, "select", [1, 5, 0, 2]) == [(1, 5, 0, 2)]
    assert answers(monkeypatch, "select", []) == [None]
    assert answers(monkeypatch, "search", {"text": "k", "by": -1}) == [("k", -1)]
    assert answers(monkeypatch, "search", {"text": "k" * 999, "by": 7}) == [("k" * 200, 1)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("look", [1, 2]),
        ("look", {"shown": [5, 1], "top": 0, "asked": 1}),
        ("look", {"shown": [0, 1.5], "top": 0, "asked": 1}),
        ("look", {"shown": [0, 1 << 60], "top": 0, "asked": 1}),
        ("look", {"shown": [0, 5], "top": -1, "asked": 1}),
        ("look", {"shown": [0, True], "top": 0, "asked": 1}),
        ("choose", 5),
        ("select", [1, 2, 3]),
        ("select", "1-2-3-4"),
        ("search", {"text": 5}),
        ("search", "k"),
    ],
)
def test_nonsense_from_the_browser(monkeypatch: Patch, name: str, value: object) -> None:
    assert answers(monkeypatch, name, value) == []


def test_only_names_of_kernels_are_shortened() -> None:
    assert lanes.short("kernel", "void n::k<int>(float*)") == "n::k<int>"
    assert lanes.short("copy", "host → GPU 0") == "host → GPU 0"


def test_marks_of_an_axis() -> None:
    axis = time_axis.axis(1_000_000, 1_010_000, 0)
    assert axis["ticktext"] == ["1,000", "1,002", "1,004", "1,006", "1,008", "1,010"]
    assert (axis["range"], axis["title"]["text"]) == ([1_000_000, 1_010_000], "µs after the start")
    assert time_axis.axis(5, 105, 5)["ticktext"] == ["0", "20", "40", "60", "80", "100"]
    assert time_axis.axis(0, 90 * 10**9, 0)["ticktext"] == ["0", "20", "40", "60", "80"]
    assert time_axis.axis(0, 13_010_000, 0)["title"]["text"] == "ms after the start"
    # Half of a unit is one decimal, less is of the next unit.
    part = time_axis.axis(0, 3_500_000, 0)
    assert (part["title"]["text"], part["ticktext"][-2:]) == ("ms after the start", ["3.0", "3.5"])
    part = time_axis.axis(0, 1_400_000, 0)
    assert (part["title"]["text"], part["ticktext"][-1]) == ("µs after the start", "1,400")
    assert time_axis.axis(0, 10, 0)["ticktext"] == ["0", "2", "4", "6", "8", "10"]


def test_a_time_axis_leaves_out_what_is_folded() -> None:
    """What stands at a mark is the time there: after the fold, not that of the marks before and 40."""
    axis = time_axis.axis(0, 1_000_080, 0, Folding([(40, 1_000_000)]))
    assert axis["range"] == [0, 120]
    assert axis["tickvals"] == [0, 20, 40, 60, 80, 100, 120]
    assert axis["ticktext"] == ["0", "20", "1,000,000", "1,000,020", "1,000,040", "1,000,060", "1,000,080"]


def test_the_overview_leaves_idle_gaps_out(monkeypatch: Patch) -> None:
    app = view(monkeypatch, "overview", ROOT / "sample_traces" / "halo-4gpu")
    assert not app.exception
    # Of 2.6 s, 24.7 ms are left: a launch of 216.9 µs is a hundredth and not a ten thousandth of the width.
    (strip,) = (one.proto.body for one in app.get("html") if '"strip"' in one.proto.body)
    (width,) = re.findall(r"width:([\d.]+)%[^>]*216\.9 µs", strip)
    assert width == f"{100 * 216.9 / 24_700:.2f}"
    assert strip.count("<b ") > 10
    assert strip.count('class="lane"') == 4


def test_waits(monkeypatch: Patch, tmp_path: Path) -> None:
    app = view(monkeypatch, "timeline", waiting.write_round(tmp_path), event="wait:4")
    assert not app.exception
    assert rows(app)[6:] == ["GPU 3: kernels · stream 7", "GPU 3: waits · stream 7"]
    drawn = picture(app)
    assert [lane["faint"] for lane in drawn["lanes"]] == [False, True] * 4
    own = [place for place, lane in enumerate(drawn["bars"]["lane"]) if lane == 7]
    assert [drawn["bars"]["busy"][place] for place in own] == [100] * waiting.ROUNDS
    assert {drawn["bars"]["about"][place] for place in own} == {"one wait of 698 µs"}
    # In the colour of the one that it waits for.
    colours = {drawn["colours"][drawn["bars"]["name"][place]] for place in own}
    assert colours == {drawn["lanes"][4]["colour"]}
    others = [place for place, lane in enumerate(drawn["bars"]["lane"]) if lane == 5]
    # 50 of 698 µs, as far as is known.
    assert {drawn["bars"]["busy"][place] for place in others} == {7}
    assert "Their times are known to ± 1 µs." in captions(app)
    facts = metrics(app)
    assert (facts["Waits"], facts["All warps waited"], facts["The longest wait"]) == ("1", "698 µs", "698 µs")


def test_accesses(monkeypatch: Patch, tmp_path: Path) -> None:
    app = view(monkeypatch, "timeline", waiting.write_moving(tmp_path), event="move:4")
    assert not app.exception
    assert rows(app)[9:] == [f"GPU 3: {what} · stream 7" for what in ("kernels", "accesses", "waits")]
    drawn = picture(app)
    own = [place for place, lane in enumerate(drawn["bars"]["lane"]) if lane == 10]
    assert {drawn["names"][drawn["bars"]["name"][place]] for place in own} == {"GPU 0 at ring.cu:40"}
    assert {drawn["bars"]["length"][place] for place in own} == {695 * US}
    assert "A launch that accessed other memory has a bar from its first access to its last." in captions(app)
    facts = metrics(app)
    assert (facts["Accesses"], facts["First to last"], facts["Blocks moving"]) == ("3", "695 µs", "695 µs")


def test_waits_of_unknown_times_are_said(monkeypatch: Patch, tmp_path: Path) -> None:
    app = view(monkeypatch, "timeline", waiting.write_waiting(tmp_path))
    assert "Kernels moved or waited, but not when is known: their launches have no GPU timestamps." in captions(app)
