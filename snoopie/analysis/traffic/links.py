"""How the GPUs are linked, in words, as far as the driver says."""

from __future__ import annotations

import pandas as pd

# Native atomics between GPUs are a matter of NVLink; over PCIe the driver reports none.
NVLINK, PCIE, NONE, UNKNOWN = "NVLink", "PCIe", "no access", "unknown"


def matrix(gpus: pd.DataFrame, links: pd.DataFrame) -> pd.DataFrame:
    """A square over all GPUs, rows issuer, columns owner: NVLINK, PCIE, NONE (the driver says that the one cannot reach
    the other's memory), UNKNOWN (no process saw both), and "" for a GPU itself."""
    labels = list(gpus["label"])
    known = _known(links)
    cells = [
        ["" if issuer == owner else known.get((issuer, owner), UNKNOWN) for owner in gpus.index]
        for issuer in gpus.index
    ]
    return pd.DataFrame(cells, pd.Index(labels, name="issuer"), pd.Index(labels, name="owner"), dtype="str")


def _known(links: pd.DataFrame) -> dict[tuple[int, int], str]:
    """How an issuer reaches an owner."""
    rows = zip(links["issuer"], links["owner"], links["access"], links["native_atomics"], strict=True)
    return {(issuer, owner): _kind(access, atomics) for issuer, owner, access, atomics in rows}


def _kind(access: bool, atomics: bool) -> str:
    if not access:
        return NONE
    return NVLINK if atomics else PCIE


def kinds(gpus: pd.DataFrame, links: pd.DataFrame) -> list[str]:
    """How GPUs are linked: what `matrix` has, but for "". That grows with the square of the GPUs."""
    between = [kind for (issuer, owner), kind in _known(links).items() if issuer != owner]
    found = set(between)
    if len(between) < len(gpus) * (len(gpus) - 1):
        found.add(UNKNOWN)
    return [kind for kind in (NVLINK, PCIE, NONE, UNKNOWN) if kind in found]


def in_words(gpus: pd.DataFrame, links: pd.DataFrame) -> list[str]:
    """The GPUs by kind, and how every two of them are linked, in sentences."""
    sentences = []
    for (name, nvlinks), some in gpus.groupby(["name", "nvlinks"], sort=False):
        own = f", {nvlinks} NVLink{'' if nvlinks == 1 else 's'} each" if int(str(nvlinks)) > 0 else ""
        sentences.append(f"{len(some)} × {name or 'GPU of unknown kind'}{own}.")
    between = kinds(gpus, links)
    if len(between) == 1:
        whole = {
            NVLINK: "Every two reach each other over NVLink.",
            PCIE: "Every two reach each other, without NVLink.",
            NONE: "None reaches the memory of another.",
            UNKNOWN: "How they are linked is not in the trace.",
        }
        sentences.append(whole[between[0]])
    return sentences
