"""A flame graph as a picture (SVG), for speedscope, and as collapsed stacks, the lines that flamegraph.pl reads."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.sax.saxutils import escape

import pandas as pd

import snoopie
from snoopie.analysis.source import flame
from snoopie.analysis.traffic.counts import Value
from snoopie.api.trace import Trace
from snoopie.files import whole_file
from snoopie.words import columns
from snoopie.words.text import cut, in_json

# How a kind of node is drawn, here and in the app: a colour on which black can be read.
COLOURS = {
    flame.ALL: "#d0d3d9",
    flame.PYTHON: "#9ecae1",
    flame.HOST: "#fdd0a2",
    flame.KERNEL: "#a1d99b",
    flame.LINE: "#c7e9c0",
    flame.OWNER: "#bcbddc",
}
MEANINGS = {
    flame.PYTHON: "Python",
    flame.HOST: "C++",
    flame.KERNEL: "kernel",
    flame.LINE: "source line",
    flame.OWNER: "owner",
}
_WIDTH, _HEIGHT, _MARGIN, _TOP = 1200, 17, 10, 52
# px: what is thinner is not seen; a letter's width.
_LEAST, _LETTER = 0.1, 6.6
# Letters of a name in a tooltip.
_LONGEST = 2000
# Of what XML 1.0 cannot hold, not even as a reference.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def export(trace: Trace, path: str | Path, format: str, *, value: Value = "bytes", force: bool = False) -> int:
    """Write the flame graph of a trace in one of FORMATS; returns the number of different call paths.

    SnoopieError if the file already exists (unless `force`) or cannot be written.
    """
    tree = trace.flame_tree(value)
    with whole_file(Path(path), force=force) as unfinished:
        unfinished.write_text(FORMATS[format](tree, value), encoding="utf-8", errors="replace")
    return sum(1 for _ in flame.paths(tree))


def collapsed(tree: pd.DataFrame, value: str) -> str:
    """A line for each path: its names, divided by semicolons, and the amount."""
    # What divides names and lines cannot stand in one.
    names = [re.sub(r"\s+", " ", name).replace(";", ",") for name in tree["name"]]
    amounts = tree[value].tolist()
    return "".join(f"{';'.join(names[node] for node in path)} {amounts[path[-1]]}\n" for path in flame.paths(tree))


def speedscope(tree: pd.DataFrame, value: str) -> str:
    """JSON for https://www.speedscope.app: a sample for each path, weighed by its amount."""
    frames: dict[tuple[str, str, int], int] = {}
    keys = list(tree[["name", "file", "line"]].itertuples(index=False, name=None))
    amounts = tree[value].tolist()
    samples, weights = [], []
    for path in flame.paths(tree):
        samples.append([frames.setdefault(keys[node], len(frames)) for node in path])
        weights.append(amounts[path[-1]])
    shared = [{"name": name, **({"file": file, "line": line} if file else {})} for (name, file, line) in frames]
    profile = {
        "type": "sampled",
        "name": columns.heading(value),
        "unit": "bytes" if columns.kind(value) is columns.Kind.BYTES else "none",
        "startValue": 0,
        "endValue": amounts[0],
        "samples": samples,
        "weights": weights,
    }
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": f"snoopie@{snoopie.__version__}",
        "name": f"{columns.heading(value)} between GPUs",
        "shared": {"frames": shared},
        "profiles": [profile],
    }
    return in_json(json.dumps(document, ensure_ascii=False)) + "\n"


def svg(tree: pd.DataFrame, value: str) -> str:
    """A picture with the root at the bottom; name and amount stand in each part's tooltip."""
    total, depth = int(tree[value].iloc[0]), int(tree["depth"].max())
    height = _TOP + (depth + 1) * _HEIGHT + _MARGIN
    scale = (_WIDTH - 2 * _MARGIN) / max(total, 1)
    filled: list[float] = []  # of each node, where its next child begins
    parts = []
    rows = zip(
        *(tree[name].tolist() for name in ("parent", "depth", "kind", "name", "file", "line", value)), strict=True
    )
    for parent, level, kind, name, file, line, amount in rows:
        x = _MARGIN if parent < 0 else filled[parent]
        width = amount * scale
        if parent >= 0:
            filled[parent] += width
        filled.append(x)
        if width < _LEAST:
            continue
        y = height - _MARGIN - (level + 1) * _HEIGHT
        about = cut(name, _LONGEST)
        about += f"\n{cut(file, _LONGEST, keep_end=True)}:{line}" if file else ""
        about += f"\n{columns.say(value, amount)}, {amount / max(total, 1):.1%}"
        parts.append(
            f'<g><title>{_xml(about)}</title><rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{_HEIGHT - 1}" '
            f'fill="{COLOURS[kind]}"/>{_label(name, x, y, width)}</g>'
        )
    heading = f"{columns.heading(value)} between GPUs: {columns.say(value, total)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="11">\n'
        '<rect width="100%" height="100%" fill="#ffffff"/>\n'
        f'<text x="{_MARGIN}" y="20" font-size="14">{_xml(heading)}</text>\n{_legend()}\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


FORMATS: Mapping[str, Callable[[pd.DataFrame, str], str]] = {
    "flamegraph": svg,
    "speedscope": speedscope,
    "collapsed": collapsed,
}


def _label(name: str, x: float, y: float, width: float) -> str:
    letters = int((width - 6) / _LETTER)
    if letters < 3:
        return ""
    return f'<text x="{x + 3:.2f}" y="{y + 12}">{_xml(cut(name, letters))}</text>'


def _legend() -> str:
    parts, x = [], _MARGIN
    for kind, meaning in MEANINGS.items():
        parts.append(f'<rect x="{x}" y="30" width="11" height="11" fill="{COLOURS[kind]}"/>')
        parts.append(f'<text x="{x + 15}" y="40">{meaning}</text>')
        x += 15 + round(_LETTER * len(meaning)) + 18
    return "".join(parts)


def _xml(text: str) -> str:
    return escape(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text))
