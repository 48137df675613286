"""What ran when, in lanes, against plain loops over random runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from random import Random

from hypothesis import given

from snoopie.api.trace import Trace
from tests.plain import plain_activity, plain_waits, random_runs
from tests.plain.comparing import falls, rows
from tests.plain.drawing import seeds, some
from tests.plain.plain_activity import Event, Lane
from tests.plain.plain_runs import label
from tests.plain.plain_waits import Waiting

ROW = ("what", "id", "name", "place", "process", "stream", "thread", "start", "end", "duration", "bytes")


@dataclass
class Known:
    trace: Trace
    random: Random
    events: list[Event]
    # Whether each stream has a lane of its own; lane → its number.
    streams: bool
    lanes: dict[Lane, int]

    def some(self) -> tuple[list[int] | None, list[Event]]:
        """All lanes or some, and what is in them."""
        if self.random.random() < 0.5:
            return None, self.events
        numbers = [number for number in self.lanes.values() if self.random.random() < 0.6]
        return numbers, [event for event in self.events if self.lanes[event.lane(self.streams)] in numbers]


def loaded(seed: int) -> Known:
    run = random_runs.make(seed)
    # What waits and moves are called takes as long as all else.
    waiting = plain_waits.add_waits(run) if seed % 3 == 0 else Waiting(run)
    trace, streams = run.load(seed), run.random.random() < 0.5
    moved, waited = (
        {int(launch): str(name) for launch, name in rows(table.reset_index(), "launch", "name")}
        for table in (trace.moves_by_launch(), trace.waits_by_launch())
    )
    lanes: dict[Lane, int] = {}
    table = trace.activity_lanes(streams)
    places = {label(place): place for place in trace.places.index}
    for number, what, place, process, line in rows(table.reset_index(), "lane", "what", "place", "process", "line"):
        # A stream is a handle, which has no sign.
        several = line == -1 and not streams
        lanes[what, places[place], process, -1 if several else line % (1 << 64)] = number
    return Known(trace, run.random, plain_activity.events(waiting, moved, waited), streams, lanes)


def period(random: Random) -> tuple[int, int]:
    first, last = sorted((random_runs.moment(random), random_runs.moment(random)))
    return first, last + 1


@some
@given(seeds)
def test_lanes(seed: int) -> None:
    known = loaded(seed)
    lanes: dict[Lane, list[Event]] = defaultdict(list)
    for event in known.events:
        lanes[event.lane(known.streams)].append(event)
    assert set(known.lanes) == set(lanes)
    assert list(known.lanes.values()) == list(range(len(lanes)))
    found = known.trace.activity_lanes(known.streams)[["events", "start", "end"]]
    assert {lane: tuple(found.loc[number]) for lane, number in known.lanes.items()} == {
        lane: (len(own), min(event.start for event in own), max(event.end for event in own))
        for lane, own in lanes.items()
    }


@some
@given(seeds)
def test_stream_names(seed: int) -> None:
    run = random_runs.make(seed)
    found = rows(run.load(seed).stream_names(), "process", "stream", "name")
    assert found == plain_activity.stream_names(run)


@some
@given(seeds)
def test_gaps(seed: int) -> None:
    known = loaded(seed)
    for _ in range(2):
        first, last = period(known.random)
        found = known.trace.activity_gaps(first, last)
        expected = plain_activity.gaps(known.events, first, last)
        assert len(found) == len(expected)
        # What stays to be seen is a share, rounded.
        pairs = zip(found, expected, strict=True)
        assert all(abs(one - other) <= 1 for own, wanted in pairs for one, other in zip(own, wanted, strict=True))


@some
@given(seeds)
def test_blocks(seed: int) -> None:
    known = loaded(seed)
    for most in (known.random.choice((1, 2, 3)), 500):
        first, last = period(known.random)
        folds, (lanes, events) = random_runs.window(known.random)[2], known.some()
        if events and known.random.random() < 0.5:
            # One that ends where something begins.
            time = known.random.choice(events).start
            folds = [(time - 700, time)]
        text = known.random.choice(("", "", "RING", "gpu 1", "ü"))
        own = [event for event in events if text.casefold() in event.name.casefold()]
        table = known.trace.activity_blocks(first, last, most, known.streams, lanes, folds=folds, text=text)
        expected = plain_activity.blocks(own, first, last, most, known.streams, folds)
        columns = ("lane", "start", "end", "count", "busy", "id")
        assert Counter(rows(table, *columns)) == {
            (known.lanes[block.lane], *block[1:]): len(names) for block, names in expected.items()
        }
        allowed = {(known.lanes[block.lane], *block[1:]): set().union(*names) for block, names in expected.items()}
        assert all(row[-1] in allowed[row[:-1]] for row in rows(table, *columns, "name"))
        assert all(number <= 2 * most + 2 for number in Counter(table["lane"]).values())


@some
@given(seeds)
def test_sums_and_busy(seed: int) -> None:
    known = loaded(seed)
    (first, last), (lanes, events) = period(known.random), known.some()
    table = known.trace.activity_sums(first, last, known.streams, lanes)
    expected = plain_activity.sums(events, first, last)
    assert len(table) == len(expected)
    assert {row[:2]: row[2:] for row in rows(table, "what", "name", "count", "total", "bytes")} == expected
    assert falls(table["total"].dropna())
    busy = known.trace.activity_busy(first, last, known.streams, lanes)
    assert dict(rows(busy, "place", "busy")) == plain_activity.busy(events, first, last)
    assert busy["place"].is_unique


@some
@given(seeds)
def test_within(seed: int) -> None:
    known = loaded(seed)
    (first, last), (lanes, events) = period(known.random), known.some()
    shown = [event for event in events if event.touches(first, last)]
    table = known.trace.activity_within(first, last, streams=known.streams, lanes=lanes)
    assert Counter(rows(table, *ROW)) == Counter(event.row for event in shown)
    # Of those that fill as much and begin at once any may be first.
    order = sorted((-event.filled(first, last), event.start) for event in shown)
    for limit in (known.random.randint(0, 4), 200):
        some = known.trace.activity_within(first, last, limit, known.streams, lanes)
        found = [(max(start, first) - min(end, last), start) for start, end in rows(some, "start", "end")]
        assert found == order[:limit]
        assert {*rows(some, *ROW)} <= {event.row for event in shown}


@some
@given(seeds)
def test_search(seed: int) -> None:
    known = loaded(seed)
    lanes, events = known.some()
    for text in (known.random.choice(("Ring", "→", "STEP", "Ü")), known.random.choice(("nothing", ""))):
        having = [event for event in events if text and text.casefold() in event.name.casefold()]
        having.sort(key=lambda event: (event.start, known.lanes[event.lane(known.streams)], event.id))
        after = known.random.choice([random_runs.moment(known.random), *(event.start for event in having)])
        later = [place for place, event in enumerate(having) if max(event.end, event.start + 1) > after]
        for number in range(len(having) + 1):
            table = known.trace.activity_search(text, number, after, known.streams, lanes)
            if not having:
                assert table.empty
                continue
            place = number - 1 if number else later[0] if later else 0
            event = having[place]
            expected = (*event.row, known.lanes[event.lane(known.streams)], place + 1, len(having))
            assert rows(table, *ROW, "lane", "number", "events") == [expected]


@some
@given(seeds)
def test_of(seed: int) -> None:
    known = loaded(seed)
    for event in known.random.sample(known.events, min(len(known.events), 6)):
        assert rows(known.trace.activity_of(event.what, event.id), *ROW) == [event.row]
    for what in {event.what for event in known.events}:
        assert known.trace.activity_of(what, 1000).empty


def test_random_activities_have_something_in_them() -> None:
    every = [loaded(seed) for seed in range(12)]
    kinds = {event.what for known in every for event in known.events}
    assert kinds == {"kernel", "launch", "move", "wait", "copy", "copy call", "collective", "range", "call"}
    assert any(event.bytes < 0 for known in every for event in known.events if event.what == "kernel")
    assert any(plain_activity.gaps(known.events, *period(known.random)) for known in every)
