"""What stands between a program and the GPUs: a container, MPS."""

from collections.abc import Mapping
from pathlib import Path

from snoopie.cli.checks.row import Row, ok, warning

# Files that container engines leave, and variables that they set.
_FILES = {".dockerenv": "Docker", "run/.containerenv": "Podman", ".singularity.d": "Apptainer"}
_VARIABLES = {
    "APPTAINER_NAME": "Apptainer",
    "SINGULARITY_NAME": "Singularity",
    "KUBERNETES_SERVICE_HOST": "Kubernetes",
    "container": "a container",
}


def container(environment: Mapping[str, str], root: Path = Path("/")) -> Row:
    """Whether this is one; then what it must be given."""
    kinds = [kind for file, kind in _FILES.items() if _exists(root / file)]
    kinds += [kind for variable, kind in _VARIABLES.items() if environment.get(variable)]
    return ok("container", kinds[0] if kinds else "none")


def mps(environment: Mapping[str, str]) -> Row:
    """Whether CUDA's Multi-Process Service takes the programs' work."""
    pipe = Path(environment.get("CUDA_MPS_PIPE_DIRECTORY") or "/tmp/nvidia-mps", "control")
    if _exists(pipe):
        return warning(
            "MPS", f"its daemon listens in {pipe.parent}", "tracing under it is not tested: stop it if a run fails"
        )
    return ok("MPS", "not running")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
