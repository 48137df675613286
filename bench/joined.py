"""How many launches of an exact recording find theirs in a clean one:  python bench/joined.py [NAME=COMMAND …]

Runs each program under `snoopie run --with-times`, once cleanly and once with all kernels counted, and joins the two
recordings. Needs what bench/cost.py needs, and for halo NVSHMEM. More programs, as those of nccl-tests, are named with
their command. Writes their section of docs/performance.md where --out names it, else it is printed. The exit status is
1 where a program failed, or less than 99 % of its launches were matched.

    python bench/joined.py 'nccl-tests all_reduce=build/all_reduce_perf -g 2 -b 1M -e 64M -f 4'
"""

from __future__ import annotations

import argparse
import datetime
import os
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(HERE), str(ROOT)]

import cost  # noqa: E402
import cost_report  # noqa: E402

import snoopie  # noqa: E402

BEGIN, END = "<!-- by bench/joined.py -->", "<!-- end of bench/joined.py -->"
LEAST = 0.99
APPS = ROOT / "tests" / "gpu" / "apps"
RANKS = "torchrun --nproc-per-node 2"


@dataclass(frozen=True)
class Joined:
    """Launches of both recordings, and of the exact one those that were matched."""

    exact: int
    matched: int
    clean: int
    reasons: tuple[str, ...]
    """Why the others were not, in sentences."""

    @property
    def share(self) -> float:
        return self.matched / self.exact if self.exact else 0.0


def programs(arch: str) -> dict[str, str]:
    """Name → command, in an empty folder."""
    built = APPS / "build" / f"sm_{arch}"
    steps = HERE / "training" / "steps.py"
    return {
        "jacobi": f"{built}/jacobi 4096 4096 200",
        # Its ranks find each other by a file, which the first run leaves.
        "halo": f"sh -c 'rm -f id; exec {RANKS} --no-python {built}/halo id 1024 4096 50'",
        "FSDP": f"{RANKS} {steps} fsdp 3 5",
    }


def join(command: str, tool: Path) -> Joined:
    """Runs a program twice. cost.FailedError."""
    with tempfile.TemporaryDirectory(prefix="snoopie-joined-") as folder:
        traces = Path(folder) / "traces"
        twice = [sys.executable, "-m", "snoopie", "run", "--with-times"]
        counted = ["-s", "0", "--tool", str(tool), "-o", f"{traces}/"]
        path = {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
        ended = cost.run([*twice, *counted, "--", *shlex.split(command)], cost.environment() | path, Path(folder))
        if ended.returncode != 0:
            raise cost.FailedError(f"{command}: status {ended.returncode}: {cost.last_words(ended)}")
        table = snoopie.load(traces).native_matching()
    sums = table.groupby("recording")["launches"].sum()
    matched = table.loc[(table["recording"] == "exact") & (table["outcome"] == "matched"), "launches"].sum()
    others = table[(table["outcome"] != "matched") & (table["launches"] > 0)]
    reasons = [f"{row.launches} of the {row.recording} recording: {row.outcome}" for row in others.itertuples()]
    return Joined(int(sums["exact"]), int(matched), int(sums["clean"]), tuple(reasons))


def section(found: dict[str, Joined], machine: str, date: str) -> str:
    rows = [
        [name, f"{one.exact:,}", f"{one.matched:,}", f"{one.share:.1%}", f"{one.clean:,}"]
        for name, one in found.items()
    ]
    headings = ["program", "launches", "with a native time", "", "launches of the clean recording"]
    text = f"Written by `python bench/joined.py` on {date}: {machine}.\n\n{cost_report.table(headings, rows)}"
    notes = [f"- {name}: {reason}" for name, one in found.items() for reason in one.reasons]
    return text + ("\n" + "\n".join(notes) + "\n" if notes else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("more", nargs="*", metavar="NAME=COMMAND", help="other programs")
    parser.add_argument("--only", metavar="NAME,…", help="of its own programs only these")
    parser.add_argument("--out", type=Path, help="document whose section is written")
    options = parser.parse_args()
    named = dict(text.split("=", 1) for text in options.more)
    own = programs(cost.gpus()[0]["arch"])
    if options.only is not None:
        own = {name: own[name] for name in options.only.split(",") if name}
    subprocess.run(["make", "-C", str(APPS), "-j8", f"PYTHON={sys.executable}", "jacobi", "halo"], check=True)
    tool = cost.collector()
    found: dict[str, Joined] = {}
    failed = False
    for name, command in (own | named).items():
        try:
            found[name] = join(command, tool)
        except (cost.FailedError, subprocess.TimeoutExpired, snoopie.SnoopieError) as error:
            cost.say(f"{name}: {error}")
            failed = True
            continue
        cost.say(f"{name}: {found[name]}")
        failed |= found[name].share < LEAST
    text = section(found, cost.describe(cost.machine()), datetime.date.today().isoformat())
    if options.out:
        options.out.write_text(cost_report.with_section(options.out.read_text(), text, (BEGIN, END)))
    print(text)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
