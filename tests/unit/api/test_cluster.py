"""The same analyses on a real Dask cluster: processes that talk TCP."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import streamlit
from streamlit.testing.v1 import AppTest

import snoopie
from snoopie.api.trace import Trace
from snoopie.cli import main
from tests.support import mixed, ring
from tests.support.encoder import TraceBuilder
from tests.support.program import ACCESSES, SECTORS, App, reads
from tests.support.sampled import sampled_builder

distributed = pytest.importorskip("distributed", reason="distributed is not installed: pip install 'snoopie[dask]'")

dask = pytest.importorskip("dask")

SAMPLES = Path(__file__).resolve().parents[3] / "sample_traces"
READINGS = ("issued", "flow")
SIDES = ("device", "host", "both")

ANSWERS: dict[str, Callable[[Trace], Any]] = {
    "summary": lambda trace: trace.summary(),
    "repr": repr,
    "losses": lambda trace: trace.losses(),
    "totals": lambda trace: trace.totals,
    "counts": lambda trace: trace.counts,
    "records": lambda trace: trace.records,
    "record_blocks": lambda trace: pd.concat([trace.select(launches=[]).records, *trace.record_blocks()]),
    "lane_accesses": lambda trace: trace.lane_accesses(),
    "some lane_accesses": lambda trace: trace.lane_accesses(limit=7),
    "matrix": lambda trace: [trace.matrix("bytes", *how) for how in itertools.product(READINGS, SIDES)],
    "by_pair": lambda trace: [trace.by_pair(*how) for how in itertools.product(READINGS, SIDES)],
    "by_library": lambda trace: [trace.by_library(*how) for how in itertools.product(READINGS, SIDES)],
    "by_pair of NCCL": lambda trace: trace.by_pair(library="NCCL"),
    "bandwidth": lambda trace: trace.bandwidth(),
    "by several keys": lambda trace: trace.by("kernel", "line", "operation", "issuer", "owner"),
    "lines": lambda trace: [
        answer(file, line)
        for file, line in trace.by_line()[["file", "line"]].itertuples(index=False)
        for answer in (
            *(lambda file, line: trace.file_lines(file), trace.line_sites, trace.line_matrix),
            *(trace.line_kernels, trace.line_objects, trace.line_stacks),
        )
    ],
}
ANALYSES = """
    by_kernel by_file file_tree by_line by_site by_operation by_launch by_collective by_copy single_copies not_measured
    flame_tree
"""
TABLES = "processes gpus sets places links functions lines sites launches copies collectives objects"
EVERYTHING = (*ANSWERS, *ANALYSES.split(), *TABLES.split())
# What tells whether a view is of the right rows of every table.
OF_A_VIEW = ("summary", "losses", "counts", "records", "matrix")


def answers(trace: Trace, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    for name in names:
        found = getattr(trace, name) if name not in ANSWERS else ANSWERS[name](trace)
        yield name, found() if name in ANALYSES.split() else found


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "host": "127.0.0.1"}
    # Nobody asks what its workers spend their time with.
    quiet = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"}
    with (
        dask.config.set(quiet),
        distributed.LocalCluster(**options, protocol="tcp://", dashboard_address=None) as local,
    ):
        yield local


@pytest.fixture(scope="module")
def address(cluster: Any) -> str:
    return str(cluster.scheduler_address)


def same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, list):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            same(*pair)
    elif isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other)
    elif isinstance(one, dict):
        pd.testing.assert_series_equal(pd.Series(one), pd.Series(other))
    else:
        assert one == other


def views(trace: Trace) -> Iterator[Trace]:
    yield trace
    yield trace.select(operations=["store", "atomic"])
    yield trace.select(owners=["GPU 0", "host"]).select(issuers="GPU 1")
    yield trace.select(kernels="no such kernel")
    yield trace.select(launches=trace.launches.index[::2])
    yield trace.select(processes=0, between=trace.period, launches=range(2, 1000))


@pytest.mark.parametrize("name", ["halo-4gpu", "allreduce-4gpu", "mixed", "sampled", "empty"])
def test_results_equal_the_local_ones(address: str, name: str, tmp_path: Path) -> None:
    path = SAMPLES / name
    if name == "mixed":
        path = mixed.write_mixed(tmp_path)
    elif name == "sampled":
        path = sampled_builder().write(tmp_path / "1.zst").parent
        exact = sampled_builder()
        exact.header["process"]["pid"] += 1
        exact.rows["sampling"].clear()
        exact.write(tmp_path / "2.zst")
    elif name == "empty":
        path = TraceBuilder(2).write(tmp_path / "t.zst")
    local, remote = snoopie.load(path), snoopie.load(path, scheduler=address)
    assert [str(path) for path in remote.paths] == [str(path) for path in local.paths]
    # All answers of the whole. Of views too where all kinds of traffic are together, but for what each line is asked.
    # Of the other traces made for tests, what tells whether a view is of the right rows.
    of_views = [answer for answer in EVERYTHING if answer != "lines"] if name == "mixed" else OF_A_VIEW
    for number, (own, other) in enumerate(zip(views(local), views(remote), strict=True)):
        names = of_views if number else EVERYTHING
        for (answer, expected), (_, found) in zip(answers(own, names), answers(other, names), strict=True):
            try:
                same(found, expected)
            except AssertionError as error:
                raise AssertionError(f"{answer} of {own}: {error}") from error
        if (SAMPLES / name).exists():
            break


def test_findings(address: str, tmp_path: Path) -> None:
    app = App()
    app.both_ways("store", SECTORS, lanes=SECTORS)
    reads(app, ACCESSES // 4, ACCESSES)
    path = app.trace.write(tmp_path / "t.zst", block_rows=1000)
    found = snoopie.load(path, scheduler=address).findings()
    same(found, snoopie.load(path).findings())
    assert set(found["rule"]) == {"scattered-stores", "repeated-loads"}


def test_workers_read_and_the_client_does_not(cluster: Any, ring_path: Path) -> None:
    with distributed.Client(cluster) as client:
        trace = snoopie.load(ring_path, scheduler=client)
        process = trace._tables.sources[0]
        assert process.container._mapped is None
        assert trace.by_kernel().to_dict() == snoopie.load(ring_path).by_kernel().to_dict()
        assert sum(map(len, trace.lane_access_blocks())) == len(snoopie.load(ring_path).lane_accesses())
        assert process.container._mapped is None
        assert "counts" not in process._tables


def test_a_scheduler_by_its_file(address: str, ring_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"type": "Scheduler", "address": address, "workers": {}}))
    assert snoopie.load(ring_path, scheduler=file).summary() == snoopie.load(ring_path).summary()


def test_paths_are_made_absolute(address: str, ring_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ring_path.parent)
    trace = snoopie.load(ring_path.name, scheduler=address)
    assert [str(path) for path in trace.paths] == [ring_path.name]
    assert len(trace.records) == trace.summary()["records"]


def test_a_path_that_no_worker_can_read(address: str, tmp_path: Path) -> None:
    with pytest.raises(
        snoopie.NotATraceError, match=r"the Dask worker tcp://127\S+ cannot read \S+gone.zst; put"
    ) as error:
        snoopie.load(tmp_path / "gone.zst", scheduler=address)
    assert error.value.problem.endswith("gone.zst")


def test_a_file_that_goes_away_or_changes(address: str, ring_path: Path) -> None:
    trace = snoopie.load(ring_path, scheduler=address)
    content = ring_path.read_bytes()
    ring_path.unlink()
    with pytest.raises(snoopie.NotATraceError, match="cannot read"):
        trace.by_site()
    # Who has mapped it goes on reading what was opened; others, as the client here, see that it is not the same.
    ring_path.write_bytes(content[:-1])
    with pytest.raises(snoopie.CorruptError, match="is not the file that was opened"):
        _ = trace.counts
    ring_path.write_bytes(content)
    assert trace.by_site().to_dict() == snoopie.load(ring_path).by_site().to_dict()


def test_errors_of_a_trace_come_back_whole(address: str, tmp_path: Path) -> None:
    path = ring.write_ring(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    for scheduler in (None, address):
        with pytest.raises(snoopie.TruncatedError) as error:
            snoopie.load(path, scheduler=scheduler)
        assert error.value.problem.startswith(f"{path} is incomplete")
        assert str(error.value).endswith("load(…, allow_truncated=True) reads them")
    trace = snoopie.load(path, scheduler=address, allow_truncated=True)
    assert trace.losses() == snoopie.load(path, allow_truncated=True).losses()


def test_records_that_nobody_wants_are_not_waited_for(address: str, ring_path: Path) -> None:
    blocks = snoopie.load(ring_path, scheduler=address).record_blocks()
    next(iter(blocks))
    blocks.close()  # type: ignore[attr-defined]
    assert snoopie.load(ring_path, scheduler=address).lane_accesses(limit=3).shape[0] == 3


def test_sums_beyond_64_bits_are_refused(address: str, tmp_path: Path) -> None:
    for number in range(5):
        trace = TraceBuilder(2, pid=number + 1)
        site = trace.site(trace.function("k"), "STG.E", "store", 1)
        trace.count(trace.launch(1, 1), site, 0, 1, (1 << 61) - 1, 1)
        trace.write(tmp_path / f"{number}.zst")
    for scheduler in (None, address):
        with pytest.raises(snoopie.CorruptError, match="add up to more"):
            snoopie.load(tmp_path, scheduler=scheduler)


@pytest.mark.parametrize(
    ("scheduler", "problem"),
    [
        ("no address at all", "no Dask scheduler answers at no address at all"),
        ("tcp://127.0.0.1:9", "no Dask scheduler answers at tcp://127.0.0.1:9"),
        (Path("no-scheduler.json"), "there is no scheduler's file no-scheduler.json"),
        (7, "a int is not a scheduler"),
    ],
)
def test_a_scheduler_that_is_none(ring_path: Path, scheduler: Any, problem: str) -> None:
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}), pytest.raises(snoopie.SnoopieError) as error:
        snoopie.load(ring_path, scheduler=scheduler)
    assert error.value.problem.startswith(problem)


def test_a_cluster_without_workers(ring_path: Path) -> None:
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "1s"}),
        distributed.LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None) as local,
        pytest.raises(snoopie.SnoopieError, match="has no workers; start some: dask worker ADDRESS"),
    ):
        snoopie.load(ring_path, scheduler=str(local.scheduler_address))


def test_all_loads_share_one_connection(cluster: Any, address: str, ring_path: Path, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": address}))
    snoopie.load(ring_path, scheduler=address)
    clients = set(cluster.scheduler.clients)
    snoopie.load(ring_path, scheduler=address)
    snoopie.load(ring_path, scheduler=file)
    assert set(cluster.scheduler.clients) == clients


def test_a_connection_that_ended_is_made_anew(ring_path: Path) -> None:
    port = 0
    for _ in range(2):
        options = {"n_workers": 1, "processes": False, "host": "127.0.0.1", "dashboard_address": None}
        with distributed.LocalCluster(**options, protocol="tcp://", scheduler_port=port) as local:
            address = str(local.scheduler_address)
            assert snoopie.load(ring_path, scheduler=address).complete
            port = int(address.rpartition(":")[2])


def test_without_distributed(ring_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(snoopie.UsageError, match=r"not installed; pip install 'snoopie\[dask\]'"):
        snoopie.load(ring_path, scheduler="tcp://127.0.0.1:8786")
    assert snoopie.load(ring_path).complete


def test_nothing_of_dask_is_imported_without_a_scheduler() -> None:
    code = "import sys, snoopie; sys.exit('distributed' in sys.modules or 'dask' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": str(SAMPLES.parent)}).returncode
        == 0
    )


def test_the_command_line(address: str, ring_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": address}))
    for command in (["stats", "--by", "site"], ["info"], ["stats", "--json"]):
        printed = []
        for options in ([], ["--scheduler", address], [f"--scheduler-file={file}"]):
            assert main([*command, *options, str(ring_path)]) == 0
            out, err = capsys.readouterr()
            printed.append((out, err.replace(f"--scheduler={address} ", "").replace(f"--scheduler-file={file} ", "")))
        assert printed[0] == printed[1] == printed[2]
    assert main(["stats", "--scheduler", "nowhere", str(ring_path)]) == 2
    assert "snoopie: no Dask scheduler answers at nowhere" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["info", "--scheduler", address, "--scheduler-file", str(file), str(ring_path)])


def test_the_app(address: str, ring_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = Path(__file__).resolve().parents[3] / "visualizer" / "app.py"
    shown = []
    for options in ([], ["--scheduler", address]):
        streamlit.cache_resource.clear()
        streamlit.cache_data.clear()
        monkeypatch.setattr(sys, "argv", [str(app), str(ring_path), *options])
        page = AppTest.from_file(str(app), default_timeout=60).run()
        assert not page.exception
        shown.append({metric.label: metric.value for metric in page.metric})
    assert shown[0] == shown[1]
