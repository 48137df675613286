"""What a trace may hold: far more than any real run needs, and so little that no file can hang or fill a machine.

All is checked before anything is made of it: first what the index of a file claims, then each string as it is decoded,
then how deep chains are. docs/trust.md says where the numbers come from.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from snoopie.errors import LimitError
from snoopie.words import units

LIFT = "load(…, trust=True)"
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one trace, and of all that are read together. Sizes in bytes."""

    # The collector numbers 64, importers 254: a column of owners is one byte.
    gpus: int = 256
    # The collector has 20.
    settings: int = 1_000
    # One a table and second: a run of eight days.
    blocks: int = 8_000_000
    # Of a table, and of all tables.
    rows: int = 1 << 31
    all_rows: int = 1 << 33
    # The collector says each thing once.
    notices: int = 10_000
    # Uncompressed, so much in a file of less than a mebibyte, and so many times the size of a larger one: a kernel of
    # thousands of instructions that does the same in each launch writes 200 times what is left of it in the file.
    small: int = 80 * MIB
    table_ratio: int = 256
    # The same of records, which are read piece by piece: the collector writes 55 times the size of the file at most.
    small_records: int = 56 * MIB
    record_ratio: int = 256
    # Letters of tables with their strings written out: a name can stand in a million rows.
    small_text: int = 256 * MIB
    text_ratio: int = 256
    # Functions and lines of frames, so many in a file of less than a mebibyte, and one a byte of a larger one: each
    # takes several bytes there, as do the frames, of which a large program has some ten thousands.
    small_symbols: int = 250_000
    # Places that recorded accesses touched, each apart from the next: what is touched again is found by them. A record
    # of a few bytes has up to 32.
    small_places: int = 2_000_000
    place_ratio: int = 8
    # Stores to addresses that kernels polled: of each address what may store there.
    small_stores: int = 300_000
    store_ratio: int = 1
    # Of one string; the collector cuts the names of functions at a thousand letters.
    string: int = MIB
    # The collector follows 64 inlined functions and 512 callers.
    inlined: int = 1_000
    callers: int = 10_000
    nested: int = 1_000
    # Of a folder, and the GPUs of all together.
    files: int = 100_000
    all_gpus: int = 100_000

    def tables_of(self, size: int) -> int:
        """Bytes of tables, uncompressed, in a file of this size."""
        return by_size(size, self.small, self.table_ratio)

    def records_of(self, size: int) -> int:
        """Bytes of records, uncompressed, in a file of this size."""
        return by_size(size, self.small_records, self.record_ratio)

    def symbols_of(self, size: int) -> int:
        """Rows of symbols in a file of this size."""
        return by_size(size, self.small_symbols, 1)

    def places_of(self, size: int) -> int:
        """Places apart that recorded accesses in files of this size touched."""
        return by_size(size, self.small_places, self.place_ratio)

    def stores_of(self, size: int) -> int:
        """Rows of what may store to the addresses that kernels polled, in files of this size."""
        return by_size(size, self.small_stores, self.store_ratio)


def by_size(size: int, small: int, ratio: int) -> int:
    """What a file of this size may hold: ``small`` below a mebibyte, and ``ratio`` times its size above, if that is
    more."""
    return small if size < MIB else max(small, ratio * size)


LIMITS = Limits()
# For a trace whose maker is trusted.
NONE = Limits(**{limit.name: 1 << 62 for limit in fields(Limits)})


def allowed(trust: bool) -> Limits:
    """The limits, or none."""
    return NONE if trust else LIMITS


def refuse(name: str, holds: str, limit: str) -> LimitError:
    """The error that says which limit a trace exceeds and how to lift it."""
    return LimitError(
        f"{name} {holds}, and the limit is {limit}", f"if you trust who made it, lift all limits with {LIFT}"
    )


@dataclass(slots=True)
class Index:
    """What the index of one file claims, added up block by block."""

    name: str
    limits: Limits
    blocks: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    tables: int = 0
    records: int = 0

    def add(self, table: str, rows: int, raw_size: int, *, record: bool) -> None:
        """Takes a block into account."""
        self.blocks += 1
        self.rows[table] = self.rows.get(table, 0) + rows
        if record:
            self.records += raw_size
        else:
            self.tables += raw_size

    def check(self, size: int) -> None:
        """Refuses more than a file of this size may hold. Raises LimitError."""
        limits = self.limits
        if self.blocks > limits.blocks:
            raise refuse(self.name, f"has {self.blocks:,} blocks", f"{limits.blocks:,}")
        for table, rows in self.rows.items():
            if rows > limits.rows:
                raise refuse(self.name, f"claims {rows:,} rows of {table}", f"{limits.rows:,}")
        check_number(self.name, "claims {} notices", self.rows.get("notices", 0), limits.notices)
        check_number(self.name, "claims {} symbols of frames", self.rows.get("symbols", 0), limits.symbols_of(size))
        if (rows := sum(self.rows.values())) > limits.all_rows:
            raise refuse(self.name, f"claims {rows:,} rows in all", f"{limits.all_rows:,}")
        for what, held, limit in (
            ("tables", self.tables, limits.tables_of(size)),
            ("recorded accesses", self.records, limits.records_of(size)),
        ):
            if held > limit:
                raise refuse(
                    self.name,
                    f"holds {units.bytes(held)} of {what} in a file of {units.bytes(size)}",
                    units.bytes(limit),
                )


def check_ratio(name: str, holds: str, amount: int, size: int, small: int, ratio: int) -> None:
    """Refuses an amount beyond ``small`` and so many times the file's size; ``holds`` says of what with {}."""
    if amount > small + ratio * size:
        raise refuse(
            name,
            f"{holds.format(units.bytes(amount))} in a file of {units.bytes(size)}",
            f"{units.bytes(small)} and {ratio} times the file's size",
        )


def check_number(name: str, holds: str, number: int, limit: int) -> None:
    """Refuses more than a limit; ``holds`` says of what, with {} for the number."""
    if number > limit:
        raise refuse(name, holds.format(f"{number:,}"), f"{limit:,}")
