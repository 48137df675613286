"""Fixtures of the unit tests."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def checked_pictures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the tests of the app's pages Plotly looks at every value that is drawn."""
    if request.path.name.startswith("test_app"):
        import plotly.graph_objects as go

        made = go.Figure.__init__

        def checked(self: go.Figure, data: Any, _validate: bool = True, **options: Any) -> None:
            made(self, data, **options)

        monkeypatch.setattr(go.Figure, "__init__", checked)
