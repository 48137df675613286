"""Imports of what stays, past the garbage collector."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import pytest

from snoopie.garbage import import_to_stay


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[bool]:
    """When objects were set aside: whether the collector was at work. Modules of tmp_path can be imported."""
    found: list[bool] = []
    monkeypatch.setattr(gc, "freeze", lambda: found.append(gc.isenabled()))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    assert gc.isenabled()
    return found


def test_nothing_is_collected_meanwhile_nor_looked_at_later(frozen: list[bool], tmp_path: Path) -> None:
    (tmp_path / "one_that_stays.py").write_text("import gc\nCOLLECTED = gc.isenabled()\n")
    (module,) = import_to_stay("one_that_stays")
    assert (module.COLLECTED, gc.isenabled(), frozen) == (False, True, [False])
    # Only once: what came since would stay, too, garbage or not.
    assert import_to_stay("one_that_stays") == [module]
    assert frozen == [False]


def test_the_collector_goes_on_where_an_import_fails(frozen: list[bool], tmp_path: Path) -> None:
    (tmp_path / "one_that_fails.py").write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        import_to_stay("one_that_fails")
    assert gc.isenabled()


def test_who_has_switched_it_off_keeps_it_so(frozen: list[bool], tmp_path: Path) -> None:
    (tmp_path / "another_that_stays.py").write_text("")
    gc.disable()
    try:
        import_to_stay("another_that_stays")
        assert (gc.isenabled(), frozen) == (False, [])
    finally:
        gc.enable()
