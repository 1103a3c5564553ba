"""Reads and writes `checks/assignment.json` in a student's folder, and reads other files there."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import UserError

MANIFEST = "assignment.json"
HINTS = "hints.json"
AFTERWARDS = "afterwards.json"
#: the file with the constraint of each question's second star
STARS = "stars.json"
#: the constraints of second stars, which `autograder.student.stars` checks
CONSTRAINTS = ("one line", "no loop", "no @")
#: the file with the code of other correct answers, only in bundles made with `release --after`
WAYS = "ways.json"
#: the file with an encrypted sentence for each known mistake, by question
MISTAKES = "mistakes.json"


@dataclass(frozen=True, slots=True)
class Manifest:
    """The title of an assignment and its exercises in teaching order.

    `points` contains the points for each question. `signatures` shows how to call the function or
    class that each question asks for and, for a class, its method `forward`. `due` is the due date
    as written in the course. `graded` says, for each question, what the hidden tests examine in
    addition to the public checks. All of these fields are empty in bundles from older versions.
    """

    title: str
    exercises: tuple[str, ...]
    points: Mapping[str, float] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)
    due: str | None = None
    graded: Mapping[str, str] = field(default_factory=dict)


def read_manifest(folder: Path) -> Manifest:
    """Reads the manifest from an assignment's folder.

    Raises `UserError` if the manifest is missing or damaged.
    """
    path = folder / "checks" / MANIFEST
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return Manifest(
            document["title"],
            tuple(document["exercises"]),
            document.get("points", {}),
            document.get("signatures", {}),
            document.get("due"),
            document.get("graded", {}),
        )
    except FileNotFoundError:
        here = folder.resolve()
        found = [path.parent.parent for path in sorted(here.glob(f"*/checks/{MANIFEST}"))]
        near = [here.parent] * (here.parent / "checks" / MANIFEST).is_file() + found
        there = f" Did you mean {near[0]}?" if near else ""
        raise UserError(
            f"{here} is not an assignment: it has no checks/{MANIFEST}. "
            f"Go to the folder that you unzipped.{there}"
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{path} is damaged: {error!r}. Replace it with the one in the course's bundle."
        ) from error


def manifest_text(
    title: str,
    stubs: Mapping[str, str],
    points: Mapping[str, float] | None = None,
    due: str | None = None,
    graded: Mapping[str, str] | None = None,
) -> str:
    """Formats a manifest; `stubs` contains the released modules in teaching order."""
    document = {
        "title": title,
        "due": due,
        "exercises": list(stubs),
        "points": dict(points or {}),
        "graded": dict(graded or {}),
        "signatures": {
            call: text for stub in stubs.values() for call, text in signatures_in(stub).items()
        },
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def read_hints(folder: Path) -> dict[str, tuple[str, ...]]:
    """Reads the hints in an assignment's folder, keyed by question; returns {} if there are none.

    Raises `UserError` if the file can't be read.
    """
    return {name: tuple(map(str, texts)) for name, texts in _texts(folder, HINTS).items()}


def read_afterwards(folder: Path) -> dict[str, str]:
    """Reads the comments on correct answers, keyed by question; returns {} if there are none."""
    return {name: str(text) for name, text in _texts(folder, AFTERWARDS).items()}


def read_stars(folder: Path) -> dict[str, str]:
    """Reads the constraint for each question's second star; returns {} if there are none."""
    return {name: str(rule) for name, rule in _texts(folder, STARS).items()}


def read_ways(folder: Path) -> dict[str, tuple[tuple[str, str], ...]]:
    """Reads other correct answers, keyed by question; returns {} until the course publishes them.

    Each answer is a pair: an explanation of what the code does and what it costs, and the code.
    """
    return {
        name: tuple((str(text), str(code)) for text, code in ways)
        for name, ways in _texts(folder, WAYS).items()
    }


def _texts(folder: Path, file: str) -> dict[str, Any]:
    path = folder / "checks" / file
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): texts for name, texts in document.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path} is damaged: {error!r}. Replace it with the one in the course's bundle."
        ) from error


def texts_text(texts: Mapping[str, object]) -> str:
    """Formats text, keyed by question, as JSON for a file such as `checks/hints.json`."""
    return json.dumps(dict(texts), indent=1, ensure_ascii=False) + "\n"


def signatures_in(text: str) -> dict[str, str]:
    """Returns how to call a module's functions and classes, such as `scores(inputs, query)`.

    For a class, shows two calls: one that creates an object, and one to its method `forward`.
    """
    found: dict[str, str] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = f"{node.name}({_arguments(node)})"
        elif isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                    found[node.name] = f"{node.name}({_arguments(method)})"
                elif isinstance(method, ast.FunctionDef) and method.name == "forward":
                    found[f"{node.name}.forward"] = f"forward({_arguments(method)})"
    return found


def _arguments(function: ast.FunctionDef) -> str:
    plain = ast.parse(ast.unparse(function)).body[0]
    assert isinstance(plain, ast.FunctionDef)
    for argument in ast.walk(plain.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return ast.unparse(plain.args)
