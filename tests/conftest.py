"""Fixtures for all tests: small traces whose traffic is known by arithmetic (see tests/support/ring.py)."""

from __future__ import annotations

import gc
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support import mixed, ring

# An example may take as long as a busy machine makes it.
settings.register_profile("snoopie", deadline=None)
settings.load_profile("snoopie")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays to the end: the garbage collector need not look for any in it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture
def ring_path(tmp_path: Path) -> Path:
    """The trace of one process with four GPUs."""
    return ring.write_ring(tmp_path)


@pytest.fixture
def two_process_folder(tmp_path: Path) -> Path:
    """A folder with the same traffic in the traces of two processes."""
    folder = tmp_path / "traces"
    folder.mkdir()
    ring.write_two_processes(folder)
    return folder


@pytest.fixture
def mixed_folder(tmp_path: Path) -> Path:
    """The traces of two ranks with copies, NCCL and all kinds of owners, in a folder."""
    folder = tmp_path / "mixed"
    folder.mkdir()
    return mixed.write_mixed(folder)
