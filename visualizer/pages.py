"""The pages of the app: their order, titles and addresses, and links from one to another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module

import streamlit as st


@dataclass(frozen=True)
class View:
    """A page that shows a part of a trace: `visualizer.views.NAME.show`, at the address /NAME."""

    name: str
    title: str
    icon: str
    section: str = ""


VIEWS = (
    View("overview", "Overview", ":material/summarize:"),
    View("communication", "Communication", ":material/hub:"),
    View("timeline", "Timeline", ":material/view_timeline:"),
    View("source", "Source", ":material/code:", "Code"),
    View("flame", "Flame graph", ":material/local_fire_department:", "Code"),
    View("kernels", "Kernels", ":material/memory:", "Code"),
    View("launches", "Launches", ":material/rocket_launch:", "Code"),
    View("objects", "Objects", ":material/data_array:", "Code"),
    View("sites", "Sites", ":material/pin_drop:", "Code"),
    View("copies", "Copies", ":material/swap_horiz:", "Host"),
    View("collectives", "Collectives", ":material/groups:", "Host"),
    View("calls", "Calls", ":material/call_made:", "Host"),
    View("memory", "Memory", ":material/stacked_bar_chart:", "Host"),
    View("compare", "Compare", ":material/compare_arrows:", "Runs"),
)


def of_trace() -> dict[str, list[st.Page]]:
    """All views by section, for `st.navigation`."""
    sections: dict[str, list[st.Page]] = {}
    for view in VIEWS:
        sections.setdefault(view.section, []).append(_page(view))
    return sections


def link(name: str, label: str, *, icon: str | None = None, **query: str | Sequence[str]) -> None:
    """A link to a view, with what is to be chosen there (the keys of `visualizer.session.address`)."""
    view = next(view for view in VIEWS if view.name == name)
    st.page_link(_page(view), label=label, icon=icon or view.icon, query_params=query or None)


def _page(view: View) -> st.Page:
    # By name, because views link to one another.
    show = import_module(f"visualizer.views.{view.name}").show
    return st.Page(show, title=view.title, icon=view.icon, url_path=view.name, default=view is VIEWS[0])
