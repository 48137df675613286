"""Which container and pod a process is in: from the path of its cgroup, as runtimes name those."""

from __future__ import annotations

import pytest

from snoopie.live.about import cgroup_in, container_of, pod_of

ID, OTHER = "0123456789abcdef" * 4, "fedcba9876543210" * 4
POD = "11111111-2222-3333-4444-555555555555"
STATIC = "0123456789abcdef" * 2
OF_SYSTEMD = f"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{POD.replace('-', '_')}.slice"


@pytest.mark.parametrize(
    ("text", "pod"),
    [
        (f"0::/system.slice/docker-{ID}.scope", ""),
        (f"0::/docker/{ID}", ""),
        (f"12:cpu,cpuacct:/docker/{ID}\n1:name=systemd:/docker/{ID}\n0::/", ""),
        (f"0::/system.slice/docker-{OTHER}.scope/docker/{ID}", ""),
        (f"0::/machine.slice/libpod-{ID}.scope/container", ""),
        (f"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope", ""),
        (f"0::{OF_SYSTEMD}/cri-containerd-{ID}.scope", POD),
        (f"0::{OF_SYSTEMD}/crio-{ID}.scope", POD),
        (f"0::{OF_SYSTEMD}/crio-{ID}.scope/container", POD),
        (f"0::{OF_SYSTEMD}/docker-{ID}.scope", POD),
        (f"0::/kubepods/burstable/pod{POD}/{ID}", POD),
        (f"5:memory:/kubepods/pod{POD}/{ID}\n0::/", POD),
        (f"3:devices:/kubepods-besteffort-pod{POD.replace('-', '_')}.slice:cri-containerd:{ID}", POD),
        (f"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{STATIC}.slice/crio-{ID}.scope", STATIC),
        # From within a container that has cgroups of its own.
        (f"0::/../../kubepods-besteffort-pod{POD.replace('-', '_')}.slice/cri-containerd-{ID}.scope", POD),
        (f"0::/../cri-containerd-{ID}.scope", ""),
    ],
)
def test_a_container(text: str, pod: str) -> None:
    path = cgroup_in(text + "\n")
    assert (container_of(path), pod_of(path)) == (ID[:12], pod)


@pytest.mark.parametrize(
    "text",
    [
        "0::/user.slice/user-1000.slice/session-3.scope",
        "0::/system.slice/slurmstepd.scope/job_17/step_0/user/task_0",
        "0::/system.slice/ssh.service",
        "12:pids:/user.slice\n0::/",
        # Of other lengths.
        f"0::/build/{ID}0",
        f"0::/build/{ID[1:]}",
        "0::/",
        "",
    ],
)
def test_no_container(text: str) -> None:
    path = cgroup_in(text + "\n")
    assert (container_of(path), pod_of(path)) == ("", "")
