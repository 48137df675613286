"""Logs of nvidia-smi, as users record them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from snoopie.errors import SnoopieError
from snoopie.importers import nvidia_smi

WHEN = "2026/11/21 14:03:07.123"
NS = int(datetime(2026, 11, 21, 14, 3, 7, tzinfo=UTC).timestamp()) * 10**9 + 123_000_000
UUID = "GPU-a5ad34e5-52a9-aaaa-bbbb-0123456789ab"


def read(tmp_path: Path, text: str | bytes) -> list[tuple[int, int, str, int]]:
    path = tmp_path / "smi.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [(row.time, row.index, row.uuid, row.used) for row in _rows(path)]


def _rows(path: Path) -> list[object]:
    table = nvidia_smi.read(path, UTC)
    names = ["time", "index", "uuid", "used"]
    return [Row(*values) for values in table[names].to_numpy(dtype=object).tolist()]


class Row:
    def __init__(self, time: int, index: int, uuid: str, used: int) -> None:
        self.time, self.index, self.uuid, self.used = time, index, uuid, used


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{WHEN}, 1234\n", (NS, -1, "", 1234)),
        (f"{WHEN}, 1234 MiB\n", (NS, -1, "", 1234)),
        (f"timestamp, memory.used [MiB]\n{WHEN}, 1234 MiB\n", (NS, -1, "", 1234)),
        (f"timestamp, memory.used [MiB]\r\n{WHEN}, 1234\r\n", (NS, -1, "", 1234)),
        (f"{WHEN}, 3, 1234\n", (NS, 3, "", 1234)),
        (f"{WHEN}, 1234, 3\n", (NS, 3, "", 1234)),
        (f"{WHEN}, 3, 12 MiB\n", (NS, 3, "", 12)),
        (f"{UUID}, {WHEN}, 1234\n", (NS, -1, UUID, 1234)),
        (f"{WHEN}, 0, {UUID}, NVIDIA H200, 1234\n", (NS, 0, UUID, 1234)),
        (
            f"index, uuid, timestamp, memory.total [MiB], memory.used [MiB]\n1, {UUID}, {WHEN}, 143771 MiB, 5 MiB\n",
            (NS, 1, UUID, 5),
        ),
        ("2026/11/21 14:03:07, 12\n", (NS - 123_000_000, -1, "", 12)),
        # What nvidia-smi could not get is no amount, and stops no other.
        (f"{WHEN}, [N/A]\n{WHEN}, 12\n", (NS, -1, "", 12)),
        (f"timestamp, memory.used [MiB]\n{WHEN}, [Not Supported]\n{WHEN}, 7 MiB\n{WHEN}, N/A\n", (NS, -1, "", 7)),
        (f'"Timestamp", "memory.used [MiB]"\n{WHEN}, 9 MiB\n', (NS, -1, "", 9)),
    ],
)
def test_forms(tmp_path: Path, text: str, expected: tuple[int, int, str, int]) -> None:
    assert read(tmp_path, text) == [expected]


def test_rows_are_in_the_order_of_time(tmp_path: Path) -> None:
    text = f"2026/11/21 14:03:08.000, 0, 200\n{WHEN}, 0, 100\n\n"
    assert [used for *_, used in read(tmp_path, text)] == [100, 200]


def test_each_call_of_a_script_may_have_a_header(tmp_path: Path) -> None:
    header, other = "timestamp, index, memory.used [MiB]\n", "index, name, timestamp, memory.used [MiB]\n"
    text = f"{header}{WHEN}, 0, 100 MiB\n{header}{WHEN}, 1, 200 MiB\n{other}2, NVIDIA H200, {WHEN}, 300 MiB\n{header}"
    assert read(tmp_path, text) == [(NS, gpu, "", 100 * (gpu + 1)) for gpu in range(3)]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_log_of_powershell(tmp_path: Path, encoding: str) -> None:
    text = f"timestamp, memory.used [MiB], memory.total [MiB]\r\n{WHEN}, 5 MiB, 15360 MiB\r\n"
    assert read(tmp_path, text.encode(encoding)) == [(NS, -1, "", 5)]
    with pytest.raises(SnoopieError, match="is not text"):
        read(tmp_path, b"\xff\xfe\x00\xd8\x0a\x00")


def test_a_share_in_use_is_no_index(tmp_path: Path) -> None:
    """Of timestamp, utilization.gpu, memory.used of four GPUs that do nothing."""
    text = "".join(f"{WHEN}, 0, {used}\n" for used in (11409, 10851, 10911, 13325))
    with pytest.raises(SnoopieError, match=r"does not say which column is memory\.used"):
        read(tmp_path, text)


def test_line_that_was_cut_is_left_out(tmp_path: Path) -> None:
    assert read(tmp_path, f"{WHEN}, 1234\n{WHEN}, 12") == [(NS, -1, "", 1234)]


def test_times_are_local(tmp_path: Path) -> None:
    path = tmp_path / "smi.csv"
    path.write_text(f"{WHEN}, 1\n")
    east = timezone(timedelta(hours=3))
    assert nvidia_smi.read(path, east)["time"].tolist() == [NS - 3 * 3600 * 10**9]
    local = datetime(2026, 11, 21, 14, 3, 7).astimezone()
    assert nvidia_smi.read(path)["time"].tolist() == [int(local.timestamp()) * 10**9 + 123_000_000]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "has no complete line"),
        (f"{WHEN}, 12", "has no complete line"),
        ("memory.used [MiB]\n12\n", "has no column timestamp"),
        ("timestamp\n" + WHEN + "\n", "has no column memory.used"),
        ("hello\n", "has no column timestamp"),
        (f"{WHEN}, 1000, 1234\n", "which column is memory.used"),
        (f"{WHEN}, 1, 12\n", "which column is memory.used"),
        (f"{WHEN}, 1, 2, 3\n", "which column is memory.used"),
        (f"{WHEN}, 12\n{WHEN}, [n]\n", "no amount of memory in line 2"),
        (f"{WHEN}, 12\n{WHEN}\n", "1 columns in line 2, not 2"),
        (f"{WHEN}, 12\n2026/13/45 14:03:07.123, 12\n", "no time like .* in line 2"),
        ("9999/11/21 14:03:07, 12\n", "no time like .* in line 1"),
        (f"{WHEN}, 12\n1726/11/21 14:03:08, 12\n", "no time like .* in line 2"),
        ("0001/11/21 14:03:07, 12\n", "no time like .* in line 1"),
        (b"\xff\xff\x00\n", "is not text"),
        (f"{WHEN}, 99999999999999999999999\n", "no amount of memory"),
        (f"{WHEN}, 12\n{'9' * 200_000}\n", "no end of line 2"),
        ("timestamp, memory.used\n" + '"' + "x\n" * 10, "1 columns in line 2, not 2"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(tmp_path: Path, text: str | bytes, sentence: str) -> None:
    with pytest.raises(SnoopieError, match=sentence) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)
    assert "nvidia-smi --query-gpu" in str(caught.value)


@pytest.mark.parametrize("text", ["00000000:1B:00.0", "0000:1b:00.0", "1B:00.0", "0:1b:0"])
def test_places_on_the_pci_bus_have_one_spelling(tmp_path: Path, text: str) -> None:
    path = tmp_path / "smi.csv"
    path.write_text(f"timestamp, pci.bus_id, memory.used [MiB]\n{WHEN}, {text}, 5 MiB\n")
    assert nvidia_smi.read(path, UTC)[["pci", "used"]].to_numpy().tolist() == [["0000:1b:00", 5]]
    path.write_text(f"{WHEN}, {text}, 5\n")
    assert nvidia_smi.read(path, UTC)[["pci", "used"]].to_numpy().tolist() == [["0000:1b:00", 5]]


def test_a_log_without_any_amount(tmp_path: Path) -> None:
    with pytest.raises(SnoopieError, match=r"nvidia-smi says \[N/A\]"):
        read(tmp_path, f"timestamp, memory.used [MiB]\n{WHEN}, [N/A]\n")
