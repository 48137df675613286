"""What a view says where it has nothing to show."""

from __future__ import annotations

from collections.abc import Collection

import streamlit as st

from snoopie import Trace
from snoopie.analysis.selection import COPIES_BY
from visualizer.controls.choices import Shown
from visualizer.controls.filters import TITLES
from visualizer.look import theme
from visualizer.session import state

NOTHING = "Nothing was recorded, or the filters exclude it all."


def not_filtered(what: str, by: Collection[str] = ()) -> None:
    """One sentence on the filters that are set and do not apply to ``what`` a view shows, which is divided by those in
    ``by`` alone (one of `snoopie.analysis.selection`, such as CALLS_BY); nothing where all apply. ``what`` ends a
    sentence: "driver calls".
    """
    left = [f"“{TITLES[name]}”" for name in state.filters().active if name not in by]
    if left:
        *others, last = left
        which = f"filters {', '.join(others)} and {last} do" if others else f"filter {last} does"
        st.caption(f"The {which} not apply to {what}: the trace does not divide them that way.")


def about() -> str:
    """What stands before an amount of the selected part: "≈ " for an estimate."""
    return "≈ " if state.view().estimated else ""


def estimated() -> None:
    """The caption of a picture or table whose amounts are estimates; nothing where they are exact."""
    if state.view().estimated:
        st.caption("≈ Estimated: only some launches were measured, and each stands for others of its kernel.")


def nothing(why: str, what: str = NOTHING) -> None:
    """An empty view says why it is empty and what to do."""
    st.info(f"{why} {what}", icon=":material/info:")


def no_traffic(shown: Shown) -> None:
    """An empty picture of who sent to whom."""
    if shown.library is not None:
        name = "the program itself" if shown.library == "program" else shown.library
        nothing(f"There is no traffic of {name} here.", "Choose All to see the rest.")
    elif shown.initiated == "host":
        no_copies()
    elif shown.initiated == "device" and state.ask(Trace.summary)["copies"]:
        nothing("No kernel reached memory outside its GPU.", "The host started copies: choose Host to see them.")
    else:
        nothing("There is no traffic to show.")


def no_copies() -> None:
    """Why there are no copies, and what to do."""
    trace = state.trace()
    if len(trace.copies):
        excluding = [TITLES[name] for name in state.filters().active if name not in COPIES_BY]
        nothing(
            f"Copies belong to no kernel, so filtering by {' or '.join(excluding).lower()} excludes them all."
            if excluding
            else "No copy matches the filters.",
            f"Clear the filters to see {len(trace.copies):,}.",
        )
    elif "copies" not in trace.schema:
        nothing("The collector that recorded this trace did not record copies.", "Record it again to see them.")
    else:
        nothing(
            "The host started no copy between GPUs, or between host and GPU, in this trace.",
            "Copies within one GPU are not recorded.",
        )


def no_collectives() -> None:
    """Why there are no calls of NCCL, and what to do."""
    trace = state.trace()
    if len(trace.collectives):
        nothing("No NCCL call matches the filters.", "Clear the filters to see all calls.")
    elif "collectives" not in trace.schema:
        nothing("The collector that recorded this trace did not record NCCL calls.", "Record it again to see them.")
    else:
        nothing(
            "No NCCL calls in this trace.",
            "If the program makes some, use the shared libnccl.so and start it with snoopie run: calls to an NCCL "
            "that is statically linked or looked up with dlsym are not recorded.",
        )


def no_memory() -> None:
    """Why there are no allocations, and what to do."""
    trace = state.trace()
    if len(trace.objects):
        nothing("No allocation matches the filters.", "Clear some filters.")
    elif unknown := _imported():
        nothing(f"This trace was imported from {unknown}, which does not record allocations.", "")
    else:
        nothing(
            "This trace has no allocations.",
            "Record it again with snoopie run, and without --no-objects, to see them.",
        )


def no_calls() -> None:
    """Why there are no driver calls, and what to do."""
    trace = state.trace()
    if len(trace.call_totals):
        nothing("No driver call matches the filters.", "Clear some filters.")
    elif unknown := _imported():
        nothing(f"This trace was imported from {unknown}, which does not record driver calls.", "")
    elif all(settings.get("calls") == "off" for settings in trace.settings):
        nothing("Driver calls were not recorded: CALLS=off.", "Record it again with snoopie run --calls summary.")
    elif "call_totals" not in trace.schema:
        nothing("The collector that recorded this trace did not record driver calls.", "Record it again.")
    else:
        nothing("No driver call was recorded.")


def _imported() -> str:
    """The tools that all of the trace comes from, "" where some was recorded by the collector."""
    tools = set(state.trace().processes["imported_from"])
    return "" if "" in tools else theme.plain(", ".join(sorted(tools)))
