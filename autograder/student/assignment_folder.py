"""Finds a notebook's assignment folder, and the questions in a folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..course.manifest import MANIFEST, Manifest, read_manifest
from ..course.points import points_of
from ..errors import UserError
from ..submission.near_names import closest

#: the folder in the bundle with all assignments; after several downloads, a number may follow
_WHOLE_COURSE = "all_assignments*"


def assignment_folder(here: Path, question: str = "") -> Path:
    """Returns the assignment's folder for a notebook that runs in the folder `here`.

    The result is `here` if this folder contains checks. Otherwise, it is the folder above (if the
    notebook is an extra) or a folder below (if a bundle was unzipped next to the notebook),
    preferably a folder that contains the question. If there is no such folder, the result is
    `here`.
    """
    if (here / "checks").is_dir():
        return here
    found = list(dict.fromkeys(_around(here)))
    knows = [folder for folder in found if question in read_manifest(folder).points]
    return next(iter(knows or found), here)


def _around(here: Path) -> Iterator[Path]:
    if (here.parent / "checks" / MANIFEST).is_file():
        yield here.parent
    for pattern in ("*", f"{_WHOLE_COURSE}/*"):
        yield from (
            path.parent.parent for path in sorted(here.glob(f"{pattern}/checks/{MANIFEST}"))
        )


def questions_of(folder: Path, manifest: Manifest) -> dict[str, tuple[str, ...]]:
    """Returns the questions of each exercise in a folder, in teaching order."""
    return {
        name: tuple(points_of(folder / "checks" / f"test_{name}.py")) for name in manifest.exercises
    }


def unknown(name: str, known: Mapping[str, Sequence[str]]) -> UserError:
    """Returns an error about an unknown exercise or question; the error suggests a similar name."""
    names = [*known, *(question for questions in known.values() for question in questions)]
    near = closest(Path(name).stem, names)
    guess = f"; did you mean {near}?" if near else ""
    return UserError(
        f"no exercise or question is called {name!r} here{guess}\n"
        f"  the exercises are: {', '.join(known)}"
    )
