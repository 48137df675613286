"""Completion in real shells, and man pages, both of what the parsers take."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from snoopie import cli
from snoopie.cli import completion, manual
from snoopie.cli.described import Takes, described

PATIENCE = 300
WHOLE, DESCRIBED = described(cli.COMMANDS)


class Bash:
    """An interactive bash at a terminal, in a folder, which has read the script."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script = folder / ".script"
        self.script.write_text(completion.script("bash"))
        self.lines = [f"source {self.script}"]

    def completed(self, *typed: str) -> list[list[str]]:
        """What each line is, as words, after the key that inserts all completions of its end."""
        for number, line in enumerate(typed):
            # M-* inserts all; at the beginning and the end is added what writes the words down.
            self.lines.append(f"{line}\x1b*\x05 > .words-{number}\x01printf '%s\\n' ")
        here, there = pty.openpty()
        shell = subprocess.Popen(
            ["bash", "--norc", "--noprofile", "-i"],
            stdin=there, stdout=there, stderr=there, cwd=self.folder, start_new_session=True,
            env={"PATH": os.environ["PATH"], "TERM": "dumb", "INPUTRC": "/dev/null", "HISTFILE": ""},
        )  # fmt: skip
        os.close(there)
        os.write(here, "".join(f"{line}\n" for line in [*self.lines, "exit"]).encode())
        # It is read until the end, or bash would wait for room in the terminal.
        while _read(here):
            pass
        assert shell.wait(PATIENCE) == 0
        os.close(here)
        return [(self.folder / f".words-{number}").read_text().splitlines() for number in range(len(typed))]


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # bash has gone
        return b""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    for name in ("one.zst", "two 2.zst", "other.txt", "halo.cu"):
        (tmp_path / name).touch()
    (tmp_path / "runs").mkdir()
    yield tmp_path


def test_bash_completes(folder: Path) -> None:
    cases = {
        "snoopie sta": ["snoopie", "stats"],
        "snoopie ": ["snoopie", *sorted([*cli.COMMANDS, "-h", "--help", "--version"])],
        "snoopie stats --allow": ["snoopie", "stats", "--allow-truncated"],
        "snoopie stats --by lin": ["snoopie", "stats", "--by", "line"],
        "snoopie stats --by=lin": ["snoopie", "stats", "--by=line"],
        "snoopie stats ": ["snoopie", "stats", "one.zst", "runs", "two 2.zst"],
        "snoopie stats --by line o": ["snoopie", "stats", "--by", "line", "one.zst"],
        "snoopie stats one.zst tw": ["snoopie", "stats", "one.zst", "two 2.zst"],
        # What a kernel is called is not known.
        "snoopie stats -k o": ["snoopie", "stats", "-k", "o"],
        "snoopie view --source r": ["snoopie", "view", "--source", "runs"],
        "snoopie view --compare o": ["snoopie", "view", "--compare", "one.zst"],
        "snoopie import n": ["snoopie", "import", "nsys"],
        "snoopie import nsys ot": ["snoopie", "import", "nsys", "other.txt"],
        "snoopie import -o x n": ["snoopie", "import", "-o", "x", "nsys"],
        "snoopie diff one.zst tw": ["snoopie", "diff", "one.zst", "two 2.zst"],
        "snoopie help expo": ["snoopie", "help", "export"],
        "snoopie completion z": ["snoopie", "completion", "zsh"],
        "snoopie run --probes l": ["snoopie", "run", "--probes", "live"],
        "snoopie run -- printen": ["snoopie", "run", "--", "printenv"],
        "snoopie run -s 0 printen": ["snoopie", "run", "-s", "0", "printenv"],
        # These are the program's own.
        "snoopie run -- cat --he": ["snoopie", "run", "--", "cat", "--he"],
        "snoopie run cat --by ot": ["snoopie", "run", "cat", "--by", "other.txt"],
        "snoopie nonsense o": ["snoopie", "nonsense", "o"],
    }  # fmt: skip
    found = Bash(folder).completed(*cases)
    for line, words in zip(cases, found, strict=True):
        expected = cases[line]
        # Readline sorts, as the locale has it.
        assert (words if line != "snoopie " else ["snoopie", *sorted(words[1:])]) == expected, line


def test_bash_offers_every_option_of_every_command(folder: Path) -> None:
    lines = [f"snoopie {command.name} -" for command in DESCRIBED]
    for command, words in zip(DESCRIBED, Bash(folder).completed(*lines), strict=True):
        names = {name for option in command.options for name in option.names}
        assert {*words[2:]} == names, command.name
        assert names >= {"-h", "--help"}


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_script(shell: str, folder: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (folder / "script").write_text(completion.script(shell))
    done = subprocess.run([shell, "-n", "script"], cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")


def test_fish_completes(folder: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    (folder / "script").write_text(completion.script("fish"))
    cases = {
        "snoopie sta": {"stats"},
        "snoopie stats --by lin": {"line"},
        # Others than traces come later.
        "snoopie stats on": {"one.zst"},
        "snoopie import ns": {"nsys"},
    }
    for line, expected in cases.items():
        done = subprocess.run(
            ["fish", "--no-config", "-c", f"source script; complete -C '{line}'"],
            cwd=folder, capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, "HOME": str(folder)},
        )  # fmt: skip
        assert {row.split("\t")[0] for row in done.stdout.splitlines()} == expected, line


@pytest.mark.parametrize("shell", completion.PLACES)
def test_every_shell_knows_every_option(shell: str) -> None:
    script = completion.script(shell)
    for command in DESCRIBED:
        assert command.name in script
        for option in command.options:
            long = option.names[-1].lstrip("-")
            assert (f"-l {long} " if shell == "fish" else f"--{long}") in script, (command.name, long)


def test_traces_are_known_wherever_they_are_named() -> None:
    of_traces = {command.name for command in DESCRIBED if any(a.takes is Takes.TRACE for a in command.places)}
    assert of_traces == set(cli.COMMANDS) - {"build", "doctor", "run", "import", "help", "completion", "hang"}


# Man pages


def test_there_is_a_page_for_each_command() -> None:
    pages = manual.pages()
    assert set(pages) == {"snoopie.1", *(f"snoopie-{name}.1" for name in cli.COMMANDS)}
    for command in DESCRIBED:
        page = pages[f"snoopie-{command.name}.1"].replace("\\-", "-")
        assert f".SH NAME\nsnoopie-{command.name} - " in page
        for option in command.options:
            assert f"\\fB{option.names[-1]}\\fR" in page, command.name
    assert all(page.isascii() for page in pages.values())


def test_pages_are_whole_roff(tmp_path: Path) -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    subprocess.run(["python3", "-m", "snoopie.cli.manual", tmp_path], check=True, timeout=PATIENCE)
    pages = sorted(tmp_path.iterdir())
    assert [page.name for page in pages] == sorted(manual.pages())
    for page in pages:
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww", "-z", page], capture_output=True, text=True, timeout=PATIENCE
        )
        assert (done.returncode, done.stderr) == (0, ""), page.name


def test_text_is_no_roff() -> None:
    assert manual._text(".so \\n-x …") == "\\&.so \\en\\-x \\[u2026]"
