"""Traces of the real writer, followed while they come: in the end, metrics have what the traces have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import snoopie
from snoopie.live.recording import Recording
from snoopie.trace.growing import Growing


def total(recording: Recording, family: str) -> float:
    return sum(next(one for one in recording.families() if one.name == family).values.values())


@pytest.mark.parametrize("kind", ["small", "blocks", "exiting", "killed", "empty"])
def test_the_end_is_what_the_trace_says(
    write: Callable[[str], Path], tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It says that process 4711 wrote it.
    monkeypatch.setattr(Growing, "_gone", lambda self: False)
    content, path = write(kind).read_bytes(), tmp_path / "t.zst"
    recording = Recording(lambda: [path])
    for piece in range(1, 12):
        path.write_bytes(content[: len(content) * piece // 11])
        recording.look()
    recording.look()
    recording.close()
    assert recording.problems == []
    trace = snoopie.load(path, allow_truncated=True)
    assert total(recording, "accesses") == trace.counts["accesses"].sum()
    assert total(recording, "accessed_bytes") == trace.counts["bytes"].sum()
    assert total(recording, "calls") == trace.call_totals["calls"].sum()
    assert total(recording, "call_errors") == trace.call_errors["calls"].sum()
    assert total(recording, "allocations") == len(trace.objects)
    assert total(recording, "copied_bytes") == trace.copies["bytes"].sum()
    assert recording.lost["records"] == trace.totals.get("records_dropped", 0)
    durations = recording.durations()
    assert sum(durations.buckets(call)[-1] for call in durations.slots) == trace.call_times["calls"].sum()
