"""What a view says where it has nothing to show."""

from __future__ import annotations

import streamlit as st

from visualizer import state
from visualizer.choices import Shown

NOTHING = "Nothing was recorded, or the filters exclude it all."


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
    if shown.initiated == "host":
        no_copies()
    elif shown.initiated == "device" and state.ask("summary")["copies"]:
        nothing("No kernel reached memory outside its GPU.", "There are copies that the host started: choose Host.")
    else:
        nothing("There is no traffic to show.")


def no_copies() -> None:
    """Why there are no copies, and what to do."""
    trace = state.trace()
    if len(trace.copies):
        nothing(
            "Copies belong to no kernel, so filters of kernels and operations exclude them all.",
            f"Clear the filters to see {len(trace.copies):,}.",
        )
    elif "copies" not in trace.schema:
        nothing("This trace was recorded by a collector that did not see copies.", "Record it again to see them.")
    else:
        nothing(
            "The host started no copy between GPUs, or between host and GPU, in this trace.",
            "Copies within one GPU are not recorded.",
        )


def no_collectives() -> None:
    """Why there are no calls of NCCL, and what to do."""
    trace = state.trace()
    if len(trace.collectives):
        nothing("No call of NCCL is carried out by what the filters select.", "Clear the filters to see all calls.")
    elif "collectives" not in trace.schema:
        nothing("This trace was recorded by a collector that did not see NCCL.", "Record it again to see its calls.")
    else:
        nothing(
            "No NCCL calls in this trace.",
            "If the program makes some, let it use the shared libnccl.so, and start it with snoopie run: calls of an "
            "NCCL that is linked into the program, or looked up with dlsym, are not seen.",
        )
