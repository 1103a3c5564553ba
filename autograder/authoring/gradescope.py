"""Builds an autograder for Gradescope: a zip with all files that grading an assignment needs.

The zip contains solutions and hidden tests, so give it only to Gradescope.
"""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from ..course import Course, graded_files
from ..errors import UserError
from ..records import Assignment
from .bundle import DATE
from .package_wheel import package_wheel

_SCRIPTS = ("setup.sh", "run_autograder")


def gradescope_bundle(
    course: Course, assignment: Assignment, path: Path, *, wheel: Path | None = None
) -> Path:
    """Writes the zip for Gradescope's "Configure Autograder"; builds the wheel if none is given.

    Raises `UserError` if the file can't be written.
    """
    with tempfile.TemporaryDirectory() as scratch:
        wheel = wheel or package_wheel(course.root, Path(scratch))
        content = _zip({**_files(course, assignment), wheel.name: wheel.read_bytes()})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise UserError(f"{path}: can't be written: {error.strerror or error}") from error
    return path


def _files(course: Course, assignment: Assignment) -> dict[str, bytes]:
    templates = resources.files(__package__).joinpath("templates", "gradescope")
    files = {name: templates.joinpath(name).read_bytes() for name in _SCRIPTS}
    constraints = course.root / "constraints.txt"
    files["constraints.txt"] = constraints.read_bytes() if constraints.is_file() else b""
    files["assignment"] = f"{assignment.name}\n".encode()
    for file in graded_files(course, assignment):
        files[f"course/{file.relative_to(course.root).as_posix()}"] = file.read_bytes()
    return files


def _zip(files: Mapping[str, bytes]) -> bytes:
    """Returns a zip in which scripts are executable; the same files produce the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, DATE)
            info.create_system = 3
            info.external_attr = (0o100755 if name in _SCRIPTS else 0o100644) << 16
            archive.writestr(info, files[name])
    return buffer.getvalue()
