"""Which kernels of two recordings are the same, however their tools write the names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from snoopie.words.names import bare_name, short_name

# A kernel's mangled name ("" where the tool does not say it) and its name.
Named = tuple[str, str]

# "k<(int)4, (bool)1>" and "k<4, true>"
_CAST = re.compile(r"\((?:unsigned )?(?:bool|char|short|int|long|long long)\)")
_WORDS = {"true": "1", "false": "0"}


def _plain(name: str) -> str:
    text = re.sub(r"\b(?:true|false)\b", lambda found: _WORDS[found[0]], _CAST.sub("", name))
    return re.sub(r"\s", "", text)


# From the one that says most. The last is taken only where it stands for one kernel on either side.
_SPELLINGS: Sequence[Callable[[Named], str]] = (
    lambda kernel: kernel[0],
    lambda kernel: _plain(kernel[1]),
    lambda kernel: _plain(short_name(kernel[1])),
    lambda kernel: _plain(bare_name(kernel[1])),
)


def same(exact: Iterable[Named], clean: Iterable[Named]) -> tuple[dict[Named, int], dict[Named, int]]:
    """A number for each kernel of either recording that the other has too; equal for those that are the same."""
    left, right = list(dict.fromkeys(exact)), list(dict.fromkeys(clean))
    numbers: tuple[dict[Named, int], dict[Named, int]] = ({}, {})
    given = 0
    for spelling in _SPELLINGS:
        open_left = [kernel for kernel in left if kernel not in numbers[0]]
        open_right = [kernel for kernel in right if kernel not in numbers[1]]
        counts = [Counter(map(spelling, kernels)) for kernels in (open_left, open_right)]
        common = {text for text in counts[0] if text and counts[0][text] == 1 == counts[1].get(text, 0)}
        places = {text: given + place for place, text in enumerate(sorted(common))}
        given += len(places)
        for kernels, found in ((open_left, numbers[0]), (open_right, numbers[1])):
            found.update({kernel: places[text] for kernel in kernels if (text := spelling(kernel)) in places})
    return numbers
