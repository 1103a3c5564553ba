"""Finds the checks of a notebook, which are usually next to it, or below it on some servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..course.manifest import MANIFEST, read_manifest

#: the folder of the bundle with all assignments; after several downloads, a number may follow
_WHOLE_COURSE = "all_assignments*"


def assignment_folder(here: Path, question: str = "") -> Path:
    """Returns the assignment's folder for a notebook that runs in `here`.

    This is `here`, the folder above it (for extras), or the first folder below it that has the
    question, if a bundle was unzipped next to the notebook; otherwise `here`.
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
