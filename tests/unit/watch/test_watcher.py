"""Who may watch, what is refused in one sentence, and which container a number means."""

from __future__ import annotations

from pathlib import Path

import pytest

from snoopie import cli
from snoopie.errors import SnoopieError, UsageError
from snoopie.watch import watcher

ALL = (1 << 41) - 1
ID = "0123456789abcdef" * 4


def machine(folder: Path, capabilities: int = ALL, *, btf: bool = True, namespace: int = 4026531836) -> dict[str, Path]:
    """A machine as /proc and /sys show it."""
    (folder / "status").write_text(f"Name:\tx\nCapEff:\t{capabilities:016x}\n")
    (folder / "ns").symlink_to(f"pid:[{namespace}]")
    if btf:
        (folder / "btf").touch()
    return {"status": folder / "status", "btf": folder / "btf", "namespace": folder / "ns"}


@pytest.mark.parametrize(
    ("release", "capabilities", "btf", "namespace", "said"),
    [
        ("5.14.0-427.el9", ALL, True, 4026531836, "needs 5.15 or newer"),
        ("6.1.0", 0, True, 4026531836, "needs CAP_SYS_PTRACE and CAP_PERFMON and CAP_BPF; run it as root"),
        ("6.1.0", 1 << 39 | 1 << 38, True, 4026531836, "needs CAP_SYS_PTRACE;"),
        ("6.1.0", ALL, False, 4026531836, "has no BTF"),
        ("6.1.0", ALL, True, 4026532000, "--pid=host"),
    ],
)
def test_refused(tmp_path: Path, release: str, capabilities: int, btf: bool, namespace: int, said: str) -> None:
    there = machine(tmp_path, capabilities, btf=btf, namespace=namespace)
    with pytest.raises(SnoopieError, match=said):
        watcher.check_machine(release, **there)


@pytest.mark.parametrize("capabilities", [ALL, 1 << 39 | 1 << 38 | 1 << 19, 1 << 21 | 1 << 19])
def test_allowed(tmp_path: Path, capabilities: int) -> None:
    watcher.check_machine("5.15.0-91-generic", **machine(tmp_path, capabilities))


def test_a_program_of_another_version_is_not_used(tmp_path: Path) -> None:
    program = tmp_path / "snoopie_watch"
    with pytest.raises(SnoopieError, match="is not built"):
        watcher.find(None, {}, [program])
    program.write_text("#!/bin/sh\necho 0.0.1\n")
    program.chmod(0o755)
    with pytest.raises(SnoopieError, match=r"of version 0\.0\.1"):
        watcher.find(None, {}, [program])
    # What was named is used as it is.
    assert watcher.find(None, {"SNOOPIE_WATCH": str(program)}, []) == program
    with pytest.raises(SnoopieError, match="--tool names"):
        watcher.find(str(tmp_path), {"SNOOPIE_WATCH": str(program)}, [])


def test_containers(tmp_path: Path) -> None:
    pod = tmp_path / "kubepods.slice" / "kubepods-pod1.slice"
    one = pod / f"cri-containerd-{ID}.scope"
    (one / "inner" / ID).mkdir(parents=True)
    (tmp_path / "docker" / ("f" * 64)).mkdir(parents=True)
    assert watcher.cgroup_of(ID[:12], tmp_path) == one
    assert watcher.cgroup_of("ffffff", tmp_path).name == "f" * 64
    for container, said in (("abcdef", "no container"), ("xyz", "not the id"), ("01", "not the id")):
        with pytest.raises(UsageError, match=said):
            watcher.cgroup_of(container, tmp_path)
    (tmp_path / "docker" / (ID[:12] + "0" * 52)).mkdir()
    with pytest.raises(UsageError, match="several containers"):
        watcher.cgroup_of(ID[:12], tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--all", "--pid", "1"], "not allowed with"),
        (["--pid", "x"], "not the number of a process"),
        (["--all", "--for", "0s"], "not a time"),
        (["--all", "--buffer", "5KiB"], "not a power of 2"),
        (["--all", "--prometheus", "9400"], "not an address"),
    ],
)
def test_wrong_words(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(["watch", *words])
    assert said in capsys.readouterr().err
