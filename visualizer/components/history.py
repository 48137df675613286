"""The browser's Back and Forward: what a person did in one action is one step, and going back takes it back."""

from __future__ import annotations

from collections.abc import Callable

from visualizer.components import component, event

_KEY = "history"
_mount = component("history")


def watch(arrive: Callable[[str], None]) -> None:
    """Once in each run of the app. ``arrive`` is told what the address asks for ("?…") where a person came to it by
    Back or Forward, before the page runs."""

    def came() -> None:
        search = event(_KEY, "back")
        if isinstance(search, str):
            arrive(search)

    _mount(key=_KEY, on_back_change=came, height=0)
