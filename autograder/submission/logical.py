"""Finds where statements may begin in invalid Python: outside brackets and strings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

#: the parts of a line that matter: comments, strings (the last one perhaps unfinished), brackets.
#: No two alternatives begin alike, and none can match the same characters in two ways
_PIECE = re.compile(
    r"#.*|(\"\"\"|''')|\"(?:[^\"\\]++|\\.?)*+(?:\"|$)|'(?:[^'\\]++|\\.?)*+(?:'|$)"
    r"|([(\[{])|([)\]}])"
)
_END_OF_STRING = {
    '"""': re.compile(r'(?:[^"\\]++|\\.|"(?!""))*+"""'),
    "'''": re.compile(r"(?:[^'\\]++|\\.|'(?!''))*+'''"),
}


def logical_lines(
    lines: Sequence[str], is_whole: Callable[[str], bool]
) -> Iterator[tuple[int, int]]:
    """Yields the first and last line index of each statement; several on one line count as one.

    `is_whole` is called with a first line, and returns whether to ignore brackets and quotes in it.
    """
    number = 0
    while number < len(lines):
        start = number
        reader = _Reader()
        if is_whole(lines[number]):
            while lines[number].endswith("\\") and number + 1 < len(lines):
                number += 1
        else:
            while reader.goes_on(lines[number]) and number + 1 < len(lines):
                number += 1
        yield start, number
        number += 1


class _Reader:
    """Reads the lines of one statement."""

    def __init__(self) -> None:
        self._depth = 0
        self._quotes = ""

    def goes_on(self, line: str) -> bool:
        """Reads one line; returns whether the statement continues on the next."""
        position = self._after_string(line, 0) if self._quotes else 0
        while match := _PIECE.search(line, position):
            position = match.end()
            quotes, opening, closing = match.groups()
            if quotes:
                self._quotes = quotes
                position = self._after_string(line, position)
            self._depth = max(0, self._depth + bool(opening) - bool(closing))
        return bool(self._quotes) or self._depth > 0 or line.endswith("\\")

    def _after_string(self, line: str, position: int) -> int:
        """Returns the position after an open string, or the line's end if it is not closed."""
        end = _END_OF_STRING[self._quotes].match(line, position)
        if end is None:
            return len(line)
        self._quotes = ""
        return end.end()
