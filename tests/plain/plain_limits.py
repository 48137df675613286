"""Random limits on what may grow or shrink between two random runs, and what plain loops say exceeds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from random import Random

from snoopie.words import units
from tests.plain import plain_comparison, plain_source, plain_traffic
from tests.plain.plain_comparison import compared
from tests.plain.plain_run import Moved, Run
from tests.plain.plain_traffic import VALUES

# By what it is of, as it is called, and what tells those apart that are called the same.
Amounts = Mapping[tuple[str, str], int]
Part = Callable[[Run, Moved], bool]

IN_BYTES = ("bytes", "wire_bytes", "copy_bytes", "peak_memory", "leaks")
METRICS = (*VALUES, "launches", "kernels", "copies", "copy_bytes", "peak_memory", "leaks")
KEYS = ("pair", "kernel", "object")
# As docs/ci.md writes them, and how many they are.
_AMOUNTS = {
    "0": Fraction(0), "0%": Fraction(0), "5%": Fraction(1, 20), "100%": Fraction(1), "12.5 %": Fraction(1, 8),
    "2000": Fraction(2000),
}  # fmt: skip
_OF_BYTES = {"10MiB": Fraction(10 << 20), "1.5GB": Fraction(1_500_000_000), "7B": Fraction(7), "2 KiB": Fraction(2048)}
_OF_THINGS = {"2K": Fraction(2000), "1.5M": Fraction(1_500_000), "3G": Fraction(3_000_000_000)}

# So many rows beyond a limit are named.
MOST = 5


@dataclass
class Limit:
    """A limit as it is written, what it is of, and the amounts in A and B that it is on."""

    of: str
    metric: str
    a: Amounts
    b: Amounts
    amount: str = ""
    # So many, or that share of what was.
    most: Fraction = field(default_factory=Fraction)
    share: bool = False

    @property
    def text(self) -> str:
        return f"{self.of}:{self.amount}"

    def exceeding(self, direction: str) -> dict[tuple[str, str], int]:
        """By how much what exceeds it has grown, or shrunk."""
        found = {}
        for name, row in compared(self.a, self.b).items():
            change = row["change"] if direction == "increase" else -row["change"]
            if change > (self.most * row["a"] if self.share else self.most):
                found[name] = change
        return found

    def sentence(self, name: tuple[str, str], direction: str) -> str:
        """What is said of one that exceeds it."""
        a, b = self.a.get(name, 0), self.b.get(name, 0)
        say = units.bytes if self.metric in IN_BYTES else units.count
        share = f" ({units.percent(abs(b - a) / a)})" if a else ""
        verb = "rose" if direction == "increase" else "fell"
        return f"{name[0]} {verb} by {say(abs(b - a))}{share} to {say(b)}, more than the {self.amount} allowed"


def with_amount(limit: Limit, random: Random) -> Limit:
    """The same with some amount: often just what something changed by, or a little less."""
    limit.amount, limit.most = random.choice(
        [*(_AMOUNTS | (_OF_BYTES if limit.metric in IN_BYTES else _OF_THINGS)).items()]
    )
    limit.share = limit.amount.endswith("%")
    changed = [row for row in compared(limit.a, limit.b).values() if row["change"]]
    if changed and random.random() < 0.6:
        row = random.choice(changed)
        change, a = abs(row["change"]), row["a"]
        limit.share = bool(a) and 100 * change % a == 0 and random.random() < 0.5
        unit, many = random.choice(
            [("", 1), *((("KB", 1000), ("MiB", 1 << 20)) if limit.metric in IN_BYTES else (("K", 1000), ("M", 10**6)))]
        )
        number = 100 * change // a if limit.share else max(change - random.randint(0, 1), 0) // many
        limit.amount = f"{number}%" if limit.share else f"{number}{unit}"
        limit.most = Fraction(number, 100) if limit.share else Fraction(number * many)
    return limit


def on_all(a: Run, b: Run, metric: str) -> Limit:
    """A limit on a whole; an amount that is not known is in neither."""
    values = whole(a, metric), whole(b, metric)
    one, other = ({} if None in values else {(metric, ""): value or 0} for value in values)
    return Limit(metric, metric, one, other)


def whole(run: Run, metric: str) -> int | None:
    """A metric of all of a run. Nothing was freed in it; without any allocation, none were recorded."""
    if metric in ("peak_memory", "leaks"):
        own = [kind for _, kind in run.objects.values() if kind == "device"]
        return 4096 * len(own) if run.objects else None
    return int(plain_traffic.summary(run)[metric])


def on_each(a: Run, b: Run, metric: str, key: str) -> Limit:
    """A limit on each pair, kernel or object by itself."""
    return Limit(f"{metric}/{key}", metric, _by(a, metric, key), _by(b, metric, key))


def _by(run: Run, metric: str, key: str) -> Amounts:
    found: dict[tuple[str, str], int] = {}
    if key == "pair":
        pairs = plain_comparison.pairs(run, "issued", "device", metric)
        found = {(f"{issuer} -> {owner}", ""): amount for (issuer, owner), amount in pairs.items()}
    elif key == "kernel":
        found = {(kernel, ""): amount for kernel, amount in plain_comparison.kernels(run, metric).items()}
    else:
        for row in plain_source.objects(run, run.traffic).values():
            name = f"an allocation on {row['owner']}" if row["owner"] else "no known object", row["kind"]
            found[name] = found.get(name, 0) + row[metric]
    return {(f"{metric} of {name}", kind): amount for (name, kind), amount in found.items()}


def on_part(a: Run, b: Run, random: Random) -> Limit:
    """A limit on what selectors choose of at least one of the two."""
    run = random.choice([run for run in (a, b) if run.traffic])
    row = random.choice(run.traffic)
    issuer, owner = run.label(row.launch.gpu), run.label(row.owner)
    kernel, file, line, operation = row.launch.kernel, row.site.file, row.site.line, row.site.operation
    flows_out = operation != "load"
    source, target = (issuer, owner) if flows_out else (owner, issuer)

    def flowed(run: Run, one: Moved) -> bool:
        ends = run.label(one.launch.gpu), run.label(one.owner)
        return (one.site.operation != "load" and ends == (source, target)) or (
            one.site.operation in ("load", "atomic") and ends == (target, source)
        )

    parts: dict[str, Part] = {
        f"{issuer} -> {owner}": lambda run, one: (run.label(one.launch.gpu), run.label(one.owner)) == (issuer, owner),
        f"issuer={issuer}": lambda run, one: run.label(one.launch.gpu) == issuer,
        f"owner={owner}": lambda run, one: run.label(one.owner) == owner,
        f"from={source}, to={target}": flowed,
        f'kernel="{kernel}"': lambda _, one: one.launch.kernel == kernel,
        operation: lambda _, one: one.site.operation == operation,
        f'{operation}, kernel="{kernel}"': lambda _, one: (
            (one.site.operation, one.launch.kernel) == (operation, kernel)
        ),
    }
    if line:
        parts[f'line="{file}:{line}"'] = lambda _, one: (one.site.file, one.site.line) == (file, line)
        parts[f'file="{file}"'] = lambda _, one: one.site.file == file
    # Multicast objects have numbers, which are others' in the other run.
    chosen = [part for part in parts if "multicast" not in part]
    part, metric = random.choice(chosen), random.choice(VALUES)
    of = f"{metric}({part})"
    one, other = (_sum(of, side, parts[part], metric) for side in (a, b))
    return Limit(of, metric, one, other)


def _sum(of: str, run: Run, part: Part, metric: str) -> Amounts:
    return {(of, ""): plain_traffic.sums([row for row in run.traffic if part(run, row)])[metric]}


def on_launches(a: Run, b: Run, random: Random) -> Limit:
    """A limit on the launches of a kernel."""
    kernel = random.choice([launch.kernel for run in (a, b) for launch in run.launches.values()])
    of = f'launches(kernel="{kernel}")'
    one, other = ({(of, ""): _launches(run, kernel)} for run in (a, b))
    return Limit(of, "launches", one, other)


def _launches(run: Run, kernel: str) -> int:
    return plain_traffic.scaled((1, launch.stands_for) for launch in run.launches.values() if launch.kernel == kernel)


def check_rows(said: list[str], limit: Limit, direction: str, key: str) -> None:
    """The largest changes are named, the others counted; of equal ones some."""
    exceeding = limit.exceeding(direction)
    named = said[:MOST]
    assert len(named) == min(len(exceeding), MOST)
    assert said[MOST:] == (
        [f"… and {limit.metric} of {len(exceeding) - MOST} more, by {key}"] if len(exceeding) > MOST else []
    )
    every = [(change, limit.sentence(name, direction)) for name, change in exceeding.items()]
    for sentence, change in zip(named, sorted(exceeding.values(), reverse=True), strict=False):
        every.remove((change, sentence))
