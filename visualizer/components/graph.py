"""Places and the arrows between them; each can be chosen by a click."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from visualizer.components import component, event

_mount = component("graph", "elements")

Point = tuple[float, float]


@dataclass(frozen=True)
class Arrow:
    """A curve from one place to another by way of a third, with its width in pixels, what is written beside its head,
    and lines that say more. ``labels`` are those of its two ends."""

    way: tuple[Point, Point, Point]
    width: float
    colour: str
    opacity: float
    text: str
    hint: Sequence[str]
    labels: Sequence[str]


@dataclass(frozen=True)
class Node:
    """A place: a circle, square, diamond or hexagon of so many pixels, what stands in it, and lines that say more.
    ``labels`` is its own."""

    at: Point
    shape: str
    size: int
    colour: str
    opacity: float
    ink: str
    lines: Sequence[str]
    hint: Sequence[str]
    labels: Sequence[str]


@dataclass(frozen=True)
class Frame:
    """A box around some places, and what they are together."""

    corner: Point
    other: Point
    name: str


def show(
    key: str,
    about: str,
    span: tuple[Point, Point],
    arrows: Sequence[Arrow],
    nodes: Sequence[Node],
    frames: Sequence[Frame],
    *,
    height: int,
    on_choose: Callable[..., None],
) -> None:
    """Draws it. ``span`` are the lower left and the upper right corner of all. ``on_choose`` is told the labels of an
    arrow or a place."""
    known = [list(arrow.labels) for arrow in arrows] + [list(node.labels) for node in nodes]

    def chose() -> None:
        value = event(key, "choose")
        if value in known:
            on_choose(*value)

    _mount(
        key=key,
        data={
            "about": about,
            "span": span,
            "arrows": [vars(arrow) for arrow in arrows],
            "nodes": [vars(node) for node in nodes],
            "frames": [vars(frame) for frame in frames],
            "height": height,
        },
        height=height,
        on_choose_change=chose,
    )
