"""python -m tests.support.wheel FILE: whether a wheel has each file of the package and of the app, and nothing else."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


# What `snoopie build` builds the collector from, and where it lies in the package.
COLLECTOR, INSTALLED = ROOT / "nvbit_tool", Path("snoopie/_collector")


def expected() -> Iterator[str]:
    """The files of the checkout that a wheel brings."""
    for package in ("snoopie", "visualizer"):
        for path in (ROOT / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield str(path.relative_to(ROOT))
    for path in (COLLECTOR / "Makefile", COLLECTOR / "requirements", *(COLLECTOR / "src").rglob("*")):
        if path.is_file():
            yield str(INSTALLED / path.relative_to(COLLECTOR))


def check(wheel: Path) -> str:
    """What is wrong with the wheel, or nothing."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        about = {name.rpartition(".dist-info/")[2]: name for name in archive.namelist() if ".dist-info/" in name}
        commands = archive.read(about["entry_points.txt"]).decode() if "entry_points.txt" in about else ""
    files = set(expected())
    wrong = [f"lacks {name}" for name in sorted(files - names)] + [f"has {name}" for name in sorted(names - files)]
    wrong += [f"lacks {name}" for name in ("METADATA", "licenses/LICENSE") if name not in about]
    if "snoopie = snoopie.cli:main" not in commands:
        wrong.append("does not install the command snoopie")
    return "\n".join(wrong)


if __name__ == "__main__":
    if wrong := check(Path(sys.argv[1])):
        sys.exit(f"{sys.argv[1]}:\n{wrong}")
    print(f"{sys.argv[1]}: {len(set(expected()))} files and its description")
