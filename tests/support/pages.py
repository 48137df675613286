"""The app's pages in Streamlit's own test harness, and what they say."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from visualizer import pages

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "visualizer" / "app.py"
TITLES = {view.name: view.title for view in pages.VIEWS}
VIEWS = [*TITLES]
PATIENCE = 600  # seconds, for a machine that is busy with something else

# Each AppTest looks for components in what all installed packages say of themselves: longer than most pages take.
manifest_scanner.scan_component_manifests = functools.cache(manifest_scanner.scan_component_manifests)


def start(monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> AppTest:
    """The app as `streamlit run` starts it, on its first page."""
    monkeypatch.setattr(sys, "argv", [str(APP), *map(str, arguments)])
    return AppTest.from_file(str(APP), default_timeout=PATIENCE).run()


def view(monkeypatch: pytest.MonkeyPatch, name: str, *arguments: str | Path, **query: str) -> AppTest:
    """One page alone, with the sidebar, as the address's ``query`` asks for it."""
    monkeypatch.setattr(sys, "argv", [str(APP), *map(str, arguments)])
    script = f"""
from visualizer.controls import filters
from visualizer.session import address, state
from visualizer.views import {name}
if state.is_open():
    address.begin("{name}")
    filters.sidebar()
    {name}.show()
"""
    app = AppTest.from_string(script, default_timeout=PATIENCE)
    for key, value in query.items():
        app.query_params[key] = value
    return app.run()


def unfold(app: AppTest, *keys: str) -> None:
    """Opens what is folded away, as a click on its title does."""
    for key in keys:
        app.session_state[key] = True
    app.run()


def sent(app: AppTest, component: str) -> dict[str, Any]:
    """What a component of ours was given."""
    (element,) = [one for one in app.get("bidi_component") if one.proto.component_name == f"snoopie_{component}"]
    content: dict[str, Any] = json.loads(element.proto.json)
    return content


def _table(app: AppTest, key: str) -> dict[str, Any]:
    (element,) = [one for one in app.get("bidi_component") if one.proto.id.endswith(f"-{key}")]
    content: dict[str, Any] = json.loads(element.proto.json)
    return content


def table(app: AppTest, key: str) -> dict[str, list[str]]:
    """What stands in a table, by its headings."""
    return {column["heading"]: column["texts"] for column in _table(app, key)["columns"]}


def chosen_row(app: AppTest, key: str) -> list[str]:
    """What stands in the row of a table that is marked."""
    content = _table(app, key)
    return [column["texts"][content["chosen"]] for column in content["columns"]]


def table_rows(app: AppTest, key: str) -> list[list[str]]:
    """The same by rows, without headings."""
    return [list(row) for row in zip(*table(app, key).values(), strict=True)]


def metrics(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def said(app: AppTest) -> str:
    return " ".join(element.value for element in [*app.error, *app.warning, *app.info, *app.success])


def until(app: AppTest, come: Callable[[], bool]) -> None:
    """Runs the page again until something has come from elsewhere, which takes no turn of its own."""
    end = time.monotonic() + PATIENCE
    pause = 0.02
    while not come():
        assert time.monotonic() < end, "it did not come"
        # What makes it needs the processor too, and gives way to this process: soon it is asked as seldom as by a page.
        time.sleep(pause)
        pause = min(2 * pause, 0.5)
        assert not app.run().exception
