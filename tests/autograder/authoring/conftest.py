"""Provides each test with its own copy of a small course with one assignment, and a wheel."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from autograder.authoring import release
from autograder.course import Course, load_course

SMALL_COURSE = Path(__file__).with_name("small_course")
collect_ignore = [str(SMALL_COURSE)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Returns the path of a copy of the small course, which tests may edit."""
    return Path(shutil.copytree(SMALL_COURSE, tmp_path / "small"))


@pytest.fixture
def course(root: Path) -> Course:
    """Returns the unchanged small course."""
    return load_course(root)


@pytest.fixture
def make_wheel(tmp_path: Path) -> Callable[..., Path]:
    """Returns a function that makes a wheel from file contents."""

    def make(**files: str) -> Path:
        path = tmp_path / "attention_autograder-1.2.3-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in {"__init__": "", **files}.items():
                archive.writestr(f"autograder/{name}.py", text)
        return path

    return make


@pytest.fixture
def wheel(make_wheel: Callable[..., Path]) -> Path:
    return make_wheel()


@pytest.fixture
def edit(root: Path) -> Callable[[str, str, str], None]:
    """Returns a function that replaces text in a course file, which must contain the old text."""

    def replace(name: str, old: str, new: str) -> None:
        path = root / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    return replace


@pytest.fixture
def folder(course: Course, wheel: Path) -> Path:
    """Returns the released assignment, as a student gets it."""
    release(course, wheel=wheel)
    return course.root / "assignments" / "basics"


@pytest.fixture
def solve(root: Path, folder: Path) -> Callable[[str], None]:
    """Returns a function that replaces an exercise's stub with the solution."""

    def put(exercise: str) -> None:
        shutil.copy(root / "solutions" / "basics" / f"{exercise}.py", folder)

    return put
