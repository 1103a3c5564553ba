"""Removes differences in formatting from text, and remembers the line of each character."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import compress

#: a line of a notebook's JSON that contains only a string, perhaps with its key
_JSON_STRING = re.compile(r'^\s*(?:"(?:[^"\\]|\\.)*":\s*)?("(?:[^"\\]|\\.)*"),?\s*$')
_TRAILING_COMMA = re.compile(r",(?=[)\]}])")


@dataclass(frozen=True, slots=True)
class CompactText:
    """Text without white space; `lines[i]` is the original line of `text[i]`, counted from 1."""

    text: str
    lines: tuple[int, ...]


def compact(text: str) -> CompactText:
    """Removes white space and trailing commas, and changes all quotes to double quotes."""
    parts = ["".join(line.split()) for line in text.split("\n")]
    whole = "".join(parts).replace("'", '"')
    lines = [number for number, part in enumerate(parts, start=1) for _ in part]
    kept = bytearray(b"\1" * len(whole))
    for comma in _TRAILING_COMMA.finditer(whole):
        kept[comma.start()] = 0
    return CompactText(_TRAILING_COMMA.sub("", whole), tuple(compress(lines, kept)))


def compact_line(line: str) -> str:
    """Returns the text that `compact` returns for a line."""
    return _TRAILING_COMMA.sub("", "".join(line.split()).replace("'", '"'))


def readable_lines(name: str, text: str) -> str:
    """Returns a file's text; in a notebook, decodes the JSON string on each line."""
    if not name.endswith(".ipynb"):
        return text
    return "\n".join(_decoded(line) for line in text.splitlines())


def _decoded(line: str) -> str:
    match = _JSON_STRING.match(line)
    if match is None:
        return line
    return str(json.loads(match.group(1))).replace("\n", " ")
