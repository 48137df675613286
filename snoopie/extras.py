"""Packages that `pip install snoopie` leaves out: the extras of pyproject.toml bring them."""

from __future__ import annotations

from importlib.util import find_spec

from snoopie.errors import MissingPackageError


def need(extra: str, what: str, *packages: str) -> None:
    """MissingPackageError where packages of an extra that ``what`` needs are not installed."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        *others, last = missing
        named = f"{', '.join(others)} and {last}, which are" if others else f"{last}, which is"
        raise MissingPackageError(f"{what} needs {named} not installed", f"pip install 'snoopie[{extra}]'")
