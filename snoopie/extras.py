"""Packages that `pip install snoopie` leaves out: the extras of pyproject.toml bring them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from snoopie.errors import MissingPackageError

APP = ("plotly", "pygments", "seaborn", "st_aggrid", "streamlit", "streamlit_agraph")
"""What the app imports."""


def missing(packages: Iterable[str]) -> list[str]:
    """Those that are not installed. None of them is imported."""
    return [package for package in packages if find_spec(package) is None]


def need(extra: str, what: str, *packages: str) -> None:
    """MissingPackageError where packages of an extra that ``what`` needs are not installed."""
    if lacking := missing(packages):
        *others, last = lacking
        named = f"{', '.join(others)} and {last}, which are" if others else f"{last}, which is"
        raise MissingPackageError(f"{what} needs {named} not installed", f"pip install 'snoopie[{extra}]'")
