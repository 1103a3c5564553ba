"""Reads the TOML files of a course, and finds the lines of what is wrong in them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from ..errors import ContentError

_AT = re.compile(r" \(at line (?P<line>\d+), column \d+\)$")
_HEADER = re.compile(r"""\s*\[+\s*["']?(?P<table>[^\]."'\s]+)""")
_KEY = re.compile(r"""\s*["']?(?P<key>[\w-]+)["']?\s*[.=]""")


def read_toml(path: Path) -> dict[str, Any]:
    """Returns the document in a file; raises `ContentError`, with the line, if it is not valid."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        found = _AT.search(str(error))
        line = int(found["line"]) if found else None
        problem = f"not valid TOML: {_AT.sub('', str(error))}"
        raise ContentError(path, line, problem, "fix the line") from error
    except UnicodeDecodeError as error:
        raise ContentError(path, None, "not UTF-8", "save it as UTF-8") from error


def line_in(path: Path, table: str, word: str = "") -> int | None:
    """Returns the first line that contains a word in a table, or else the table's first line.

    Returns None if the file does not contain the table.
    """
    first: int | None = None
    current = ""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if header := _HEADER.match(line):
            current = header["table"]
        key = None if current else _KEY.match(line)
        if table in (current, key and key["key"]):
            first = first or number
            if word and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", line.partition("#")[0]):
                return number
    return first
