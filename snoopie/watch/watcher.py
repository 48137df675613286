"""The program that watches: where it is, whether it may, and its output."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import snoopie
from snoopie.errors import SnoopieError, UsageError
from snoopie.watch.stream import Frame, frames

PROGRAM = "snoopie_watch"
_BUILD_IT = "build it in a checkout: make -C watch (docs/watch.md says what that needs)"
# Bits of CapEff in /proc/self/status.
_CAPABILITIES = {"CAP_SYS_PTRACE": 19, "CAP_PERFMON": 38, "CAP_BPF": 39}
_OLDEST = (5, 15)
# The number of the namespace in which the kernel itself counts processes.
_FIRST_PIDS = "pid:[4026531836]"
# Seconds in which it takes its probes away and says what it has left.
_ENDING = 180


def find(named: str | None, environment: Mapping[str, str], places: Sequence[Path]) -> Path:
    """The program: as named, from SNOOPIE_WATCH, or in one of the ``places``; of those that nobody named, one of this
    version."""
    for origin, text in (("--tool", named), ("SNOOPIE_WATCH", environment.get("SNOOPIE_WATCH"))):
        if text:
            if not os.access(text, os.X_OK) or not Path(text).is_file():
                raise SnoopieError(
                    f"{origin} names {text}, which is not a program", f"name the {PROGRAM} that you built"
                )
            return Path(text).absolute()
    there = [place for place in places if os.access(place, os.X_OK)]
    for program in there:
        if _version(program) == snoopie.__version__:
            return program
    if there:
        raise SnoopieError(
            f"{there[0]} is of version {_version(there[0]) or 'unknown'}, and this is snoopie {snoopie.__version__}",
            _BUILD_IT,
        )
    raise SnoopieError(f"{PROGRAM} is not built", _BUILD_IT)


def _version(program: Path) -> str:
    try:
        return subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def check_machine(
    release: str | None = None, status: Path = Path("/proc/self/status"), btf: Path = Path("/sys/kernel/btf/vmlinux"),
    namespace: Path = Path("/proc/self/ns/pid"),
) -> None:  # fmt: skip
    """SnoopieError where this machine, or this user, cannot watch."""
    if platform.system() != "Linux":
        raise SnoopieError("programs can only be watched on Linux", "watch on the machine with the GPUs")
    release = release or platform.release()
    numbers = tuple(int(number) for number in re.findall(r"\d+", release)[:2])
    if numbers < _OLDEST:
        raise SnoopieError(f"this kernel is {release}, and watching needs 5.15 or newer", "use snoopie run instead")
    held = re.search(r"^CapEff:\s*([0-9a-f]+)", status.read_text(), re.M)
    bits = int(held[1], 16) if held else 0
    missing = [name for name, bit in _CAPABILITIES.items() if not bits >> bit & 1]
    # CAP_SYS_ADMIN stands for the newer two.
    if missing and not (bits >> 21 & 1 and bits >> _CAPABILITIES["CAP_SYS_PTRACE"] & 1):
        raise SnoopieError(
            f"watching other programs needs {' and '.join(missing)}", "run it as root: sudo snoopie watch …"
        )
    if not btf.exists():
        raise SnoopieError(
            "this kernel has no BTF (/sys/kernel/btf/vmlinux)", "use a kernel with CONFIG_DEBUG_INFO_BTF=y"
        )
    if os.readlink(namespace) != _FIRST_PIDS:
        raise SnoopieError(
            "this is a container with process numbers of its own",
            "start it in those of the host: --pid=host, or hostPID: true",
        )


def cgroup_of(container: str, root: Path) -> Path:
    """The cgroup of a container, by its id or the beginning of that."""
    if not re.fullmatch(r"[0-9a-f]{6,64}", container):
        raise UsageError(f"{container} is not the id of a container", "give 6 or more of its hexadecimal digits")
    name = re.compile(rf"(?:^|[-:]){container}[0-9a-f]*(?:\.scope)?$")
    found = [Path(folder) for folder, _, _ in os.walk(root) if name.search(os.path.basename(folder))]
    # Below a container's own cgroup there may be others of its name.
    found = [path for path in found if not any(other in path.parents for other in found)]
    if len(found) != 1:
        what = "no container" if not found else "several containers"
        raise UsageError(f"{what} here have the id {container}", "docker ps and crictl ps list them; or give --cgroup")
    return found[0]


def cgroup_root(mounts: Path = Path("/proc/self/mounts")) -> Path:
    """Where the unified hierarchy of cgroups is mounted."""
    for line in mounts.read_text().splitlines():
        words = line.split()
        if words[2] == "cgroup2":
            return Path(words[1])
    raise SnoopieError("this machine has no unified hierarchy of cgroups (cgroup2)", "watch by --pid, or --all")


class Watcher:
    """Runs the program; used in a ``with``, it ends with it."""

    def __init__(self, program: Path, options: Sequence[str]) -> None:
        try:
            # Not with Ctrl-C: it has something to say at the end, and is ended by `end`.
            self._process = subprocess.Popen(
                [program, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise SnoopieError(f"{program} cannot be started ({error.strerror})", _BUILD_IT) from None
        self.pid = self._process.pid
        # Whether it came to its end, and told all that it had.
        self.whole = False

    def __enter__(self) -> Watcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        try:
            self._process.communicate(timeout=_ENDING)
        except (subprocess.TimeoutExpired, ValueError):
            self._process.kill()
            self._process.wait()

    def frames(self) -> Iterator[tuple[Frame, Any]]:
        """What it tells, until it ends. SnoopieError where it could not begin."""
        output = self._process.stdout
        assert output is not None
        some = False
        for frame in frames(output):
            some = True
            yield frame
        status = self._process.wait(timeout=_ENDING)
        self.whole = status == 0
        if some and status:
            how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
            yield Frame.NOTE, f"{PROGRAM} {how}: the last second is missing, and what was not told by then."
        if not some:
            raise SnoopieError(
                _said(self._process.stderr) or f"{PROGRAM} ended at once", "docs/watch.md says what it needs"
            )

    def end(self) -> None:
        """Has it take its probes away and tell what it has left."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)


def _said(errors: IO[bytes] | None) -> str:
    lines = errors.read().decode("utf-8", "replace").split("\n") if errors else []
    return next((line for line in reversed(lines) if line), "")
