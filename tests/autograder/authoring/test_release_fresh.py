"""`assignments/` is up to date with the course, and reveals nothing hidden."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from autograder.authoring import find_leaks, verify_fresh
from autograder.course import Course, load_course


@pytest.fixture(scope="module")
def course() -> Course:
    return load_course(Path(__file__).parents[3])


def test_assignments_are_fresh(course: Course) -> None:
    stale = [f"{item.path}: {item.problem}" for item in verify_fresh(course)]
    assert not stale, "run `autograder release`:\n" + "\n".join(stale)


def test_assignments_reveal_nothing_hidden(course: Course) -> None:
    leaks = [str(leak) for leak in find_leaks(course)]
    assert not leaks, "\n".join(leaks)


def test_students_are_never_sent_to_documents_of_the_course(course: Course) -> None:
    files = [path for path in (course.root / "assignments").rglob("*") if path.is_file()]
    cited = re.compile(r"documents? \d{3}\b")
    assert len(files) > 50
    assert not [path for path in files if cited.search(path.read_text(encoding="utf-8"))]
