"""The same analyses by the workers of a Dask cluster: small tables come back, files stay where they are.

A worker opens a trace under the path that the user gave, made absolute: the folder must be shared, or the same on all
machines. Each file is verified once, by one worker; its index and small tables then go to whoever decodes its blocks.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import pandas as pd

from snoopie.analysis.selection import Selection
from snoopie.analysis.traffic import counts as _counts
from snoopie.errors import NotATraceError, SnoopieError, UsageError
from snoopie.joined.tables import Tables
from snoopie.trace.container import Block
from snoopie.trace.tables import Process

if TYPE_CHECKING:
    from distributed import Client, Future

# An address ("tcp://host:8786"), a scheduler's file, or a client that is connected.
Scheduler: TypeAlias = "str | os.PathLike[str] | Client"

_Result = TypeVar("_Result")
# What is done with a block of records: a function of a module, which workers can import. None is left out.
Work: TypeAlias = Callable[[Tables, Selection | None, int, Block], _Result | None]

# One connection for each scheduler, kept until the process ends: a client that is merely forgotten closes in whatever
# thread collects it, and waits there, be it the thread in which the next client is about to start.
_clients: dict[str, Client] = {}
_connecting = threading.Lock()

# Blocks of a task: enough to be worth the way, few enough to spread.
_BLOCKS = 8


@dataclass
class _Part:
    """What a worker holds of one process."""

    tables: Tables

    @cached_property
    def traffic(self) -> pd.DataFrame:
        """The joined counts, decoded once a worker."""
        return _counts.joined(self.tables)

    def __getstate__(self) -> dict[str, Any]:
        return {"tables": self.tables}

    @property
    def path(self) -> str:
        return self.tables.sources[0].container.path


class Cluster:
    """Work for the workers of one scheduler."""

    def __init__(self, scheduler: Any) -> None:
        self._client = _connect(scheduler)
        self._parts: list[Future] = []

    def open(self, paths: Sequence[Path], *, allow_truncated: bool, trust: bool = False) -> list[Process]:
        """Each file opened by a worker. Raises what `Process.open` does, and NotATraceError where a worker cannot."""
        futures = [self._submit(_open, os.path.abspath(path), allow_truncated, trust) for path in paths]
        processes: list[Process] = [self._result(future) for future in futures]
        for process, path in zip(processes, paths, strict=True):
            process.rename(path)
        return processes

    def hold(self, tables: Tables) -> None:
        """Gives the tables of each process to the workers; all other methods are about these."""
        parts = [_Part(tables.part(number)) for number in range(len(tables.sources))]
        self._tables = tables
        self._parts = self._client.scatter(parts, hash=False)

    def sums(self, keys: Sequence[str], selected: Selection | None) -> pd.DataFrame:
        """The sums of the selected counts: `traffic.summarise` by every worker, then `traffic.merge`."""
        tables = list(self._of_parts(_sums, selected, list(keys)))
        self._tables.check_counts(pd.concat(tables, ignore_index=True))
        return _counts.merge(tables, keys)

    def unmeasured(self, selected: Selection | None) -> pd.DataFrame:
        """site accesses lanes of the sites that were not measured, in the selected launches."""
        return pd.concat(list(self._of_parts(_unmeasured, selected)), ignore_index=True)

    def records(self, work: Work[_Result], selected: Selection | None, blocks: int = _BLOCKS) -> Iterator[_Result]:
        """What ``work`` makes of the selected records, block by block in their order.

        ``blocks`` a task; the results of at most two tasks for each thread of the workers wait to be taken.
        """
        waiting: deque[Future] = deque()
        most = 2 * max(sum(self._client.nthreads().values()), 1)
        try:
            for number, part in enumerate(self._parts):
                own = None if selected is None else selected.part(self._tables, number)
                every = self._tables.sources[number].record_blocks()
                for start in range(0, len(every), blocks):
                    waiting.append(self._submit(_records, part, own, every[start : start + blocks], work))
                    if len(waiting) > most:
                        yield from self._result(waiting.popleft())
            while waiting:
                yield from self._result(waiting.popleft())
        finally:
            # Also when nobody wants the rest.
            self._client.cancel(list(waiting))

    def _of_parts(self, work: Callable[..., _Result], selected: Selection | None, *arguments: Any) -> Iterator[_Result]:
        futures = [
            self._submit(work, part, None if selected is None else selected.part(self._tables, number), *arguments)
            for number, part in enumerate(self._parts)
        ]
        return (self._result(future) for future in futures)

    def _submit(self, work: Callable[..., Any], *arguments: Any) -> Future:
        return self._client.submit(work, *arguments, pure=False)

    def _result(self, future: Future) -> Any:
        try:
            return future.result()
        except SnoopieError:
            raise
        except ImportError as error:
            raise SnoopieError(
                f"the Dask workers lack what Snoopie needs ({error})",
                "install the same version of Snoopie on all of them",
            ) from None
        except (OSError, RuntimeError, MemoryError) as error:
            raise SnoopieError(f"the Dask cluster failed ({error})", "look at the logs of its workers") from None


def _connect(scheduler: Any) -> Client:
    try:
        import distributed
        from dask import config
        from dask.utils import parse_timedelta
    except ImportError:
        raise UsageError(
            "a scheduler needs the package distributed, which is not installed", "pip install 'snoopie[dask]'"
        ) from None
    client = scheduler
    if isinstance(scheduler, (str, os.PathLike)):
        try:
            client = _client(scheduler if isinstance(scheduler, str) else _address(Path(scheduler)))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"no Dask scheduler answers at {scheduler} ({error})", "check its address, as tcp://host:8786"
            ) from None
    elif not isinstance(scheduler, distributed.Client):
        raise UsageError(
            f"a {type(scheduler).__name__} is not a scheduler",
            "give an address, the path of a scheduler's file or a Client",
        )
    try:
        # As long as Dask itself waits for a scheduler that does not answer.
        client.wait_for_workers(1, timeout=parse_timedelta(config.get("distributed.comm.timeouts.connect")))
    except TimeoutError:
        raise UsageError(
            f"the Dask scheduler at {client.scheduler.address} has no workers", "start some: dask worker ADDRESS"
        ) from None
    return client


def _client(address: str) -> Client:
    """The connection to the scheduler at ``address``: the one that stands, or a new one. Raises what Dask does."""
    import distributed

    with _connecting:
        client = _clients.get(address)
        if client is not None and client.status != "running":
            client.close()
            client = None
        if client is None:
            client = _clients[address] = distributed.Client(address, set_as_default=False)
        return client


def _address(file: Path) -> str:
    """The address in a scheduler's file, as dask-scheduler writes it."""
    if not file.is_file():
        raise UsageError(f"there is no scheduler's file {file}", "name the file that dask-scheduler wrote")
    address: str = json.loads(file.read_text())["address"]
    return address


# --- what workers do ---


def _reachable(path: str) -> None:
    if not os.access(path, os.R_OK):
        from distributed import get_worker

        raise NotATraceError(
            f"the Dask worker {get_worker().address} cannot read {path}",
            "put the traces where every worker finds them under this path, as in a shared folder",
        )


def _open(path: str, allow_truncated: bool, trust: bool) -> Process:
    _reachable(path)
    return Process.open(Path(path), allow_truncated=allow_truncated, trust=trust)


def _sums(part: _Part, selected: Selection | None, keys: list[str]) -> pd.DataFrame:
    _reachable(part.path)
    block = part.traffic if selected is None else selected.traffic(part.tables, part.traffic)
    return _counts.plain(_counts.summarise(block, keys))


def _unmeasured(part: _Part, selected: Selection | None) -> pd.DataFrame:
    _reachable(part.path)
    counts = _counts.weighted(part.tables, part.tables.unmeasured_counts)
    if selected is not None:
        counts = selected.of_launches(part.tables, counts)
    return _counts.summarise(counts, ["site"], ["accesses", "lanes"])


def _records(part: _Part, selected: Selection | None, blocks: list[Block], work: Work[_Result]) -> list[_Result]:
    _reachable(part.path)
    made = (work(part.tables, selected, 0, block) for block in blocks)
    return [result for result in made if result is not None]
