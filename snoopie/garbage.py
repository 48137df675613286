"""What the garbage collector need not look at."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType


@contextmanager
def uncollected() -> Iterator[None]:
    """For what makes millions of objects that stay, or are soon gone: nobody looks for cycles among them meanwhile."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def import_to_stay(*names: str) -> list[ModuleType]:
    """Modules, for a process of ours, a command or the app's server, in which they stay to the end. They make a million
    objects of which none is garbage: that the collector looks for some in them, meanwhile and later, takes a quarter of
    a short command. So it looks at nothing that is there by then."""
    new = gc.isenabled() and not sys.modules.keys() >= set(names)
    with uncollected():
        modules = [import_module(name) for name in names]
        if new:
            gc.freeze()
    return modules
