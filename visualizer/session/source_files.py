"""The text of source files, and where it comes from: the trace, or folders and mappings of the command line and of
this session.

The trace's own text goes first: its lines are those that ran.

They are kept in the session and never in the address: a link must not open files that its reader did not name.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from threading import Thread

import streamlit as st

import snoopie
from snoopie.analysis.source import highlight, texts
from snoopie.analysis.source.finder import Finder, Mapping, read_source
from snoopie.analysis.source.highlight import Line
from snoopie.errors import SnoopieError
from visualizer.look import theme
from visualizer.session import again, state

_MAPPINGS, _FOLDERS, _REFUSED = "source_mappings", "source_folders", "source_refused"
# Files are looked for in whole folders. A page goes through so many entries itself; more, as in a home or on a network
# file system, are gone through beside it.
_FEW = 5_000
# Seconds for which what was found holds at least, and how many times as long as it took.
_KEPT, _TIMES = 10, 10


def mappings() -> list[Mapping]:
    """Those of this session, then those of the command line that can be read."""
    return [*st.session_state.get(_MAPPINGS, ()), *_of_command_line()[0]]


def folders() -> list[Path]:
    """Named in this session, by --source, as the end of a mapping, and by opening a trace that lies there."""
    named = [*st.session_state.get(_FOLDERS, ()), *state.arguments().sources]
    mapped = [mapping.here for mapping in mappings()]
    beside = [str(Path(path).parent) for path, _, _ in st.session_state["identity"]]
    return [Path(name).expanduser() for name in dict.fromkeys([*named, *mapped, *beside])]


@dataclass(frozen=True)
class Source:
    """The lines of a file, and a sentence on where they come from."""

    lines: list[str]
    origin: str


def find(file: str) -> Source | None:
    """A file as the trace holds it, which is what ran, else as it is found here; None where it is not found, or, after
    saying why, cannot be read."""
    looked = _looked()
    here = looked.finder.find(file) if looked.whole.done() else looked.finder.near(file)
    recorded = state.ask_whole(snoopie.Trace.source, file)
    if recorded is not None:
        also = f" {here} is a different version." if here is not None and texts.differs(here, recorded) else ""
        return Source(_split(recorded), f"Text recorded with the trace.{also}")
    if not looked.whole.done():
        looked.go_on()
        again.once(looked.whole)
    if here is None:
        return None
    try:
        status = here.stat()
        return Source(_read(str(here), status.st_size, status.st_mtime_ns), f"Text from {here}; {_why_not(file)}.")
    except OSError as error:
        st.error(theme.plain(f"{here} cannot be read ({error.strerror})."))
    except SnoopieError as error:
        st.error(theme.plain(str(error)))
    return None


def _why_not(file: str) -> str:
    """Why the trace does not hold a file."""
    files = state.trace().source_files
    left_out = files.loc[files["file"] == file, "bytes"]
    if left_out.empty:
        return "the trace was recorded without it"
    return "it was larger than what a trace keeps" if left_out.max() else "it was gone when the trace was recorded"


def highlighted(file: str, lines: list[str], first: int, last: int) -> list[Line]:
    """Those lines from the place ``first`` to before ``last``, in runs of one kind."""
    return _highlighted(file, hash(tuple(lines[max(first - 1000, 0) : last])), first, last, lines)


class _Looked:
    """What is known of where files lie; all of it when ``whole`` is done."""

    def __init__(self, folders: tuple[str, ...], mappings: tuple[Mapping, ...]) -> None:
        self.finder = Finder(folders, mappings)
        self.whole: Future[None] = Future()
        self._begun = time.monotonic()
        self._until = 0.0
        self._thread: Thread | None = None
        if self.finder.look(_FEW):
            self._end()

    @property
    def is_old(self) -> bool:
        """Whether files may have come or gone since."""
        return self.whole.done() and time.monotonic() > self._until

    def go_on(self) -> None:
        """Beside the page."""
        if self._thread is None and not self.whole.done():
            self._thread = Thread(target=self._look, name="source files", daemon=True)
            self._thread.start()

    def _look(self) -> None:
        while not self.finder.look(_FEW):
            pass
        self._end()

    def _end(self) -> None:
        ended = time.monotonic()
        self._until = ended + max(_KEPT, _TIMES * (ended - self._begun))
        self.whole.set_result(None)


def _looked() -> _Looked:
    """The latest that is whole, while there is one."""
    places = tuple(map(str, folders())), tuple(mappings())
    kept = _kept(*places)
    if not kept:
        kept.append(_Looked(*places))
    elif kept[-1].is_old:
        kept.append(_Looked(*places))
        kept[-1].go_on()
    if kept[-1].whole.done():
        del kept[:-1]
    return kept[0]


@st.cache_resource(max_entries=16, show_spinner=False)
def _kept(folders: tuple[str, ...], mappings: tuple[Mapping, ...]) -> list[_Looked]:
    return []


# As they are, not copied for every run: nobody changes them.
@st.cache_resource(max_entries=16, show_spinner=False)
def _read(path: str, size: int, changed: int) -> list[str]:
    return highlight.split(read_source(Path(path)))


@st.cache_resource(max_entries=16, show_spinner=False)
def _split(text: str) -> list[str]:
    return highlight.split(text)


@st.cache_resource(max_entries=64, show_spinner=False)
def _highlighted(file: str, content: int, first: int, last: int, _lines: list[str]) -> list[Line]:
    return highlight.highlighted(file, _lines, first, last)


def missing(file: str) -> None:
    """Says that a file is not found, and asks where it is; or that it is still looked for."""
    where = ", ".join(map(str, folders()))
    name = PurePosixPath(file).name
    if not _looked().whole.done():
        st.caption(theme.plain(f"Looking for {name} in {where} …"))
        return
    sentence = f"{name} is not in {where}, and {_why_not(file)}. Only folders that you name are looked into."
    st.warning(theme.plain(sentence), icon=":material/folder_off:")
    _form("missing", str(PurePosixPath(file).parent))


def manage() -> None:
    """What was named, what of it can be taken back, and a way to name more."""
    for text in _of_command_line()[1]:
        st.error(theme.plain(f"--source-map {text} is not BUILT=HERE, such as /build/app=/home/me/app."))
    with st.popover("Source folders", icon=":material/folder_open:"):
        st.caption("Source files are shown from these folders alone.")
        own: list[Mapping] = st.session_state.get(_MAPPINGS, [])
        for place, mapping in enumerate(own):
            _entry(_words(mapping), f"source_unmap_{place}", partial(own.remove, mapping))
        for mapping in _of_command_line()[0]:
            _entry(_words(mapping))
        added: list[str] = st.session_state.get(_FOLDERS, [])
        for folder in folders():
            if str(folder) in added:
                _entry(str(folder), f"source_drop_{added.index(str(folder))}", partial(added.remove, str(folder)))
            elif all(str(folder) != str(Path(mapping.here).expanduser()) for mapping in mappings()):
                _entry(str(folder))
        _form("more", "")


def _words(mapping: Mapping) -> str:
    return f"built at {mapping.built} → here {mapping.here}"


def _entry(text: str, key: str = "", remove: Callable[[], None] | None = None) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(theme.plain(text), width="stretch")
        if remove is not None:
            st.button("Remove", key=key, icon=":material/close:", on_click=remove)


def _form(name: str, built: str) -> None:
    """Asks for a mapping, or for a folder alone."""
    with st.form(f"source_form_{name}"):
        left, right = st.columns(2)
        left.text_input(
            "Built at",
            value=built,
            key=f"source_built_{name}",
            help="The folder (or file) as the trace names it; nothing to look for files by their names alone.",
        )
        right.text_input(
            "Is here", key=f"source_here_{name}", placeholder="/home/me/app", help="The same folder on this machine."
        )
        st.form_submit_button("Look there", on_click=_add, args=(name,))
        if refused := st.session_state.pop(f"{_REFUSED}_{name}", ""):
            st.error(theme.plain(refused))


def _add(name: str) -> None:
    built = str(st.session_state[f"source_built_{name}"]).strip()
    here = str(st.session_state[f"source_here_{name}"]).strip()
    try:
        there = bool(here) and Path(here).expanduser().exists()
    except (OSError, RuntimeError, ValueError):
        there = False
    if not there:
        st.session_state[f"{_REFUSED}_{name}"] = f"There is no {here}." if here else "Name a folder on this machine."
    elif built:
        known: list[Mapping] = st.session_state.setdefault(_MAPPINGS, [])
        known[:] = [Mapping(built, here), *(mapping for mapping in known if mapping.built != built)]
    else:
        named: list[str] = st.session_state.setdefault(_FOLDERS, [])
        folder = str(Path(here).expanduser())
        named[:] = [folder, *(other for other in named if other != folder)]


def _of_command_line() -> tuple[list[Mapping], list[str]]:
    """The mappings that can be read, and what cannot."""
    read, refused = [], []
    for text in state.arguments().source_maps:
        try:
            read.append(Mapping.parse(text))
        except SnoopieError:
            refused.append(text)
    return read, refused
