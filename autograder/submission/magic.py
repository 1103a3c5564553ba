"""Converts a notebook cell to plain Python by replacing notebook-only lines with `pass`."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from .text import NOT_PYTHON, parsed, with_unix_lines

#: matches `%magic`, `!shell`, `?help`, `files = !ls`, and commands that need no leading `%` or `!`.
#: No two parts of the pattern can match the same characters, so no text makes it backtrack
_MAGIC = re.compile(
    r"[%!?].*|[\w., \t]+=\s*[%!].*"
    r"|(?:pip|conda|mamba|uv|cd|ls|pwd|cat|mkdir|rm|cp|mv)(?:\s+[-\w./~].*)?"
)
#: cell magics whose cell is executed as if it were ordinary code in the notebook
_TRANSPARENT = ("%%time", "%%timeit", "%%capture", "%%prun")
#: how many magic lines to find by their syntax errors, each of which requires parsing the cell
#: again
_MOST_FAULTS = 8
#: how many characters a magic line may have
_LONGEST_MAGIC = 10_000


def python_of(source: str) -> str:
    """Returns a cell as plain Python, or an empty string if the cell is in a different language."""
    lines = with_unix_lines(source).split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return ""
    if is_other_language(lines[first]):
        return ""
    if lines[first].startswith("%%"):
        lines[first] = ""
    # Change lines only if the cell is not valid Python: a line that starts with % may continue an
    # expression.
    fault = _fault(lines)
    if fault is not None and (without := _without_magic(lines)) != lines:
        lines, fault = without, _fault(without)
    for _ in range(_MOST_FAULTS):
        line = (fault or 0) - 1
        if not 0 <= line < len(lines) or not _is_magic(lines[line]):
            break
        lines[line] = _passed(lines[line])
        fault = _fault(lines)
    return "\n".join(lines if fault is None else _valid_after_all(lines))


def is_other_language(source: str) -> str:
    """Returns the magic that marks a cell as something other than Python, or "" if it is Python."""
    line = source.lstrip().partition("\n")[0]
    magic = line.split()[0] if line.startswith("%%") else ""
    return "" if magic in _TRANSPARENT else magic


def _without_magic(lines: Sequence[str]) -> list[str]:
    """Replaces each magic line with `pass` if a statement may begin at that line."""
    found = list(lines)
    for start, end in logical_lines(lines, _is_surely_magic):
        if _is_surely_magic(lines[start]):
            found[start : end + 1] = [_passed(lines[start]), *[""] * (end - start)]
    return found


def _is_magic(line: str) -> bool:
    text = line.strip()
    if len(text) > _LONGEST_MAGIC:
        return False
    return _MAGIC.fullmatch(text) is not None or _asks_for_help(text)


def _is_surely_magic(line: str) -> bool:
    return _is_magic(line) and _is_no_python(line.strip())


@lru_cache(maxsize=64)  # often called again with the same line
def _is_no_python(magic: str) -> bool:
    # No Python statement begins with these, so the compiler is not needed.
    return magic.startswith(("%", "!", "?")) or _fault([magic]) is not None


def _asks_for_help(text: str) -> bool:
    before = text[:-1].rstrip()
    return text.endswith("?") and before != "" and before[-1] not in "#'\""


def _passed(line: str) -> str:
    return line[: len(line) - len(line.lstrip())] + "pass"


def _valid_after_all(lines: list[str]) -> list[str]:
    """Dedents the lines, and removes magic if necessary, but only if that makes the code valid."""
    for attempt in _attempts(lines):
        if attempt != lines and _fault(attempt) is None:
            return attempt
    return lines


def _attempts(lines: Sequence[str]) -> Iterator[list[str]]:
    dedented = textwrap.dedent("\n".join(lines)).split("\n")
    yield dedented
    yield [_passed(line) if _is_magic(line) else line for line in dedented]


def _fault(lines: Sequence[str]) -> int | None:
    """Returns the line of a syntax error, 0 if the line is unknown, or None for valid Python."""
    try:
        parsed("\n".join(lines))
    except SyntaxError as error:
        return error.lineno or 0
    except NOT_PYTHON:
        return 0
    return None


#: matches the parts of a line that matter: comments, strings (the last one may be unfinished) and
#: brackets. No two alternatives begin alike, and none can match the same characters in two ways
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
    """Yields the indices of each statement's first and last line; a line begins only one statement.

    The code need not be valid Python: a statement ends at the end of a line outside brackets and
    strings. `is_whole` is called with the first line of each statement, and returns whether to
    ignore the brackets and quotes in that line.
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
    """Follows open brackets and strings through the lines of one statement."""

    def __init__(self) -> None:
        self._depth = 0
        self._quotes = ""

    def goes_on(self, line: str) -> bool:
        """Reads one line; returns whether the statement continues on the next line."""
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
        """Returns the position at which an open string ends, or the line's end if it stays open."""
        end = _END_OF_STRING[self._quotes].match(line, position)
        if end is None:
            return len(line)
        self._quotes = ""
        return end.end()
