"""Source text → runs of characters of one kind, which listings give colours. Nothing here is markup.

Needs Pygments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from pygments.lexer import Lexer
from pygments.lexers.c_like import CudaLexer
from pygments.lexers.fortran import FortranLexer
from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, String
from pygments.token import _TokenType as Token

from snoopie.analysis.source import texts

# A line as runs: (kind, characters). Kinds are the classes of style sheets; "" has no colour of its own.
Line = list[tuple[str, str]]

# A window is read from so many lines before it, in case that it begins within a comment.
_BEFORE = 300
# Lines that are read at once, each such window by itself.
_WINDOW = 5000
# Nobody reads further to the right, and a minified file has one line.
LONGEST = 2000

_LEXERS: dict[str, type[Lexer]] = {
    **dict.fromkeys([".cu", ".cuh", ".hip", ".c", ".cc", ".cpp", ".cxx"], CudaLexer),
    **dict.fromkeys([".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".ipp"], CudaLexer),
    **dict.fromkeys([".f", ".f90", ".f95", ".f03", ".f08", ".cuf"], FortranLexer),
    ".py": PythonLexer,
}
# The first that a token is one of.
_KINDS: Sequence[tuple[Token, str]] = (
    (Comment.Preproc, "directive"),
    (Comment.PreprocFile, "string"),
    (Comment, "comment"),
    (Keyword.Type, "type"),
    (Keyword, "keyword"),
    (Name.Builtin, "builtin"),
    (Name.Function, "function"),
    (Name.Class, "type"),
    (Name.Decorator, "directive"),
    (String, "string"),
    (Number, "literal"),
)


def split(text: str) -> list[str]:
    """The lines of a file as compilers count them, with tabs as blanks."""
    return texts.split(text.expandtabs(4))


def highlighted(file: str, lines: Sequence[str], first: int, last: int) -> list[Line]:
    """The lines from the place ``first`` to before ``last`` of a file, in runs. The runs' characters are the line's, up
    to LONGEST of them."""
    windows = (_window(file, lines, begin, min(begin + _WINDOW, last)) for begin in range(first, last, _WINDOW))
    return [line for window in windows for line in window]


def _window(file: str, lines: Sequence[str], first: int, last: int) -> list[Line]:
    begin = max(first - _BEFORE, 0)
    some = [_shortened(line) for line in lines[begin:last]]
    lexer = _LEXERS.get(PurePosixPath(file).suffix.lower())
    if lexer is None:
        return [[("", line)] if line else [] for line in some[first - begin :]]
    # Pygments needs the square of a run of blanks in time: it is given none at the end of a line, and no empty lines.
    written = [line.rstrip() for line in some]
    known = [line for line in written if line]
    tokens = lexer(stripnl=False, stripall=False, ensurenl=False, tabsize=0).get_tokens("\n".join(known))
    runs = _lines(tokens, len(known))
    found = [next(runs) if text else [] for text in written]
    for line, text, whole in zip(found, written, some, strict=True):
        if text != whole:
            kind, end = line.pop() if line else ("", "")
            line.append((kind, end + whole[len(text) :]))
    return found[first - begin :]


def _shortened(line: str) -> str:
    return line if len(line) <= LONGEST else line[: LONGEST - 2] + " …"


def _lines(tokens: Iterable[tuple[Token, str]], count: int) -> Iterator[Line]:
    """So many lines, whatever ends them within tokens."""
    line: Line = []
    for token, text in tokens:
        kind = _kind(token)
        for number, part in enumerate(text.split("\n")):
            if number:
                count -= 1
                yield line
                line = []
            if not part:
                continue
            if line and line[-1][0] == kind:
                line[-1] = (kind, line[-1][1] + part)
            else:
                line.append((kind, part))
    if count:
        yield line


def _kind(token: Token) -> str:
    return next((kind for base, kind in _KINDS if token in base), "")
