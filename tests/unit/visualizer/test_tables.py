"""Tables of the app: what they are sent, and what a click means."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from tests.support.pages import PATIENCE
from visualizer.components import table as component
from visualizer.components.table import Column
from visualizer.parts import tables

TABLE = pd.DataFrame(
    {
        "kernel": ["copy(float*, int)", "k" * 200],
        "bytes": np.array([1536, -1]),
        "wire_efficiency": [4.0, math.nan],
        "file": ["/home/user/project/src/copy.cu", ""],
        "line": [12, 0],
        "rank": ["0 of 2", "1 of 2"],
    }
)


def column(name: str) -> Column:
    (made,) = tables.columns_of(TABLE, [name])
    return made


def test_amounts_are_sorted_by_their_value_and_exact_in_a_hint() -> None:
    bytes = column("bytes")
    assert (bytes.texts, bytes.values, bytes.unit) == (["1.5 KiB", "–"], [1536, None], " bytes")
    assert (bytes.look, bytes.largest, len(bytes.colours)) == ("number", 1536, 1)
    assert bytes.least == bytes.most


def test_what_has_no_room_is_in_a_hint() -> None:
    efficiency, file = column("wire_efficiency"), column("file")
    assert efficiency.texts == ["400 %", "–"]
    assert efficiency.hints == ["400 % (lanes shared addresses)", "–"]
    assert efficiency.values == [4.0, None]
    # A bar never is longer than the cell.
    assert efficiency.largest == 1.0
    assert (file.texts[0], file.hints) == ("src/copy.cu", ["/home/user/project/src/copy.cu", ""])


def test_words_in_a_column_of_numbers_are_sorted_as_words() -> None:
    rank = column("rank")
    assert (rank.texts, rank.values, rank.look) == (["0 of 2", "1 of 2"], None, "number")


def test_texts_take_no_more_room_than_they_need() -> None:
    first, second = tables.columns_of(TABLE, ["kernel", "kernel"])
    assert first.most == second.most < 650
    # The first one says what a row is.
    assert second.least < first.least < first.most


def test_short_texts_are_never_cut() -> None:
    kinds = pd.DataFrame({"kind": ["symmetric", "device"], "name": ["n" * 60, ""]})
    kind, name = tables.columns_of(kinds, ["kind", "name"])
    assert kind.least == kind.most
    assert name.least < name.most


def test_a_heading_that_just_fits_stands_in_one_line() -> None:
    sums = pd.DataFrame({"distinct": [1], "allocated_by_all": [2]})
    distinct, by_all = tables.columns_of(sums, ["distinct", "allocated_by_all"])
    assert distinct.heading == "Distinct bytes"
    assert tables.heading_height([distinct]) < tables.heading_height([distinct, by_all])


def test_columns_of_lines_are_there_where_a_row_has_one() -> None:
    some = [column.heading for column in tables.columns_of(TABLE, ["kernel", "file", "line"])]
    none = [column.heading for column in tables.columns_of(TABLE.assign(line=0), ["kernel", "file", "line"])]
    assert (some, none) == (["Kernel", "File", "Line"], ["Kernel"])
    columns = tables.columns_of(TABLE.assign(code=""), ["file", "line", "code"])
    assert [column.heading for column in columns] == ["File", "Line"]


class Drawn:
    """What a table was given last."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(component, "show", self.show)
        self.state: dict[str, object] = {}
        monkeypatch.setattr(st, "session_state", self.state)

    def show(
        self,
        key: str,
        columns: list[Column],
        *,
        chosen: int | None,
        on_choose: Callable[[int], None] | None,
        **_: object,
    ) -> None:
        self.chosen, self.on_choose = chosen, on_choose

    def click(self, place: int) -> None:
        assert self.on_choose is not None
        self.on_choose(place)


def test_a_table_to_read_has_no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Drawn(monkeypatch)
    tables.grid(TABLE, ["kernel", "bytes"], "one")
    assert drawn.on_choose is None


def test_a_row_is_chosen_as_long_as_the_table_is_what_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Drawn(monkeypatch)
    assert tables.choice(TABLE, ["kernel", "bytes"], "one") is None
    drawn.click(1)
    row = tables.choice(TABLE, ["kernel", "bytes"], "one")
    assert row is not None and row["kernel"] == "k" * 200
    assert drawn.chosen == 1
    assert tables.choice(TABLE.assign(bytes=7), ["kernel", "bytes"], "one") is None
    assert tables.choice(TABLE, ["kernel", "bytes"], "other") is None


def test_a_click_sets_what_a_chooser_beside_it_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = Drawn(monkeypatch)
    drawn.state["line"] = 12
    tables.chooser(TABLE, ["kernel", "line"], "one", of="line")
    assert drawn.chosen == 0
    drawn.click(1)
    assert drawn.state["line"] == 0
    # What is chosen elsewhere may be in no row.
    drawn.state["line"] = 99
    tables.chooser(TABLE, ["kernel", "line"], "one", of="line")
    assert drawn.chosen is None


@pytest.mark.parametrize("name", ["__global__stub__", "a___b", "plain_name"])
def test_any_name_can_be_part_of_a_key(name: str) -> None:
    def page(name: str) -> None:
        import pandas as pd

        from visualizer.parts import tables

        tables.grid(pd.DataFrame({"kernel": [name]}), ["kernel"], f"launches_{name}")

    app = AppTest.from_function(page, args=(name,), default_timeout=PATIENCE).run()
    assert not app.exception
    assert len(app.get("bidi_component")) == 1


@pytest.mark.parametrize(
    ("told", "heard"),
    [
        (lambda of: [of, 1], [1]),
        (lambda of: [of + 1, 1], []),  # of a table that was there before
        (lambda of: [of, 2], []),
        (lambda of: [of, -1], []),
        (lambda of: [of, "1"], []),
        (lambda of: [of], []),
        (lambda of: "row", []),
    ],
)
def test_nothing_but_a_row_of_this_table_is_believed(
    told: Callable[[int], object], heard: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tables.columns_of(TABLE, ["kernel", "bytes"])
    monkeypatch.setattr(component, "event", lambda key, name: told(component.identity(made)))
    monkeypatch.setattr(component, "_mount", lambda on_row_change, **_: on_row_change())
    rows: list[int] = []
    component.show("one", made, height=100, header=32, on_choose=rows.append)
    assert rows == heard
