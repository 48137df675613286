"""The id of a run, which all its processes share."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Mapping

from snoopie.cli import settings

VARIABLE = "SNOOPIE_RUN"


def named(environment: Mapping[str, str]) -> str:
    """The id that the collector will find: the user's, or else that of the launcher's job. "" if there is none.

    A launcher that starts `snoopie run` for each rank has named the run of them all.
    """
    own = environment.get(VARIABLE, "").strip(" \t\n")
    return own or next(filter(None, (_job(launcher, environment) for launcher in settings.LAUNCHERS)), "")


def new() -> str:
    """An id of no other run, that sorts by time: "20261122-224003-3fa9"."""
    return f"{datetime.datetime.now():%Y%m%d-%H%M%S}-{os.urandom(2).hex()}"


def _job(launcher: settings.Launcher, environment: Mapping[str, str]) -> str:
    values = [environment.get(variable, "") for variable in (launcher.variable, launcher.also) if variable]
    if not all(values) or (launcher.never and values[-1].startswith(launcher.never)):
        return ""
    return re.sub(r"[^A-Za-z0-9._@:+-]", "_", f"{launcher.name}-{'.'.join(values)}")[:100]
