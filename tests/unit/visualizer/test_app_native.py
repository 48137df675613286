"""Native times in the app, where the folder holds both recordings of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from tests.support.native import Launch, Rank, write_clean, write_exact
from tests.support.pages import view
from visualizer.look import theme
from visualizer.parts import tables

PUT = Launch("put", moves=True)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("both")
    work = [PUT, Launch("gemm")] * 4
    write_exact(folder, [Rank([work])], run="one")
    return write_clean(folder, [Rank([work[:-1]])], run="one")


def texts(app: AppTest) -> list[str]:
    return [element.value for element in [*app.subheader, *app.caption, *app.markdown]]


def test_launches_have_native_times(monkeypatch: pytest.MonkeyPatch, both: Path) -> None:
    drawn: list[pd.DataFrame] = []
    columns_of = tables.columns_of

    def seen(table: pd.DataFrame, columns: Sequence[str], *others: Any, **options: Any) -> Any:
        drawn.append(table[list(columns)])
        return columns_of(table, columns, *others, **options)

    monkeypatch.setattr(tables, "columns_of", seen)
    app = view(monkeypatch, "launches", both)
    assert not app.exception
    launched = drawn[0].set_index("launch")
    # Instrumented it ran ten times as long; the last one has no partner.
    assert launched["ran"].tolist() == [10_000_000] * 8
    assert launched["native_time"].sort_index().tolist() == [1_000_000] * 7 + [-1]


def test_pairs_have_native_bandwidth(monkeypatch: pytest.MonkeyPatch, both: Path) -> None:
    app = view(monkeypatch, "communication", both)
    assert not app.exception
    said = texts(app)
    assert "In native time" in said
    note = next(text for text in said if text.startswith("From the clean recording"))
    lost = "1 launch has no native time (12.5 %): the recordings have them in different numbers."
    assert note.endswith(theme.plain(lost))
    assert "**Communication and other kernels**" in said


def test_without_a_clean_recording_nothing_is_said(monkeypatch: pytest.MonkeyPatch, both: Path) -> None:
    app = view(monkeypatch, "communication", both / "exact0.zst")
    assert not app.exception
    assert "In native time" not in texts(app)
