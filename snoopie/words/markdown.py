"""Text in a table in Markdown, as GitHub and others draw it: what a trace names is read there, and does nothing."""

from __future__ import annotations

import re

# Letters, digits and marks that mean nothing in Markdown: of what people read most.
_PLAIN = re.compile(r"(?:[^\W_]|[ .,;%()?+=/×≈→–−·…\"'-]|:(?= ))*")
# Words that become links all the same, or are told to what they name: addresses, issues (GH-1), commits.
_LINKED = re.compile(r"www\.|[a-z]-\d|(?=\d{0,6}[a-f])[0-9a-f]{7}", re.IGNORECASE)


def cell(text: str) -> str:
    """A cell of one line: as it is where that means nothing, else as code, in which only a pipe needs an escape."""
    # No other mark keeps GitHub from reading @names, #numbers and addresses, which it looks for in what is drawn.
    if _PLAIN.fullmatch(text) and not _LINKED.search(text):
        return text
    # Readers do not agree which of two backslashes a pipe belongs to.
    text = text.replace("\\|", "\\x7c").replace("|", "\\|")
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    # One space on each side is none of the text, where both are there.
    space = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{space}{text}{space}{fence}"
