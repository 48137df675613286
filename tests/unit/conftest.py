"""Fixtures of the unit tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

# As a user's notebook has it.
STORAGE = pd.get_option("mode.string_storage")


@pytest.fixture(autouse=True)
def columns_of_text() -> Iterator[None]:
    """The app has these of a kind, in its own process."""
    yield
    pd.set_option("mode.string_storage", STORAGE)


@pytest.fixture(autouse=True)
def checked_pictures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the tests of the app's pages Plotly looks at every value that is drawn."""
    if request.path.name.startswith("test_app"):
        import plotly.graph_objects as go

        made = go.Figure.__init__

        def checked(self: go.Figure, data: Any, _validate: bool = True, **options: Any) -> None:
            made(self, data, **options)

        monkeypatch.setattr(go.Figure, "__init__", checked)
