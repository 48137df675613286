"""The same targets with atheris, which keeps inputs that lead to new ways through Snoopie and goes on from these:

    pip install atheris
    python -m tests.fuzz.guided [--minutes N] [--corpus FOLDER] TARGET

Ends at the first fault, whose input is written to the folder; the next time it begins with the inputs that are there.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from random import Random

import atheris


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.guided", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("target", metavar="TARGET")
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--corpus", type=Path, default=Path("build/fuzz/guided"))
    arguments = parser.parse_args()
    # What is to be followed is changed while it is imported.
    with atheris.instrument_imports(include=["snoopie"]):
        from tests.fuzz.targets import TARGETS
    if arguments.target not in TARGETS:
        parser.error(f"there is no target {arguments.target}; there are {', '.join(TARGETS)}")
    target = TARGETS[arguments.target]
    corpus = arguments.corpus / target.name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(target.seeds()):
        (corpus / f"seed{number}").write_bytes(seed)
    folder = Path(tempfile.mkdtemp(prefix="snoopie-fuzz-"))

    def check(data: bytes) -> None:
        work = Path(tempfile.mkdtemp(dir=folder))
        path = work / f"input{target.ending}"
        path.write_bytes(data)
        (work / "out").mkdir()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            target.check(path, work / "out")
        shutil.rmtree(work)

    def changed(data: bytes, most: int, seed: int) -> bytes:
        return target.mutate(data, Random(seed))[:most]

    options = [f"-max_total_time={int(60 * arguments.minutes)}", f"-artifact_prefix={arguments.corpus}/{target.name}-"]
    atheris.Setup(
        [sys.argv[0], *options, "-max_len=1048576", "-rss_limit_mb=4096", "-timeout=300", str(corpus)],
        check,
        custom_mutator=changed,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
