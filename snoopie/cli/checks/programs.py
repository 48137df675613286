"""What other programs say, as text."""

import os
import subprocess
from collections.abc import Mapping, Sequence

# For one that hangs, as nvidia-smi does on a broken driver.
_PATIENCE_S = 30
# What is looked at must not be loaded into those that look.
_NOT_FOR_THEM = ("LD_PRELOAD", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")


def says(command: Sequence[str], environment: Mapping[str, str] | None = None) -> str | None:
    """What a command prints, whatever its status; None where it does not run, or not in time."""
    own = {key: value for key, value in (environment or os.environ).items() if key not in _NOT_FOR_THEM}
    try:
        done = subprocess.run(
            command,
            # nvidia-smi and ldd translate some words.
            env=own | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_PATIENCE_S,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace")
