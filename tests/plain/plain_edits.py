"""Two random versions of a program, of which it is known what became of each line."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.plain.plain_comparison import Compared, compared
from tests.support.encoder import TraceBuilder

# A file, a line of it, and that line in B.
Key = tuple[str, int, int]


@dataclass
class File:
    """A file at its path in both; ``rows`` are line of A, its text, line of B, its text, 0 and "" for none."""

    a: str
    b: str
    rows: list[tuple[int, str, int, str]] = field(default_factory=list)
    # Line → bytes.
    moved_a: dict[int, int] = field(default_factory=dict)
    moved_b: dict[int, int] = field(default_factory=dict)
    # Of these the wire bytes of each.
    wire_a: dict[int, int] = field(default_factory=dict)
    wire_b: dict[int, int] = field(default_factory=dict)

    @property
    def matched(self) -> bool:
        """Files are found to be the same by what has traffic."""
        return bool(self.moved_a and self.moved_b)


@dataclass
class Edits:
    """``a`` and ``b`` write the two traces."""

    a: TraceBuilder = field(default_factory=lambda: TraceBuilder(2))
    b: TraceBuilder = field(default_factory=lambda: TraceBuilder(2))
    files: list[File] = field(default_factory=list)


def make(seed: int) -> Edits:
    """Files into which lines were put, or from which lines were taken; some were built in another folder."""
    random = Random(seed)
    made = Edits()
    for number in range(random.randint(1, 4)):
        name = f"src/part{number}.cu"
        file = File(f"/home/u/{name}", f"{random.choice(('/home/u', '/build/x'))}/{name}")
        longer = random.choice("ab")
        numbers = {"a": 0, "b": 0}
        for _ in range(random.randint(1, 8)):
            both = random.random() < 0.6
            has = {side: both or side == longer for side in "ab"}
            for side in "ab":
                numbers[side] += has[side]
            # How far it is indented makes a line no other.
            code = f"step({number}, {len(file.rows)});"
            texts = {side: " " * random.randint(0, 2) + code if has[side] else "" for side in "ab"}
            line = {side: numbers[side] if has[side] else 0 for side in "ab"}
            file.rows.append((line["a"], texts["a"], line["b"], texts["b"]))
        made.files.append(file)
    for trace, side in ((made.a, 0), (made.b, 1)):
        kernel = trace.function("step()")
        launch = trace.launch(kernel, 0)
        for file in made.files:
            path, moved = (file.b, file.moved_b) if side else (file.a, file.moved_a)
            wire = file.wire_b if side else file.wire_a
            lines = [(row[2 * side], row[2 * side + 1]) for row in file.rows if row[2 * side]]
            text = "".join(f"{code}\n" for _, code in lines)
            trace.add("source_files", file=trace.string(path), text=text, bytes=len(text), kept=1)
            for number, _ in random.sample(lines, random.randint(0, len(lines))):
                lanes, units = random.randint(1, 1 << 40), random.choice((0, 1, random.randint(1, 1 << 40)))
                site = trace.site(kernel, "STG.E", "store", 4, line=trace.line(path, number))
                trace.count(launch, site, 1, 1, lanes, units)
                moved[number], wire[number] = 4 * lanes, 32 * units
    return made


def lines(made: Edits) -> Compared:
    """The comparison of bytes by file, line, and its number in B; file and line are A's where it moved bytes in A."""
    a: dict[Key, int] = {}
    b: dict[Key, int] = {}
    for file in made.files:
        of_a, of_b = _sides(file, file.moved_a, file.moved_b)
        a |= of_a
        b |= of_b
    return compared(a, b)


def least_times(made: Edits) -> tuple[dict[Key, int], dict[Key, int]]:
    """How long the links need at least for what each line moved in A, and in B, in whole ns. Lines as in `lines`."""
    a: dict[Key, int] = {}
    b: dict[Key, int] = {}
    for file in made.files:
        # All of it is sent by one GPU: 18 links of 25 GB/s.
        of_a, of_b = _sides(file, *(
            {line: size * 10**9 // (18 * 25 * 10**9) for line, size in wire.items() if size}
            for wire in (file.wire_a, file.wire_b)
        ))  # fmt: skip
        a |= of_a
        b |= of_b
    return a, b


def _sides(file: File, a: dict[int, int], b: dict[int, int]) -> tuple[dict[Key, int], dict[Key, int]]:
    """Amounts of the lines of a file by how a comparison names them. What has none in B is in B at line 0."""
    of_a: dict[Key, int] = {}
    of_b: dict[Key, int] = {}
    for own, _, other, _ in file.rows:
        # What did not move anything is in no table, as if it were not there.
        there = other if other in b and file.matched else 0
        if own in a:
            of_a[file.a, own, there] = a[own]
        if own in a and there:
            of_b[file.a, own, there] = b[there]
        elif other in b:
            # Without any bytes in A the line is B's.
            line = own if own in file.moved_a and file.matched else other
            of_b[file.a if file.matched else file.b, line, other] = b[other]
    return of_a, of_b


def rows_of(file: File) -> list[tuple[object, ...]]:
    """line code line_b code_b a b change only of each line of a file."""
    found: list[tuple[object, ...]] = []
    for own, code, other, code_b in file.rows:
        a, b = file.moved_a.get(own, 0), file.moved_b.get(other, 0)
        found.append((own, code, other, code_b, a, b, b - a, "A" if not other else "B" if not own else ""))
    return found
