"""docs/api.md is what the code says of itself: SNOOPIE_UPDATE_DOCS=1 writes it anew."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import snoopie
from snoopie import errors
from snoopie.api.table import table
from snoopie.words import columns

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "api.md"

INTRODUCTION = """# Python

Generated from the docstrings; `SNOOPIE_UPDATE_DOCS=1 pytest tests/unit/documents/test_api_document.py` writes it anew.
The [tutorial](tutorial.ipynb) shows it at work.

    import snoopie

    trace = snoopie.load("trace.zst")          # a file, a folder, a list of these or a pattern
    trace.matrix()                             # who reached whom
    trace.by_line().head()                     # the lines that moved most
    trace.select(kernels="sweep*", issuers="GPU 0").by_pair()

Tables are pandas DataFrames, described by their columns: what stands before `|` is the index. **values** stands for the
columns accesses, lanes, bytes, wire_units, wire_bytes and wire_efficiency. Units are in brackets; what columns mean is
[at the end](#columns). Most tables come sorted, the largest first. Amounts are 64-bit integers.

A trace's own tables are handed out copy on write: what is changed in one is changed nowhere else. (With pandas 2, this
needs `pd.options.mode.copy_on_write = True`.) All errors are one line, of the family of [SnoopieError](#errors); wrong
arguments raise UsageError.
"""

# Of classes that say something else first.
_HEADINGS = {"TraceCore": "Names of places", "FigureMethods": "Figures"}


def render() -> str:
    parts = [INTRODUCTION, "\n## Reading\n\n"]
    parts += [_entry(function, "snoopie.") for function in (snoopie.load, snoopie.compare)]
    parts += _class(snoopie.Trace, "Trace")
    parts += _class(snoopie.Comparison, "Comparison")
    parts += ["\n## Words of arguments\n\n| annotation | allowed |\n|---|---|\n"]
    parts += [f"| `{name}` | {_cell(allowed)} |\n" for name, allowed in sorted(_types().items())]
    parts += ["\n## Errors\n\n| error | meaning |\n|---|---|\n"]
    parts += [f"| `{kind.__name__}` | {_cell(_markdown(_doc(kind)).splitlines()[0])} |\n" for kind in _errors()]
    parts += ["\n## Columns\n\n| column | values | meaning |\n|---|---|---|\n"]
    parts += [
        f"| `{name}` | {column.kind.value} | {_cell(column.meaning)} |\n" for name, column in columns.COLUMNS.items()
    ]
    return "".join(parts)


def _class(of: type, name: str) -> Iterator[str]:
    yield f"\n## {name}\n\n{_markdown(_doc(of))}\n"
    for part in reversed(of.__mro__):
        members = [member for key, member in vars(part).items() if not key.startswith("_") and _is_public(member)]
        if part is object or not members:
            continue
        if part is not of:
            yield f"\n### {_HEADINGS.get(part.__name__) or _doc(part).splitlines()[0].rstrip('.')}\n\n"
        else:
            yield "\n"
        yield from (_entry(member) for member in members)


def _is_public(member: Any) -> bool:
    return inspect.isfunction(member) or isinstance(member, (property, table)) or hasattr(member, "attrname")


def _entry(member: Any, prefix: str = "") -> str:
    """A method with its signature, or an attribute, and what it says of itself."""
    if inspect.isfunction(member):
        return f"#### `{prefix}{member.__name__}{_signature(member)}`\n\n{_markdown(_doc(member))}\n\n"
    build = _function(member)
    return f"#### `{build.__name__}`\n\n{_markdown(_doc(build))}\n\n"


def _signature(function: Callable[..., Any]) -> str:
    shown = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not any(one.startswith("*") for one in shown):
            shown.append("*")
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        shown.append(f"{stars}{parameter.name}: {_annotation(parameter.annotation)}{default}")
    returned = _annotation(inspect.signature(function).return_annotation)
    return f"({', '.join(shown)}) -> {returned}"


def _annotation(text: str) -> str:
    return text.replace("os.PathLike[str]", "Path").replace("pd.", "")


def _types() -> dict[str, str]:
    """The names in annotations that stand for words or for limits of numbers."""
    found: dict[str, str] = {}
    for of in (snoopie.Trace, snoopie.Comparison):
        for name, method in inspect.getmembers(of, inspect.isfunction):
            function = inspect.unwrap(method)
            hints = "" if name.startswith("_") else " ".join(map(str, function.__annotations__.values()))
            for word in re.findall(r"\b[A-Z]\w+\b", hints):
                value = function.__globals__.get(word)
                if get_origin(value) is Annotated:
                    found[word] = f"a whole number of at least {get_args(value)[1].least}"
                elif words := list(_words(value)):
                    found[word] = ", ".join(f"`{one!r}`" for one in words)
    return found


def _words(value: Any) -> Iterator[str]:
    if get_origin(value) is Literal:
        yield from get_args(value)
    elif str(value).startswith("typing.Union") or "|" in str(value):
        for one in get_args(value):
            yield from _words(one)


def _errors() -> list[type]:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, errors.SnoopieError)]
    return sorted(kinds, key=lambda kind: (kind is not errors.SnoopieError, kind.__name__))


def _function(member: Any) -> Any:
    """The function behind a method or an attribute."""
    return getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "_build", member)


def _doc(thing: Any) -> str:
    return inspect.cleandoc(thing.__doc__ or "")


def _markdown(doc: str) -> str:
    parts = doc.replace("``", "`").split("`")
    # What is no code may hold signs of Markdown.
    return "`".join(part if number % 2 else re.sub(r"([*<])", r"\\\1", part) for number, part in enumerate(parts))


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def test_the_document() -> None:
    expected = render()
    if os.environ.get("SNOOPIE_UPDATE_DOCS"):
        DOCUMENT.write_text(expected, "utf-8")
    assert DOCUMENT.read_text("utf-8") == expected, (
        "docs/api.md is old: SNOOPIE_UPDATE_DOCS=1 pytest tests/unit/documents/test_api_document.py"
    )


def test_everything_public_is_there_and_says_what_it_is() -> None:
    text = render()
    for of in (snoopie.Trace, snoopie.Comparison):
        for name in dir(of):
            if name.startswith("_"):
                continue
            assert re.search(rf"^#### `{name}[(`]", text, re.MULTILINE), name
            member = inspect.getattr_static(of, name)
            doc = _doc(_function(member))
            assert len(doc) > 10, name


def test_what_the_docstrings_refer_to_is_there() -> None:
    """`name` in a docstring is a method, an attribute or a module of the package."""
    known = (
        {name for of in (snoopie.Trace, snoopie.Comparison) for name in dir(of)} | set(dir(snoopie)) | set(dir(errors))
    )
    for of in (snoopie.Trace, snoopie.Comparison):
        for name, member in inspect.getmembers(of):
            if name.startswith("_"):
                continue
            member = inspect.getattr_static(of, name)
            doc = _doc(_function(member))
            for reference in re.findall(r"(?<!`)`([A-Za-z_.]+)`(?!`)", doc):
                last = reference.rpartition(".")[2]
                assert last in known or "." in reference, (name, reference)
