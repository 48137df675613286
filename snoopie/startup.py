"""How a process of ours starts: a command, or the app's server."""

import gc
import sys
from importlib import import_module
from types import ModuleType


def import_to_stay(*names: str) -> list[ModuleType]:
    """Modules, which stay to the end. They make a million objects of which none is garbage: that the collector looks
    for some in them, meanwhile and later, takes a quarter of a short command. So it looks at nothing that is there by
    then."""
    if gc.isenabled() and not sys.modules.keys() >= set(names):
        gc.disable()
        try:
            return [import_module(name) for name in names]
        finally:
            gc.freeze()
            gc.enable()
    return [import_module(name) for name in names]
