"""Fixtures for all tests: small traces whose traffic is known by arithmetic (see tests/support/ring.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import ring


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
