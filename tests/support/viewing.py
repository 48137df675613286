"""The app as `snoopie view` starts it, seen by what speaks HTTP and Streamlit's messages instead of a browser."""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import parse_qs, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from tests.support import processes

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120  # seconds, for a machine that is busy with something else


@dataclass(frozen=True)
class Answer:
    """Of an HTTP request."""

    status: int
    headers: Mapping[str, str]
    sent: bytes

    @property
    def body(self) -> str:
        return self.sent.decode(errors="replace")


@dataclass
class Viewed:
    """A running app."""

    process: subprocess.Popen[bytes]
    output: IO[bytes]
    address: str  # as it was printed, with the token

    @property
    def host(self) -> str:
        """What a browser names in each request."""
        return urlsplit(self.address).netloc

    @property
    def token(self) -> str:
        return parse_qs(urlsplit(self.address).query)["token"][0]

    @property
    def cookie(self) -> dict[str, str]:
        """The header with which a browser that was let in asks."""
        return {"Cookie": f"snoopie-{urlsplit(self.address).port}={self.token}"}

    def ask(self, path: str, method: str = "GET", headers: Mapping[str, str] | None = None) -> Answer:
        """One request, whose answer is not followed to where it leads."""
        parts = urlsplit(self.address)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
        try:
            connection.request(method, path, headers=dict(headers or {}))
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.headers), answer.read())
        finally:
            connection.close()

    def session(self, headers: Mapping[str, str] | None = None) -> ClientConnection:
        """A WebSocket, as a page opens it. Raises `websockets.InvalidStatus` where it is refused."""
        return connect(
            f"ws://{self.host}/_stcore/stream",
            additional_headers=self.cookie if headers is None else dict(headers),
            subprotocols=["streamlit"],  # type: ignore[list-item]
            max_size=None,
            open_timeout=PATIENCE,
        )

    def said(self) -> str:
        """All that the server printed so far."""
        self.output.seek(0)
        return self.output.read().decode(errors="replace")


def alive(pid: int) -> bool:
    """Whether a process runs."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def children(pid: int) -> list[int]:
    """The processes that a process has started and that run."""
    return [number for number, (state, parent, *_) in processes.stats() if int(parent) == pid and state != "Z"]


@contextmanager
def viewing(*arguments: str | Path, settings: str = "") -> Iterator[Viewed]:
    """`snoopie view` with these arguments, for a user with these settings of Streamlit, until the block ends."""
    with serving("snoopie.cli", "view", *arguments, settings=settings) as app:
        yield app


@contextmanager
def serving(module: str, *arguments: str | Path, settings: str = "") -> Iterator[Viewed]:
    """A module that serves the app, once it has printed where, until the block ends."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryDirectory() as home:
        (Path(home) / ".streamlit").mkdir()
        (Path(home) / ".streamlit" / "config.toml").write_text(f"server.headless = true\n{settings}\n")
        # Without a display there is no browser to open, in which no test would look.
        variables = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
        variables |= {"PYTHONPATH": str(ROOT), "HOME": home}
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=variables)
        app = Viewed(process, output, "")
        try:
            app.address = _printed(app)
            yield app
        finally:
            process.kill()
            process.wait()


def _printed(app: Viewed) -> str:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and app.process.poll() is None:
        if found := re.search(r"(http://\S+)\n", app.said()):
            return found[1]
        time.sleep(0.05)
    raise AssertionError(f"the app did not start:\n{app.said()}")


def shown(connection: ClientConnection, page: str = "") -> str:
    """Opens a page in a session; all that the app sends until it has drawn it."""
    question = BackMsg()
    question.rerun_script.page_name = page
    connection.send(question.SerializeToString())
    texts: list[str] = []
    while True:
        answer = ForwardMsg()
        content = connection.recv(timeout=PATIENCE)
        assert isinstance(content, bytes)
        answer.ParseFromString(content)
        if answer.WhichOneof("type") == "script_finished":
            assert answer.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
            return "\n".join(texts)
        texts.append(str(answer))
