"""Numbers for people."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snoopie.words import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1024**2 - 1, "1 MiB"),
        (1024**2 - 60, "1023.9 KiB"),
        (5 * 1024**3, "5 GiB"),
        (2**63, "8 EiB"),
        (2**80, "1048576 EiB"),
        (-1536, "-1.5 KiB"),
        (math.nan, "–"),
        (math.inf, "–"),
    ],
)
def test_bytes(value: float, text: str) -> None:
    assert units.bytes(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (7, "7"),
        (999, "999"),
        (1000, "1 K"),
        (1234, "1.2 K"),
        (12_345_678, "12.3 M"),
        (999_949, "999.9 K"),
        (999_951, "1 M"),
        (2_500_000_000, "2.5 G"),
        (0.25, "0.2"),
        (math.nan, "–"),
    ],
)
def test_count(value: float, text: str) -> None:
    assert units.count(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.125, "12.5 %"), (1, "100 %"), (8.0, "800 %"), (0, "0 %"), (0.0001, "0 %"), (math.nan, "–")]
)
def test_percent(value: float, text: str) -> None:
    assert units.percent(value) == text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_500, "1.5 µs"),
        (2_000_000, "2 ms"),
        (999_999, "1 ms"),
        (3_210_000_000, "3.2 s"),
        (59_990_000_000, "1 min 0 s"),
        (60_000_000_000, "1 min 0 s"),
        (125_400_000_000, "2 min 5 s"),
        (7_380_000_000_000, "2 h 3 min"),
        (-1_500, "-1.5 µs"),
        (math.nan, "–"),
    ],
)
def test_duration(ns: float, text: str) -> None:
    assert units.duration(ns) == text


@given(st.integers(0, 2**64))
def test_what_is_shown_is_within_a_twentieth_of_a_unit(value: int) -> None:
    number, unit = units.bytes(value).split()
    size = 1024 ** ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB").index(unit)
    assert abs(float(number) * size - value) <= 0.0501 * size
    assert float(number) < 1024


@pytest.mark.parametrize(
    ("values", "text"),
    [([], ""), ([3], "3"), ([0, 1], "0–1"), ((5, 2, 0, 1, 1), "0–2, 5"), (range(64), "0–63"), ([-1, 0, 2], "-1–0, 2")],
)
def test_numbers(values: Iterable[int], text: str) -> None:
    assert units.numbers(values) == text
