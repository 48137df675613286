"""python -m tests.support.wheel FILE: whether a wheel has each file of the package and of the app, and nothing else.

The app is in the package, man pages and completion are beside it. What the package index shows of it has no link that
leads nowhere.
"""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from snoopie.cli import completion, manual

ROOT = Path(__file__).resolve().parents[2]
# Folder of the checkout → where a wheel has it.
PLACES = {"snoopie": "snoopie", "visualizer": "snoopie/_app/visualizer"}
RELATIVE_LINK = re.compile(r"\]\((?!https?://)[^)]*\)")
# Samples that an installed app offers, with their sources.
SAMPLES = (
    *("arrays.cuh", "common.cuh", "findings-2gpu.zst", "findings.cu", "halo-4gpu"),
    *("jacobi-2gpu.zst", "jacobi-4gpu.zst", "jacobi.cu", "ring-4gpu.zst", "ring.cu"),
)
# A wheel that has them is still small.
LARGEST = 3 << 20
# What `snoopie build` builds the collector from, and where it lies in the package.
COLLECTOR, INSTALLED = ROOT / "nvbit_tool", Path("snoopie/_collector")


def expected() -> Iterator[str]:
    """The files of the checkout that a wheel brings, as it names them."""
    for folder, place in PLACES.items():
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield f"{place}/{path.relative_to(ROOT / folder)}"
    for name in SAMPLES:
        sample = ROOT / "sample_traces" / name
        for path in [sample] if sample.is_file() else sample.iterdir():
            yield f"snoopie/_app/{path.relative_to(ROOT)}"
    for path in (
        COLLECTOR / "Makefile",
        COLLECTOR / "requirements",
        *(COLLECTOR / "include").rglob("*"),
        *(COLLECTOR / "licenses").rglob("*"),
        *(COLLECTOR / "src").rglob("*"),
    ):
        if path.is_file():
            yield str(INSTALLED / path.relative_to(COLLECTOR))


def shared() -> dict[str, str]:
    """The files for other programs, below the folder that pip installs into, and what is in them."""
    pages = {f"share/man/man1/{name}": text for name, text in manual.pages().items()}
    pages |= {"include/snoopie.h": (COLLECTOR / "include" / "snoopie.h").read_text()}
    return pages | {place: completion.script(shell) for shell, place in completion.PLACES.items()}


def check(wheel: Path) -> str:
    """What is wrong with the wheel, or nothing."""
    with zipfile.ZipFile(wheel) as archive:
        beside = {
            name.partition(".data/data/")[2]: archive.read(name).decode()
            for name in archive.namelist()
            if ".data/data/" in name
        }
        names = {name for name in archive.namelist() if ".dist-info/" not in name and ".data/data/" not in name}
        about = {name.rpartition(".dist-info/")[2]: name for name in archive.namelist() if ".dist-info/" in name}
        commands = archive.read(about["entry_points.txt"]).decode() if "entry_points.txt" in about else ""
        description = archive.read(about["METADATA"]).decode() if "METADATA" in about else ""
    files = set(expected())
    wrong = [f"lacks {name}" for name in sorted(files - names)] + [f"has {name}" for name in sorted(names - files)]
    if wheel.stat().st_size > LARGEST:
        wrong.append(f"has {wheel.stat().st_size:,} bytes, and at most {LARGEST:,} are meant")
    if beside != shared():
        wrong.append("has other man pages or completion than the command line")
    wrong += [f"lacks {name}" for name in ("METADATA", "licenses/LICENSE") if name not in about]
    if "snoopie = snoopie.cli:main" not in commands:
        wrong.append("does not install the command snoopie")
    if "# Snoopie" not in description:
        wrong.append("has no README")
    wrong += [f"has a README with a link into the repository: {link}" for link in RELATIVE_LINK.findall(description)]
    return "\n".join(wrong)


if __name__ == "__main__":
    if wrong := check(Path(sys.argv[1])):
        sys.exit(f"{sys.argv[1]}:\n{wrong}")
    print(f"{sys.argv[1]}: {len(set(expected()))} files and its description")
