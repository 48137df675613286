"""What snoopie hang makes of answers, and of processes that give none. Real ones: tests/integration/test_hang.py."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from snoopie.cli import hang_reports
from snoopie.cli.hang_reports import Process, parsed, remarks
from snoopie.errors import SnoopieError
from tests.support.command import run

STORE = {"place": "ring.cu:9", "gpu": 0, "owner": 1, "accesses": 3}
CALL = {
    "operation": "AllReduce", "type": "float32", "count": 8, "communicator": "0xa", "sequence": 5, "rank": 0,
    "ranks": 3, "peer": -1,
}  # fmt: skip
WAIT = {
    "place": "ring.cu:7", "instruction": "LDG", "warps": 1, "blocks": 1, "first_block": 3, "milliseconds": 2500,
    "address": "0x0", "owner": 1, "object": 0, "object_bytes": 0, "offset": 0, "stores": [STORE],
}  # fmt: skip
KERNEL = {"launch": 1, "kernel": "ring", "gpu": 1, "milliseconds": 3000, "collectives": [], "waits": [WAIT]}


def report(**members: Any) -> dict[str, Any]:
    whole = {
        "report": 1, "pid": os.getpid(), "host": "node1", "program": "ring", "ranks": {}, "trace": "t.zst",
        "waits_recorded": True, "answered": True, "gpus": ["GPU-a", "GPU-b"], "kernels": [], "last_kernel": "",
        "last_milliseconds": 0, "calls": [], "stores": [],
    }  # fmt: skip
    return whole | members


class Listener:
    """Answers for this process."""

    def __init__(self) -> None:
        self.answer = b""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(f"\0snoopie-hang-{os.getpid()}")
        self._socket.listen()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while True:
            connection, _ = self._socket.accept()
            with connection:
                if not self.answer:
                    return
                connection.sendall(self.answer)

    def close(self) -> None:
        self.answer = b""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as last:
            last.connect(f"\0snoopie-hang-{os.getpid()}")
        self._thread.join()
        self._socket.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.close()


def told(listener: Listener, capsys: pytest.CaptureFixture[str], **members: Any) -> list[str]:
    listener.answer = json.dumps(report(**members)).encode()
    status, out, _ = run(capsys, "hang", os.getpid())
    assert status == 0
    return out.splitlines()[1:]


def test_what_is_said(listener: Listener, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(listener, capsys, kernels=[KERNEL]) == [
        "  kernel ring on GPU 1, under way for 3 s",
        "    wait: 1 warp of 1 block (first: 3) at ring.cu:7, the longest for 2.5 s",
        "      for memory of GPU 1",
        "      stored there so far: ring.cu:9 on GPU 0",
    ]
    assert told(listener, capsys) == ["  no kernel was launched"]
    idle = {"last_kernel": f"void put<{', '.join(['double'] * 50)}>(int)", "last_milliseconds": 2000}
    assert told(listener, capsys, **idle) == [
        "  no kernel is under way; put<double, double, double, double, double, double, …> was launched last, 2 s ago"
    ]
    assert "CUDA driver is busy" in told(listener, capsys, answered=False)[0]
    plain = [KERNEL | {"waits": []}]
    assert "without WAITS=on" in told(listener, capsys, kernels=plain, waits_recorded=False)[-1]
    evil = told(listener, capsys, kernels=[KERNEL | {"kernel": "a\x1b[2Jb"}])
    assert "\x1b" not in evil[0]


@pytest.mark.parametrize(
    "wrong",
    [
        b"nonsense",
        b"[]",
        json.dumps(report(kernels=[{}])).encode(),
        json.dumps(report(kernels=[KERNEL | {"waits": [WAIT | {"address": "0xg"}]}])).encode(),
        json.dumps(report(pid=True)).encode(),
        json.dumps(report(calls=[CALL | {"rank": None}])).encode(),
        json.dumps(report(gpus=[1])).encode(),
    ],
)
def test_what_is_no_report(wrong: bytes, listener: Listener, capsys: pytest.CaptureFixture[str]) -> None:
    assert parsed(wrong) is None
    listener.answer = wrong
    status, _, err = run(capsys, "hang", os.getpid())
    assert (status, len(err.splitlines())) == (1, 1)
    assert err.startswith("snoopie: no process answered")


def test_another_version() -> None:
    with pytest.raises(SnoopieError, match="another version"):
        parsed(json.dumps(report(report=2)).encode())


def test_collectives_that_do_not_match() -> None:
    def said(*calls: dict[str, Any]) -> list[str]:
        return remarks([Process(report(calls=[call])) for call in calls])

    ranks = [CALL | {"rank": rank} for rank in range(3)]
    assert said(*ranks) == []
    (late,) = said(ranks[0], ranks[1] | {"sequence": 4}, ranks[2])
    assert "rank 1" in late
    assert "has made 4 calls, the last AllReduce of 8 float32; ranks 0, 2 have made 5" in late
    (other,) = said(ranks[0], ranks[1], ranks[2] | {"count": 9})
    assert other.endswith("ranks 0, 1: AllReduce of 8 float32; rank 2: AllReduce of 9 float32")
    # Ranks have different numbers of partners.
    assert said(*(call | {"operation": "Send", "sequence": call["rank"]} for call in ranks)) == []
    assert said(ranks[0], ranks[1] | {"communicator": "0xb", "sequence": 9}) == []


def test_wrong_words(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit):
        run(capsys, "hang", "abc")
    assert "abc is not a process ID" in capsys.readouterr().err
    status, _, err = run(capsys, "hang", 2**28)
    assert status == 2
    assert "there is no process 268435456" in err
    monkeypatch.setattr(hang_reports, "_sockets", lambda: set())
    status, _, err = run(capsys, "hang")
    assert status == 1
    assert "no program runs under the collector on this host" in err
