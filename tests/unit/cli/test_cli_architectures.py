"""GPU architectures, as people write them and as they fit one another."""

from __future__ import annotations

import pytest

from snoopie.cli.architectures import architectures, covers, uncovered
from snoopie.errors import UsageError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90", ("90",)),
        ("sm_90", ("90",)),
        ("compute_90", ("90",)),
        ("9.0", ("90",)),
        ("10.0,sm_120", ("100", "120")),
        ("80 90, 100", ("80", "90", "100")),
        ("90,sm_90,9.0", ("90",)),
        ("sm_90a,10.0f", ("90a", "100f")),
        ("all", ("all",)),
        ("native", ("native",)),
    ],
)
def test_every_way_to_write_one(text: str, expected: tuple[str, ...]) -> None:
    assert architectures(text) == expected


@pytest.mark.parametrize("text", ["", ",", "hopper", "9", "sm_", "90;rm", "all,90", "1000", "-90", "９０"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"write 90, sm_90 or 9\.0"):
        architectures(text)


@pytest.mark.parametrize(
    ("built", "gpu", "runs"),
    [
        ("90", "90", True),
        ("80", "86", True),
        ("86", "80", False),
        ("80", "90", False),
        ("90a", "90", True),
        ("100a", "103", False),
        ("100f", "103", True),
        ("103f", "100", False),
        ("100", "90", False),
        ("100", "120", False),
    ],
)
def test_which_code_runs_on_which_gpu(built: str, gpu: str, runs: bool) -> None:
    assert covers(built, gpu) is runs


def test_the_gpus_that_are_left_out() -> None:
    assert uncovered(["80", "90"], ["90", "86", "100", "100"]) == ("100",)
    assert uncovered(["80"], []) == ()
