"""The app's filters: each holds over every page, stands in the address, and says where it cannot apply."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import snoopie
from snoopie.analysis import selection
from tests.support import mixed, ring
from tests.support.encoder import START_NS
from tests.support.pages import APP, PATIENCE, VIEWS, metrics, start, unfold, view
from visualizer.controls import filters
from visualizer.session.filters import FILTERS

# Each filter: its words in the address, and what it selects of the mixed run.
EACH: dict[str, tuple[list[str], dict[str, Any]]] = {
    "processes": (["1"], {"processes": 1}),
    "issuers": (["GPU 1"], {"issuers": "GPU 1"}),
    "owners": (["host", "GPU 0"], {"owners": ["host", "GPU 0"]}),
    "kernels": ([mixed.NCCL], {"kernels": mixed.NCCL}),
    "operations": (["load"], {"operations": "load"}),
    "ranges": (["exchange"], {"ranges": "exchange"}),
    "launches": (["2-4"], {"launches": [2, 3, 4]}),
    # Launches are 1 µs apart in each process; copies 100 µs.
    "between": (["0-1001"], {"between": (START_NS + 1000, START_NS + 2001)}),
}


@pytest.fixture
def mixed_folder(tmp_path: Path) -> Path:
    return mixed.write_mixed(tmp_path)


def words(app: AppTest, name: str) -> list[str]:
    """What the address says of a filter; Streamlit's harness gives one word by itself in some versions."""
    given = app.query_params[name]
    return [given] if isinstance(given, str) else list(given)


def test_there_is_a_title_and_a_test_of_every_filter() -> None:
    assert set(EACH) == set(FILTERS) == set(filters.TITLES)


# Pages ask for the selected part, whatever selected it: each filter on pages that show sums, one on every other.
SUMS = ("overview", "copies")
COMBINED = [(page, name) for page in VIEWS for name in (EACH if page in SUMS else ["kernels"])]


@pytest.mark.parametrize(("page", "name"), COMBINED)
def test_each_filter_and_every_page(monkeypatch: pytest.MonkeyPatch, mixed_folder: Path, page: str, name: str) -> None:
    """What every page takes its numbers from is the selected part, and the address says the same afterwards."""
    app = view(monkeypatch, page, mixed_folder, **{name: EACH[name][0]})
    assert not app.exception
    whole = snoopie.load(mixed_folder)
    expected = whole.select(**EACH[name][1])
    selected = next(caption.value for caption in app.sidebar.caption if caption.value.startswith("Selected"))
    launches, copies = len(expected.launches), len(expected.copies)
    assert f"{launches} of 6 launches" in selected or (launches == 6 and "all 6 launches" in selected)
    assert f"{copies} of 8 copies" in selected or (copies == 8 and "all 8 copies" in selected)
    assert words(app, name) == EACH[name][0]
    if page == "overview":
        sums = expected.summary()
        assert metrics(app)["Accesses"] == str(sums["accesses"])
        assert metrics(app)["Copies"] == str(sums["copies"])
        assert metrics(app)["NCCL calls"] == str(len(expected.collectives))
    elif page == "copies" and len(expected.copies):
        assert metrics(app)["Copies"] == str(len(expected.copies))


def test_they_hold_together(monkeypatch: pytest.MonkeyPatch, mixed_folder: Path) -> None:
    app = view(monkeypatch, "overview", mixed_folder, **{name: EACH[name][0] for name in ("issuers", "kernels")})
    assert metrics(app)["Accesses"] == "80"
    app.multiselect(key="owners").set_value(["host"]).run()
    assert metrics(app)["Accesses"] == "0"
    assert words(app, "issuers") == ["GPU 1"]
    app.button(key="clear_filters").click().run()
    assert metrics(app)["Accesses"] == "218"
    assert not set(app.query_params) & set(FILTERS)
    assert "clear_filters" not in [button.key for button in app.button]


def test_widgets(monkeypatch: pytest.MonkeyPatch, mixed_folder: Path) -> None:
    app = start(monkeypatch, mixed_folder)
    process = app.multiselect(key="processes")
    assert process.options == ["rank 0: mixed 4711", "rank 1: mixed 4712"]
    process.set_value([1]).run()
    assert metrics(app)["Accesses"] == "108"
    process.set_value([]).run()
    app.number_input(key="launches_first").set_value(5).run()
    assert words(app, "launches") == ["5-6"]
    assert metrics(app)["Launches"] == "2"
    # What was set last counts.
    app.number_input(key="launches_last").set_value(3).run()
    assert words(app, "launches") == ["3-3"]
    assert (app.number_input(key="launches_first").value, metrics(app)["Launches"]) == (3, "1")
    app.number_input(key="launches_first").set_value(None).run()
    assert words(app, "launches") == ["1-3"]
    app.number_input(key="launches_last").set_value(None).run()
    assert "launches" not in app.query_params


def test_time(monkeypatch: pytest.MonkeyPatch, mixed_folder: Path) -> None:
    app = start(monkeypatch, mixed_folder)
    slider = app.slider(key="between_shown")
    # From the first launch, at 1 µs, to the end of the last copy, at 402 µs.
    assert (slider.label, slider.min, slider.max) == ("Time (µs)", 0, 401.001)
    slider.set_value((0.0, 50.0)).run()
    assert words(app, "between") == ["0-50000"]
    assert (metrics(app)["Launches"], metrics(app)["Copies"]) == ("6", "0")
    assert app.slider(key="between_shown").value == (0.0, 50.0)
    app.slider(key="between_shown").set_value((150.0, 401.001)).run()
    assert (metrics(app)["Launches"], metrics(app)["Copies"]) == ("0", "6")
    # By steps of a thousandth one does not meet the end exactly.
    app.slider(key="between_shown").set_value((0.0, 400.999)).run()
    assert "between" not in app.query_params
    # Nothing is shorter than a nanosecond.
    app.slider(key="between_shown").set_value((7.0, 7.0)).run()
    assert words(app, "between") == ["7000-7001"]


def test_no_filter_where_there_is_no_choice(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    app = start(monkeypatch, ring_path)
    labels = [multiselect.label for multiselect in app.multiselect]
    assert labels == ["Issuer", "Owner", "Kernels", "Operations"]


@pytest.mark.parametrize(
    "query",
    [
        {"between": "7"},
        {"between": "b-a"},
        {"between": "9-3"},
        {"between": "-5-3"},
        {"between": "1-" + "9" * 30},
        {"between": "0-99999999999"},
        {"launches": "0-0x9"},
        {"launches": "²-³"},
        {"launches": "1-99"},
        {"issuers": "GPU 7"},
        {"owners": "<b>"},
        {"processes": "-1"},
    ],
)
def test_nonsense_in_the_address_filters_nothing(
    monkeypatch: pytest.MonkeyPatch, mixed_folder: Path, query: dict[str, str]
) -> None:
    app = view(monkeypatch, "overview", mixed_folder, **query)
    assert not app.exception
    assert metrics(app)["Accesses"] == "218"
    assert not set(app.query_params) & set(FILTERS)


def chooser(monkeypatch: pytest.MonkeyPatch, path: Path) -> AppTest:
    """A page that sets filters by a callback, and in its middle."""
    monkeypatch.setattr("sys.argv", [str(APP), str(path)])
    script = f"""
import streamlit as st
from snoopie import Trace
from visualizer.controls import filters
from visualizer.session import state
from visualizer.session.filters import FILTERS
if state.is_open():
    filters.sidebar()
    pair = {{"issuers": ["GPU 0"], "owners": ["GPU 1", "GPU 9"]}}
    st.button("Pair", key="pair", on_click=filters.choose, kwargs=pair)
    if st.button("Middle", key="middle"):
        filters.choose(between=({START_NS + 3000}, {START_NS + 6000}), issuers=None)
        st.rerun()
    if st.button("Wrong", key="wrong"):
        filters.choose(gpu=1)
    st.metric("Accesses", state.ask(Trace.summary)["accesses"])
"""
    return AppTest.from_string(script, default_timeout=PATIENCE).run()


def test_a_view_chooses(monkeypatch: pytest.MonkeyPatch, ring_path: Path) -> None:
    app = chooser(monkeypatch, ring_path)
    app.button(key="pair").click().run()
    assert metrics(app)["Accesses"] == "32"
    assert (app.multiselect(key="issuers").value, app.multiselect(key="owners").value) == (["GPU 0"], ["GPU 1"])
    assert (words(app, "issuers"), words(app, "owners")) == (["GPU 0"], ["GPU 1"])
    app.button(key="middle").click().run()
    # The launches 3 to 5, but only what GPU 1 owns, which is nothing of what GPU 1 issued.
    assert metrics(app)["Accesses"] == "0"
    assert app.multiselect(key="issuers").value == []
    app.multiselect(key="owners").set_value([]).run()
    assert metrics(app)["Accesses"] == "64"
    app.button(key="wrong").click().run()
    assert "no such filter: gpu" in app.exception[0].message


def test_another_trace_has_no_filters(monkeypatch: pytest.MonkeyPatch, mixed_folder: Path) -> None:
    app = start(monkeypatch, mixed_folder)
    for name, (asked, _) in EACH.items():
        app.query_params[name] = asked
    app.run()
    assert metrics(app)["Launches"] == "0"
    app.button(key="open_another").click().run()
    path = ring.write_ring(mixed_folder.parent, name="other.zst")
    app.text_input(key="path").set_value(str(path))
    next(button for button in app.button if button.label == "Open").click().run()
    assert metrics(app)["Accesses"] == "224"


def captions(app: AppTest) -> str:
    return " ".join(caption.value for caption in app.caption)


def test_what_a_filter_does_not_divide_is_said(monkeypatch: pytest.MonkeyPatch, mixed_folder: Path) -> None:
    app = view(monkeypatch, "collectives", mixed_folder, owners=["host"], operations=["load"])
    assert "The filters “Owner” and “Operations” do not apply to the calls" in captions(app)
    assert "apply to" not in captions(view(monkeypatch, "collectives", mixed_folder, issuers=["GPU 1"]))
    sites = view(monkeypatch, "sites", mixed_folder, owners=["GPU 1"], operations=["load"])
    assert "The filter “Owner” does not apply to these instructions" in captions(sites)
    overview = view(monkeypatch, "overview", mixed_folder, processes=["1"])
    unfold(overview, "overview_machine")
    assert "lists of GPUs" in captions(overview)
    assert "apply to" not in captions(view(monkeypatch, "overview", mixed_folder))


def test_no_copies_says_which_filter(monkeypatch: pytest.MonkeyPatch, mixed_folder: Path) -> None:
    app = view(monkeypatch, "copies", mixed_folder, launches=["1-2"])
    assert "filtering by launches excludes them all" in app.info[0].value
    app = view(monkeypatch, "copies", mixed_folder, between=["0-10"])
    assert "No copy matches the filters" in app.info[0].value


def test_what_is_said_to_divide_does(mixed_folder: Path) -> None:
    """Copies and calls of NCCL are divided by just the filters of which no page says otherwise."""
    whole = snoopie.load(mixed_folder)
    some = {
        **{name: selected for name, (_, selected) in EACH.items()},
        "owners": {"owners": "host"},
        "kernels": {"kernels": mixed.EXCHANGE},
        "between": {"between": (START_NS + 150_000, START_NS + 10**6)},
    }
    copies = {name: len(whole.select(**selected).copies) for name, selected in some.items()}
    assert {name for name, number in copies.items() if 0 < number < 8} == set(selection.COPIES_BY)
    collectives = {name: len(whole.select(**selected).collectives) for name, selected in some.items()}
    assert {name for name, number in collectives.items() if number < 6} == set(selection.COLLECTIVES_BY)
    # What was not measured is of `exchange`, and reads.
    some |= {"kernels": {"kernels": mixed.NCCL}, "operations": {"operations": "store"}}
    unmeasured = {name: whole.select(**selected).not_measured()["accesses"].sum() for name, selected in some.items()}
    assert {name for name, number in unmeasured.items() if number < 24} == {*selection.UNMEASURED_BY} - {"files"}
