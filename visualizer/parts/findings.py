"""Findings as a list of cards: the sentence, the numbers and the thresholds, the remedy, a link to the evidence."""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st

from snoopie.analysis.findings import RULES
from snoopie.analysis.findings.numbers import said
from snoopie.words import units
from visualizer import pages
from visualizer.look import theme

_ICONS = {"high": ":red[:material/error:]", "medium": ":orange[:material/warning:]", "low": ":gray[:material/info:]"}
_WORTH = {"high": "much of the traffic", "medium": "a part of the traffic", "low": "little of the traffic"}
_RULES = {rule.name: rule for rule in RULES}
# More are not drawn at once.
_MOST = 20


def show(found: pd.DataFrame, key: str) -> None:
    """The cards, that first which could save most time."""
    for number, finding in enumerate(found.head(_MOST).to_dict("records")):
        _card(finding, f"{key}_{number}")
    if len(found) > _MOST:
        st.caption(f"{len(found) - _MOST} more, which could save less: snoopie findings lists all.")


def _card(finding: dict[Any, Any], key: str) -> None:
    rule = _RULES[finding["rule"]]
    about = "≈ " if finding["estimated"] else ""
    severity = finding["severity"]
    numbers = said(finding["numbers"], rule.thresholds)
    if finding["saved"] > 0:
        numbers = [f"could save up to {units.duration(finding['saved'])} on the links", *numbers]
    with st.container(border=True, key=f"finding_{key}", gap=None):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            with st.container(width="stretch"):
                st.markdown(
                    f"{_ICONS[severity]} **{about}{theme.plain(finding['title'])}**",
                    help=theme.plain(f"{severity.capitalize()}: it is {_WORTH[severity]}. {rule.about}"),
                )
            _link(finding)
        st.markdown(theme.plain(finding["remedy"]))
        st.caption(theme.plain(" · ".join(numbers)))


def _link(finding: dict[Any, Any]) -> None:
    label = {
        "source": f"Line {finding['line']} in the source",
        "sites": "The instructions",
        "communication": "Who sent to whom",
        "copies": "The copies",
        "objects": "The allocation",
    }[finding["view"]]
    pages.link(finding["view"], label, **finding["query"])
