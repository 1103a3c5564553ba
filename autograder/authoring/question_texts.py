"""Reads the text for each question from `hints.toml`, `afterwards.toml` and `stars.toml`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..course.manifest import CONSTRAINTS, MISTAKES
from ..course.rules import read_toml
from ..errors import ContentError
from ..records import Assignment

HINTS = "hints.toml"
AFTERWARDS = "afterwards.toml"
STARS = "stars.toml"


def hints_of(root: Path, assignment: Assignment) -> dict[str, tuple[str, ...]]:
    """Reads the hints for each question, in teaching order; returns {} if the file does not exist.

    Raises `ContentError` if a question does not exist or has no hints.
    """
    path = root / "source" / assignment.name / HINTS
    return {name: _hints(path, name, given) for name, given in _by_question(path, assignment)}


def afterwards_of(root: Path, assignment: Assignment) -> dict[str, str]:
    """Reads the comments on correct answers, keyed by question; returns {} if there is no file.

    Raises `ContentError` if a question does not exist or has no comment.
    """
    path = root / "source" / assignment.name / AFTERWARDS
    texts = _by_question(path, assignment)
    return {name: _comparison(path, name, given) for name, given in texts}


def stars_of(root: Path, assignment: Assignment) -> dict[str, str]:
    """Reads the constraints that answers must satisfy to earn a second star, keyed by question.

    Most questions have no such constraint. Raises `ContentError` for an unknown question or
    constraint.
    """
    path = root / "source" / assignment.name / STARS
    found = {name: rule for name, rule in _by_question(path, assignment) if rule is not None}
    for name, rule in found.items():
        if rule not in CONSTRAINTS:
            known = ", ".join(CONSTRAINTS)
            raise ContentError(
                path, None, f"{name}: there is no rule {rule!r}", f"use one of: {known}"
            )
    return found


def mistakes_of(root: Path, assignment: Assignment) -> dict[str, Any]:
    """Reads the encrypted sentences about known mistakes, which `make student-mistakes` writes."""
    path = root / "source" / assignment.name / MISTAKES
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))["questions"])
    except (ValueError, KeyError, TypeError) as error:
        raise ContentError(
            path, None, f"damaged: {error!r}", "run `make student-mistakes`"
        ) from error


def _by_question(path: Path, assignment: Assignment) -> list[tuple[str, Any]]:
    if not path.is_file():
        return []
    document = read_toml(path)
    names = [question.name for item in assignment.exercises for question in item.questions]
    for name in sorted(document.keys() - set(names)):
        known = ", ".join(names)
        raise ContentError(path, None, f"no question is called {name!r}", f"use one of: {known}")
    return [(name, document.get(name)) for name in names]


def _comparison(path: Path, name: str, given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise ContentError(path, None, f"no text for {name}", f'add {name} = "..."')
    return " ".join(given.split())


def _hints(path: Path, name: str, given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not given:
        raise ContentError(path, None, f"no hints for {name}", f'add {name} = ["...", "..."]')
    for text in given:
        if not isinstance(text, str) or not text.strip():
            raise ContentError(
                path, None, f"a hint for {name} is {text!r}", "give some text, in quotes"
            )
    return tuple(" ".join(text.split()) for text in given)
