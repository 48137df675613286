"""A command of snoopie, as a user types it."""

from __future__ import annotations

import pytest

from snoopie import cli


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """Status, stdout, stderr of one command."""
    status = cli.main([str(word) for word in words])
    done = capsys.readouterr()
    return status, done.out, done.err
