"""Rows of numbers in boxes of one size."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st


@contextmanager
def row(of: str, number: int) -> Iterator[None]:
    """The place of so many metrics: in one row, or in several of which none has one alone (look/page.css)."""
    with st.container(key=f"{of}_{number}_cards"), st.container(horizontal=True):
        yield
