"""objects: what is counted of an object is its traffic, exactly; where objects share pages, the counts say that."""

from __future__ import annotations

import pytest
from gpu_runs import Run, Runner
from gpu_traffic import HOST, WARP, Traffic, dense, kernel_name, nothing_lost, site_lines

N = 1 << 16
PAGE = 2 << 20
ROUNDS, MANY = 8, 80  # more than are told apart at a time
SOURCE, TARGET, AGAIN, FIRST, SECOND = (pages * PAGE for pages in (2, 3, 4, 5, 6))

FILL = dense("store", 4, N)
ADD = Traffic("reduction", 4, N // WARP, N, N // WARP)
BOTH = Traffic("store", 4, N // WARP, N, N // 2)  # two of the four words of each wire unit

# Line and object → its traffic in a launch; 0 = told apart from no other.
Table = dict[tuple[str, int], Traffic]


@pytest.fixture(scope="session", params=["0", "1"], ids=["counted", "recorded"])
def run(runner: Runner, visible: tuple[str, ...], request: pytest.FixtureRequest) -> Run:
    """Probes that only count are others than those that record."""
    return runner.traced("objects", ROUNDS, MANY, visible=visible, SAMPLE_SIZE=request.param)


def launches_of(run: Run, issuer: int) -> list[Table]:
    """What the counts say of each launch of a GPU, in their order. Memory is all of the next GPU."""
    trace = run.trace
    lines, operations = site_lines(trace, "objects"), trace.sites.operation
    found: dict[int, Table] = {}
    for row in trace.counts[trace.counts.issuer == issuer].itertuples():
        assert row.owner == (issuer + 1) % len(trace.gpus)
        table = found.setdefault(int(row.launch), {})
        place = lines[row.site], int(row.object)
        assert place not in table
        table[place] = Traffic(operations[row.site], 4, int(row.accesses), int(row.lanes), int(row.wire_units))
    return [table for _, table in sorted(found.items())]


def objects_of(run: Run, owner: int, size: int) -> list[int]:
    """The objects of a GPU that have a size, in the order in which they were made."""
    objects = run.trace.objects
    return sorted(objects.index[(objects.owner == owner) & (objects.bytes == size)])


def pairs(run: Run) -> list[tuple[int, int]]:
    gpus = len(run.trace.gpus)
    return [(issuer, (issuer + 1) % gpus) for issuer in range(gpus)]


def test_large_objects_are_told_apart(run: Run) -> None:
    nothing_lost_but_records(run)
    for issuer, owner in pairs(run):
        (source,), (target,) = objects_of(run, owner, SOURCE), objects_of(run, owner, TARGET)
        visit, both = launches_of(run, issuer)[:2]
        assert visit == {
            ("load", source): dense("load", 4, N),
            ("store", target): FILL,
            ("add", 0): ADD,  # shares its page
        }
        # Each access touches both.
        assert both == {("both", 0): BOTH}


def test_small_objects_share_their_page(run: Run) -> None:
    addresses = run.trace.objects.address
    for _, owner in pairs(run):
        (total,), (neighbour,) = objects_of(run, owner, 4), objects_of(run, owner, 8)
        assert addresses[total] // PAGE == addresses[neighbour] // PAGE


def test_what_takes_the_memory_of_another_is_another(run: Run) -> None:
    for issuer, owner in pairs(run):
        objects = objects_of(run, owner, AGAIN)
        assert len(objects) == ROUNDS
        assert launches_of(run, issuer)[2 : 2 + ROUNDS] == [{("fill", each): FILL} for each in objects]


def test_more_objects_than_can_be_told_apart(run: Run) -> None:
    for issuer, owner in pairs(run):
        objects = objects_of(run, owner, PAGE)
        assert len(objects) == MANY
        launches = launches_of(run, issuer)[2 + ROUNDS :][:MANY]
        assert all(
            table in ({("fill", each): FILL}, {("fill", 0): FILL})
            for each, table in zip(objects, launches, strict=True)
        )
        told = sum(("fill", 0) not in table for table in launches)
        assert MANY // 2 <= told < MANY


def test_memory_freed_in_stream_order(run: Run) -> None:
    if "pools: not here" in run.stdout:
        pytest.skip("GPUs of this machine have no memory pools")
    for issuer, owner in pairs(run):
        # The kernel that uses the first one begins when its memory may be the second one's already.
        launches = launches_of(run, issuer)[2 + ROUNDS + MANY :]
        for size, table in zip((FIRST, SECOND), launches, strict=True):
            (each,) = objects_of(run, owner, size)
            assert table in ({("fill", each): FILL}, {("fill", 0): FILL})


def test_nothing_but_traffic_between_gpus_is_counted(run: Run) -> None:
    counts = run.trace.counts
    assert (counts.owner > HOST).all()
    kernels = counts.launch.map(run.trace.launches.kernel).map(kernel_name)
    assert set(kernels) == {"visit", "both", "fill"}


def nothing_lost_but_records(run: Run) -> None:
    """Fails where something is missing; that there are no records was asked for."""
    if run.trace.settings[0]["sample_size"]:
        nothing_lost(run.trace)
    else:
        assert [sentence for sentence in run.trace.losses() if "sample size 0" not in sentence] == []
