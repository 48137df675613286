"""The settings' table: docs/settings.md shows it, --help tells it, values are held against it.

SNOOPIE_UPDATE_DOCS=1 writes the document's table anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from snoopie import cli
from snoopie.cli import settings
from snoopie.cli.settings import Setting
from snoopie.errors import UsageError

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "settings.md"
MARKS = re.compile("(?<=<!-- settings -->\n).*?(?=<!-- /settings -->)", re.DOTALL)


def plain(text: str) -> str:
    """Text that Markdown is to leave as it is."""
    return re.sub(r"([*_<>|\[\]`])", r"\\\1", text)


def allowed(setting: Setting) -> str:
    words = setting.words.split("|") if setting.words else []
    return re.sub(r"\w+", lambda match: f"`{match[0]}`" if match[0] in words else match[0], plain(setting.allowed))


def option(setting: Setting) -> str:
    if not setting.option:
        return ""
    return f"`{setting.option}`" + (f" sets {setting.chosen}" if setting.kind == "flag" else "")


def table() -> str:
    def row(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cells)} |\n"

    rows = [
        (f"`{one.variable}`", option(one), plain(one.meaning), allowed(one), f"`{one.default}`" if one.default else "")
        for one in settings.SETTINGS
    ]
    headings = ("variable", "option of `snoopie run`", "meaning", "allowed", "default")
    return "".join([row(headings), "|" + "---|" * len(headings) + "\n", *map(row, rows)])


def test_the_document_has_the_table() -> None:
    text = DOCUMENT.read_text("utf-8")
    if os.environ.get("SNOOPIE_UPDATE_DOCS"):
        text = MARKS.sub(lambda match: table(), text)
        DOCUMENT.write_text(text, "utf-8")
    assert MARKS.findall(text) == [table()], (
        "docs/settings.md is old: SNOOPIE_UPDATE_DOCS=1 pytest tests/unit/cli/test_cli_settings.py"
    )


def test_help_tells_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["run", "--help"])
    told = " ".join(capsys.readouterr().out.split())
    for setting in settings.options():
        assert setting.usage in told
        assert setting.meaning in told
        assert setting.kind == "flag" or f"({setting.allowed}; default: {setting.default})" in told
    assert "--no-lines do not record the source line" in told


def test_options_are_read_from_the_table() -> None:
    sample, lines = settings.BY_VARIABLE["SAMPLE_SIZE"], settings.BY_VARIABLE["CODE_ATTRIBUTION"]
    assert (sample.names, sample.metavar, sample.usage) == (["-s", "--sample-size"], "N", "[-s N]")
    assert (lines.names, lines.metavar, lines.usage, lines.chosen) == (["--no-lines"], "", "[--no-lines]", "0")


def test_a_flag_that_is_off_has_an_option_that_turns_it_on() -> None:
    flag = Setting("TURBO", "--turbo", "", "go faster", "0", "0 or 1", "flag", words="0|1")
    assert flag.chosen == "1"


def test_no_two_settings_share_a_name() -> None:
    names = [name for setting in settings.options() for name in setting.names]
    assert len(set(names)) == len(names)
    assert len(settings.BY_VARIABLE) == len(settings.SETTINGS)


def test_an_unset_and_an_empty_variable_are_the_default() -> None:
    settings.check({})
    settings.check({setting.variable: " \n" for setting in settings.SETTINGS})
    settings.check({setting.variable: f" {setting.default} " for setting in settings.SETTINGS})


@pytest.mark.parametrize("pattern", ["%d.zst", "trace%", "%%%"])
def test_a_percent_sign_that_stands_for_nothing(pattern: str) -> None:
    with pytest.raises(UsageError, match=f"^SNOOPIE_OUTPUT={pattern}: use a folder or a file name; %h stands"):
        settings.check({"SNOOPIE_OUTPUT": pattern})
