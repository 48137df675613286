"""The view of who moved how much to whom: what it says, what can be chosen in it, and what a choice filters."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import snoopie
from snoopie.figures import colours
from tests.support.encoder import HOST, START_NS, TraceBuilder
from tests.support.pages import PATIENCE, metrics, said, until, view
from visualizer.components.graph import Arrow
from visualizer.parts.places import Place
from visualizer.pictures import network
from visualizer.session import background
from visualizer.session.filters import Filters
from visualizer.session.question import Question
from visualizer.views import communication
from visualizer.views.communication import Choice


def captions(app: AppTest) -> str:
    return " ".join(caption.value for caption in app.caption)


def options(app: AppTest) -> list[str]:
    shown: list[str] = app.selectbox(key="communication_choice").options
    return shown


def filtered(app: AppTest) -> tuple[list[str], list[str]]:
    return app.session_state["issuers"], app.session_state["owners"]


def choose(app: AppTest, name: str) -> AppTest:
    place = options(app).index(name)
    app.selectbox(key="communication_choice").select_index(place).run()
    assert not app.exception
    return app


def test_pairs_do_not_wait_for_the_records(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    """How exact wire bytes are, which all records are gone through for, comes later."""
    released, answer = threading.Event(), background._Worker.answer

    def held(self: background._Worker, question: Question[Any]) -> object:
        assert released.wait(PATIENCE)
        return answer(self, question)

    monkeypatch.setattr(background._Worker, "answer", held)
    monkeypatch.setattr(background, "_FEW", 0)
    app = view(monkeypatch, "communication", ring_path)
    assert communication.GOING in captions(app)
    assert "Over the links" in [heading.value for heading in app.subheader]
    released.set()
    until(app, lambda: communication.GOING not in captions(app))
    about = snoopie.load(ring_path).about_wire_bytes()
    assert about and all(sentence in captions(app) for sentence in about)


@pytest.mark.parametrize("reading", ["issued", "flow"])
@pytest.mark.parametrize("initiated", ["host", "both"])
def test_sides_from_the_address(
    monkeypatch: pytest.MonkeyPatch, mixed_folder: Path, reading: str, initiated: str
) -> None:
    """A value that copies do not have is set aside, not refused, and comes back with the device's side."""
    app = view(monkeypatch, "communication", mixed_folder, initiated=initiated, reading=reading, value="accesses")
    assert not app.exception
    assert "bytes only" in captions(app)
    assert (app.session_state["initiated"], app.session_state["value"]) == (initiated, "accesses")
    assert app.query_params["initiated"] in (initiated, [initiated])
    app.session_state["initiated"] = "device"
    app.run()
    assert not app.exception
    assert "bytes only" not in captions(app)
    assert app.session_state["value"] == "accesses"
    assert "initiated" not in app.query_params


def test_nonsense_in_the_address(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    nonsense = {
        "initiated": "nic",
        "reading": "<b>",
        "value": "",
        "library": "MPI",
        "picture": "3d",
        "issuers": "GPU 9",
    }
    app = view(monkeypatch, "communication", ring_path, **nonsense)
    assert not app.exception
    names = ("initiated", "reading", "value", "library", "picture", "issuers")
    assert [app.session_state[name] for name in names] == ["device", "issued", "bytes", "all", "traffic", []]


def test_only_copies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    trace.copy(HOST, 1, 4096, gpu=1)
    path = trace.write(tmp_path / "t.zst")
    app = view(monkeypatch, "communication", path)
    assert "choose Host" in said(app)
    app.session_state["initiated"] = "host"
    app.run()
    assert not app.exception
    assert "choose Host" not in said(app)
    assert metrics(app) == {"Program": "4 KiB"}


@pytest.mark.parametrize("value", ["bytes", "wire_efficiency"])
@pytest.mark.parametrize("picture", ["traffic", "links"])
def test_efficiency_and_links(monkeypatch: pytest.MonkeyPatch, mixed_folder: Path, value: str, picture: str) -> None:
    app = view(monkeypatch, "communication", mixed_folder, value=value, picture=picture)
    assert not app.exception
    assert ("Wire efficiency: Bytes" in captions(app)) == (value == "wire_efficiency")
    assert ("Click a GPU to choose" in captions(app)) == (picture == "links")


def test_by_library(monkeypatch: pytest.MonkeyPatch, mixed_folder: Path) -> None:
    app = view(monkeypatch, "communication", mixed_folder)
    # By the table of tests/support/mixed.py: 2 × (32768 + 8192) and 2 × (2048 + 1024 + 512) + 256 bytes.
    assert metrics(app) == {"NCCL": "80 KiB", "Program": "7.2 KiB"}
    app.segmented_control(key="library").set_value("NCCL").run()
    assert metrics(app) == {"NCCL": "80 KiB"}
    assert [name for name in options(app) if "→" in name] == ["GPU 0 → GPU 1", "GPU 1 → GPU 0"]
    app.segmented_control(key="library").set_value("NVSHMEM").run()
    assert not app.exception
    assert "There is no traffic of NVSHMEM" in said(app)


def test_a_pair_filters_all_views(monkeypatch: pytest.MonkeyPatch, mixed_folder: Path) -> None:
    app = view(monkeypatch, "communication", mixed_folder)
    choose(app, "GPU 1 → GPU 0")
    assert filtered(app) == (["GPU 1"], ["GPU 0"])
    assert app.query_params["issuers"] in ("GPU 1", ["GPU 1"])
    assert "All views show what GPU 1 issued on the memory of GPU 0." in captions(app)
    assert metrics(app) == {"NCCL": "40 KiB", "Program": "2 KiB"}
    # The pictures still have all: another pair is one click away.
    assert "GPU 0 → GPU 1" in options(app)
    overview = view(monkeypatch, "overview", mixed_folder, issuers="GPU 1", owners="GPU 0")
    assert metrics(overview)["Bytes"] == "42 KiB"
    app.button(key="communication_all").click().run()
    assert filtered(app) == ([], [])


def test_a_pair_of_a_flow_is_both_ways(monkeypatch: pytest.MonkeyPatch, mixed_folder: Path) -> None:
    app = view(monkeypatch, "communication", mixed_folder, reading="flow")
    # Data comes from the host by loads that GPUs issue.
    choose(app, "GPU 1 ↔ host")
    assert filtered(app) == (["GPU 1"], ["GPU 1", "host"])
    assert "both ways" in captions(app)
    assert metrics(app) == {"Program": "1 KiB"}
    # As said in the sidebar, in any order.
    again = view(monkeypatch, "communication", mixed_folder, reading="flow")
    again.multiselect(key="owners").set_value(["host", "GPU 1"])
    again.multiselect(key="issuers").set_value(["GPU 1"]).run()
    assert again.selectbox(key="communication_choice").value == Choice("between", ("GPU 1", "host"))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"issuers": "GPU 1"}, "What GPU 1 issued"),
        ({"owners": "host"}, "Memory of host"),
        ({"issuers": "GPU 0", "owners": "host"}, "GPU 0 → host"),
        ({"issuers": "GPU 1", "owners": "GPU 1"}, "GPU 1 → GPU 1"),
    ],
)
def test_the_chooser_says_what_the_filters_say(
    monkeypatch: pytest.MonkeyPatch, mixed_folder: Path, query: dict[str, str], expected: str
) -> None:
    app = view(monkeypatch, "communication", mixed_folder, **query)
    assert not app.exception
    assert app.selectbox(key="communication_choice").value.name == expected


def test_filters_that_are_no_choice(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    app = view(monkeypatch, "communication", ring_path)
    app.multiselect(key="issuers").set_value(["GPU 0", "GPU 1"]).run()
    assert not app.exception
    assert app.selectbox(key="communication_choice").value == Choice("other")
    choose(app, "Everything")
    assert filtered(app) == ([], [])


@pytest.mark.parametrize(
    ("labels", "reading", "expected"),
    [
        (["GPU 0"], "issued", Choice("issued", ("GPU 0",))),
        (["host"], "issued", Choice("owned", ("host",))),
        (["GPU 1", "GPU 0"], "issued", Choice("pair", ("GPU 1", "GPU 0"))),
        (["GPU 1", "GPU 0"], "flow", Choice("between", ("GPU 0", "GPU 1"))),
    ],
)
def test_what_a_click_chooses(
    monkeypatch: pytest.MonkeyPatch, labels: list[str], reading: Any, expected: Choice
) -> None:
    known = {
        label: Place(label, "gpu" if label.startswith("GPU") else label, "", "", "#000000")
        for label in ("GPU 0", "GPU 1", "host")
    }
    monkeypatch.setattr(communication.places, "by_label", lambda: known)
    shown = communication.Shown("bytes", reading)
    choice = communication.clicked(labels, shown, Filters())
    assert choice == expected
    # A second click on the same takes it back.
    selected = Filters(issuers=tuple(choice.issuers), owners=tuple(choice.owners))
    assert communication.clicked(labels, shown, selected) == Choice()


def test_over_the_links(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mixed_folder: Path) -> None:
    # A trace without times says so instead of a number.
    assert "No rates: this trace" in captions(view(monkeypatch, "communication", mixed_folder))
    trace = TraceBuilder(2)
    function = trace.function("k()")
    site = trace.site(function, "STG.E", "store", 4)
    launch = trace.launch(function, 0)
    trace.count(launch, site, 1, 1000, 32000, 4000)
    trace.add("spans", launch=launch, start=START_NS, end=START_NS + 1000)
    app = view(monkeypatch, "communication", trace.write(tmp_path / "t.zst"))
    assert not app.exception
    assert "No rates: this trace" not in captions(app)
    assert "Instrumentation slows kernels" in captions(app)


def gpus(count: int, hosts: int) -> list[Place]:
    palette = colours.of_gpus(count)
    return [
        Place(f"GPU {number}", "gpu", "", "", palette[number], f"node{number * hosts // count}")
        for number in range(count)
    ]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 8])
def test_the_host_is_not_straight_below_a_gpu(count: int) -> None:
    """Which would hide arrows from those above it."""
    at = network.positions([*gpus(count, 1), Place("host", "host", "", "", "#000000")])
    x, y = at.pop("host")
    assert not [1 for other_x, other_y in at.values() if abs(other_x - x) < 0.3 and other_y < y + 1]


def test_curves_are_within_the_picture() -> None:
    """That from GPU 0 to GPU 1, which stand side by side, is above both."""
    way = ((-1.0, 0.0), (0.0, 0.64), (1.0, 0.0))
    curve = Arrow(way, 1.0, "#000000", 1.0, "", [], ["GPU 0", "GPU 1"])
    assert network.span([(-1.0, 0.0), (1.0, 0.0), (0.9, -1.85)], [curve]) == ((-1.0, -1.85), (1.0, 0.32))


@pytest.mark.parametrize(("count", "hosts"), [(1, 1), (2, 1), (4, 1), (8, 1), (16, 1), (16, 2), (16, 4), (12, 3)])
def test_places_do_not_overlap(count: int, hosts: int) -> None:
    others = [Place(label, label, "", "", "#000000") for label in ("host", "unknown")]
    at = network.positions([*gpus(count, hosts), *others])
    assert len(at) == count + 2
    points = list(at.values())
    apart = [
        ((x0 - x1) ** 2 + (y0 - y1) ** 2) ** 0.5
        for number, (x0, y0) in enumerate(points)
        for x1, y1 in points[number + 1 :]
    ]
    assert min(apart) > 0.35
    # Each host has its own part of the picture.
    boxes = {}
    for place in gpus(count, hosts):
        boxes.setdefault(place.host, []).append(at[place.label])
    for host, own in boxes.items():
        left, right = min(x for x, _ in own), max(x for x, _ in own)
        low, high = min(y for _, y in own), max(y for _, y in own)
        foreign = [point for other, some in boxes.items() if other != host for point in some]
        assert not [1 for x, y in foreign if left <= x <= right and low <= y <= high]
