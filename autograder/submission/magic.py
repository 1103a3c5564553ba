"""From a notebook's cell to Python: what only a notebook understands becomes `pass`."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from functools import lru_cache

from .logical import logical_lines
from .text import NOT_PYTHON, one_line_end, parsed

#: `%magic`, `!shell`, `?help`, `files = !ls`, and commands that need no sign in front. No two
#: parts of it can take the same characters, so that no text makes it go back over them again
_MAGIC = re.compile(
    r"[%!?].*|[\w., \t]+=\s*[%!].*"
    r"|(?:pip|conda|mamba|uv|cd|ls|pwd|cat|mkdir|rm|cp|mv)(?:\s+[-\w./~].*)?"
)
#: cell magics whose body is still Python of this notebook
_TRANSPARENT = ("%%time", "%%timeit", "%%capture", "%%prun")
#: of magic lines that only Python finds: it reads the whole cell for each
_MOST_FAULTS = 8
#: nobody writes a longer magic line
_LONGEST_MAGIC = 10_000


def python_of(source: str) -> str:
    """The cell as Python; the text of a cell in another language is empty."""
    lines = one_line_end(source).split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return ""
    if is_other_language(lines[first]):
        return ""
    if lines[first].startswith("%%"):
        lines[first] = ""
    # only where Python objects: a line that starts with % may also go on an expression
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
    """The magic by which a cell is text or another language, not Python; empty where it is none."""
    line = source.lstrip().partition("\n")[0]
    magic = line.split()[0] if line.startswith("%%") else ""
    return "" if magic in _TRANSPARENT else magic


def _without_magic(lines: Sequence[str]) -> list[str]:
    """The lines with `pass` for each magic one where a statement may begin."""
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
    """Whether a line where a statement begins is magic, and no Python by itself."""
    return _is_magic(line) and _is_no_python(line.strip())


@lru_cache(maxsize=64)  # it is asked twice in a row, and people repeat what they write
def _is_no_python(magic: str) -> bool:
    # no statement begins with these: the compiler need not be asked
    return magic.startswith(("%", "!", "?")) or _fault([magic]) is not None


def _asks_for_help(text: str) -> bool:
    before = text[:-1].rstrip()
    return text.endswith("?") and before != "" and before[-1] not in "#'\""


def _passed(line: str) -> str:
    return line[: len(line) - len(line.lstrip())] + "pass"


def _valid_after_all(lines: list[str]) -> list[str]:
    """Lines that are valid after all without an indentation, or without all that looks magic."""
    for attempt in _attempts(lines):
        if attempt != lines and _fault(attempt) is None:
            return attempt
    return lines


def _attempts(lines: Sequence[str]) -> Iterator[list[str]]:
    dedented = textwrap.dedent("\n".join(lines)).split("\n")
    yield dedented
    yield [_passed(line) if _is_magic(line) else line for line in dedented]


def _fault(lines: Sequence[str]) -> int | None:
    """The line at which Python objects, 0 where it does not say; None for valid Python."""
    try:
        parsed("\n".join(lines))
    except SyntaxError as error:
        return error.lineno or 0
    except NOT_PYTHON:
        return 0
    return None
