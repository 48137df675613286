"""Whose a process is: what /proc says of it while it runs."""

from __future__ import annotations

import pwd
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from snoopie.joined.ranks import LAUNCHERS

# As container runtimes and the kubelet name cgroups: a container's id, and a pod's.
_CONTAINER = re.compile(r"(?<![0-9a-f])([0-9a-f]{64})(?![0-9a-f])")
# A static pod's UID has no dashes.
_POD = re.compile(r"pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?![0-9a-f])")
# Of a container's id, as `docker ps` shows it.
_SHOWN = 12
_VARIABLES = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")


@dataclass(frozen=True, slots=True)
class About:
    """A process; "" for what is not known."""

    pid: int
    program: str = ""
    command: list[str] = field(default_factory=list)
    directory: str = ""
    user: str = ""
    cgroup: str = ""
    container: str = ""
    pod: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    ranks: dict[str, str] = field(default_factory=dict)


def about(pid: int, proc: Path = Path("/proc")) -> About:
    """What can still be read of a process, which may have ended."""
    folder = proc / str(pid)
    command = [word.decode("utf-8", "replace") for word in _read(folder / "cmdline").split(b"\0")[:-1]]
    variables = dict(
        pair.decode("utf-8", "replace").split("=", 1) for pair in _read(folder / "environ").split(b"\0") if b"=" in pair
    )
    cgroup = cgroup_in(_read(folder / "cgroup").decode("utf-8", "replace"))
    wanted = {name for one in LAUNCHERS for name in (one.rank, *one.local_rank, one.ranks) if name}
    return About(
        pid=pid,
        program=_read(folder / "comm").decode("utf-8", "replace").strip(),
        command=command,
        directory=_link(folder / "cwd"),
        user=_user(folder),
        cgroup=cgroup,
        container=container_of(cgroup),
        pod=pod_of(cgroup),
        environment=_chosen(variables, _VARIABLES),
        ranks=_chosen(variables, wanted),
    )


def cgroup_in(text: str) -> str:
    """The path in /proc/PID/cgroup: of the unified hierarchy, else the first that names a container."""
    paths = [line.split(":", 2)[2] for line in text.splitlines() if line.count(":") >= 2]
    named = [path for path in paths if container_of(path)]
    unified = [line.split(":", 2)[2] for line in text.splitlines() if line.startswith("0::")]
    return next(iter([path for path in unified if path != "/"] or named or unified or paths), "")


def container_of(cgroup: str) -> str:
    """The id of the innermost container that a path of a cgroup names, as short as people know it."""
    found = _CONTAINER.findall(cgroup)
    return found[-1][:_SHOWN] if found else ""


def pod_of(cgroup: str) -> str:
    """The UID of the pod that a path of a cgroup names."""
    found = _POD.search(cgroup)
    return found[1].replace("_", "-") if found else ""


def _chosen(variables: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name in names}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""


def _user(folder: Path) -> str:
    try:
        number = folder.stat().st_uid
    except OSError:
        return ""
    return user_name(number)


def user_name(number: int) -> str:
    """The name of a user of this machine; the number of another's."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
