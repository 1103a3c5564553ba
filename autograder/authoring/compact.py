"""Removes differences in formatting from text, and remembers the line of each character."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

#: a line of a notebook's JSON that contains only a string, perhaps with its key
_JSON_STRING = re.compile(r'^\s*(?:"(?:[^"\\]|\\.)*":\s*)?("(?:[^"\\]|\\.)*"),?\s*$')
_CLOSING = ")]}"


@dataclass(frozen=True, slots=True)
class CompactText:
    """Text without white space; `lines[i]` is the original line of `text[i]`, counted from 1."""

    text: str
    lines: tuple[int, ...]


def compact(text: str) -> CompactText:
    """Removes white space and trailing commas, and changes all quotes to double quotes."""
    characters: list[str] = []
    lines: list[int] = []
    line = 1
    for character in text:
        if character == "\n":
            line += 1
        if character.isspace():
            continue
        if character in _CLOSING and characters[-1:] == [","]:
            characters.pop()
            lines.pop()
        characters.append('"' if character == "'" else character)
        lines.append(line)
    return CompactText("".join(characters), tuple(lines))


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
