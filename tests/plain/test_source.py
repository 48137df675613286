"""Traffic by the code that caused it against plain loops over random runs."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from snoopie.analysis.traffic.pairs import Cell
from snoopie.analysis.traffic.reading import READINGS, Reading
from snoopie.words import units
from tests.plain import plain_run, plain_source, plain_story, plain_traffic
from tests.plain.comparing import check_table, same
from tests.plain.drawing import seeds, some, written
from tests.plain.plain_run import Moved, Run
from tests.plain.plain_source import line_of
from tests.plain.plain_traffic import VALUES


@some
@given(seeds)
def test_lines_and_files(seed: int) -> None:
    run = plain_run.make(seed)
    trace = run.load(seed)
    lines = plain_source.with_kernels(run.traffic, line_of)
    check_table(trace.by_line(), ["file", "line"], lines)
    check_table(trace.by_file(), ["file"], plain_source.files(run))
    for file in {file for file, _ in lines}:
        table = trace.file_lines(file)
        check_table(table, ["line"], {line: row for (name, line), row in lines.items() if name == file}, most="")
        assert table["line"].tolist() == sorted(table["line"])


@some
@given(seeds, st.booleans())
def test_sites(seed: int, merged: bool) -> None:
    run = plain_run.make(seed)
    expected = plain_source.sites(run, run.traffic, merged=merged)
    check_table(run.load(seed).by_site(merged=merged), ["site"], expected)


@some
@given(seeds)
def test_the_tree_of_files(seed: int) -> None:
    run = plain_run.make(seed)
    waited = _add_waits(run, Random(seed))
    sizes = {file: row["bytes"] for file, row in plain_source.files(run).items()}
    expected = plain_source.tree({file: 0 for file in waited} | sizes)
    rows = run.load(seed).file_tree().to_dict("records")
    assert len(rows) == len(expected)
    for row, other in zip(rows, expected, strict=True):
        assert set(row) == set(other) and all(same(row[name], value) for name, value in other.items()), (row, other)


def _add_waits(run: Run, random: Random) -> set[str]:
    """Has launches of the first process wait at some of its instructions; the files of these."""
    launches = [launch for launch in run.launches.values() if launch.process == 0]
    sites = [site for site in run.sites.values() if site.process == 0]
    some = random.sample(sites, random.randint(0, len(sites))) if launches else []
    for site in some:
        launch = random.choice(launches).id
        run.builders[0].add(
            "waits", launch=launch, site=site.id, blocks=1, owner=0, address=8, waits=1, polls=1, last=1
        )
    return {site.file for site in some}


@some
@given(seeds, st.sampled_from([*VALUES, "wire_efficiency"]), st.sampled_from(READINGS), st.booleans())
def test_one_line(seed: int, value: Cell, reading: Reading, merged: bool) -> None:
    run = plain_run.make(seed)
    trace = run.load(seed)
    places = plain_traffic.places(run, "device")
    for file, line in _some_lines(run, seed):
        rows = [row for row in run.traffic if line_of(row) == (file, line)]
        check_table(trace.line_sites(file, line, merged=merged), ["site"], plain_source.sites(run, rows, merged=merged))
        of_kernels = plain_source.with_launches(rows, plain_source.kernel_of)
        check_table(trace.line_kernels(file, line), ["kernel"], of_kernels)
        of_stacks = {
            (stack, kernel): {"source": run.stacks.get(stack, "")} | row
            for (stack, kernel), row in plain_source.with_launches(
                rows, lambda row: (row.launch.stack, row.launch.kernel)
            ).items()
        }
        check_table(trace.line_stacks(file, line), ["stack", "kernel"], of_stacks)
        of_pairs = plain_traffic.device_pairs(run, reading, rows)
        nothing = None if value == "wire_efficiency" else 0
        matrix = trace.line_matrix(file, line, value, reading)
        assert list(matrix.index) == list(matrix.columns) == [run.label(place) for place in places]
        for row, own in zip(matrix.to_numpy().tolist(), places, strict=True):
            cells = [of_pairs.get((own, other), {}).get(value, nothing) for other in places]
            assert all(map(same, row, cells)), (own, row, cells)


@some
@given(seeds)
def test_stacks(seed: int) -> None:
    run = plain_run.make(seed)
    trace = run.load(seed)
    of_stacks = plain_source.with_launches(run.traffic, lambda row: (row.launch.stack, row.launch.kernel))
    named = {key: {"source": run.stacks.get(key[0], "")} | row for key, row in of_stacks.items()}
    check_table(trace.by_stack(), ["stack", "kernel"], named)
    check_table(trace.by_launch_stack(), ["stack"], plain_source.launch_stacks(run))


@some
@given(seeds)
def test_objects_of_a_line(seed: int) -> None:
    run = plain_run.make(seed)
    trace = run.load(seed)
    for file, line in _some_lines(run, seed):
        table = trace.line_objects(file, line)
        expected = plain_source.objects(run, [row for row in run.traffic if line_of(row) == (file, line)])
        named = {"object", "owner", "kind", "size", "exact", *VALUES, "wire_efficiency"}
        check_table(table[[name for name in table.columns if name in named]], ["object"], expected)


@some
@given(seeds)
def test_chains_of_lines(seed: int) -> None:
    run = plain_run.make(seed)
    trace = run.load(seed)
    for number in [0, *run.lines]:
        expected = [(line.file, line.line, line.function) for line in plain_run.chain(run.lines, number)]
        assert trace.line_chain(number) == expected
    own = {number: (site.file, site.line, site.line_id) for number, site in run.sites.items()}
    rows = trace.sites.reset_index()[["site", "file", "line", "line_id"]].itertuples(index=False, name=None)
    assert {number: rest for number, *rest in rows} == {number: list(said) for number, said in own.items()}


@some
@given(seeds)
def test_story(seed: int) -> None:
    run = plain_run.make(seed)
    told, expected = run.load(seed).story(), plain_source.story(run)
    if expected is None:
        assert told.startswith("Kernels reached" if run.traffic else "No kernel reached memory outside its GPU.")
        return
    name, size, whole, wire = expected
    assert told.startswith(f"{name} ")
    if size / whole < 0.45 or 0.55 < size / whole < 0.9:
        assert told.startswith(f"{name} {units.percent(size / whole)} of all bytes, ")
    assert told.endswith(f", {units.percent(size / wire)} efficient." if wire else ".") and (
        "efficient" in told
    ) == bool(wire)


@some
@given(seeds)
def test_between_whom(seed: int) -> None:
    made = plain_story.make(seed)
    told = written(made.builder, seed).story()
    if not made.moved:
        assert told == "No kernel reached memory outside its GPU."
        return
    begins, between = plain_story.sentence(made)
    assert told.startswith(begins) and between in told, (told, begins, between)
    if begins.endswith(" "):
        assert f"{units.percent(made.size / (made.size + made.rest))} of all bytes, " in told


def _some_lines(run: Run, seed: int) -> list[tuple[str, int]]:
    """Three lines with traffic at most, and one that may have none."""
    lines = sorted({line_of(row) for row in run.traffic})
    return [*Random(seed).sample(lines, min(3, len(lines))), *((line.file, 4) for line in [*run.lines.values()][:1])]


def test_random_runs_have_lines_of_all_kinds() -> None:
    runs = [plain_run.make(seed) for seed in range(30)]
    traffic: list[Moved] = [row for run in runs for row in run.traffic]
    assert {row.site.file for row in traffic} == {"", plain_run.TOOLKIT, *plain_run.FILES}
    both = [[len(plain_source.sites(run, run.traffic, merged=merged)) for run in runs] for merged in (True, False)]
    assert sum(both[0]) < sum(both[1])
    assert any(row.object for row in traffic) and any(row.launch.stack for row in traffic)
    assert any(_add_waits(run, Random(seed)) for seed, run in enumerate(runs))
    assert any(len(plain_run.chain(run.lines, number)) == 3 for run in runs for number in run.lines)
    assert {(plain_source.story(run) or ["nothing"])[0].split()[-1] for run in runs} == {
        "nothing", "sends", "fetches", "updates",
    }  # fmt: skip
    stories = [made for seed in range(300) if (made := plain_story.make(seed)).moved]
    words = {plain_story.whom(made.ends, made.gpus) for made in stories}
    known = {"the host", "the next one", "one other", "all others", "its two neighbours", "2 others", "up to 2 places"}
    assert known <= words and {f"{one} and the host" for one in known - {"the host"}} <= words
    assert {"half", "all", ""} <= {plain_story.sentence(made)[0].split(" ")[2] for made in stories}
