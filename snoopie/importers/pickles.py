"""Pickles that others wrote: only data is read from them."""

from __future__ import annotations

import pickle
from typing import NoReturn


class PlainUnpickler(pickle.Unpickler):
    """Reads lists, dictionaries, strings and numbers; a pickle that names anything else could run code."""

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        raise pickle.UnpicklingError(f"it names {module_name}.{global_name}")
