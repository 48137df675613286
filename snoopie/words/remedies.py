"""Remedies that sentences name in Python, for someone at a shell."""

from __future__ import annotations

_REMEDIES = {
    "load(…, allow_truncated=True)": "--allow-truncated",
    "load(…, trust=True)": "--trust",
    "load(…, run=0)": "--run 0",
    "load(…, all_runs=True)": "--all-runs",
    "not_measured() names them": "snoopie info names them",
}


def in_shell_words(sentence: str) -> str:
    """The sentence with the remedies of the command line."""
    for python, shell in _REMEDIES.items():
        sentence = sentence.replace(python, shell)
    return sentence
