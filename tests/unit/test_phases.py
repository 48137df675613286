"""Regions and when to record, in a program without the collector: nothing happens, and nothing large is imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

import snoopie
from snoopie import phases


def test_nothing_happens() -> None:
    with snoopie.region("outer"), snoopie.region("inner", all_threads=True):
        snoopie.stop()
        snoopie.start()
    with pytest.raises(ZeroDivisionError), snoopie.region("failing"):
        1 / 0  # noqa: B018
    assert phases._collector() is None


def test_only_the_core_is_imported() -> None:
    code = (
        "import sys, snoopie\nwith snoopie.region('x'): pass\nprint({'pandas', 'numpy', 'zstandard'} & {*sys.modules})"
    )
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "set()\n"
