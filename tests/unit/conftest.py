"""Fixtures of the unit tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def checked_pictures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the tests of the app's pages Plotly looks at every value that is drawn."""
    if request.path.name.startswith("test_app"):
        from visualizer.pictures import picture

        monkeypatch.setattr(picture, "CHECKED", True)
