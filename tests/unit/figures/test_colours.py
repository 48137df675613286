"""Colours: that they are seaborn's, and differ."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle

import pytest
import seaborn as sns

from snoopie.figures import colours
from tests.support.contrast import ENOUGH, contrast


def palette(name: str, count: int) -> list[str]:
    return list(sns.color_palette(name, count).as_hex())


def test_palettes_are_those_of_seaborn() -> None:
    assert colours.of_gpus(10) == palette("colorblind", 10)
    assert colours.of_kernels(8) == palette("Set2", 8)
    assert colours.of_amounts() == palette("crest", 9)
    assert colours.of_changes() == list(sns.blend_palette([colours.LESS, "#f0f0f0", colours.MORE], 9).as_hex())
    assert list(colours.of_kinds().values()) == [
        colour for colour, _ in zip(cycle(palette("colorblind", 10)), colours.of_kinds(), strict=False)
    ]


@pytest.mark.parametrize("of", [colours.of_gpus, colours.of_kernels])
def test_each_has_a_colour_of_its_own(of: Callable[[int], list[str]]) -> None:
    for count in range(30):
        assert len(set(of(count))) == len(of(count)) == count


@pytest.mark.parametrize("count", [1, 2, 12])
def test_shades_begin_with_the_colour_and_grow_lighter(count: int) -> None:
    shades = colours.shades("#0173b2", count)
    assert shades[0] == "#0173b2"
    assert len(shades) == count
    assert shades == sorted(set(shades)) and "#ffffff" not in shades


def test_a_share_has_the_colour_between_its_neighbours() -> None:
    assert [colours.at(["#000000", "#ffffff", "#ff0000"], share) for share in (0, 0.25, 0.5, 0.75, 1, -1, 7)] == [
        *("#000000", "#808080", "#ffffff", "#ff8080", "#ff0000"),
        *("#000000", "#ff0000"),
    ]


@pytest.mark.parametrize("of", [colours.of_amounts(), colours.of_changes(), colours.of_gpus(10), colours.of_kernels(8)])
def test_what_is_written_on_a_colour_can_be_read(of: list[str]) -> None:
    for place in range(101):
        colour = colours.at(of, place / 100)
        assert contrast(colour, colours.ink_on(colour)) >= ENOUGH
