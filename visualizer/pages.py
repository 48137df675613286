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
    # The first page has the address without a name, and is also found by its name.
    sections[VIEWS[0].section].append(
        st.Page(_first, title=VIEWS[0].title, url_path=VIEWS[0].name, visibility="hidden")
    )
    return sections


def _first() -> None:
    st.switch_page(_page(VIEWS[0]), query_params=st.query_params.to_dict())


def link(name: str, label: str, *, icon: str | None = None, **query: str | Sequence[str]) -> None:
    """A link to a view, with what is to be chosen there (the keys of `visualizer.session.address`)."""
    view = next(view for view in VIEWS if view.name == name)
    st.page_link(_page(view), label=label, icon=icon or view.icon, query_params=query or None)


def _page(view: View) -> st.Page:
    # By name, because views link to one another.
    show = import_module(f"visualizer.views.{view.name}").show
    first = view is VIEWS[0]
    # That of the first is none, whatever name it had.
    return st.Page(show, title=view.title, icon=view.icon, url_path="first" if first else view.name, default=first)
