"""A link to the content of the page, for the keyboard: the list of pages and the filters stand before it."""

from __future__ import annotations

from visualizer.components import component

_mount = component("skip_link")


def show() -> None:
    """Once in each run of the app."""
    _mount(key="skip_link", height=0)
