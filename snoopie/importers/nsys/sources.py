"""Where reports are: exports as they are, reports that nsys has to export first, and folders of either."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from snoopie.errors import SnoopieError
from snoopie.importers import Progress
from snoopie.importers.nsys.database import Database
from snoopie.importers.nsys.export import HOW, Export

_REPORTS = (".nsys-rep", ".qdrep")
_EXPORTS = (".sqlite", ".sqlite3", ".db")
# Each is a file that stays open while all are read.
_MOST = 800


def reports(source: Path) -> list[Path]:
    """The reports that a file or folder holds: files, and folders of parquet files. At least one.

    A report that lies beside its own export is not read again.
    """
    if not source.is_dir() or is_parquet(source):
        return [source]
    try:
        inside = sorted(source.iterdir())
    except OSError as error:
        raise SnoopieError(f"{source} cannot be read ({error.strerror})", "name a readable folder") from None
    exports = [path for path in inside if is_parquet(path) or (path.suffix in _EXPORTS and path.is_file())]
    stems = {path.stem for path in exports}
    exports += [path for path in inside if path.suffix in _REPORTS and path.stem not in stems and path.is_file()]
    if not exports:
        raise SnoopieError(f"there is no report of Nsight Systems in {source}", f"make an export with: {HOW}")
    if len(exports) > _MOST:
        raise SnoopieError(f"{source} has {len(exports)} reports", "import some of them at a time")
    return sorted(exports)


def is_parquet(folder: Path) -> bool:
    """Whether a folder is a parquet export."""
    return folder.is_dir() and any((folder / f"{name}.parquet").is_file() for name in ("StringIds", "META_DATA_EXPORT"))


@contextmanager
def opened(report: Path, progress: Progress) -> Iterator[Export]:
    """A report, exported if it has to be."""
    if is_parquet(report):
        # pyarrow is slow to import.
        from snoopie.importers.nsys.parquet import ParquetExport

        yield ParquetExport(report, progress)
        return
    if report.suffix not in _REPORTS or not report.is_file():
        yield from _closed(Database(report, progress))
        return
    with tempfile.TemporaryDirectory(prefix="snoopie-nsys-") as folder:
        progress(f"{report.name} with nsys export", 0)
        yield from _closed(Database(report, progress, _exported(report, Path(folder) / "report.sqlite")))


def _closed(database: Database) -> Iterator[Export]:
    try:
        yield database
    finally:
        database.close()


def _exported(report: Path, file: Path) -> Path:
    nsys = shutil.which("nsys")
    if nsys is None:
        raise SnoopieError(
            f"{report} can only be read by nsys, which is not installed here",
            f"export it where nsys is, and import the export: {HOW.replace('REPORT.nsys-rep', report.name)}",
        )
    said = ""
    # Older versions know no blobs: payloads of NVTX, which say what NCCL moved.
    for blobs in (["--include-blobs", "true"], []):
        command = [nsys, "export", "--type", "sqlite", *blobs, "--force-overwrite", "true", "--output", str(file)]
        try:
            done = subprocess.run(
                [*command, str(report.resolve())], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, check=False,
            )  # fmt: skip
        except OSError as error:
            raise SnoopieError(f"{nsys} cannot be run ({error.strerror})", "install Nsight Systems again") from None
        if done.returncode == 0 and file.exists():
            return file
        said = said or " ".join(done.stdout.decode("utf-8", "replace").split())[-200:]
    raise SnoopieError(
        f"nsys cannot export {report}" + (f" ({said})" if said else ""),
        "a newer version of nsys reads the reports of older ones, not the other way round",
    )
