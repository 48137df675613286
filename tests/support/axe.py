"""What axe finds on a page: whatever keeps somebody from reading or using it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from typing import Any

_AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
_RUN = """
([outside, rules]) => axe.run(
  {exclude: outside.map(one => [one])}, {resultTypes: ["violations"], ...(rules.length ? {runOnly: rules} : {})}
).then(
  found => found.violations.flatMap(({id, nodes}) => nodes.map(node => `${id}: ${node.html.slice(0, 200)}`)))
"""


def violations(page: Any, outside: Sequence[str] = (), rules: Sequence[str] = ()) -> list[str]:
    """The rule and the element of each, but for elements within these selectors; of all rules unless some are named."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_AXE)
    found: list[str] = page.evaluate(_RUN, [list(outside), list(rules)])
    return found
