"""What -o means, and which files a pattern can have become."""

from __future__ import annotations

from pathlib import Path

import pytest

from snoopie.cli.output_files import DEFAULT_NAME, output_files, run_folder
from snoopie.errors import SnoopieError

OWN = "snoopie-app-1/"


def test_the_default_is_the_collectors_own_name_in_a_folder_of_the_run(tmp_path: Path) -> None:
    assert output_files(None, {}, tmp_path, OWN).pattern == f"{tmp_path}/snoopie-app-1/{DEFAULT_NAME}"
    assert (tmp_path / "snoopie-app-1").is_dir()


def test_the_folder_of_a_run_is_named_after_program_and_run() -> None:
    assert run_folder("./ring", "20261122-224003-3fa9") == "snoopie-ring-20261122-224003-3fa9/"
    assert run_folder("/opt/50%p/my app%n", "slurm-77.0") == "snoopie-my_app_n-slurm-77.0/"


def test_the_collector_has_the_same_default() -> None:
    declared = (Path(__file__).parents[3] / "nvbit_tool/src/settings/output_path.h").read_text()
    assert f'kDefaultFileName = "{DEFAULT_NAME}"' in declared


def test_a_folder_gets_the_default_name(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    assert output_files("there", {}, tmp_path, OWN).pattern == f"{tmp_path}/there/{DEFAULT_NAME}"
    assert output_files("new/deep/", {}, tmp_path, OWN).pattern == f"{tmp_path}/new/deep/{DEFAULT_NAME}"
    assert (tmp_path / "new" / "deep").is_dir()


def test_percent_signs_of_the_working_directory_are_no_placeholders(tmp_path: Path) -> None:
    folder = tmp_path / "50%p"
    folder.mkdir()
    files = output_files("%p.zst", {}, folder, OWN)
    assert files.pattern == f"{tmp_path}/50%%p/%p.zst"
    (folder / "7.zst").touch()
    assert files.existing() == {folder / "7.zst"}


def test_only_what_fits_the_pattern_exists(tmp_path: Path) -> None:
    files = output_files("[a]-%h.%p.zst", {}, tmp_path, OWN)
    for name in ("[a]-node.1.zst", "a-node.1.zst", "[a]-node.zst", "b.zst"):
        (tmp_path / name).touch()
    (tmp_path / "[a]-folder.1.zst").mkdir()
    assert files.existing() == {tmp_path / "[a]-node.1.zst"}


def test_numbered_names_are_found(tmp_path: Path) -> None:
    files = output_files("%p.trace.zst", {}, tmp_path, OWN)
    for name in ("7.trace.zst", "7.trace-2.zst", "7.trace-x.zst"):
        (tmp_path / name).touch()
    assert {path.name for path in files.existing()} == {"7.trace.zst", "7.trace-2.zst"}


def test_a_placeholder_in_the_folder_makes_no_folder(tmp_path: Path) -> None:
    output_files("%h/%p.zst", {}, tmp_path, OWN)
    assert list(tmp_path.iterdir()) == []


def test_the_environment_is_used_without_an_option(tmp_path: Path) -> None:
    assert output_files(None, {"SNOOPIE_OUTPUT": " x.zst "}, tmp_path, OWN).pattern == f"{tmp_path}/x.zst"


def test_refusals(tmp_path: Path) -> None:
    (tmp_path / "old.zst").touch()
    with pytest.raises(SnoopieError, match="already exists"):
        output_files("old.zst", {}, tmp_path, OWN)
