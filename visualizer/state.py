"""What is open and what is selected: command line, cached traces, the filters in the sidebar and in the URL.

A trace is read once a server and shared by its sessions; small tables are kept by what was asked of which part of it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any

import pandas as pd
import streamlit as st

import snoopie
from snoopie.analysis import names
from visualizer import choices, theme

# When the first page of a trace is drawn, in seconds after it was asked for: what only later pages need comes then.
AHEAD = 3.0

SAMPLES = Path(__file__).resolve().parents[1] / "sample_traces"

# A file as it was when it was read: path, size, time of its last change.
Identity = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Arguments:
    """The command line: traces as the user wrote them, folders with sources, the Dask scheduler (or its file)."""

    traces: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    allow_truncated: bool = False
    scheduler: str | Path | None = None


@dataclass(frozen=True)
class Selection:
    """The filters; empty = everything."""

    kernels: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()


def arguments() -> Arguments:
    """The command line of the app, as far as it is understood."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument("traces", nargs="*")
    parser.add_argument("--source", action="append", default=[])
    parser.add_argument("--allow-truncated", action="store_true")
    parser.add_argument("--scheduler")
    parser.add_argument("--scheduler-file", type=Path)
    try:
        known, _ = parser.parse_known_intermixed_args(sys.argv[1:])
    except (argparse.ArgumentError, SystemExit):
        return Arguments()
    scheduler = known.scheduler or known.scheduler_file
    return Arguments(tuple(known.traces), tuple(known.source), known.allow_truncated, scheduler)


# --- which trace ---


def samples() -> list[Path]:
    """The samples: a trace of one process, or a folder with the traces of several."""
    return sorted({path if path.parent == SAMPLES else path.parent for path in SAMPLES.glob("**/*.zst")})


def open_paths(paths: Sequence[str]) -> None:
    """Opens other traces in this session."""
    st.session_state["paths"] = tuple(paths)
    st.session_state.pop("truncated", None)
    for name in ("kernels", "operations"):
        st.session_state.pop(name, None)
    choices.forget()
    st.query_params.clear()


def paths() -> tuple[str, ...]:
    """The traces that this session looks at; () = none yet."""
    chosen: tuple[str, ...] = st.session_state.get("paths", arguments().traces)
    return chosen


def is_open() -> bool:
    """Whether the traces can be shown. If not, says why and what can be done."""
    if not paths():
        return False
    allow = arguments().allow_truncated or bool(st.session_state.get("truncated"))
    try:
        identity = _identity(paths())
        _load(identity, allow)
    except snoopie.TruncatedError as error:
        _explain(error)
        st.button("Read what is whole", key="read_truncated", type="primary", on_click=_accept_truncated)
        return False
    except snoopie.SnoopieError as error:
        _explain(error)
        return False
    st.session_state["identity"] = identity
    st.session_state["allow"] = allow
    return True


def _explain(error: snoopie.SnoopieError) -> None:
    st.error(theme.plain(str(error)), icon=":material/error:")


def _accept_truncated() -> None:
    st.session_state["truncated"] = True


def _identity(names: Sequence[str]) -> Identity:
    files: dict[str, tuple[str, int, int]] = {}
    for name in names:
        path = Path(name).expanduser()
        found = sorted(path.glob("*.zst")) if path.is_dir() else [path]
        if path.is_dir() and not found:
            raise snoopie.NotATraceError(f"{path} holds no trace (*.zst)", "name a trace, or a folder that holds some")
        for file in found:
            try:
                status = file.stat()
            except OSError:
                raise snoopie.NotATraceError(f"there is no {file}", "check the path") from None
            files[str(file.resolve())] = (str(file.resolve()), status.st_size, status.st_mtime_ns)
    return tuple(files.values())


@st.cache_resource(max_entries=4, show_spinner="Reading the trace …")
def _load(identity: Identity, allow_truncated: bool) -> snoopie.Trace:
    paths = [path for path, _, _ in identity]
    return snoopie.load(paths, allow_truncated=allow_truncated, scheduler=arguments().scheduler)


def trace() -> snoopie.Trace:
    """The whole trace that is open."""
    return _load(st.session_state["identity"], st.session_state["allow"])


def view() -> snoopie.Trace:
    """The part of the trace that the filters select."""
    return _view(st.session_state["identity"], st.session_state["allow"], selection())


@st.cache_resource(max_entries=32, show_spinner=False)
def _view(identity: Identity, allow_truncated: bool, chosen: Selection) -> snoopie.Trace:
    whole = _load(identity, allow_truncated)
    if chosen == Selection():
        return whole
    return whole.select(kernels=chosen.kernels or None, operations=chosen.operations or None)


def ask(method: str, *args: Any, whole: bool = False) -> Any:
    """The answer of a method of the selected part (or of the whole trace), kept for the next time."""
    chosen = Selection() if whole else selection()
    return _answer(st.session_state["identity"], st.session_state["allow"], chosen, method, args)


@st.cache_data(max_entries=512, show_spinner=False)
def _answer(identity: Identity, allow_truncated: bool, chosen: Selection, method: str, args: tuple[Any, ...]) -> Any:
    return getattr(_view(identity, allow_truncated, chosen), method)(*args)


def read_ahead() -> None:
    """Goes through all records, once a trace and beside the pages: the first filter would wait for it otherwise."""
    # The workers of a cluster are others' too, and its traces larger.
    if "identity" in st.session_state and arguments().scheduler is None:
        _read_ahead(st.session_state["identity"], st.session_state["allow"])


@st.cache_resource(max_entries=4, show_spinner=False)
def _read_ahead(identity: Identity, allow_truncated: bool) -> None:
    whole = _load(identity, allow_truncated)

    def count() -> None:
        # Who needs the counts hears of errors; the end of the server is none.
        with suppress(snoopie.SnoopieError, RuntimeError):
            whole.count_records()

    later = Timer(AHEAD, count)
    later.daemon = True
    later.start()


# --- which part of it ---


def selection() -> Selection:
    """What the filters say, in this run of the page."""
    return Selection(
        tuple(st.session_state.get("kernels", ())),
        tuple(st.session_state.get("operations", ())),
    )


def _filters() -> dict[str, list[str]]:
    by_kernel: pd.DataFrame = ask("by_kernel", whole=True)
    by_operation: pd.DataFrame = ask("by_operation", whole=True)
    return {"kernels": list(by_kernel["kernel"]), "operations": list(by_operation["operation"])}


def sidebar() -> None:
    """The filters, which hold on every page and stand in the URL, and the way to another trace."""
    filters = _filters()
    for name, options in filters.items():
        if name not in st.session_state:
            st.session_state[name] = [value for value in st.query_params.get_all(name) if value in options]
    with st.sidebar:
        st.multiselect(
            "Kernels",
            filters["kernels"],
            key="kernels",
            placeholder="all",
            format_func=names.short_name,
            help="Nothing chosen means every kernel.",
        )
        st.multiselect("Operations", filters["operations"], key="operations", placeholder="all")
        if remarks := len(ask("losses", whole=True)):
            st.warning(f"{remarks} remark{'s' if remarks > 1 else ''} on what this trace lacks: see Overview.")
        files = [Path(path).name for path, _, _ in st.session_state["identity"]]
        st.caption(theme.plain(files[0] if len(files) == 1 else f"{len(files)} traces, {files[0]} and others"))
        st.button("Open another trace", key="open_another", on_click=open_paths, args=((),))
    # A page change clears the URL's parameters, so they are set in every run.
    for name in filters:
        st.query_params[name] = st.session_state[name]
    choices.keep()


# --- the user's source files ---


def source_folders() -> list[Path]:
    """The folders that the user named: by --source, in the source view, and by opening a trace that lies there."""
    named = [*st.session_state.get("source_folders", ()), *arguments().sources]
    beside = [str(Path(path).parent) for path, _, _ in st.session_state["identity"]]
    return [Path(name).expanduser() for name in dict.fromkeys([*named, *beside])]


def add_source_folder(name: str) -> None:
    """Adds a folder that the user named in this session."""
    st.session_state["source_folders"] = [name, *st.session_state.get("source_folders", ())]
