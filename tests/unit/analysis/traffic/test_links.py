"""How GPUs are linked, in words; what flowed between kinds of places."""

from __future__ import annotations

from pathlib import Path

import snoopie
from snoopie.analysis.traffic import links
from tests.support import mixed
from tests.support.encoder import TraceBuilder


def sentences(trace: TraceBuilder, path: Path) -> list[str]:
    read = snoopie.load(trace.write(path))
    return links.in_words(read.gpus, read.links)


def test_sentences(tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    nvlink = ["2 × NVIDIA H200, 18 NVLinks each.", "Every two reach each other over NVLink."]
    assert sentences(trace, tmp_path / "nvlink.zst") == nvlink
    for link in trace.header["links"]:
        link["native_atomics"] = False
    for gpu in trace.header["gpus"]:
        gpu["nvlinks"] = 0
    assert sentences(trace, tmp_path / "pcie.zst") == [
        "2 × NVIDIA H200.",
        "Every two reach each other, without NVLink.",
    ]
    for link in trace.header["links"]:
        link["access"] = False
    assert sentences(trace, tmp_path / "none.zst")[1] == "None reaches the memory of another."
    trace.header["links"] = []
    trace.header["gpus"][1]["name"] = "NVIDIA L4"
    assert sentences(trace, tmp_path / "unknown.zst") == [
        "1 × NVIDIA H200.",
        "1 × NVIDIA L4.",
        "How they are linked is not in the trace.",
    ]
    assert sentences(TraceBuilder(1), tmp_path / "one.zst") == ["1 × NVIDIA H200, 18 NVLinks each."]
    assert sentences(TraceBuilder(0), tmp_path / "no.zst") == []


def test_matrix(tmp_path: Path) -> None:
    trace = TraceBuilder(2)
    trace.header["links"] = [link for link in trace.header["links"] if link["issuer"] == 0]
    matrix = snoopie.load(trace.write(tmp_path / "t.zst")).link_matrix()
    assert matrix.to_dict("index") == {
        "GPU 0": {"GPU 0": "", "GPU 1": "NVLink"},
        "GPU 1": {"GPU 0": "unknown", "GPU 1": ""},
    }


def test_routes(tmp_path: Path) -> None:
    routes = snoopie.load(mixed.write_mixed(tmp_path)).by_route()
    # By the table of tests/support/mixed.py, for two ranks.
    assert routes.to_numpy().tolist() == [
        ["host", "GPU", 2 * (1 << 20) + 2 * 1024, 2 * 1024, 2 << 20],
        ["GPU", "GPU", 2 * (2048 + 32768 + 8192) + 4 * 65536, 2 * (2048 + 32768 + 8192), 4 * 65536],
        ["GPU", "host", 8192, 0, 8192],
        ["GPU", "multicast", 1024, 1024, 0],
        ["GPU", "unknown", 256, 256, 0],
    ]
