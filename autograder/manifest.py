"""`checks/assignment.json`: what release tells a student's folder about its assignment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .errors import UserError

MANIFEST = "assignment.json"


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


def digest_of(text: str) -> str:
    """A digest that line endings and blanks at line ends do not change."""
    lines = "\n".join(line.rstrip() for line in text.strip().splitlines())
    return "sha256:" + hashlib.sha256(lines.encode("utf-8")).hexdigest()
