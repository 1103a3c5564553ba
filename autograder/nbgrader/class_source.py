"""Writes a class's `source/` for nbgrader: notebooks with solutions, and all released files."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..course import Course
from ..errors import UserError
from ..files import replace_file
from ..records import Assignment

#: files that only a repository needs, whereas students in a class with nbgrader work in Jupyter
_NOT_FOR_NBGRADER = (".github", ".gitlab-ci.yml")


def write_class_source(
    course: Course, assignment: Assignment, folder: Path, force: bool = False
) -> Sequence[str]:
    """Writes an assignment's source for nbgrader into a folder; returns the files that changed.

    Raises `UserError`, before anything is written, if a file already exists with different
    contents, because the instructor may have changed it. `force` overwrites such files.
    """
    from ..authoring.assignment_folder import released_assignment  # loads nbgrader's converters

    with tempfile.TemporaryDirectory() as scratch:
        made = released_assignment(course, assignment, Path(scratch))
    files = {
        name: text for name, text in made.files.items() if name in made.extras or _is_copied(name)
    }
    files |= {f"{name}.ipynb": text for name, text in made.sources.items()}
    changed = [name for name, text in files.items() if _text(folder / name) != text]
    other = [name for name in changed if (folder / name).exists()]
    if other and not force:
        raise UserError(
            f"{folder} has different versions of: {', '.join(other)}\n  they are left unchanged, "
            "because they were changed for this class or created from an older course\n  fix: "
            "use --force to overwrite them"
        )
    for name in changed:
        replace_file(folder / name, files[name])
    return changed


def _is_copied(name: str) -> bool:
    return not name.startswith(_NOT_FOR_NBGRADER) and not name.endswith(".ipynb")


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
