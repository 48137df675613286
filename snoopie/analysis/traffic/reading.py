"""The two ways to read who moved data to whom, and the two sides that can have started it."""

from __future__ import annotations

from typing import Literal

from snoopie.errors import UsageError

# Who issued it and whose memory it was, or where data came from and went to.
Reading = Literal["issued", "flow"]
# By instructions of kernels, by copies that the host started, or both.
Initiated = Literal["device", "host", "both"]

READINGS: tuple[Reading, ...] = ("issued", "flow")
INITIATED: tuple[Initiated, ...] = ("device", "host", "both")


def ends(reading: Reading) -> tuple[str, str]:
    """The names of the two columns of places."""
    if reading not in READINGS:
        raise UsageError(f"there is no reading {reading!r}", "use 'issued' or 'flow'")
    return ("issuer", "owner") if reading == "issued" else ("from", "to")


def checked(initiated: Initiated) -> Initiated:
    """The side; UsageError where there is none of the name."""
    if initiated not in INITIATED:
        raise UsageError(f"nothing is initiated by {initiated!r}", "use 'device', 'host' or 'both'")
    return initiated
