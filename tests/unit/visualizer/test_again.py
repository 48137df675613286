"""When a page is drawn again without the browser."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from streamlit.proto.ClientState_pb2 import ClientState

from visualizer.session import again


class Server:
    """A session, and the loop of its server, on which time stands still between `pass_time`."""

    def __init__(self) -> None:
        self.now = 0.0
        self.due: list[tuple[float, Callable[..., object], tuple[Any, ...]]] = []
        self.drawn: list[ClientState] = []
        self._event_loop, self._scriptrunner, self.request_rerun = self, None, self.drawn.append

    def call_soon_threadsafe(self, act: Callable[..., object], *words: Any) -> None:
        act(*words)

    def call_later(self, seconds: float, act: Callable[..., object], *words: Any) -> None:
        self.due.append((self.now + seconds, act, words))

    def pass_time(self, seconds: float) -> None:
        end = self.now + seconds
        while due := min((one for one in self.due if one[0] <= end), key=lambda one: one[0], default=None):
            self.due.remove(due)
            self.now = due[0]
            due[1](*due[2])
        self.now = end


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """A page of it is being drawn."""
    made = Server()
    context = SimpleNamespace(session_id="s", query_string="kernel=put", page_script_hash="page", context_info=None)
    monkeypatch.setattr(st, "session_state", {})
    monkeypatch.setattr(again, "get_script_run_ctx", lambda: context)
    there = SimpleNamespace(get_app_session={"s": made}.get)
    monkeypatch.setattr(again, "runtime", SimpleNamespace(get_instance=lambda: there))
    again.begin()
    return made


def test_once_for_all_answers_of_a_page(server: Server) -> None:
    answers: list[Future[int]] = [Future(), Future()]
    for answer in answers:
        again.once(answer)
    server.pass_time(60)
    assert not server.drawn
    for answer in answers:
        answer.set_result(0)
    server.pass_time(60)
    # The same page, and nothing about its widgets.
    assert server.drawn == [ClientState(query_string="kernel=put", page_script_hash="page")]


def test_not_while_another_run_is_under_way(server: Server) -> None:
    again.after(3)
    server._scriptrunner = object()
    server.pass_time(60)
    assert not server.drawn
    server._scriptrunner = None
    server.pass_time(1)
    assert len(server.drawn) == 1


def test_what_a_user_does_goes_before(server: Server) -> None:
    again.after(3)
    server.pass_time(2)
    again.begin()
    server.pass_time(60)
    assert not server.drawn


def test_nobody_is_there(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(again, "get_script_run_ctx", lambda: SimpleNamespace(session_id="closed"))
    again.after(3)
    server.pass_time(60)
    assert not server.drawn and not server.due
