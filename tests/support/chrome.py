"""The rules of Chrome's trace event format: what Perfetto and chrome://tracing need to show all of a timeline.

From the format's description (Trace Event Format, JSON object format) and what Perfetto's importer drops: slices of one
track that overlap without lying one within the other, flows without both ends or outside of slices.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

Event = dict[str, Any]

_REQUIRED = {
    "X": {"name", "cat", "pid", "tid", "ts", "dur", "args"},
    "i": {"name", "cat", "pid", "tid", "ts", "s", "args"},
    "s": {"name", "cat", "pid", "tid", "ts", "id"},
    "f": {"name", "cat", "pid", "tid", "ts", "id", "bp"},
    "C": {"name", "pid", "tid", "ts", "args"},
    "M": {"name", "pid", "tid", "ts", "args"},
}
_METADATA = {
    "process_name": "name",
    "process_labels": "labels",
    "process_sort_index": "sort_index",
    "thread_name": "name",
    "thread_sort_index": "sort_index",
}


def read(path: Path) -> dict[str, Any]:
    """The file, with times as whole nanoseconds."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    content.decode("ascii")
    whole: dict[str, Any] = json.loads(content, parse_float=lambda text: int(text.replace(".", "")))
    return whole


def check(whole: dict[str, Any]) -> list[Event]:
    """The events; AssertionError where one breaks a rule."""
    assert set(whole) == {"traceEvents", "displayTimeUnit", "otherData"}
    assert whole["displayTimeUnit"] in ("ms", "ns")
    events: list[Event] = whole["traceEvents"]
    for event in events:
        assert set(event) - {"cname"} == {"ph", *_REQUIRED[event["ph"]]}, event
        assert all(isinstance(event[key], int) for key in ("pid", "tid", "ts")), event
        assert event["ts"] >= 0 and event.get("dur", 0) >= 0
    _check_metadata(events)
    _check_slices(events)
    _check_flows(events)
    _check_counters(events)
    return events


def named(events: list[Event]) -> tuple[dict[int, str], dict[tuple[int, int], str]]:
    """The names of processes and of threads."""
    told = [event for event in events if event["ph"] == "M"]
    processes = {event["pid"]: event["args"]["name"] for event in told if event["name"] == "process_name"}
    threads = {(event["pid"], event["tid"]): event["args"]["name"] for event in told if event["name"] == "thread_name"}
    return processes, threads


def _check_metadata(events: list[Event]) -> None:
    for event in events:
        if event["ph"] == "M":
            assert set(event["args"]) == {_METADATA[event["name"]]}
    processes, threads = named(events)
    shown = [event for event in events if event["ph"] != "M"]
    assert {event["pid"] for event in shown} <= set(processes)
    assert {(event["pid"], event["tid"]) for event in shown if event["ph"] != "C"} <= set(threads)
    of_processes = [event for event in events if event["ph"] == "M" and event["name"] == "process_name"]
    assert len(of_processes) == len(processes)


def _tracks(events: list[Event]) -> dict[tuple[int, int], list[tuple[int, int]]]:
    tracks: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    return tracks


def _check_slices(events: list[Event]) -> None:
    for track, slices in _tracks(events).items():
        around: list[int] = []
        for start, end in sorted(slices, key=lambda times: (times[0], -times[1])):
            while around and around[-1] <= start:
                around.pop()
            assert not around or end <= around[-1], f"slices of {track} overlap at {start}"
            around.append(end)


def _check_flows(events: list[Event]) -> None:
    tracks = _tracks(events)
    ends: dict[str, dict[int, Event]] = {"s": {}, "f": {}}
    for event in events:
        if event["ph"] in ends:
            assert event["id"] not in ends[event["ph"]], "two flows have one id"
            ends[event["ph"]][event["id"]] = event
            within = tracks[event["pid"], event["tid"]]
            assert any(start <= event["ts"] <= end for start, end in within), event
    assert set(ends["s"]) == set(ends["f"])
    for number, begin in ends["s"].items():
        end = ends["f"][number]
        assert begin["ts"] <= end["ts"]
        assert (begin["cat"], begin["name"]) == (end["cat"], end["name"])
        assert end["bp"] == "e"


def _check_counters(events: list[Event]) -> None:
    last: dict[tuple[int, str], int] = {}
    for event in events:
        if event["ph"] == "C":
            key = event["pid"], event["name"]
            assert last.get(key, -1) < event["ts"], f"{key} goes back in time"
            last[key] = event["ts"]
            assert all(isinstance(value, int) and value >= 0 for value in event["args"].values())
