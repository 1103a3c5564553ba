"""From a notebook's cell to Python: what only a notebook understands becomes `pass`."""

from __future__ import annotations

import re
import textwrap

from .text import NOT_PYTHON, one_line_end, parsed

#: `%magic`, `!shell`, `?help`, `help?`, `files = !ls`, and commands that need no sign in front
_MAGIC_LINE = re.compile(
    r"^(\s*)(?:[%!?].*|[\w., \t]+=\s*[%!].*|.*[^#'\"\s]\s*\?{1,2}\s*"
    r"|(?:pip|conda|mamba|uv|cd|ls|pwd|cat|mkdir|rm|cp|mv)(?:\s+[-\w./~].*)?)$"
)
#: cell magics whose body is still Python of this notebook
_TRANSPARENT = ("%%time", "%%timeit", "%%capture", "%%prun")
_MOST_MAGICS = 100


def python_of(source: str) -> str:
    """The cell as Python; the text of a cell in another language is empty."""
    lines = one_line_end(source).split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return ""
    if lines[first].startswith("%%"):
        if lines[first].split()[0] not in _TRANSPARENT:
            return ""
        lines[first] = ""
    for _ in range(_MOST_MAGICS):
        fault = _fault("\n".join(lines))
        # only where Python objects: a line that starts with % may also go on an expression
        line = (fault or 0) - 1
        if not 0 <= line < len(lines) or not _MAGIC_LINE.match(lines[line]):
            break
        lines[line] = _MAGIC_LINE.sub(r"\1pass", lines[line])
    if fault is not None:
        lines = _settled(lines)
    return "\n".join(lines)


def _settled(lines: list[str]) -> list[str]:
    """Lines that are valid after all without an indentation, or without all that looks magic."""
    dedented = textwrap.dedent("\n".join(lines))
    plain = _MAGIC_LINE.pattern
    without = "\n".join(re.sub(plain, r"\1pass", line) for line in dedented.split("\n"))
    for text in (dedented, without):
        if _fault(text) is None:
            return text.split("\n")
    return lines


def _fault(text: str) -> int | None:
    """The line at which Python objects, 0 where it does not say; None for valid Python."""
    try:
        parsed(text)
    except SyntaxError as error:
        return error.lineno or 0
    except NOT_PYTHON:
        return 0
    return None
