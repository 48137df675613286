"""Native times, where a clean recording lies beside the trace: of single launches, pairs, GPUs and ranks."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from snoopie import Trace
from visualizer.look import theme
from visualizer.parts import tables
from visualizer.session import state

OF_PAIR = ["issuer", "owner", "native_launches", "native_time", "native_bytes", "native_rate", "link_share"]
NOTE = (
    "From the clean recording, which ran without instrumentation. The times of a pair's launches are added up; the "
    "share is that of the least time that the GPUs' NVLinks take. "
)


def there() -> bool:
    """Whether the trace has native times."""
    return state.trace().clean is not None


def with_times(launches: pd.DataFrame) -> pd.DataFrame:
    """Launches with the column native_time (ns, -1 unknown), where the trace has native times."""
    if not there():
        return launches
    times = state.ask(Trace.native_times)
    ran = (times["end"] - times["start"]).reindex(launches["launch"]).fillna(-1).astype("int64")
    return launches.assign(native_time=ran.to_numpy())


def show() -> None:
    """Bandwidth of pairs, overlap on GPUs, and whom the ranks waited for; nothing without native times."""
    if not there():
        return
    st.subheader("In native time")
    st.caption(theme.plain(NOTE + " ".join(state.ask(Trace.native_losses))))
    tables.grid(state.ask(Trace.native_by, "pair"), OF_PAIR, "native_pairs", height=240)
    left, right = st.columns(2, gap="medium")
    overlap = state.ask(Trace.native_overlap)
    with left:
        st.markdown("**Communication and other kernels**")
        tables.grid(overlap, list(overlap.columns), "native_overlap", height=240)
    arrivals = state.ask(Trace.native_arrivals)
    if len(arrivals):
        with right:
            st.markdown("**Whom the others waited for in collectives**")
            tables.grid(arrivals, list(arrivals.columns), "native_arrivals", height=240)
