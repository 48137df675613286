"""snoopie run, with a stand-in for the collector: a program that writes where SNOOPIE_OUTPUT says."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import snoopie
from snoopie import cli
from snoopie.cli import places, settings, tool
from snoopie.errors import SnoopieError
from tests.support import native, ring
from tests.support.encoder import HOST, TraceBuilder
from tests.support.nsys_export import Export

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 300  # seconds, for a machine that is busy with something else

# What the collector does, as far as `snoopie run` sees it: a new file at the pattern, named after this process.
WRITE_TRACE = """
import os, pathlib, re
def write_trace(content, pid=None):
    names = {"%h": "node1", "%p": str(pid or os.getpid()), "%n": "app", "%%": "%"}
    path = re.sub("%.", lambda match: names[match.group()], os.environ["SNOOPIE_OUTPUT"])
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.write(descriptor, pathlib.Path(content).read_bytes())
    os.close(descriptor)
"""


def _loaded_library() -> Path:
    # Preloading a library that every process has already changes nothing.
    maps = Path("/proc/self/maps").read_text().splitlines()
    return Path(next(line.split(maxsplit=5)[5] for line in maps if "/libc." in line or "/libc-" in line))


@dataclass
class Bench:
    """A folder to run in, with a stand-in for the tool and for what NVBit needs."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tool, programs = self.folder / "tool" / "mem_multigpu.so", self.folder / "cuda"
        tool.parent.mkdir()
        tool.symlink_to(_loaded_library())
        programs.mkdir()
        for name in ("nvdisasm", "cuobjdump"):
            self.program(programs / name, "")
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in settings.BY_VARIABLE
            and name not in ("LD_PRELOAD", "CUDA_INJECTION64_PATH")
            and not name.startswith("SNOOPIE_")
        }
        self.environment = kept | {
            "SNOOPIE_TOOL": str(tool),
            "PATH": f"{programs}:/usr/bin:/bin",
            "PYTHONPATH": str(ROOT),
        }
        self.work = self.folder / "work"
        self.work.mkdir()

    @property
    def tool(self) -> str:
        return self.environment["SNOOPIE_TOOL"]

    def program(self, path: Path, code: str) -> Path:
        """An executable Python script."""
        path.write_text(f"#!{sys.executable}\n{WRITE_TRACE}\n{code}\n")
        path.chmod(0o755)
        return path

    def app(self, code: str) -> str:
        self.program(self.work / "app", code)
        return "./app"

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "snoopie.cli", "run", *words]

    def run(self, *words: str, **options: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            cwd=self.work,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            **options,  # type: ignore[call-overload]
        )


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def trace(tmp_path: Path) -> str:
    """A trace for the program to hand out, outside its folder."""
    return repr(str(ring.write_ring(tmp_path, name="content")))


def test_output_and_status_pass_through_and_the_summary_goes_to_stderr(bench: Bench, trace: str) -> None:
    app = bench.app(f"import sys; print(sys.stdin.read(), sys.argv[1:]); write_trace({trace}); sys.exit(7)")
    done = bench.run("--", app, "-s", "--", "x y", input="input")
    assert done.returncode == 7
    assert done.stdout == "input ['-s', '--', 'x y']\n"
    (written,) = bench.work.glob("snoopie-app-*/snoopie-app.*.zst")
    lines = done.stderr.splitlines()
    assert lines[0] == f"snoopie: wrote {written.relative_to(bench.work)}"
    assert re.split("  +", lines[1]) == [
        "Issuer", "Owner", "Accesses", "Bytes", "Share", "Wire bytes", "Wire efficiency",
    ]  # fmt: skip
    assert lines[2].split() == ["GPU", "3", "GPU", "0", "64", "14.1", "KiB", "26.9", "%", "25", "KiB", "56.2", "%"]
    assert "224 accesses, 52.2 KiB, at most 99 KiB on the wire" in done.stderr
    assert lines[-1] == f"Next: snoopie view {written.parent.name}"
    assert "\033" not in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_the_status_is_the_programs_also_where_the_summary_cannot_be_written(
    bench: Bench, trace: str, unbuffered: str
) -> None:
    app = bench.app(f"import sys; print('done'); write_trace({trace}); sys.exit(7)")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            bench.command("--", app), cwd=bench.work, stdout=subprocess.PIPE, stderr=full, timeout=PATIENCE,
            env={**bench.environment, "PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (7, b"done\n")


@pytest.mark.parametrize("dashes", [["--"], []])
def test_the_program_gets_its_own_arguments(bench: Bench, dashes: list[str]) -> None:
    app = bench.app("import sys; print(sys.argv)")
    assert bench.run("-s", "0", *dashes, app, "-k", "--json", "--", "--").stdout == (
        "['./app', '-k', '--json', '--', '--']\n"
    )


# Of options whose value is free.
TEXTS = {"KERNEL_NAME": "put*,get", "BLOCKS": "x:0-3;y:1", "SNOOPIE_OUTPUT": "traces/", "CAPTURE_RANGE": "solve@mine"}


def other_value(setting: settings.Setting) -> str:
    """One that is allowed and is not the default."""
    if setting.kind == "number":
        return str(setting.least + 10)
    return TEXTS.get(setting.variable) or next(word for word in setting.words.split("|") if word != setting.default)


@pytest.mark.parametrize("short", [True, False])
def test_it_sets_what_was_chosen(bench: Bench, short: bool) -> None:
    values = {setting: other_value(setting) for setting in settings.options()}
    app = bench.app(
        f"for name in {[*(one.variable for one in values), 'LD_PRELOAD']}: print(name, os.environ.get(name))"
    )
    bench.environment["LD_PRELOAD"] = str(_loaded_library())
    words = []
    for setting, value in values.items():
        words += [setting.names[0 if short else -1], *([] if setting.kind == "flag" else [value])]
    expected = {setting.variable: value for setting, value in values.items()}
    expected["SNOOPIE_OUTPUT"] = f"{bench.work}/traces/snoopie-%n.%p.zst"
    expected["LD_PRELOAD"] = f"{bench.tool}:{_loaded_library()}"
    assert bench.run(*words, "--", app).stdout.splitlines() == [f"{name} {value}" for name, value in expected.items()]


def test_the_options_that_scripts_use(bench: Bench) -> None:
    names = ["KERNEL_NAME", "SAMPLE_SIZE", "LAUNCH_SAMPLE", "CODE_ATTRIBUTION", "BLOCKS", "HOST_MEMORY", "CALLS"]
    names += ["CODE_CONTEXT", "DATA_OBJECT_ATTRIBUTION"]
    app = bench.app(f"print(*(os.environ.get(name) for name in {names}))")
    switched_off = ["--no-lines", "--no-host-memory", "--no-stacks", "--no-objects"]
    samples = ["-s", "100", "--launch-sample", "10", "--calls", "all"]
    done = bench.run("-k", "put*,get", *samples, *switched_off, "-b", "x:0-3;y:1", "--", app)
    assert done.stdout == "put*,get 100 10 0 x:0-3;y:1 0 all 0 0\n"


def test_it_sets_nothing_that_was_not_chosen(bench: Bench) -> None:
    variables = [name for name in settings.BY_VARIABLE if name not in ("SNOOPIE_OUTPUT", "SNOOPIE_RUN")]
    app = bench.app(f"print([name for name in {variables} if name in os.environ])")
    assert bench.run("--", app).stdout == "[]\n"


def test_it_leaves_what_the_user_set(bench: Bench) -> None:
    app = bench.app("print(os.environ['KERNEL_NAME'], os.environ['SAMPLE_SIZE'], os.environ['SNOOPIE_OUTPUT'])")
    bench.environment |= {"KERNEL_NAME": "mine", "SAMPLE_SIZE": "5", "SNOOPIE_OUTPUT": "here-%p.zst"}
    assert bench.run("--", app).stdout == f"mine 5 {bench.work}/here-%p.zst\n"


def test_all_traces_of_a_launcher_are_summed(bench: Bench, tmp_path: Path) -> None:
    first, second = ring.write_two_processes(tmp_path)
    app = bench.app(f"write_trace({str(first)!r}, 1); write_trace({str(second)!r}, 2)")
    done = bench.run("-o", "%h.%p.zst", "--", app)
    assert done.stderr.splitlines()[0] == "snoopie: wrote node1.1.zst, node1.2.zst"
    assert "224 accesses, 52.2 KiB" in done.stderr
    assert done.stderr.splitlines()[-1] == "Next: snoopie view node1.1.zst node1.2.zst"


def test_many_traces_are_named_by_their_folder(bench: Bench, tmp_path: Path) -> None:
    pids = range(101, 106)
    for pid in pids:
        ring.ring_builder(pid=pid).write(tmp_path / str(pid))
    app = bench.app(f"for pid in {list(pids)}: write_trace(f'{tmp_path}/{{pid}}', pid)")
    done = bench.run("-o", "my traces/", "--", app)
    assert done.stderr.splitlines()[-1] == "Next: snoopie view 'my traces'"


def test_traces_that_were_there_before_are_not_this_runs(bench: Bench, trace: str) -> None:
    ring.write_ring(bench.work, name="snoopie-app.1.zst")
    done = bench.run("-o", ".", "--", bench.app(f"write_trace({trace}, 2)"))
    assert done.stderr.splitlines()[0] == "snoopie: wrote snoopie-app.2.zst"


def test_each_run_has_an_id_and_a_folder_of_that_name(bench: Bench, trace: str) -> None:
    app = bench.app(f"print(os.environ['SNOOPIE_RUN']); write_trace({trace}, 2)")
    ids = [bench.run("--", app).stdout.strip() for _ in range(2)]
    assert all(re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{4}", run) for run in ids) and ids[0] != ids[1]
    assert all((bench.work / f"snoopie-app-{run}" / "snoopie-app.2.zst").is_file() for run in ids)


@pytest.mark.parametrize(
    ("variables", "run"),
    [
        ({"SNOOPIE_RUN": "mine", "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0"}, "mine"),
        ({"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0"}, "slurm-77.0"),
        ({"OMPI_MCA_ess_base_jobid": "123", "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0"}, "openmpi-123"),
        ({"TORCHELASTIC_RUN_ID": "a b"}, "torchrun-a_b"),
    ],
)
def test_a_run_that_has_a_name_keeps_it(bench: Bench, trace: str, variables: dict[str, str], run: str) -> None:
    app = bench.app(f"print(os.environ.get('SNOOPIE_RUN', '')); write_trace({trace}, 2)")
    bench.environment |= variables
    assert bench.run("--", app).stdout.strip() == variables.get("SNOOPIE_RUN", "")
    assert (bench.work / f"snoopie-app-{run}" / "snoopie-app.2.zst").is_file()


def test_the_script_of_a_slurm_job_starts_many_runs(bench: Bench) -> None:
    bench.environment |= {"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "4294967291"}
    app = bench.app("print(os.environ['SNOOPIE_RUN'])")
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{4}\n", bench.run("--", app).stdout)


def test_a_folder_with_odd_characters(bench: Bench, trace: str) -> None:
    bench.work = bench.folder / "100%p [a] *"
    bench.work.mkdir()
    done = bench.run("--", bench.app(f"write_trace({trace}, 2)"))
    (written,) = bench.work.glob("snoopie-app-*/snoopie-app.2.zst")
    assert done.stderr.splitlines()[0] == f"snoopie: wrote {written.relative_to(bench.work)}"


def test_a_program_that_writes_no_trace(bench: Bench) -> None:
    done = bench.run("--", bench.app("raise SystemExit(3)"))
    assert done.returncode == 3
    assert done.stderr.startswith("snoopie: no trace was written: ")
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in bench.work.iterdir()] == ["app"]


def test_an_empty_trace_is_no_traceback(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "nothing").touch()
    done = bench.run("--", bench.app(f"write_trace({str(tmp_path / 'nothing')!r}, 2)"))
    assert done.returncode == 0
    assert done.stderr.splitlines()[1].startswith("snoopie: ")
    assert "Traceback" not in done.stderr


def test_nothing_remote_is_said_so(bench: Bench, tmp_path: Path) -> None:
    content = TraceBuilder(2).write(tmp_path / "quiet")
    done = bench.run("--", bench.app(f"write_trace({str(content)!r}, 2)"))
    assert "no access by a kernel to another GPU's memory was measured" in done.stderr


def test_a_killed_program(bench: Bench, tmp_path: Path) -> None:
    cut = ring.ring_builder().write(tmp_path / "cut", footer=False)
    done = bench.run("--", bench.app(f"write_trace({str(cut)!r}, 2); os.kill(os.getpid(), 9)"))
    assert done.returncode == 128 + signal.SIGKILL
    lines = done.stderr.splitlines()
    assert lines[0] == "snoopie: ./app was ended by SIGKILL"
    assert "224 accesses" in done.stderr
    assert any("incomplete" in line for line in lines)
    assert lines[-1].startswith("Next: snoopie view --allow-truncated snoopie-app-")


def test_what_the_host_copied_between_gpus_is_said(bench: Bench, tmp_path: Path) -> None:
    builder = TraceBuilder(2)
    for _ in range(3):
        builder.copy(0, 1, 1 << 20, gpu=0, call="cuMemcpyPeerAsync")
    builder.copy(HOST, 1, 1 << 22, gpu=1)
    done = bench.run("--", bench.app(f"write_trace({str(builder.write(tmp_path / 'copies'))!r}, 2)"))
    text = done.stderr
    assert "no access by a kernel to another GPU's memory was measured\n\nCopies between GPUs that the host" in text
    assert re.search(r"GPU 0 +GPU 1 +linear +cuMemcpyPeerAsync +3 +3 MiB +100 %", text)
    assert "\n3 copies, 3 MiB\n" in text and "cuMemcpyAsync" not in text


# Written without print, which must not be entered again in the middle of itself.
WAIT_FOR_SIGNALS = """
import signal, sys, time
def handle(number, frame):
    os.write(1, f"{signal.Signals(number).name}\\n".encode())
    if number != SURVIVED: sys.exit(5)
SURVIVED = signal.SIGUSR1
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1): signal.signal(number, handle)
os.write(1, f"ready {os.getppid()}\\n".encode())
while True: time.sleep(0.1)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_goes_to_the_program_and_the_report_still_comes(bench: Bench, number: signal.Signals) -> None:
    # In a session of its own there is no terminal, which would have told both.
    with subprocess.Popen(
        bench.command("--", bench.app(WAIT_FOR_SIGNALS)),
        cwd=bench.work,
        env=bench.environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        # Under nohup it would stay ignored, as the test below says.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == f"ready {started.pid}\n"
        started.send_signal(signal.SIGUSR1)
        assert started.stdout.readline() == "SIGUSR1\n"
        started.send_signal(number)
        out, err = started.communicate(timeout=PATIENCE)
    assert (started.returncode, out) == (5, f"{number.name}\n")
    assert "no trace was written" in err


def test_control_c_on_a_terminal_reaches_the_program_once(bench: Bench) -> None:
    app = bench.app(WAIT_FOR_SIGNALS.replace("SURVIVED = signal.SIGUSR1", "SURVIVED = signal.SIGINT"))
    ours, theirs = os.openpty()
    # setsid --ctty makes it the terminal of the new session, as a login does.
    command = ["setsid", "--ctty", "--wait", *bench.command("--", app)]
    started = subprocess.Popen(
        command, cwd=bench.work, env=bench.environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    shown = b""
    while not (ready := re.search(rb"ready (\d+)\r\n", shown)):
        shown += os.read(ours, 1000)
    os.write(ours, b"\x03")
    while b"SIGINT" not in shown:
        shown += os.read(ours, 1000)
    # What it would pass on of the first, it passes on before the second.
    os.kill(int(ready[1]), signal.SIGUSR1)
    # Reading from a terminal that nobody writes to any more is an error.
    with contextlib.suppress(OSError):
        while part := os.read(ours, 1000):
            shown += part
    os.close(ours)
    assert started.wait(timeout=PATIENCE) == 5
    assert shown.count(b"SIGINT") == 1
    assert b"no trace was written" in shown


def test_an_ignored_signal_stays_ignored(bench: Bench) -> None:
    app = bench.app("import signal; print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)")
    shell = f"trap '' HUP; {shlex.join(bench.command('--', app))}"
    done = subprocess.run(["bash", "-c", shell], cwd=bench.work, env=bench.environment, capture_output=True, text=True)
    assert done.stdout == "True\n"


def test_the_program_keeps_files_that_the_shell_opened(bench: Bench) -> None:
    app = bench.app("import sys; print(open(sys.argv[1]).read())")
    shell = f"{shlex.join(bench.command('--', app))} <(printf substituted)"
    done = subprocess.run(["bash", "-c", shell], cwd=bench.work, env=bench.environment, capture_output=True, text=True)
    assert done.stdout == "substituted\n"


def test_a_broken_pipe_ends_the_program_as_it_would_without_snoopie(bench: Bench) -> None:
    # Python ignores SIGPIPE; a program that it starts must not inherit that.
    done = bench.run("--", "sh", "-c", "kill -PIPE $$; echo survived")
    assert (done.returncode, done.stdout) == (128 + signal.SIGPIPE, "")


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--", "./absent"], 127, "there is no file ./absent"),
        (["--", "no-such-program"], 127, "there is no program no-such-program on PATH"),
        (["--", "plain"], 127, "did you mean ./plain?"),
        (["--", "./plain"], 126, "./plain is not executable"),
        (["--", "./folder"], 126, "./folder is a folder"),
        (["--", "./broken"], 126, "could not be started"),
        (["--"], 2, "no program given"),
        ([], 2, "no program given"),
        (["-s", "-1", "--", "./app"], 2, "--sample-size -1: use a whole number from 0 to 4294967295"),
        (["-s", "1.5", "--", "./app"], 2, "--sample-size 1.5: use a whole number"),
        (["-s", "4294967296", "--", "./app"], 2, "--sample-size 4294967296: use a whole number"),
        (["--launch-sample", "0", "--", "./app"], 2, "--launch-sample 0: use a whole number from 1 to 4294967295"),
        (["--launch-sample", "ten", "--", "./app"], 2, "--launch-sample ten: use a whole number"),
        (["--calls", "some", "--", "./app"], 2, "--calls some: use off, summary or all"),
        (["-k", "put,,get", "--", "./app"], 2, "--kernels put,,get: use all, or names separated by commas"),
        (["-b", "some", "--", "./app"], 2, "--blocks some: use all, linear indices"),
        (
            ["-o", "a%x.zst", "--", "./app"],
            2,
            "--output a%x.zst: use a folder or a file name; %h stands for the host",
        ),
        (["-o", "plain", "--", "./app"], 1, "plain already exists"),
        (["-o", "plain/x.zst", "--", "./app"], 1, "cannot be created"),
        (["--tool", "absent.so", "--", "./app"], 1, "--tool names absent.so, which is not a file"),
        (["--tool", "a b.so", "--", "./app"], 1, "LD_PRELOAD cannot hold a space or colon"),
    ],
)
def test_refusals_are_one_line(
    bench: Bench,
    words: list[str],
    status: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    bench.app("print('started')")
    (bench.work / "plain").write_text("text")
    (bench.work / "a b.so").touch()
    (bench.work / "folder").mkdir()
    broken = bench.work / "broken"
    broken.write_bytes(b"\x7fELF nonsense")
    broken.chmod(0o755)
    monkeypatch.chdir(bench.work)
    monkeypatch.setattr(os, "environ", bench.environment)
    try:
        given = cli.main(["run", *words])
    except SystemExit as exit:
        given = int(exit.code or 0)
    done = capfd.readouterr()
    assert (given, done.out) == (status, "")
    (line,) = done.err.splitlines()
    assert line.startswith("snoopie: ")
    assert message in line


@pytest.mark.parametrize("setting", [one for one in settings.SETTINGS if one.pattern or one.kind != "text"])
def test_a_variable_that_the_collector_would_refuse(
    bench: Bench, setting: settings.Setting, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In this process: nothing is started."""
    app = bench.app("print('started')")
    monkeypatch.chdir(bench.work)
    monkeypatch.setattr(os, "environ", bench.environment | {setting.variable: "%q,"})
    assert cli.main(["run", "--", app]) == 2
    done = capfd.readouterr()
    assert (done.out, done.err) == ("", f"snoopie: {setting.variable}=%q,: use {setting.allowed}\n")


def test_an_option_stands_above_a_variable_that_is_wrong(bench: Bench) -> None:
    bench.environment["SAMPLE_SIZE"] = "x"
    app = bench.app("print(os.environ['SAMPLE_SIZE'])")
    assert bench.run("-s", "7", "--", app).stdout == "7\n"


def test_another_profiler_is_refused(bench: Bench) -> None:
    app = bench.app("print('started')")
    bench.environment["CUDA_INJECTION64_PATH"] = "/opt/other/libinjection.so"
    done = bench.run("--", app)
    assert (done.returncode, done.stdout) == (1, "")
    assert "CUDA_INJECTION64_PATH is already /opt/other/libinjection.so" in done.stderr
    bench.environment["CUDA_INJECTION64_PATH"] = bench.tool
    assert bench.run("--", app).stdout == "started\n"


def test_the_disassemblers_are_found_in_the_toolkit(bench: Bench) -> None:
    app = bench.app("print(os.environ['PATH'])")
    toolkit = bench.folder / "toolkit" / "bin"
    toolkit.parent.mkdir()
    (bench.folder / "cuda").rename(toolkit)
    bench.environment |= {"PATH": "/usr/bin:/bin", "CUDA_HOME": str(toolkit.parent)}
    assert bench.run("--", app).stdout == f"/usr/bin:/bin:{toolkit}\n"


def test_missing_disassemblers_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tool, "toolkit_folders", lambda environment: iter([tmp_path]))
    with pytest.raises(SnoopieError, match="nvdisasm is neither on PATH nor in"):
        tool.search_path({"PATH": str(tmp_path)})


@pytest.fixture
def empty_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder in which everything is looked for: nothing of this machine is found."""
    monkeypatch.setattr(places, "checkout", lambda: tmp_path / "nvbit_tool")
    monkeypatch.setattr(places, "SITES", (tmp_path / "prefix", tmp_path / "local"))
    return tmp_path


def _collector(folder: Path, version: str) -> Path:
    """What says of itself that this version of Snoopie built it."""
    folder.mkdir(parents=True, exist_ok=True)
    said = f'{{"version": "{version}", "cuda": "13.0", "nvbit": "1.7.7.1", "arches": "90 100"}}'
    path = folder / "mem_multigpu.so"
    path.write_bytes(b"\x7fELF\0snoopie collector " + said.encode() + b"\0more")
    return path


def test_a_tool_that_is_not_built_is_told_how_to_build(empty_machine: Path) -> None:
    with pytest.raises(SnoopieError, match=r"mem_multigpu\.so is not built; snoopie build --nvbit "):
        tool.find_tool(None, {"HOME": str(empty_machine)})


def test_the_collector_is_found_in_this_order(empty_machine: Path) -> None:
    environment = {"HOME": "/nowhere", "XDG_DATA_HOME": str(empty_machine / "data")}
    version, machine = snoopie.__version__, platform.machine()
    own = empty_machine / "data" / "snoopie" / version / machine
    assert places.built({"HOME": "/home/u"}) == Path("/home/u/.local/share/snoopie") / version / machine
    folders = [empty_machine / "local", empty_machine / "prefix", own, empty_machine / "nvbit_tool"]
    for folder in folders:
        library = _collector(folder, version)
        assert tool.find_tool(None, environment) == library
    named, asked = _collector(empty_machine / "named", version), _collector(empty_machine / "asked", version)
    environment["SNOOPIE_TOOL"] = str(asked)
    assert tool.find_tool(None, environment) == asked
    assert tool.find_tool(str(named), environment) == named


def test_a_collector_of_another_version_is_passed_over(empty_machine: Path) -> None:
    environment = {"HOME": str(empty_machine)}
    other = _collector(empty_machine / "nvbit_tool", "0.0.9")
    with pytest.raises(
        SnoopieError, match=rf"{other} was built by snoopie 0\.0\.9, and this is snoopie .*; snoopie build"
    ):
        tool.find_tool(None, environment)
    own = _collector(empty_machine / "local", snoopie.__version__)
    assert tool.find_tool(None, environment) == own
    # One that says nothing may be of any version.
    own.write_bytes(b"\x7fELF")
    other.unlink()
    with pytest.raises(SnoopieError, match="was built by a version that it does not name"):
        tool.find_tool(None, environment)


def test_it_says_that_the_named_collector_is_of_another_version(bench: Bench) -> None:
    other = _collector(bench.folder / "named", "0.0.9")
    first = bench.run("--tool", str(other), "--", "/bin/true").stderr.splitlines()[0]
    assert first == f"snoopie: {other} was built by snoopie 0.0.9, and this is snoopie {snoopie.__version__}"


def test_a_named_collector_of_another_version_is_used_with_a_word(empty_machine: Path) -> None:
    other = _collector(empty_machine / "named", "0.0.9")
    assert tool.find_tool(str(other), {}) == other
    assert tool.misfit(other) == f"{other} was built by snoopie 0.0.9, and this is snoopie {snoopie.__version__}"
    assert tool.misfit(_collector(empty_machine / "own", snoopie.__version__)) is None


def test_an_unwritable_scratch_folder_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tool, "SCRATCH", tmp_path / "absent")
    with pytest.raises(SnoopieError, match="is not writable, and NVBit puts"):
        tool.check_machine(tmp_path / "tool", {})


# Nsight Systems, as far as snoopie memory sees it: a report, and its export.
NSYS = """
import pathlib, shutil, subprocess, sys
words = sys.argv[1:]
target = pathlib.Path(words[words.index("-o" if words[0] == "profile" else "--output") + 1])
if words[0] == "profile":
    assert "--cuda-memory-usage=true" in words and "--cudabacktrace=memory" in words, words
    target.with_suffix(".nsys-rep").write_text("a report")
    sys.exit(subprocess.run(words[words.index("-o") + 2 :]).returncode)
assert words[:3] == ["export", "--type", "sqlite"] and words[-1].endswith(".nsys-rep"), words
shutil.copyfile({database!r}, target)
"""


def profile(bench: Bench, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "snoopie", "memory", "--profile", *words], cwd=bench.work, env=bench.environment,
        capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip


def test_memory_of_a_program_under_nsys(bench: Bench) -> None:
    export = Export("2025")
    chain = export.chain(("cuMemAlloc", "/usr/lib/libcuda.so.1", 0x10), ("make(int)", "/home/u/app", 0x402000))
    export.memory(150, 0x7F00_0000_0000, 1 << 20, call=export.call("cudaMalloc_v3020", 100, 200, chain=chain))
    database = export.write(bench.folder / "prepared.sqlite")
    bench.program(bench.folder / "cuda" / "nsys", NSYS.format(database=str(database)))
    app = bench.app("import sys; print('own words', sys.argv[1:]); sys.exit(3)")
    done = profile(bench, "--", app, "-x", "y")
    assert done.returncode == 3, done.stderr
    assert "own words ['-x', 'y']" in done.stdout
    assert "Peak of GPU 0: 1 MiB" in done.stdout
    assert "make    cudaMalloc" in done.stdout
    (folder,) = bench.work.glob("snoopie-app-*")
    assert sorted(path.name for path in folder.iterdir()) == [
        "memory.png", "report.nsys-rep", "trace.zst",
    ]  # fmt: skip
    done = profile(bench, "--events", "--", app)
    header, *events = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
    assert header[:8] == ["PID", "address", "start_time", "bytes", "memkind", "mem_op_type", "var_name", "call_stack"]
    assert [event[3:8] for event in events] == [
        ["1048576", "device", "allocation", "", "cuMemAlloc(libcuda.so.1) -> make(int)(app)"]
    ]


def test_memory_of_a_program_where_nsys_fails(bench: Bench) -> None:
    bench.program(bench.folder / "cuda" / "nsys", "import sys; print('no licence', file=sys.stderr); sys.exit(1)")
    done = profile(bench, "--", bench.app(""))
    assert done.returncode == 1
    assert "nsys wrote no report" in done.stderr and "Traceback" not in done.stderr


def test_memory_of_a_program_under_the_collector(bench: Bench, trace: str) -> None:
    app = bench.app(f"import sys; write_trace({trace}); sys.exit(0)")
    done = profile(bench, "--", app)
    assert done.returncode == 0, done.stderr
    (folder,) = bench.work.glob("snoopie-app-*")
    assert (folder / "memory.png").stat().st_size > 1000
    assert len(list(folder.glob("*.zst"))) == 1
    assert "Memory by kind" in done.stdout
    done = profile(bench, "--", "./missing")
    assert done.returncode == 127 and "Traceback" not in done.stderr


@pytest.fixture
def both_recordings(bench: Bench, tmp_path: Path) -> str:
    """A program that writes an exact trace under the collector, and a clean one before; it says which."""
    work = [native.Launch("put", moves=True), native.Launch("gemm")] * 3
    (bench.folder / "tool" / places.TIMES).symlink_to(_loaded_library())
    exact = native.write_exact(tmp_path / "exact", [native.Rank([work])], run="given") / "exact0.zst"
    clean = native.write_clean(tmp_path / "clean", [native.Rank([work])], run="given") / "times0.zst"
    return bench.app(
        f"""
import sys
clean = {places.TIMES!r} in os.environ["LD_PRELOAD"]
print("clean" if clean else "exact", os.environ["SNOOPIE_RUN"], flush=True)
write_trace({str(clean)!r} if clean else {str(exact)!r})
sys.exit(int(sys.argv[1]))
"""
    )


def test_with_times_the_program_runs_twice_into_one_folder(bench: Bench, both_recordings: str) -> None:
    done = bench.run("--with-times", "--", both_recordings, "0")
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.split()[0] == "clean" and second.split()[0] == "exact"
    # One run, so that what reads the folder knows that they belong together.
    assert first.split()[1] == second.split()[1]
    (folder,) = bench.work.glob("snoopie-app-*")
    assert sorted(re.sub(r"\d+", "N", path.name) for path in folder.iterdir()) == [
        "snoopie-app.N.zst",
        "times-snoopie-app.N.zst",
    ]
    head, row = done.stderr.splitlines()[1:3]
    assert "Native time" in head and "3 ms" in row
    assert f"Next: snoopie view {folder.name}" in done.stderr


def test_with_times_a_program_that_fails_is_not_run_again(bench: Bench, both_recordings: str) -> None:
    done = bench.run("--with-times", "--", both_recordings, "5")
    assert done.returncode == 5
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["clean"]
    assert "snoopie: it failed without instrumentation, and was not run with it" in done.stderr


def test_with_times_needs_the_second_library(bench: Bench) -> None:
    done = bench.run("--with-times", "--", bench.app("print('ran')"))
    assert done.returncode == 1 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "snoopie_times.so is not beside" in line and "leave out --with-times" in line
