"""All targets, by name: the reader, each importer, and the other files of other tools that are read."""

from __future__ import annotations

from functools import partial

from snoopie.cli.import_ import KINDS
from tests.fuzz import databases, importing, raw, reading, recordings, recordings_json, traces, trees
from tests.fuzz.target import Mutate, Seeds, Target

# By the importer's name on the command line, also of those to come. A new importer needs a row here.
IMPORTERS: dict[str, tuple[Seeds, Mutate, str]] = {
    "nsys": (recordings.nsys_exports, databases.mutate, ".sqlite"),
    "snoopie-log": (recordings.snoopie_logs, raw.mutate_text, ".txt"),
    "rtg": (partial(recordings.text, recordings.RTG), raw.mutate_text, ".txt"),
    "hcc": (partial(recordings.text, recordings.HCC), raw.mutate_text, ".txt"),
    "alnair": (partial(recordings.text, recordings.ALNAIR), raw.mutate_text, ".txt"),
    "kineto": (recordings_json.profiler_traces, trees.mutate_json, ".json"),
    "inspector": (recordings_json.inspector_logs, trees.mutate_json_lines, ".log"),
    "flight-recorder": (recordings_json.flight_records, importing.mutate_snapshot, "_rank_3"),
    "rocpd": (recordings_json.rocm_databases, databases.mutate, ".rpd"),
}

_ALL = (
    Target("reader", traces.seeds, traces.mutate, reading.check, ".zst"),
    *(
        Target(name, seeds, mutate, partial(importing.check, name), ending)
        for name, (seeds, mutate, ending) in IMPORTERS.items()
        if name in KINDS
    ),
    Target("nvidia-smi", partial(recordings.text, *recordings.NVIDIA_SMI), raw.mutate_text, importing.check_nvidia_smi),
    Target("torch-memory", recordings.snapshots, importing.mutate_snapshot, importing.check_snapshot),
)
TARGETS = {target.name: target for target in _ALL}
