"""The questions of a student's folder, and the error for unknown names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..course.manifest import Manifest
from ..course.points import points_of
from ..errors import UserError
from ..submission.near_names import closest


def questions_of(folder: Path, manifest: Manifest) -> dict[str, tuple[str, ...]]:
    """Returns the questions of each exercise of a folder, in teaching order."""
    return {
        name: tuple(points_of(folder / "checks" / f"test_{name}.py")) for name in manifest.exercises
    }


def unknown(name: str, known: Mapping[str, Sequence[str]]) -> UserError:
    """Returns the error for an unknown exercise or question, which suggests a similar name."""
    names = [*known, *(question for questions in known.values() for question in questions)]
    near = closest(Path(name).stem, names)
    guess = f"; did you mean {near}?" if near else ""
    return UserError(
        f"no exercise or question is called {name!r} here{guess}\n"
        f"  the exercises are: {', '.join(known)}"
    )
