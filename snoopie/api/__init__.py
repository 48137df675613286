"""The Python interface: `load` and `Trace`, `compare` and `Comparison`.

`Trace` is one class for its users; its methods lie in a module for each subject, all on top of `core` and `attributes`.
"""

from snoopie.api.comparison import Comparison, compare
from snoopie.api.loading import load
from snoopie.api.trace import Trace

__all__ = ["Comparison", "Trace", "compare", "load"]
