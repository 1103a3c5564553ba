"""What release tells a student's folder: `checks/assignment.json` and `checks/hints.json`."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import UserError

MANIFEST = "assignment.json"
HINTS = "hints.json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """Title, exercises in teaching order, and the digest of each untouched module."""

    title: str
    exercises: tuple[str, ...]
    stubs: Mapping[str, str]


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an assignment's folder; raises `UserError` where there is none."""
    path = folder / "checks" / MANIFEST
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return Manifest(document["title"], tuple(document["exercises"]), document["stubs"])
    except FileNotFoundError:
        raise UserError(
            f"{folder.resolve()} is no assignment: it has no checks/{MANIFEST}. "
            "Go to the folder that you unzipped."
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} is damaged: {error!r}. Take it from the course's bundle again."
        ) from error


def manifest_text(title: str, stubs: Mapping[str, str]) -> str:
    """The text of a manifest; `stubs` are the released modules in teaching order."""
    document = {
        "title": title,
        "exercises": list(stubs),
        "stubs": {name: digest_of(text) for name, text in sorted(stubs.items())},
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def read_hints(folder: Path) -> dict[str, tuple[str, ...]]:
    """The hints of an assignment's folder by question; empty where it was released without.

    Raises `UserError` for a file that can't be read.
    """
    path = folder / "checks" / HINTS
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): tuple(map(str, texts)) for name, texts in document.items()}
    except FileNotFoundError:
        read_manifest(folder)  # says so where this is no assignment at all
        return {}
    except (ValueError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path} is damaged: {error!r}. Take it from the course's bundle again."
        ) from error


def hints_text(hints: Mapping[str, Sequence[str]]) -> str:
    """The text of `checks/hints.json`."""
    document = {name: list(texts) for name, texts in hints.items()}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def digest_of(text: str) -> str:
    """A digest of code that comments, blank lines and line endings do not change."""
    lines = text.splitlines()
    with contextlib.suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
            if token.type == tokenize.COMMENT:
                row, column = token.start
                lines[row - 1] = lines[row - 1][:column]
    code = "\n".join(line.rstrip() for line in lines if line.strip())
    return "sha256:" + hashlib.sha256(code.encode("utf-8", "surrogatepass")).hexdigest()
