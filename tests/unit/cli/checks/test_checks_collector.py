"""Whether a collector fits the driver, the GPUs and the system, and what NVBit's disassemblers know."""

from __future__ import annotations

from pathlib import Path

import pytest

import snoopie
from snoopie.cli.checks import collector, disassemblers, profilers
from snoopie.cli.checks.driver import Driver
from snoopie.cli.checks.row import State
from snoopie.cli.identity import Identity, identity, parse
from snoopie.errors import SnoopieError

LIBRARY = Path("/opt/snoopie/mem_multigpu.so")
BUILT = Identity(snoopie.__version__, "13.0", "1.7.7.1", ("80", "90"))
DRIVER = Driver(cuda="13.0", arches=("90", "90"))

WHOLE = """\
\tlinux-vdso.so.1 (0x00007ffd5a9d2000)
\tlibcuda.so.1 => not found
\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f0c8a7a2000)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f0c89e1e000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f0c8a895000)
"""
# On an older system.
LACKING = """\
./mem_multigpu.so: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by ./mem_multigpu.so)
./mem_multigpu.so: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.32' not found (required by ./mem_multigpu.so)
\tlinux-vdso.so.1 (0x00007ffd5a9d2000)
\tlibcuda.so.1 => /lib/x86_64-linux-gnu/libcuda.so.1 (0x00007f0c8a0a2000)
\tlibzstd.so.1 => not found
"""
NVDISASM_HELP = """\
--binary <SMxy>                                (-b)       
        When this option is specified, the input file is assumed to contain a raw
        instruction binary. The value of this option must be the asserted
        architecture of the raw binary.
        Allowed values for this option:  'SM100','SM100a','SM100f','SM103','SM75','SM80','SM86',
        'SM90','SM90a'.
"""


def test_it_says_what_it_is(tmp_path: Path) -> None:
    said = '{"version": "1.2.3", "cuda": "12.8", "nvbit": "1.7.7.1", "arches": "80 90"}'
    library = tmp_path / "mem_multigpu.so"
    library.write_bytes(b"\x7fELF" + bytes(5000) + b"snoopie collector " + said.encode() + bytes(5000))
    assert identity(library) == Identity("1.2.3", "12.8", "1.7.7.1", ("80", "90"))


@pytest.mark.parametrize(
    "content",
    [b"", b"\x7fELF", b"snoopie collector {", b'snoopie collector {"version": 1}\0', b"snoopie collector {]\0"],
)
def test_a_library_that_says_nothing(content: bytes, tmp_path: Path) -> None:
    library = tmp_path / "mem_multigpu.so"
    library.write_bytes(content)
    assert identity(library) is parse(content) is None
    assert identity(tmp_path) is identity(tmp_path / "absent") is None


def test_one_that_fits() -> None:
    (row,) = collector.judged(LIBRARY, BUILT, ("90",), DRIVER)
    assert row.state is State.OK
    assert row.found == f"{LIBRARY}: {snoopie.__version__}, CUDA 13.0, NVBit 1.7.7.1, for 80 90"


def test_one_for_other_gpus() -> None:
    (row,) = collector.judged(LIBRARY, BUILT, ("90", "100"), DRIVER)
    assert row.state is State.PROBLEM
    assert row.found.endswith("for 80 90; not for 100")
    assert row.remedy == "snoopie build --arch 90,100"


def test_one_for_a_newer_driver() -> None:
    (row,) = collector.judged(LIBRARY, BUILT, ("90",), Driver(cuda="12.4", arches=("90",)))
    assert row.state is State.PROBLEM
    assert row.found == "built with CUDA 13.0, and the driver runs CUDA 12.4"
    assert "CUDA 12 or older" in row.remedy
    # A driver runs what is older, and what is as new but for the minor number.
    (row,) = collector.judged(LIBRARY, BUILT, ("90",), Driver(cuda="13.1"))
    assert row.state is State.OK


def test_none_and_one_that_says_nothing() -> None:
    (row,) = collector.rows(SnoopieError("not built", "build it"), (), DRIVER, {})
    assert (row.state, row.found, row.remedy) == (State.PROBLEM, "not built", "build it")
    (row,) = collector.judged(LIBRARY, None, (), DRIVER)
    assert row.state is State.WARNING


def test_the_library_needs_the_collector_beside_it(tmp_path: Path) -> None:
    library = tmp_path / "mem_multigpu.so"
    library.write_bytes(b"")
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / library.name
    link.symlink_to(library)
    for named in (library, link):
        first = collector.rows(named, (), DRIVER, {})[0]
        assert (first.state, first.found) == (State.PROBLEM, f"{named} needs libsnoopie_collector.so beside it")
    (tmp_path / "libsnoopie_collector.so").touch()
    assert all("beside" not in row.found for row in collector.rows(link, (), DRIVER, {}))


def test_what_the_loader_does_not_find() -> None:
    assert collector.lacking(WHOLE) == collector.lacking("") == collector.lacking("\tnot a dynamic executable\n") == []
    assert collector.lacking(LACKING) == ["libzstd.so.1", "GLIBC_2.34", "GLIBC_2.32"]


def test_what_nvdisasm_knows() -> None:
    assert disassemblers.strange(NVDISASM_HELP, ("90", "89")) == ()
    assert disassemblers.strange(NVDISASM_HELP, ("90", "120", "70")) == ("120", "70")
    assert disassemblers.strange("", ("90",)) == ()
    assert disassemblers.release("Cuda compilation tools, release 13.2, V13.2.51\n") == "13.2"
    assert disassemblers.release("") == ""


def test_missing_disassemblers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snoopie.cli.tool.toolkit_folders", lambda environment: iter([tmp_path]))
    rows = disassemblers.rows((), {"PATH": str(tmp_path)})
    assert [(row.name, row.state) for row in rows] == [("nvdisasm", State.PROBLEM), ("cuobjdump", State.PROBLEM)]
    for name in ("nvdisasm", "cuobjdump"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho \"release 13.2, V13.2.51 'SM80'\"\n")
        program.chmod(0o755)
    rows = disassemblers.rows(("90",), {"PATH": str(tmp_path)})
    assert [row.state for row in rows] == [State.PROBLEM, State.OK]
    assert rows[0].found == f"13.2 at {tmp_path}/nvdisasm, which does not know 90"


def test_other_profilers() -> None:
    (row,) = profilers.rows(LIBRARY, {"CUDA_INJECTION64_PATH": str(LIBRARY), "LD_PRELOAD": str(LIBRARY)})
    assert (row.state, row.found) == (State.OK, "none")
    # As a traced program leaves them to what it starts.
    opened = str(LIBRARY.with_name("libsnoopie_collector.so"))
    (row,) = profilers.rows(LIBRARY, {"CUDA_INJECTION64_PATH": opened, "LD_PRELOAD": f"{LIBRARY} {opened}"})
    assert (row.state, row.found) == (State.OK, "none")
    environment = {
        "CUDA_INJECTION64_PATH": "/opt/nsys/libToolsInjection64.so",
        "NVTX_INJECTION64_PATH": "/opt/nsys/libToolsInjection64.so",
        "LD_PRELOAD": f"{LIBRARY}:/usr/lib/libjemalloc.so.2 /usr/lib/libfoo.so",
    }
    injected, nvtx, preloaded = profilers.rows(LIBRARY, environment)
    assert (injected.state, injected.remedy) == (State.PROBLEM, "unset it")
    assert (nvtx.state, preloaded.state) == (State.WARNING, State.WARNING)
    assert preloaded.found == "LD_PRELOAD has /usr/lib/libjemalloc.so.2, /usr/lib/libfoo.so"
    assert profilers.rows(SnoopieError("not built"), environment)[0].state is State.PROBLEM
