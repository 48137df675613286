"""The large tables of a report, some correlation ids at a time: calls, and what they had the GPUs do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snoopie.importers.nsys import calls, gpu_work
from snoopie.importers.nsys.export import CORRELATION, MISSING, Export, Ints
from snoopie.importers.spool import Spool, together

_OF_GPUS = ("deviceId", "srcDeviceId", "dstDeviceId")


class Parts:
    """The rows of a process that make sense; ``wrong`` is how many do not.

    ``devices``: the numbers of GPUs in them, ``chains``: those of backtraces; each once.
    """

    def __init__(self, export: Export, process: int, only: bool) -> None:
        self._export = export
        self.wrong = 0
        self.devices: Ints = np.empty(0, np.int64)
        self.chains: Ints = np.empty(0, np.int64)
        self._spools: dict[str, Spool] = {}
        for table, of, sane in (
            (calls.TABLE, "globalTid", calls.sane),
            *((table, "globalPid", gpu_work.sane) for table in gpu_work.COLUMNS),
        ):
            columns = calls.columns(export) if table == calls.TABLE else gpu_work.COLUMNS[table]
            self._spools[table] = Spool(dict.fromkeys(columns.split(), np.int64))
            for piece in export.pieces(table, columns, of, process, only):
                self._add(table, piece, sane(piece))

    def __enter__(self) -> Parts:
        return self

    def __exit__(self, *_: object) -> None:
        for spool in self._spools.values():
            spool.close()

    def _add(self, table: str, piece: dict[str, Ints], good: NDArray[np.bool_]) -> None:
        if not good.all():
            self.wrong += int((~good).sum())
            piece = {name: values[good] for name, values in piece.items()}
        self._spools[table].add(piece[CORRELATION], piece)
        self.devices = _known(self.devices, (piece[name] for name in _OF_GPUS if name in piece))
        self.chains = _known(self.chains, (piece[name] for name in (calls.CHAIN,) if name in piece))

    def each(self) -> Iterator[Export]:
        """The report, with some rows of the large tables after others: those that refer to one another are together."""
        return (_Part(self._export, self._spools, groups) for groups in together(self._spools.values()))


def _known(before: Ints, more: Iterable[Ints]) -> Ints:
    return np.unique(np.concatenate([before, *map(np.unique, more)]))


class _Part:
    """An export whose large tables have only the rows of some groups of correlation ids."""

    def __init__(self, export: Export, spools: dict[str, Spool], groups: list[int]) -> None:
        self.path: Path = export.path
        self._export, self._spools, self._groups = export, spools, groups

    def pieces(
        self, table: str, columns: str, of: str = "", process: int = 0, only: bool = True, *, known: str = ""
    ) -> Iterator[dict[str, Ints]]:
        if table not in self._spools:
            yield from self._export.pieces(table, columns, of, process, only, known=known)
            return
        held = self._spools[table].read(self._groups)
        rows = len(held[CORRELATION])
        if rows:
            yield {name: held[name] if name in held else np.full(rows, MISSING, np.int64) for name in columns.split()}

    def close(self) -> None:
        self._export.close()

    def has(self, table: str, column: str = "") -> bool:
        return self._export.has(table, column)

    def processes(self, columns: Sequence[tuple[str, str]]) -> list[int]:
        return self._export.processes(columns)

    def least(self, table: str, column: str) -> int | None:
        return self._export.least(table, column)

    def texts(self, table: str, column: str, of: str, process: int, only: bool) -> dict[int, str]:
        return self._export.texts(table, column, of, process, only)

    def named(
        self, table: str, prefix: str, columns: str, of: str = "", process: int = 0, only: bool = True
    ) -> Iterator[tuple[object, ...]]:
        return self._export.named(table, prefix, columns, of, process, only)

    def rows(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        return self._export.rows(table, columns)

    def strings(self, ids: Iterable[int]) -> dict[int, str]:
        return self._export.strings(ids)
