"""What is open and what of it is selected: command line, cached traces, and what the filters let through.

A trace is read once a server and shared by its sessions; small tables are kept by what was asked of which part of it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Timer
from typing import Any, Concatenate, ParamSpec, TypeVar

import streamlit as st

import snoopie
from visualizer.controls import choices
from visualizer.look import theme
from visualizer.session import address, opened, recents, runs, uploads
from visualizer.session.filters import FILTERS, Filters
from visualizer.session.question import KEYS, Identity, Question, Scope

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")

# What an address calls the traces that were opened in a page.
_OPENED = "trace"

# When the first page of a trace is drawn, in seconds after it was asked for: what only later pages need comes then.
AHEAD = 3.0

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"


@dataclass(frozen=True)
class Arguments:
    """The command line: traces as the user wrote them, folders with sources, where sources lie now ("BUILT=HERE"), the
    Dask scheduler (or its file), traces to compare with, the run to look at ("" for all, None where none is named),
    whether the makers of all are trusted, whether the app is for one user alone, who has its token."""

    traces: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    source_maps: tuple[str, ...] = ()
    allow_truncated: bool = False
    scheduler: str | Path | None = None
    compare: tuple[str, ...] = ()
    run: str | None = None
    trust: bool = False
    own: bool = False


def arguments() -> Arguments:
    """The command line of the app, as far as it is understood."""
    return _understood(tuple(sys.argv[1:]))


@lru_cache(maxsize=1)
def _understood(words: tuple[str, ...]) -> Arguments:
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument("traces", nargs="*")
    parser.add_argument("--source", action="append", default=[])
    parser.add_argument("--source-map", action="append", default=[])
    parser.add_argument("--compare", action="append", default=[])
    parser.add_argument("--allow-truncated", action="store_true")
    parser.add_argument("--run")
    parser.add_argument("--all-runs", action="store_const", const=runs.ALL, dest="run")
    parser.add_argument("--trust", action="store_true")
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--scheduler")
    parser.add_argument("--scheduler-file", type=Path)
    try:
        known, _ = parser.parse_known_intermixed_args(words)
    except (argparse.ArgumentError, SystemExit):
        return Arguments()
    scheduler = known.scheduler or known.scheduler_file
    sources, maps, others = tuple(known.source), tuple(known.source_map), tuple(known.compare)
    return Arguments(
        tuple(known.traces), sources, maps, known.allow_truncated, scheduler, others, known.run, known.trust, known.own
    )


# --- which trace ---


def samples() -> list[Path]:
    """The samples: a trace of one process, or a folder with the traces of several."""
    return sorted({path if path.parent == SAMPLES else path.parent for path in SAMPLES.glob("**/*.zst")})


def open_paths(paths: Sequence[str]) -> None:
    """Opens other traces in this session."""
    st.session_state["paths"] = tuple(paths)
    st.session_state.pop("truncated", None)
    choose_run(runs.ASK)
    st.session_state[_OPENED] = opened.remember(paths) if paths else ""


def _keep_opened() -> None:
    """What was opened in a page stands in its address, so that it is there after a reload."""
    name = address.keep_text(_OPENED, valid=lambda value: not value or bool(opened.paths(value)))
    if name:
        st.session_state["paths"] = opened.paths(name)
    elif st.session_state.get("paths"):
        # Back to what was there before.
        st.session_state.pop("paths")


def choose_run(run: str | None) -> None:
    """Looks at another run of these traces: at all, or at what the user chooses then (see `runs`)."""
    runs.choose(run)
    address.forget(*FILTERS)
    choices.forget()
    st.query_params.clear()


def paths() -> tuple[str, ...]:
    """The traces that this session looks at; () = none yet."""
    chosen: tuple[str, ...] = st.session_state.get("paths", arguments().traces)
    return chosen


def is_open() -> bool:
    """Whether the traces can be shown. If not, says why and what can be done."""
    _keep_opened()
    if not paths():
        return False
    allow = arguments().allow_truncated or bool(st.session_state.get("truncated"))
    try:
        named = _identity(paths())
        identity = _of_run(named, allow, runs.chosen(arguments().run))
    except snoopie.SeveralRunsError as error:
        runs.ask(error, choose_run)
        return False
    except snoopie.TruncatedError as error:
        _explain(error)
        st.button("Read what is whole", key="read_truncated", on_click=_accept_truncated)
        return False
    except snoopie.SnoopieError as error:
        _explain(error)
        return False
    st.session_state["named"] = named
    st.session_state["identity"] = identity
    st.session_state["allow"] = allow
    if arguments().own and not any(uploads.has(path) or Path(path).is_relative_to(SAMPLES) for path in paths()):
        recents.keep(paths())
    return True


def _explain(error: snoopie.SnoopieError) -> None:
    st.error(theme.plain(str(error)), icon=":material/error:")


def _accept_truncated() -> None:
    st.session_state["truncated"] = True


def _identity(names: Sequence[str]) -> Identity:
    files: dict[str, tuple[str, int, int]] = {}
    for name in names:
        try:
            # Once for all files of a folder, which may be of ten thousand ranks and is looked at for each click.
            path = Path(name).expanduser().resolve()
            found = sorted(path.glob("*.zst")) if path.is_dir() else [path]
            if path.is_dir() and not found:
                raise snoopie.NotATraceError(
                    f"{Path(name).expanduser()} holds no trace (*.zst)", "name a trace, or a folder that holds some"
                )
            for file in found:
                status = file.stat()
                whole = str(file.resolve() if file.is_symlink() else file)
                files[whole] = (whole, status.st_size, status.st_mtime_ns)
        # What a person types may be no path at all: too long, of a user that is not there.
        except (OSError, ValueError, RuntimeError):
            raise snoopie.NotATraceError(f"there is no {name}", "check the path") from None
    return tuple(files.values())


@st.cache_data(max_entries=16, show_spinner=False, hash_funcs=KEYS)
def _of_run(identity: Identity, allow_truncated: bool, run: str | None) -> Identity:
    """The files that are of a run. Raises the errors of `snoopie.load`, by which these can be read."""
    whole = _load(identity, allow_truncated)
    if run == runs.ALL or (run is runs.ASK and len(whole.runs) == 1):
        return identity
    paths = [path for path, _, _ in identity]
    # Says which is meant, or that several are.
    one = snoopie.load(paths, allow_truncated=allow_truncated, run=run, scheduler=arguments().scheduler)
    kept = set(map(str, one.paths))
    return tuple(file for file in identity if file[0] in kept)


def has_several_runs() -> bool:
    """Whether the traces that were named are of several runs."""
    return len(_load(st.session_state["named"], st.session_state["allow"]).runs) > 1


# Whoever reads several runs was told to: `is_open` asks.
@st.cache_resource(max_entries=4, show_spinner="Reading the trace …", hash_funcs=KEYS)
def _load(identity: Identity, allow_truncated: bool) -> snoopie.Trace:
    paths = [path for path, _, _ in identity]
    known = arguments()
    return snoopie.load(
        paths, allow_truncated=allow_truncated, all_runs=True, trust=known.trust, scheduler=known.scheduler
    )


def trace() -> snoopie.Trace:
    """The whole trace that is open."""
    return _load(st.session_state["identity"], st.session_state["allow"])


def names() -> str:
    """The files that are open, in few words."""
    files = [Path(path).name for path, _, _ in st.session_state["identity"]]
    return files[0] if len(files) == 1 else f"{len(files)} traces, {files[0]} and others"


def read_other(names: Sequence[str], allow_truncated: bool) -> Identity:
    """Reads a trace that is to stand beside the one that is open. Raises the errors of `snoopie.load`."""
    identity = _of_run(_identity(names), allow_truncated, runs.ASK)
    _load(identity, allow_truncated)
    _read_ahead(identity, allow_truncated)
    return identity


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=KEYS)
def read(scope: Scope) -> snoopie.Trace:
    """A part of any trace that was read."""
    return scope.filters.of(_load(scope.identity, scope.allow_truncated))


def view() -> snoopie.Trace:
    """The part of the trace that the filters select."""
    return read(selected())


# --- what is asked of it ---


def ask(
    method: Callable[Concatenate[snoopie.Trace, _Arguments], _Answer],
    *args: _Arguments.args,
    **options: _Arguments.kwargs,
) -> _Answer:
    """The answer of a method of the selected part, kept for the next time."""
    return answer(selected().question(method, *args, **options))


def ask_whole(
    method: Callable[Concatenate[snoopie.Trace, _Arguments], _Answer],
    *args: _Arguments.args,
    **options: _Arguments.kwargs,
) -> _Answer:
    """The same of the whole trace."""
    return answer(whole().question(method, *args, **options))


def answer(question: Question[_Answer]) -> _Answer:
    """The answer to any question, kept for the next time."""
    known: _Answer = _answer(question)
    return known


@st.cache_data(max_entries=512, show_spinner=False, hash_funcs=KEYS)
def _answer(question: Question[Any]) -> Any:
    return question.answer(read)


def has_trace() -> bool:
    """Whether a trace was opened in this session."""
    return "identity" in st.session_state


def read_ahead() -> None:
    """Goes through all records and launches, once a trace and beside the pages: the first filter and the first look at
    the timeline would wait for it otherwise."""
    if has_trace():
        _read_ahead(st.session_state["identity"], st.session_state["allow"])


@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs=KEYS)
def _read_ahead(identity: Identity, allow_truncated: bool) -> None:
    # The workers of a cluster are others' too, and its traces larger.
    if arguments().scheduler is not None:
        return
    whole = _load(identity, allow_truncated)

    def count() -> None:
        # Who needs the counts hears of errors; the end of the server is none.
        with suppress(snoopie.SnoopieError, RuntimeError):
            whole.count_records()
            whole.activity_lanes()
            whole.traffic_over_time(1)

    later = Timer(AHEAD, count)
    later.daemon = True
    later.start()


# --- which part of it ---


def filters() -> Filters:
    """What the filters say, in this run of the page."""
    return Filters(**{name: tuple(st.session_state.get(name, ())) for name in FILTERS})


def scope(chosen: Filters) -> Scope:
    """What filters let through of the trace that is open."""
    return Scope(st.session_state["identity"], st.session_state["allow"], chosen)


def selected() -> Scope:
    """What the filters, as they are set, let through."""
    return scope(filters())


def whole() -> Scope:
    """All of the trace that is open."""
    return scope(Filters())
