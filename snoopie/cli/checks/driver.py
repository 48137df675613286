"""NVIDIA's driver: whether it is there and answers, and which CUDA it runs."""

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from snoopie.cli.checks import libcuda
from snoopie.cli.checks.programs import says
from snoopie.cli.checks.row import Row, ok, problem

_NAME = "driver"
_MODULE = Path("/proc/driver/nvidia/version")
# "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build …"
_RELEASE = re.compile(r"^NVRM version:.*?\s(\d+\.\d+(?:\.\d+)?)\s", re.MULTILINE)
# What cuInit returns, and what helps.
_ERRORS = {
    100: (
        "it finds no GPU",
        "show the process a GPU: unset CUDA_VISIBLE_DEVICES, or start the container with its GPUs",
    ),
    802: ("the system is not ready", "start nvidia-fabricmanager, which connects the GPUs' NVSwitches, or wait for it"),
    803: ("its library does not fit the kernel's module", "restart the machine after an update of the driver"),
    804: ("its compatibility library does not support these GPUs", "remove the folder compat from LD_LIBRARY_PATH"),
}


@dataclass(frozen=True)
class Driver:
    """What libcuda said: ``cuda`` ("13.0"), the visible devices' architectures, and the pairs that share no memory."""

    cuda: str = ""
    error: int = 0
    missing: str = ""
    arches: tuple[str, ...] = ()
    unreachable: tuple[tuple[int, int], ...] = field(default=())


def ask(environment: Mapping[str, str]) -> Driver:
    """The driver's answers, as a program with this environment would get them."""
    return parse(says([sys.executable, "-I", libcuda.__file__], environment))


def parse(text: str | None) -> Driver:
    """What `libcuda` printed."""
    try:
        said = json.loads(text or "")
        if "missing" in said:
            return Driver(missing=said["missing"])
        version = int(said["version"])
        return Driver(
            cuda=f"{version // 1000}.{version % 1000 // 10}",
            error=int(said["error"]),
            arches=tuple(capability.replace(".", "") for capability in said["capabilities"]),
            unreachable=tuple((int(a), int(b)) for a, b in said["unreachable"]),
        )
    # It crashed, or hung.
    except (ValueError, KeyError, TypeError, AttributeError):
        return Driver(missing="libcuda.so.1 does not answer")


def release(text: str) -> str:
    """The kernel module's release in /proc/driver/nvidia/version; "" if there is none."""
    match = _RELEASE.search(text)
    return match[1] if match else ""


def row(driver: Driver, module: Path = _MODULE) -> Row:
    """Whether a program can use CUDA here."""
    try:
        version = release(module.read_text())
    except OSError:
        version = ""
    if driver.missing and not version:
        return problem(_NAME, f"none: {driver.missing}", "install NVIDIA's driver, or run on a machine that has a GPU")
    if driver.missing:
        return problem(
            _NAME,
            f"{version or 'unknown'} in the kernel, but {driver.missing}",
            "install the driver's libcuda.so.1, or start the container with its GPUs (docker run --gpus all)",
        )
    if driver.error:
        what, remedy = _ERRORS.get(driver.error, ("it does not start", "look for it in the kernel's log (dmesg)"))
        return problem(_NAME, f"{version or 'there'}, but {what} (cuInit: {driver.error})", remedy)
    return ok(_NAME, f"{version or 'unknown release'}, CUDA {driver.cuda}")
