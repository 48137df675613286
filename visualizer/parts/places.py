"""How the places that issue traffic or own memory look in every view: shape, colour, who uses them, what they are."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from snoopie.figures import colours
from snoopie.words import units
from snoopie.words.text import visible
from visualizer.session import state
from visualizer.session.question import KEYS, Scope

_MEANING = {
    "host": "host memory, which GPUs reach over their host link.",
    "unknown": (
        "memory whose owner the collector does not know: allocated before it was loaded, or by a process or call that"
        " it does not see."
    ),
    "multicast": "an object spanning several GPUs: a write to it reaches the memory of all of them.",
}


@dataclass(frozen=True)
class Place:
    """One place. ``tooltip`` holds names from the trace, as they stand there: escape it where markup is read."""

    label: str
    kind: str
    users: str  # "rank 0", "ranks 0–3", "2 processes"; "" where one process did it all
    tooltip: str
    colour: str
    host: str = ""  # of a GPU, as the trace has it

    @property
    def name(self) -> str:
        """The label without what is in `below`."""
        return self.label.partition(" (")[0]

    @property
    def below(self) -> list[str]:
        """What a picture says under the name: the GPUs of a multicast object, the users."""
        members = self.label.partition(" (")[2].removesuffix(")")
        return [part for part in (members, self.users) if part]

    @property
    def hover(self) -> str:
        """The tooltip as Plotly reads it."""
        return "<br>  ".join(html.escape(visible(line), quote=False) for line in self.tooltip.split("\n"))

    @property
    def shape(self) -> str:
        """Its shape in the graph, by vis-network's name."""
        return {"gpu": "dot", "host": "square", "unknown": "diamond", "multicast": "hexagon"}[self.kind]

    @property
    def symbol(self) -> str:
        """The same as a character; none for GPUs."""
        return {"gpu": "", "host": "■ ", "unknown": "◆ ", "multicast": "⬢ "}[self.kind]


def by_label() -> dict[str, Place]:
    """All places of the whole trace: a filter changes no colour."""
    found: dict[str, Place] = _by_label(state.whole())
    return found


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=KEYS)
def _by_label(whole: Scope) -> dict[str, Place]:
    trace = state.read(whole)
    table, several = trace.places, len(trace.processes) > 1
    of_gpus = colours.of_gpus(len(trace.gpus))
    found = {}
    for number, kind, label, uuid, processes, ranks in table.itertuples():
        users = used_by(processes, ranks) if several or ranks else ""
        facts = _facts(trace.gpus.loc[number], uuid) if kind == "gpu" else [_MEANING[kind]]
        tooltip = "\n".join([label, *facts, *([f"used by {users}"] if users else [])])
        colour = of_gpus[number] if kind == "gpu" else colours.OTHERS[kind]
        host = str(trace.gpus["host"][number]) if kind == "gpu" else ""
        found[label] = Place(label, kind, users, tooltip, colour, host)
    return found


def by_host(labels: Iterable[str]) -> list[Place]:
    """The places of these labels: GPUs host by host, then all others."""
    known = by_label()
    shown = [known[label] for label in labels]
    hosts = list(dict.fromkeys(place.host for place in shown if place.kind == "gpu"))
    gpus = [place for host in hosts for place in shown if place.kind == "gpu" and place.host == host]
    return [*gpus, *(place for place in shown if place.kind != "gpu")]


def _facts(gpu: pd.Series[str], uuid: str) -> list[str]:
    return [fact for fact in (gpu["name"], uuid, f"on {gpu['host']}") if fact]


def used_by(processes: tuple[int, ...], ranks: tuple[int, ...]) -> str:
    """The users of a place in few words."""
    if ranks:
        return f"rank{'' if len(ranks) == 1 else 's'} {units.numbers(ranks)}"
    return f"{len(processes)} process{'' if len(processes) == 1 else 'es'}" if processes else ""


def used_gpus(processes: Iterable[int]) -> list[str]:
    """The labels of the GPUs that each process used."""
    gpus = state.trace().places.query("kind == 'gpu'")
    return [", ".join(gpus["label"][[one in users for users in gpus["processes"]]]) for one in processes]


def explain(labels: Iterable[str]) -> list[str]:
    """For each kind of place among the labels that is no GPU, what it is."""
    kinds = {place.kind: place for label, place in by_label().items() if label in set(labels)}
    return [f"{kinds[kind].symbol}**{kind}**: {meaning}" for kind, meaning in _MEANING.items() if kind in kinds]
