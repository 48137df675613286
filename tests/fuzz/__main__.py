"""Fuzzes the reader and the importers:  python -m tests.fuzz [--minutes N] [TARGET…]

For some minutes each, all targets if none is named. What fails is written to a file and named with its seed; the exit
status is then 1. docs/trust.md says more.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

from tests.fuzz import engine
from tests.fuzz.targets import TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz the reader and the importers.")
    parser.add_argument(
        "targets", metavar="TARGET", nargs="*", help=f"one or more of: {' '.join(TARGETS)}; default: all"
    )
    parser.add_argument("--minutes", type=float, default=1, help="for each target (default: 1)")
    parser.add_argument("--inputs", type=int, help="for each target, instead of minutes")
    parser.add_argument("--seed", type=int, help="of the first input (default: another each time)")
    parser.add_argument("--first", type=int, default=0, help="number of the first input (default: 0)")
    parser.add_argument(
        "--seeds", type=Path, metavar="FOLDER", help="begin with the files in it, such as real recordings"
    )
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="folder for inputs that fail")
    parser.add_argument("--faults", type=int, default=10, help="stop a target after so many (default: 10)")
    parser.add_argument("--input", type=Path, help="check this file, and nothing else, with one TARGET")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.targets if name not in TARGETS]:
        parser.error(f"there is no target {unknown[0]}; there are {', '.join(TARGETS)}")
    chosen = [TARGETS[name] for name in arguments.targets or TARGETS]
    if arguments.seeds:
        try:
            chosen = [target.beginning_with(arguments.seeds) for target in chosen]
        except (OSError, ValueError) as error:
            parser.error(str(error))
    if arguments.input:
        if len(chosen) != 1:
            parser.error("name one target for --input")
        print(what := engine.check_one(chosen[0], arguments.input), end="")
        return 1 if what else 0
    seed = random.SystemRandom().randrange(1 << 32) if arguments.seed is None else arguments.seed
    faults = 0
    for target in chosen:
        done = engine.fuzz(
            target, seed=seed, keep=arguments.keep, first=arguments.first, inputs=arguments.inputs,
            seconds=60 * arguments.minutes if arguments.inputs is None else 1e18, most_faults=arguments.faults,
        )  # fmt: skip
        for found in done.found:
            print(f"\n{found}", flush=True)
        faults += len(done.found)
        minutes = done.seconds / 60
        print(
            f"{target.name}: {done.inputs:,} inputs in {minutes:.1f} min, {len(done.found)} faults, seed {seed}",
            flush=True,
        )
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
