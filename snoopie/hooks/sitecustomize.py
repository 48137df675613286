"""Run by every Python that `snoopie run --tensors` starts: has PyTorch keep its allocator's history, and saves it.

Python imports one module of this name at its start; another one further down the path is run from here.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

_FOLDER = os.environ.get("SNOOPIE_TENSORS", "")
_HERE = os.path.dirname(os.path.abspath(__file__))
# Of allocations and frees; an entry with its stack takes about a kilobyte.
_ENTRIES = 1_000_000


def _record(torch: Any) -> None:
    """When the program first uses CUDA; not before, or it could no longer fork."""
    process = os.getpid()

    def save() -> None:
        # A forked child has its parent's history and not its trace.
        if os.getpid() != process:
            return
        path = os.path.join(_FOLDER, f"snoopie-tensors.{os.uname().nodename}.{process}.pickle")
        try:
            torch.cuda.memory._dump_snapshot(path)
        except Exception as error:
            print(f"snoopie: PyTorch's history of tensors was not saved: {error}", file=sys.stderr)

    try:
        torch.cuda.memory._record_memory_history(max_entries=_ENTRIES, stacks="python")
    except Exception as error:
        print(f"snoopie: this PyTorch keeps no history of tensors: {error}", file=sys.stderr)
        return
    import atexit

    atexit.register(save)


class _AfterTorch(importlib.abc.MetaPathFinder):
    """Lets others find `torch.cuda.memory`, and acts when `torch.cuda` has been imported."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "torch.cuda":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            torch = sys.modules["torch"]
            if lazy := getattr(module, "_lazy_call", None):
                lazy(lambda: _record(torch))

        # Of this loader alone.
        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _run_the_other() -> None:
    others = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec and spec.loader:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)


if _FOLDER:
    sys.meta_path.insert(0, _AfterTorch())
_run_the_other()
